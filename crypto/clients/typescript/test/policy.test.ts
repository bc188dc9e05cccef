/** Requirements: each one is checked, and none can be lost by a mistake of the caller. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  DANGEROUS_ANY_NONCE,
  Policy,
  type Requirements,
  Seal,
  VERIFY_ERROR_CODES,
  VerifyError,
  verify,
  verifySeal,
  verifyWithSeal,
} from "trefoil-attest";

import { bytes, FULL, MANIFEST, NOW, packageFile, policy, TRUST_ROOT } from "./testdata.js";

const ATTESTED = verify(FULL, policy(), NOW).statement;

function code(required: Policy, now = NOW): string {
  try {
    verify(FULL, required, now);
    return "verified";
  } catch (error) {
    assert(error instanceof VerifyError, String(error));
    return error.code;
  }
}

function flipped(original: Uint8Array): Uint8Array {
  const changed = new Uint8Array(original);
  changed[changed.length - 1] = (changed[changed.length - 1] ?? 0) ^ 1;
  return changed;
}

test("every requirement is met by what is attested and missed by anything else", () => {
  const { tenant, account, requestDigest, probeMode, policyId: id, policyVersion: version, proof, fmrClass } = ATTESTED;
  assert(proof !== undefined && probeMode === "plain");
  assert(fmrClass > 0 && proof.level > 0 && version > 0);
  const table: readonly (readonly [string, Partial<Requirements>, Partial<Requirements>])[] = [
    ["tenant", { tenant }, { tenant: flipped(tenant) }],
    ["account", { account }, { account: flipped(account) }],
    ["request-digest", { requestDigest }, { requestDigest: flipped(requestDigest) }],
    ["probe-mode", { probeMode }, { probeMode: "shared" }],
    ["proof-level", { proofLevel: proof.level }, { proofLevel: proof.level + 1 }],
    ["policy-version", { policyVersion: { id, version } }, { policyVersion: { id, version: version + 1 } }],
    ["policy-version", { policyVersion: { id, version: version - 1 } }, { policyVersion: { id: id + 1, version: 0 } }],
    ["fmr-class", { fmrClass }, { fmrClass: fmrClass + 1 }],
    ["nonce", { nonce: DANGEROUS_ANY_NONCE }, { nonce: flipped(ATTESTED.nonce) }],
    ["audience", { audience: MANIFEST.audience }, { audience: `${MANIFEST.audience}/` }],
  ];
  for (const [name, met, missed] of table) {
    assert.equal(code(policy(met)), "verified", name);
    assert.equal(code(policy(missed)), name);
  }
});

test("time is checked with the tolerated difference", () => {
  const [issued, expires] = [Number(ATTESTED.issuedAt), Number(ATTESTED.expiresAt)];
  for (const clockSkew of [0, 10, 60]) {
    const required = policy({ clockSkew });
    assert.equal(code(required, expires + clockSkew - 1), "verified");
    assert.equal(code(required, expires + clockSkew), "expired");
    assert.equal(code(required, issued - clockSkew - 1), "not-yet-valid");
  }
  assert.equal(code(policy(), NOW * 1000), "expired", "milliseconds");
  for (const now of [NOW + 0.5, Number.NaN, -1, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => verify(FULL, policy(), now), RangeError);
  }
});

test("a requirement that is misspelt, undefined or malformed is refused, not skipped", () => {
  const { audience } = MANIFEST;
  const complete: Requirements = { trustRoot: TRUST_ROOT, audience, nonce: DANGEROUS_ANY_NONCE };
  const wrong: readonly Record<string, unknown>[] = [
    { ...complete, requestDigset: new Uint8Array(32) },
    { ...complete, tenant: undefined },
    { ...complete, tenant: null },
    { ...complete, tenant: "" },
    { ...complete, tenant: new Uint8Array(15) },
    { ...complete, account: "00".repeat(32) },
    { ...complete, requestDigest: new Uint8Array(33) },
    { ...complete, nonce: undefined },
    { ...complete, nonce: new Uint8Array(15) },
    { ...complete, nonce: new Uint8Array(65) },
    { ...complete, nonce: "any" },
    { ...complete, audience: "" },
    { ...complete, audience: "a\u0000" },
    { ...complete, decision: "no_match" },
    { ...complete, probeMode: "" },
    { ...complete, proofLevel: 256 },
    { ...complete, acceptNoProof: 1 },
    { ...complete, proofLevel: 0, acceptNoProof: true },
    { ...complete, proofLevel: Number.NaN },
    { ...complete, policyVersion: { id: 1 } },
    { ...complete, policyVersion: false },
    { ...complete, fmrClass: -1 },
    { ...complete, fmrClass: "4" },
    { ...complete, clockSkew: 61 },
    { ...complete, clockSkew: 0.5 },
    { ...complete, trustRoot: { issuer: TRUST_ROOT.issuer, keySets: [] } },
    { trustRoot: TRUST_ROOT, audience },
    { trustRoot: TRUST_ROOT, nonce: DANGEROUS_ANY_NONCE },
    { audience, nonce: DANGEROUS_ANY_NONCE },
  ];
  assert(new Policy(complete) instanceof Policy);
  for (const [index, requirements] of wrong.entries()) {
    const mistake = (error: unknown): boolean => error instanceof TypeError || error instanceof RangeError;
    assert.throws(() => new Policy(requirements as unknown as Requirements), mistake, `case ${index}`);
  }
  const required = { ...policy() };
  assert.throws(() => verify(FULL, required as unknown as Policy, NOW), TypeError);
});

test("a policy and a result do not change with the caller's buffers", () => {
  const tenant = new Uint8Array(ATTESTED.tenant);
  const required = policy({ tenant });
  tenant.fill(0);
  const given = Buffer.from(FULL);
  const { statement } = verify(given, required, NOW);
  given.fill(0);
  assert.deepEqual(statement, ATTESTED);
});

test("a compact attestation says which seal to fetch", () => {
  const seal = Seal.decode(bytes("seal.cbor"));
  assert.throws(
    () => verify(bytes("compact.cbor"), policy(), NOW),
    (error) => {
      assert(error instanceof VerifyError && error.code === "seal-needed");
      assert.deepEqual(error.seal, seal.reference());
      return true;
    },
  );
  const verified = verifyWithSeal(bytes("compact.cbor"), seal, policy(), NOW);
  assert.deepEqual(verified, verify(FULL, policy(), NOW));
  verifySeal(seal, TRUST_ROOT);
  assert.throws(() => verifyWithSeal(FULL, bytes("seal.cbor") as unknown as Seal, policy(), NOW), TypeError);
});

test("the codes are those of the Rust verifier", () => {
  const source = packageFile("../../attest/src/verify_error.rs");
  const theirs = [...source.matchAll(/=> "([a-z0-9-]+)",/g)].map(([, name]) => name);
  assert(theirs.length > 20);
  // Of pruned seals, which this library does not take.
  const others = theirs.filter((code) => code !== "other-key-set" && code !== "not-in-log");
  assert.equal(others.length, theirs.length - 2);
  assert.deepEqual(others, [...VERIFY_ERROR_CODES]);
});
