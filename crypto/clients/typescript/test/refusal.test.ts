/** Bytes that differ from what was attested are refused, whatever the difference. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { DecodeError, type Policy, Seal, TrustRoot, VerifyError, verify } from "trefoil-attest";

import { toHex } from "../src/bytes.js";
import { binary, bytes, FULL, NOW, policy, TRUST_ROOT } from "./testdata.js";

const REQUIRED = policy();

function refusedBy(required: Policy, attestation: Uint8Array, note = ""): string {
  try {
    verify(attestation, required, NOW);
  } catch (error) {
    assert(error instanceof VerifyError, `${note}: ${String(error)}`);
    return error.code;
  }
  return assert.fail(`${note}: verified`);
}

const refused = (attestation: Uint8Array, note: string): string => refusedBy(REQUIRED, attestation, note);

/** xorshift32: the same inputs in every run. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

test("a change of any byte outside the signatures, and of samples inside, is refused", () => {
  const random = generator(1);
  const firstSignature = 661;
  for (let at = 0; at < FULL.length; at += at < firstSignature ? 1 : 1 + random(199)) {
    const changed = new Uint8Array(FULL);
    changed[at] = (changed[at] ?? 0) ^ (1 << random(8));
    refused(changed, `byte ${at}`);
  }
});

test("every shorter input is malformed", () => {
  for (let end = 0; end < FULL.length; end += end < 700 ? 1 : 37) {
    assert.equal(refused(FULL.subarray(0, end), `${end} bytes`), "malformed");
  }
  assert.equal(refused(new Uint8Array(32 * 1024 + 1), "too long"), "malformed");
});

test("arbitrary bytes are refused with the error of their decoder", () => {
  const random = generator(2);
  for (let round = 0; round < 2000; round += 1) {
    const input = Uint8Array.from({ length: random(200) }, () => random(256));
    assert.equal(refused(input, toHex(input)), "malformed");
    assert.throws(() => Seal.decode(input), DecodeError);
    assert.throws(() => TrustRoot.decode(input), DecodeError);
  }
  assert.throws(() => verify("full.cbor" as unknown as Uint8Array, REQUIRED, NOW), TypeError);
});

test("a seal outside the validity of its key set is refused", () => {
  const [keys] = TRUST_ROOT.keySets;
  assert(keys !== undefined);
  const now = BigInt(NOW);
  for (const [notBefore, notAfter] of [[now + 60n, now + 61n], [0n, now - 60n]] as const) {
    const trustRoot = TrustRoot.decode(binary({ notBefore, notAfter }));
    // The identifier covers the validity, so the same keys got another one, which the seal must name to get this far.
    const id: Uint8Array = trustRoot.keySets[0]?.id ?? keys.id;
    const renamed: Uint8Array = Buffer.from(toHex(FULL).replaceAll(toHex(keys.id), toHex(id)), "hex");
    const codes: string[] = [FULL, renamed].map((attestation) => refusedBy(policy({ trustRoot }), attestation));
    assert.deepEqual(codes, ["unknown-key-set", "key-set-validity"]);
  }
});

test("a seal that decodes is the only encoding of its content", () => {
  const random = generator(3);
  const original = bytes("seal.cbor");
  const beforeSignatures = 182;
  const named = Seal.decode(original).reference();
  for (let round = 0; round < 500; round += 1) {
    const changed = new Uint8Array(original);
    const at = random(beforeSignatures);
    changed[at] = (changed[at] ?? 0) ^ (1 << random(8));
    try {
      const reference = Seal.decode(changed).reference();
      assert.notDeepEqual(reference, named, `byte ${at}`);
    } catch (error) {
      assert(error instanceof DecodeError, String(error));
    }
  }
});
