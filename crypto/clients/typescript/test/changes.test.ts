/** The shared vectors of receipts, with the same outcomes as the other verifiers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { consentDigest, Seal, TrustRoot, type VerifiedChange, VerifyError, verifyChange } from "trefoil-attest";

import { verifyChangeWithSeal } from "../src/change.js";
import { bytes, edited, hex, json, text, toHex } from "./testdata.js";

interface Case {
  readonly name: string;
  readonly base: string;
  readonly seal: boolean;
  readonly edits: { readonly at: number; readonly remove: number; readonly insert: string }[];
  readonly trust_root: string;
  readonly tenant?: string;
  readonly now?: number;
  readonly expect: string;
  readonly change?: Record<string, string | number>;
}

const MANIFEST = json("changes.json") as {
  readonly now: number;
  readonly tenant: string;
  readonly compact: Readonly<Record<string, string>>;
  readonly cases: readonly Case[];
};
const SEAL = Seal.decode(bytes("changes-seal.cbor"));

function decide(vector: Case): VerifiedChange | string {
  const compact = MANIFEST.compact[vector.base];
  const receipt = edited(compact === undefined ? bytes(vector.base) : hex(compact), vector.edits);
  const root = TrustRoot.fromJson(text(vector.trust_root));
  // The service's own receipts are of no tenant.
  const tenant = vector.tenant === "" ? undefined : hex(vector.tenant ?? MANIFEST.tenant);
  const now = vector.now ?? MANIFEST.now;
  try {
    if (vector.seal) return verifyChangeWithSeal(receipt, SEAL, root, tenant, now);
    return verifyChange(receipt, root, tenant, now);
  } catch (error) {
    assert(error instanceof VerifyError, String(error));
    return error.code;
  }
}

/** As the vectors write it. */
function told({ change }: VerifiedChange): Record<string, string | number> {
  const by = change.by && { by_operator: change.by.operator, by_name: change.by.name };
  const fields = { ...change.what, ...by, changed_at: change.changedAt, tenant: change.tenant, salt: change.salt };
  const named = Object.entries(fields).map(([name, value]) => {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (value instanceof Uint8Array) return [snake, toHex(value)];
    return [snake, typeof value === "bigint" ? Number(value) : value];
  });
  return Object.fromEntries(named);
}

for (const vector of MANIFEST.cases) {
  test(`receipt: ${vector.name}`, () => {
    const decided = decide(vector);
    if (typeof decided === "string") assert.equal(decided, vector.expect);
    else assert.deepEqual({ expect: "verified", change: told(decided) }, { expect: vector.expect, change: vector.change });
  });
}

test("the manifest of receipts has cases of every kind", () => {
  const verified = MANIFEST.cases.filter((vector) => vector.expect === "verified");
  assert.equal(verified.length, 27);
  assert(MANIFEST.cases.length > 1000);
  const enrolled = MANIFEST.cases.find((vector) => vector.name === "enrolled");
  assert.equal(enrolled?.change?.["consent"], toHex(consentDigest("form 7")));
});
