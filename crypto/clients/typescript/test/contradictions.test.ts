/** The shared vectors of contradictions: every pair verifies, and is related as by the other verifiers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  compare,
  DANGEROUS_ANY_NONCE,
  Policy,
  RELATIONS,
  type Relation,
  Seal,
  TrustRoot,
  type Verified,
  verifyWithSeal,
} from "trefoil-attest";

import { decodeAttestation } from "../src/attestation.js";
import { decodeStatement } from "../src/statement.js";
import { hex, text } from "./testdata.js";

interface Attested {
  readonly bytes: string;
  readonly seal: number;
  readonly trust_root: string;
}

const VECTORS = JSON.parse(text("contradictions.json")) as {
  readonly now: number;
  readonly seals: readonly string[];
  readonly attestations: Readonly<Record<string, Attested>>;
  readonly pairs: readonly { readonly one: string; readonly other: string; readonly expect: string }[];
};

function verified(name: string): Verified {
  const attested = VECTORS.attestations[name];
  assert(attested !== undefined, name);
  const attestation = hex(attested.bytes);
  const { audience } = decodeStatement(decodeAttestation(attestation).statement);
  const policy = new Policy({
    trustRoot: TrustRoot.fromJson(text(attested.trust_root)),
    audience,
    nonce: DANGEROUS_ANY_NONCE,
    decision: "any",
    acceptNoProof: true,
  });
  return verifyWithSeal(attestation, Seal.decode(hex(VECTORS.seals[attested.seal] ?? "")), policy, VECTORS.now);
}

test("every pair is related as stated, in any order", () => {
  const seen = new Set<Relation>();
  for (const { one, other, expect } of VECTORS.pairs) {
    const [left, right] = [verified(one), verified(other)];
    const relation = compare(left, right);
    assert.equal(relation, expect, `${one}, ${other}`);
    assert.equal(compare(right, left), relation);
    seen.add(relation);
  }
  assert.deepEqual([...seen].sort(), [...RELATIONS].sort());
});

test("a proof differs in any of its fields, and what is not verified is not compared", () => {
  const one = verified("match");
  const { statement } = one;
  assert(statement.proof !== undefined);
  const changes = [{ circuit: 9 }, { level: 9 }, { epoch: 9 }, { root: new Uint8Array(32) }];
  for (const change of changes) {
    // Nobody but this test makes one without `verify`.
    const changed: unknown = Object.assign(Object.create(Object.getPrototypeOf(one)), {
      statement: { ...statement, proof: { ...statement.proof, ...change } },
      statementDigest: new Uint8Array(32),
    });
    assert.equal(compare(one, changed as Verified), "contradiction-session", JSON.stringify(change));
  }
  // A copy of its fields is not it.
  assert.throws(() => compare(one, { ...one }), TypeError);
});
