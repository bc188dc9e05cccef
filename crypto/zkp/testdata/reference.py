#!/usr/bin/env python3
"""Second implementation of the statement: hashes, tree, scopes, encodings, MACs.

Written from the papers and from NOTES.md, sharing no code and no table with the crate:
* Poseidon2 (ePrint 2023/323), width 24, x^3, 8 full and 23 partial rounds over p = 2^31 - 2^24 + 1.
  Round constants come out of the Grain LFSR of the Poseidon paper (ePrint 2019/458, appendix F) run here,
  with field type 1, S-box 0, n = 31, t = 24, R_F = 8, R_P = 23.
  The internal diagonal is the one that Plonky3 documents for KoalaBear, width 24.
* SHA3-256 and SHAKE256 from hashlib.

`reference.py` writes vectors.json next to itself; `reference.py --check` fails if the file would change.
"""

import hashlib
import json
import pathlib
import struct
import sys

P = 2**31 - 2**24 + 1
WIDTH, FULL, PARTIAL = 24, 8, 23
DEPTH = 20
COMMITMENT, LEAF, NODE, ACCOUNT, HANDLE = 1, 2, 3, 4, 5


def grain_constants():
    state = []
    for value, bits in [(1, 2), (0, 4), (31, 12), (WIDTH, 12), (FULL, 10), (PARTIAL, 10), (2**30 - 1, 30)]:
        state += [value >> (bits - 1 - i) & 1 for i in range(bits)]

    def step():
        bit = state[62] ^ state[51] ^ state[38] ^ state[23] ^ state[13] ^ state[0]
        state.append(bit)
        del state[0]
        return bit

    for _ in range(160):
        step()

    def bit():
        while True:
            keep, value = step(), step()
            if keep:
                return value

    def element():
        while True:
            value = 0
            for _ in range(31):
                value = 2 * value + bit()
            if value < P:
                return value

    initial = [[element() for _ in range(WIDTH)] for _ in range(FULL // 2)]
    partial = [element() for _ in range(PARTIAL)]
    final = [[element() for _ in range(WIDTH)] for _ in range(FULL // 2)]
    return initial, partial, final


INITIAL, PARTIAL_CONSTANTS, FINAL = grain_constants()
M4 = [[2, 3, 1, 1], [1, 2, 3, 1], [1, 1, 2, 3], [3, 1, 1, 2]]


def over(exponent):
    return pow(pow(2, exponent, P), -1, P)


DIAGONAL = (
    [-2, 1, 2, over(1), 3, 4, -over(1), -3, -4, over(8)]
    + [over(k) for k in range(2, 7)]
    + [over(24), -over(8)]
    + [-over(k) for k in range(3, 7)]
    + [-over(7), -over(9), -over(24)]
)


def external(state):
    blocks = [[sum(m * x for m, x in zip(row, state[4 * b : 4 * b + 4])) for row in M4] for b in range(WIDTH // 4)]
    sums = [sum(block[i] for block in blocks) for i in range(4)]
    return [(blocks[i // 4][i % 4] + sums[i % 4]) % P for i in range(WIDTH)]


def internal(state):
    total = sum(state)
    return [(total + d * x) % P for d, x in zip(DIAGONAL, state)]


def permute(state):
    state = external(state)
    for constants in INITIAL:
        state = external([pow(x + c, 3, P) for x, c in zip(state, constants)])
    for constant in PARTIAL_CONSTANTS:
        state = internal([pow(state[0] + constant, 3, P)] + state[1:])
    for constants in FINAL:
        state = external([pow(x + c, 3, P) for x, c in zip(state, constants)])
    return state


def compress(domain, left, right):
    return permute(left + right + [domain] + [0] * 7)[:8]


def pack(limbs):
    return struct.pack("<8I", *limbs)


def sha3(*parts):
    return hashlib.sha3_256(b"".join(parts)).digest()


def u32(value):
    return struct.pack("<I", value)


def hash_to_field(digest):
    stream = hashlib.shake_256(b"trefoil/hash-to-field/1" + digest).digest(1024)
    words = (w & 0x7FFFFFFF for (w,) in struct.iter_unpack("<I", stream))
    accepted = [w for w in words if w < P]
    return accepted[:8]


def scope(tenant, audience):
    return hash_to_field(sha3(b"trefoil/account-scope/1", tenant, u32(len(audience)), audience))


def handle_scope(tenant):
    return hash_to_field(sha3(b"trefoil/handle-scope/1", tenant))


def tree(leaves):
    """Nodes by level of a depth-20 tree: the non-empty ones, and the empty value of each level."""
    levels, empty = [dict(leaves)], [[0] * 8]
    for level in range(DEPTH):
        below, above = levels[level], {}
        for position in {i // 2 for i in below}:
            left = below.get(2 * position, empty[level])
            right = below.get(2 * position + 1, empty[level])
            above[position] = compress(NODE, left, right)
        levels.append(above)
        empty.append(compress(NODE, empty[level], empty[level]))
    return levels, empty


def transcript_head(circuit, queries, statement):
    """What the transcript of a proof begins with; the statement is another circuit's but for the number."""
    statement = statement[:4] + struct.pack("<H", circuit) + statement[6:]
    protocol = b"trefoil/credential-proof/1/plonky3-0.8/koalabear-5/poseidon2-24/sha-256/sha3-256"
    blowup, grinding, arity, final_length, cap_height, codewords, salt_limbs = 4, (8, 4, 16), 3, 3, 0, 5, 4
    numbers = (blowup, queries, *grinding, arity, final_length, cap_height, codewords, salt_limbs)
    digest = sha3(b"trefoil/statement/1", statement)
    return protocol + struct.pack("<H10I", circuit, *numbers) + statement[-32:] + digest


def member(seed, tenant, audience, epoch, index, expiry, level, roles, serial):
    """Everything that follows from one member's secret, drawn from a labelled hash."""
    secret = hash_to_field(sha3(b"vector secret", u32(seed)))
    salt = hash_to_field(sha3(b"vector salt", u32(seed)))[:3]
    attributes = struct.pack("<IBHI3I", expiry, level, roles, serial, *salt)
    commitment = compress(COMMITMENT, secret, [0] * 8)
    limbs = [expiry, level, roles, serial & 0xFFFF, serial >> 16] + salt
    leaf = compress(LEAF, commitment, limbs)

    others = {i: hash_to_field(sha3(b"vector leaf", u32(i))) for i in (0, 1, 1023, 1024, 2**20 - 1)}
    levels, empty = tree({**others, index: leaf})
    path = [levels[k].get(index >> k ^ 1, empty[k]) for k in range(DEPTH)]
    root = levels[DEPTH][0]

    scope_limbs = scope(tenant, audience)
    account = compress(ACCOUNT, secret, scope_limbs)
    handle = compress(HANDLE, secret, handle_scope(tenant))
    elsewhere = [
        {"tenant": t.hex(), "audience": a.decode(), "account": pack(compress(ACCOUNT, secret, scope(t, a))).hex()}
        for t, a in ((tenant, b"another.example"), (sha3(tenant)[:16], audience), (tenant, audience + b"\0"))
    ]

    session_key = sha3(b"vector session key", u32(seed))
    key_commitment = sha3(b"trefoil/session-key/1", session_key)
    policy, generation, required_level, circuit = 7, 9, level - 1, 3
    audience_field = u32(len(audience)) + audience
    account_key_seed = sha3(b"trefoil/account-key/1", pack(secret), tenant, audience_field)
    # The id of the key that ML-DSA-44 makes of the seed is bytes here: crypto/attest/testdata/device.json has that step.
    account_key = sha3(b"vector account key", u32(seed))
    ctx = sha3(b"trefoil/context/2", tenant, audience_field, key_commitment, account_key, u32(epoch), u32(policy))
    statement = (
        b"TFS1" + struct.pack("<H", circuit) + tenant + struct.pack("<IIB", generation, epoch, required_level)
        + pack(root) + pack(scope_limbs) + pack(account) + pack(handle) + ctx
    )
    session_id = sha3(b"trefoil/statement/1", statement)
    nonce = sha3(b"vector nonce", u32(seed))[:16]
    probe = sha3(b"vector probe", u32(seed))
    issued_at = epoch * 3600 + 11
    header = [pack(handle), struct.pack("<Q", issued_at), probe, audience_field, u32(len(nonce)), nonce]
    mac = sha3(b"trefoil/request-mac/1", session_key, session_id, *header)
    return {
        "tenant": tenant.hex(), "audience": audience.decode(), "epoch": epoch, "index": index,
        "secret": pack(secret).hex(), "attributes": attributes.hex(),
        "other_leaves": {str(i): pack(l).hex() for i, l in others.items()},
        "session_key": session_key.hex(), "policy_id": policy, "root_generation": generation,
        "required_level": required_level, "nonce": nonce.hex(), "probe_digest": probe.hex(), "issued_at": issued_at,
        "commitment": pack(commitment).hex(), "leaf": pack(leaf).hex(), "root": pack(root).hex(),
        "path": [pack(node).hex() for node in path], "scope": pack(scope_limbs).hex(), "account": pack(account).hex(),
        "accounts_elsewhere": elsewhere, "handle": pack(handle).hex(), "key_commitment": key_commitment.hex(),
        "account_key_seed": account_key_seed.hex(), "account_key": account_key.hex(), "ctx": ctx.hex(),
        "statement": statement.hex(), "statement_digest": session_id.hex(), "request_mac": mac.hex(),
        "transcript_heads": [sha3(transcript_head(*of, statement)).hex() for of in ((3, 55), (4, 114))],
    }


def vectors():
    _, empty = tree({})
    return {
        "generator": "reference.py",
        "permutation_of_0_to_23": permute(list(range(WIDTH))),
        "empty_tree_root": pack(empty[DEPTH]).hex(),
        "members": [
            member(1, bytes(range(16)), b"payments.example", 498_611, 0xA6C35, 500_611, 3, 0x0103, 90_001),
            member(2, b"\xff" * 16, b"", 0, 2, 65_535, 255, 0xFFFF, 0xFFFFFFFF),
            member(3, b"another tenant!!", "péage.example".encode(), 2**24 - 1, 2**20 - 2, 2**24 - 1, 1, 0, 0),
        ],
    }


if __name__ == "__main__":
    file = pathlib.Path(__file__).with_name("vectors.json")
    text = json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if file.read_text() == text else f"{file} is not what this script writes")
    file.write_text(text)
