/**
 * The three families against the published vectors of `crypto/sign/testdata` (sources in its `PROVENANCE.md`). Cases
 * with a context or of the internal interface go to the library itself: `Family.verifies` has the empty context.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { slh_dsa_sha2_128f } from "@noble/post-quantum/slh-dsa.js";

import { FALCON_512, FAMILIES, type Family, ML_DSA_65, SLH_DSA_SHA2_128F } from "../src/family.js";
import { hex, TESTDATA } from "./testdata.js";

type Fields = Readonly<Record<string, string | boolean | undefined>>;

function load(name: string): readonly Fields[] {
  const file = readFileSync(new URL(`../../sign/testdata/${name}.json.gz`, TESTDATA));
  const { cases } = JSON.parse(gunzipSync(file).toString()) as { cases: readonly Fields[] };
  assert(cases.length > 0, `${name} has no case`);
  return cases;
}

function field(vector: Fields, name: string): Uint8Array {
  return hex(String(vector[name] ?? ""));
}

type Scheme = typeof ml_dsa65 | typeof slh_dsa_sha2_128f;

interface Signed {
  readonly key: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  readonly context: Uint8Array;
  readonly internal: boolean;
}

/** A context beyond 255 bytes is no context: the library throws. */
function accepts(family: Family, scheme: Scheme, signed: Signed): boolean {
  const { key, message, signature, context, internal } = signed;
  if (internal) return scheme.internal.verify(signature, message, key);
  if (context.length === 0) return family.verifies(key, message, signature);
  return context.length < 256 && scheme.verify(signature, message, key, { context });
}

function acvp(vector: Fields, key = field(vector, "pk")): Signed {
  return {
    key,
    message: field(vector, "message"),
    signature: field(vector, "signature"),
    context: field(vector, "context"),
    internal: vector["interface"] === "internal",
  };
}

test("ML-DSA-65 decides NIST's verification cases as published", () => {
  for (const vector of load("acvp_ml_dsa_65_sigver")) {
    assert.equal(accepts(ML_DSA_65, ml_dsa65, acvp(vector)), vector["testPassed"], `case ${vector["tcId"]}`);
  }
});

test("ML-DSA-65 decides Wycheproof's verification cases as published", () => {
  for (const vector of load("wycheproof_ml_dsa_65_verify")) {
    const signed = {
      key: field(vector, "publicKey"),
      message: field(vector, "msg"),
      signature: field(vector, "sig"),
      context: field(vector, "ctx"),
      internal: false,
    };
    const valid = vector["result"] === "valid";
    assert.equal(accepts(ML_DSA_65, ml_dsa65, signed), valid, `case ${vector["tcId"]}: ${vector["comment"]}`);
  }
});

test("SLH-DSA-SHA2-128f decides NIST's verification cases as published", () => {
  for (const vector of load("acvp_slh_dsa_sha2_128f_sigver")) {
    const accepted = accepts(SLH_DSA_SHA2_128F, slh_dsa_sha2_128f, acvp(vector));
    assert.equal(accepted, vector["testPassed"], `case ${vector["tcId"]}`);
  }
});

test("SLH-DSA-SHA2-128f accepts NIST's signatures", () => {
  for (const vector of load("acvp_slh_dsa_sha2_128f_siggen")) {
    // FIPS 205 section 9.1: the secret key ends with the public key.
    const signed = acvp(vector, field(vector, "sk").subarray(32));
    assert(accepts(SLH_DSA_SHA2_128F, slh_dsa_sha2_128f, signed), `case ${vector["tcId"]}`);
  }
});

/**
 * The submission's signed message, length (2) | nonce (40) | message | 0x29 | compressed, in the padded form:
 * 0x39 | nonce | compressed | zeros.
 */
function padded(signedMessage: Uint8Array, messageBytes: number): Uint8Array {
  const signature = new Uint8Array(FALCON_512.signatureBytes);
  assert.equal(signedMessage[42 + messageBytes], 0x29);
  signature[0] = 0x39;
  signature.set(signedMessage.subarray(2, 42), 1);
  signature.set(signedMessage.subarray(43 + messageBytes), 41);
  return signature;
}

test("Falcon-512 accepts the signatures of the round-3 submission, padded, and no other encoding of them", () => {
  for (const vector of load("falcon_512_round3")) {
    const [key, message] = [field(vector, "pk"), field(vector, "msg")];
    const signature = padded(field(vector, "sm"), message.length);
    assert(FALCON_512.verifies(key, message, signature), `case ${vector["count"]}`);
    assert(!FALCON_512.verifies(key, message.subarray(1), signature));
    for (const [at, value] of [[0, 0x29], [665, signature[665] === 1 ? 2 : 1]] as const) {
      const changed = new Uint8Array(signature);
      changed[at] = value;
      assert(!FALCON_512.verifies(key, message, changed), `case ${vector["count"]}, byte ${at}`);
    }
  }
});

test("Falcon-512 accepts PQClean's padded signature, which precedes its message", () => {
  for (const vector of load("falcon_512_padded")) {
    const [signed, message] = [field(vector, "sm"), field(vector, "msg")];
    const signature = signed.subarray(0, FALCON_512.signatureBytes);
    assert.deepEqual(signed.subarray(FALCON_512.signatureBytes), message);
    assert(FALCON_512.verifies(field(vector, "pk"), message, signature));
  }
});

test("keys and signatures of other lengths and undecodable ones are refused without an exception", () => {
  const message = Uint8Array.of(1, 2, 3);
  for (const { id, publicKeyBytes, signatureBytes, verifies } of FAMILIES) {
    for (const [key, signature] of [[-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]] as const) {
      for (const fill of [0, 0xff]) {
        const publicKey = new Uint8Array(publicKeyBytes + key).fill(fill);
        assert(!verifies(publicKey, message, new Uint8Array(signatureBytes + signature).fill(fill)), id);
      }
    }
  }
});
