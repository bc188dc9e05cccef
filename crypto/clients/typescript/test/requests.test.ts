/** Probe digests, MACs and envelopes over the vectors that the service's own code made. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";

import { Proof, probeDigest } from "trefoil-attest/client";

import { toHex } from "../src/bytes.js";
import { embeddingBytes, sentEmbedding, signed } from "../src/client/login.js";
import { hex, TESTDATA } from "./testdata.js";

interface Body {
  readonly handle: string;
  readonly session_id: string;
  readonly audience: string;
  readonly nonce: string;
  readonly issued_at: number;
  readonly embedding?: string;
  readonly mac: string;
  readonly attestation: "full" | "compact";
}

interface Vectors {
  readonly probes: readonly { name: string; embedding: number[]; base64: string; int8?: string; digest: string }[];
  readonly requests: readonly { name: string; session_key: string; body: Body; request_digest: string }[];
  readonly unproven_requests: readonly {
    name: string;
    tenant: string;
    body: Pick<Body, "handle" | "audience" | "nonce" | "issued_at" | "attestation"> & { readonly embedding: string };
    request_digest: string;
  }[];
  readonly envelope: Record<string, string> & { head: string; zeros: number };
}

const FILE = new URL("../../../server/api/testdata/requests.json", TESTDATA);
const VECTORS = JSON.parse(readFileSync(FILE, "utf8")) as Vectors;

function base64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

function envelope(): Uint8Array {
  const { head, zeros } = VECTORS.envelope;
  return Uint8Array.from([...hex(head), ...new Uint8Array(zeros)]);
}

for (const { name, embedding, base64: text, int8, digest } of VECTORS.probes) {
  test(`probe digest of ${name}`, () => {
    assert.deepEqual(embeddingBytes(embedding), base64(text));
    assert.equal(toHex(probeDigest(embedding)), digest);
    assert.equal(toHex(probeDigest(Float32Array.from(embedding))), digest);
    assert.equal(toHex(probeDigest(base64(text))), digest);
    assert.equal(sentEmbedding(embedding), text);
    if (int8 === undefined) return;
    assert.equal(toHex(probeDigest(Int8Array.from(embedding))), digest);
    assert.deepEqual(sentEmbedding(Int8Array.from(embedding)), { int8 });
  });
}

let plain = 0;
for (const { name, session_key: key, body, request_digest: digest } of VECTORS.requests) {
  const { embedding } = body;
  if (embedding === undefined) continue;
  plain += 1;
  test(`request: ${name}`, () => {
    // A proof whose session has this key: in the envelope, the key follows the audience.
    const bytes = envelope();
    const at = 196 + (bytes[195] ?? 0);
    bytes.set(hex(key), at);
    const proof = new Proof(bytes);
    const of = {
      handle: hex(body.handle),
      sessionId: hex(body.session_id),
      audience: body.audience,
      mac: (...covered: Uint8Array[]) => proof.mac(...covered),
    };
    const made = signed(of, base64(embedding), hex(body.nonce), body.issued_at, body.attestation);
    assert.deepEqual(made.body, body);
    assert.equal(toHex(made.requestDigest), digest);
  });
}

for (const { name, tenant, body, request_digest: digest } of VECTORS.unproven_requests) {
  test(`request: ${name}`, () => {
    const subject = { tenant: hex(tenant), handle: hex(body.handle), audience: body.audience };
    const made = signed(subject, base64(body.embedding), hex(body.nonce), body.issued_at, body.attestation);
    assert.deepEqual(made.body, body);
    assert.equal(toHex(made.requestDigest), digest);
    assert.throws(() => signed({ ...subject, tenant: hex("00") }, base64(body.embedding), hex(body.nonce), 0, "full"), TypeError);
  });
}

test("the vectors have every kind of request", () =>
  assert(VECTORS.probes.some(({ int8 }) => int8 !== undefined) && VECTORS.unproven_requests.length >= 2 && plain >= 3 && VECTORS.requests.length > plain));

test("an envelope is read, shows no secret, and any other length is refused", () => {
  const expected = VECTORS.envelope;
  const bytes = envelope();
  const proof = new Proof(bytes);
  assert.deepEqual(
    [proof.tenant, proof.handle, proof.account, proof.sessionId].map(toHex),
    ["tenant", "handle", "account", "session_id"].map((name) => expected[name]),
  );
  assert.equal(proof.audience, expected["audience"]);
  assert.deepEqual(proof.envelope, bytes);
  assert.doesNotMatch(inspect(proof) + JSON.stringify(proof), /key|envelope/i);
  assert.throws(() => new Proof(bytes.subarray(1)), /wallet prove/);
  assert.throws(() => new Proof(bytes.subarray(0, -1)), /cut off/);
  assert.throws(() => new Proof(Uint8Array.from([...bytes, 0])), /something follows/);
  for (let length = 0; length < bytes.length - VECTORS.probes.length; length += length < 300 ? 1 : 1_009) {
    assert.throws(() => new Proof(bytes.subarray(0, length)), TypeError, String(length));
  }
});
