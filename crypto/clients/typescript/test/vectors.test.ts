/** The shared vectors, with the same outcomes as the other verifiers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Seal, TrustRoot, VERIFY_ERROR_CODES, VerifyError, verify, verifyWithSeal } from "trefoil-attest";

import { bytes, type Case, edited, hex, MANIFEST, policy, text, toHex } from "./testdata.js";

const SEAL = Seal.decode(bytes("seal.cbor"));

function decide(vector: Case): string {
  const required = policy({
    trustRoot: TrustRoot.fromJson(text(vector.trust_root)),
    audience: vector.audience ?? MANIFEST.audience,
    nonce: hex(vector.nonce ?? MANIFEST.nonce),
    ...(vector.tenant === undefined ? {} : { tenant: hex(vector.tenant) }),
    ...(vector.account_key === undefined ? {} : { accountKey: hex(vector.account_key) }),
    ...(vector.accept_no_proof === undefined ? {} : { acceptNoProof: vector.accept_no_proof }),
  });
  const attestation = edited(bytes(vector.base), vector.edits);
  const now = vector.now ?? MANIFEST.now;
  try {
    const found = vector.seal ? verifyWithSeal(attestation, SEAL, required, now) : verify(attestation, required, now);
    assert.equal(found.accountKey && toHex(found.accountKey), vector.device);
    return "verified";
  } catch (error) {
    assert(error instanceof VerifyError, String(error));
    assert((VERIFY_ERROR_CODES as readonly string[]).includes(error.code));
    return error.code;
  }
}

const outcomes = new Map<string, number>();
for (const vector of MANIFEST.cases) {
  test(vector.name, () => {
    const outcome = decide(vector);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    assert.equal(outcome, vector.expect);
  });
}

test("the manifest has cases of every kind", () => {
  const verified = outcomes.get("verified") ?? 0;
  const all = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  assert.equal(all, MANIFEST.cases.length);
  assert(verified >= 26 && all - verified >= 443, `${verified} of ${all} verified`);
  assert(outcomes.size >= 20, `${outcomes.size} different outcomes`);
});
