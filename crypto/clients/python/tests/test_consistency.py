"""The shared vectors of two heads and of two seals, and a thousand forks: decided as by the other verifiers."""

from hashlib import sha256

import pytest
from trefoil_attest import LogError, Seal, verify_consistency, verify_same_log
from vectors import CONSISTENCY, data, seal

VALID = CONSISTENCY["valid"]


def connects(heads: dict) -> bool:
    sizes = int(heads["old_size"]), int(heads["size"])
    roots = bytes.fromhex(heads["old_root"]), bytes.fromhex(heads["root"])
    decided = verify_consistency(sizes[0], roots[0], sizes[1], roots[1], heads["proof"])
    as_bytes = [bytes.fromhex(node) for node in heads["proof"]]
    assert decided == verify_consistency(sizes[0], roots[0], sizes[1], roots[1], as_bytes)
    return decided


def flipped(heads: dict, bit: int) -> dict:
    parts = [bytearray.fromhex(node) for node in (heads["old_root"], heads["root"], *heads["proof"])]
    parts[bit // 256][bit % 256 // 8] ^= 1 << bit % 8
    old_root, root, *proof = (part.hex() for part in parts)
    return {**heads, "old_root": old_root, "root": root, "proof": proof}


def test_two_heads_are_connected_by_their_own_proof_only() -> None:
    assert all(connects(heads) for heads in VALID)
    flips = changes = 0
    for case in CONSISTENCY["refused"]:
        base = VALID[case["of"]]
        if "flip" in case:
            assert not any(connects(flipped(base, bit)) for bit in case["flip"]), case
            flips += len(case["flip"])
            continue
        heads = {**base, **case}
        heads["proof"] = [base["proof"][node] if isinstance(node, int) else node for node in heads["proof"]]
        assert not connects(heads), case
        changes += 1
    assert len(VALID) >= 100 and flips >= 900 and changes >= 900


def test_what_is_no_size_no_node_or_longer_than_any_proof_connects_nothing() -> None:
    heads = next(heads for heads in VALID if (heads["old_size"], heads["size"]) == ("3", "5"))
    old_root, root = bytes.fromhex(heads["old_root"]), bytes.fromhex(heads["root"])
    first, *rest = heads["proof"]
    assert verify_consistency(3, old_root, 5, root, [first, *rest])
    for size in (-5, 2**64 + 5):
        with pytest.raises(OverflowError):
            verify_consistency(3, old_root, size, root, heads["proof"])
    for node in (first[:62], first + "00", first.upper(), "", bytes(31), bytes(33)):
        assert not verify_consistency(3, old_root, 5, root, [node, *rest])
    for node in (7, None):
        with pytest.raises(TypeError):
            verify_consistency(3, old_root, 5, root, [node, *rest])
    assert not verify_consistency(3, old_root[1:], 5, root, heads["proof"])
    assert not verify_consistency(5, old_root[1:], 5, old_root[1:], [])
    # Nothing is read of what is too long: its elements would be a TypeError.
    assert not verify_consistency(3, old_root, 5, root, range(1 << 40))


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def split(size: int) -> int:
    return 1 << (size - 1).bit_length() - 1


def mth(leaves: list[bytes]) -> bytes:
    """MTH of RFC 9162 section 2.1.1, over leaf hashes."""
    if len(leaves) == 1:
        return leaves[0]
    middle = split(len(leaves))
    return node_hash(mth(leaves[:middle]), mth(leaves[middle:]))


def subproof(size: int, leaves: list[bytes], known: bool = True) -> list[bytes]:
    """SUBPROOF of section 2.1.4.1; PROOF with `known` as it is."""
    if size == len(leaves):
        return [] if known else [mth(leaves)]
    middle = split(len(leaves))
    if size <= middle:
        return [*subproof(size, leaves[:middle], known), mth(leaves[middle:])]
    return [*subproof(size - middle, leaves[middle:], False), mth(leaves[:middle])]


def fork(seed: str, number: int) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Fork `number`, as `crypto/attest/testdata/README.md` describes it: the shorter history, it grown, the longer."""
    random = sha256(seed.encode() + number.to_bytes(4, "big")).digest()
    common = random[0] % 64
    one, two = (common + 1 + random[at] % 32 for at in (1, 2))

    def history(name: int, size: int) -> list[bytes]:
        names = (0 if index < common else name for index in range(size))
        return [sha256(bytes([0, name]) + index.to_bytes(8, "big")).digest() for index, name in enumerate(names)]

    (name, size), (other, longer) = ((1, one), (2, two)) if one <= two else ((2, two), (1, one))
    return history(name, size), history(name, longer), history(other, longer)


def test_a_thousand_forks_are_seen_whatever_the_log_answers() -> None:
    forks = CONSISTENCY["forks"]
    assert forks["count"] >= 1000
    everything = sha256()
    for number in range(forks["count"]):
        old, old_grown, new = fork(forks["seed"], number)
        old_size, size, old_root, root = len(old), len(new), mth(old), mth(new)
        theirs, ours = subproof(old_size, new), subproof(old_size, old_grown)
        everything.update(b"".join([*theirs, *ours, old_root, root]))
        for answer in (theirs, ours, [], [old_root], [root], [old_root, root]):
            assert not verify_consistency(old_size, old_root, size, root, answer), number
        assert verify_consistency(old_size, mth(new[:old_size]), size, root, theirs), number
        assert verify_consistency(old_size, old_root, size, mth(old_grown), ours), number
    assert everything.hexdigest() == forks["digest"], "other forks than those of the vectors"


def test_two_seals_are_of_one_log_or_it_is_said_why_not() -> None:
    outcomes = []
    for pair in CONSISTENCY["pairs"]:
        proofs = {name: pair[name] for name in ("consistency", "inclusion")}
        try:
            verify_same_log(seal(pair["one"]), seal(pair["other"]), **proofs)
            outcomes.append("same-log")
        except LogError as error:
            outcomes.append(error.code)
        assert outcomes[-1] == pair["expect"], pair
    assert len(outcomes) >= 44 and outcomes.count("same-log") >= 16
    assert set(outcomes) == {"same-log", "issuer", "forked", "restored", "consistency", "inclusion"}


def test_a_seal_is_of_the_log_that_it_is_in_and_what_is_no_proof_proves_nothing() -> None:
    signed = Seal.decode(data("seal.cbor"))
    assert len(signed.log_root) == 32
    verify_same_log(signed, signed, consistency=[], inclusion=[])
    for proofs in ({"consistency": ["00"], "inclusion": []}, {"consistency": range(1 << 40), "inclusion": []}):
        with pytest.raises(LogError):
            verify_same_log(signed, signed, **proofs)
