/** Versions of a trust root: the shared cases, with the same outcomes as the other verifiers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { acceptTrustRoot, DecodeError, JsonError, TrustRoot, UPDATE_ERROR_CODES, UpdateError } from "trefoil-attest";

import { bytes, text } from "./testdata.js";

interface RotationCase {
  readonly name: string;
  readonly pinned: string;
  readonly next: string;
  readonly expect: string;
}

const { cases } = JSON.parse(text("rotation.json")) as { readonly cases: readonly RotationCase[] };

function decide(pinned: TrustRoot, next: TrustRoot): string {
  try {
    acceptTrustRoot(pinned, next);
    return "accepted";
  } catch (error) {
    assert(error instanceof UpdateError, String(error));
    return error.code;
  }
}

for (const { name, pinned, next, expect } of cases) {
  test(name, () => {
    assert.equal(decide(TrustRoot.decode(bytes(pinned)), TrustRoot.decode(bytes(next))), expect);
  });
}

test("every code of a refusal occurs in the cases", () => {
  assert.deepEqual(new Set(cases.map((one) => one.expect)), new Set(["accepted", ...UPDATE_ERROR_CODES]));
});

test("a later version in text form reads like its binary form", () => {
  const root = TrustRoot.decode(bytes(cases[0]?.next ?? ""));
  const json = text("trust-root-2.json");
  assert.deepEqual(TrustRoot.fromJson(json), root);
  for (const [from, to] of [
    ['"version": 2', '"version": 1'],
    [',\n  "version": 2', ""],
    ['"previous": "', '"previous": "A'],
    ['"cosignatures": [', '"cosignatures": [{},'],
    ['"key_set": "', '"key_set": "0'],
  ] as const) {
    assert(json.includes(from), from);
    assert.throws(() => TrustRoot.fromJson(json.replace(from, to)), JsonError, from);
  }
  const whole = bytes(cases[0]?.next ?? "");
  for (let end = whole.length - 1; end > 0; end -= 997) {
    assert.throws(() => TrustRoot.decode(whole.subarray(0, end)), DecodeError);
  }
});
