/** Trust roots: the text form and the binary form say the same; anything else is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { DecodeError, JsonError, TrustRoot, verify } from "trefoil-attest";

import { toHex } from "../src/bytes.js";
import { binary, FULL, NOW, policy, text, TRUST_ROOT } from "./testdata.js";

const JSON_TEXT = text("trust-root.json");

test("the binary form verifies like the text form", () => {
  const root = TrustRoot.decode(binary());
  assert.deepEqual(root, TRUST_ROOT);
  assert.equal(verify(FULL, policy({ trustRoot: root }), NOW).statement.decision, "match");
});

test("statuses read alike from both forms", () => {
  assert.deepEqual(
    TrustRoot.decode(binary({ status: [2n, 1_800_000_010n] })),
    TrustRoot.fromJson(text("trust-root-revoked.json")),
  );
  const retired = TrustRoot.fromJson(text("trust-root-retired.json"));
  const since = retired.keySets[0]?.status;
  assert(since?.state === "retired");
  assert.deepEqual(TrustRoot.decode(binary({ status: [1n, since.since] })), retired);
});

test("other binary forms are refused", () => {
  const whole = binary();
  const refused: readonly Uint8Array[] = [
    Uint8Array.of(...whole, 0),
    binary({ copies: 0 }),
    binary({ copies: 2 }),
    binary({ copies: 65 }),
    binary({ status: [0n, 1n] }),
    binary({ status: [3n, 0n] }),
    binary({ notAfter: 0n }),
    binary({ issuer: "" }),
    binary({ issuer: "a\nb" }),
    binary({ issuer: "i".repeat(256) }),
    new Uint8Array(320 * 1024 + 1),
  ];
  for (const [index, bytes] of refused.entries()) {
    assert.throws(() => TrustRoot.decode(bytes), DecodeError, `case ${index}`);
  }
  for (let end = 0; end < whole.length; end += 1) {
    assert.throws(() => TrustRoot.decode(whole.subarray(0, end)), DecodeError, `${end} bytes`);
  }
});

test("other text forms are refused", () => {
  const [, id = "", key = ""] = /"id": "(\w+)"[^}]*"slh-dsa-sha2-128f": "([\w-]+)"/.exec(JSON_TEXT) ?? [];
  const edits: readonly (readonly [string, string])[] = [
    ['"format"', '"version"'],
    ["trefoil:trust-root/1", "trefoil:trust-root/2"],
    ['"issuer": "https://auth.example"', '"issuer": ""'],
    ['"issuer": "https://auth.example"', '"issuer": "a\\u0007"'],
    ['"issuer": "https://auth.example"', '"issuer": "\\ud800"'],
    ['"issuer": "https://auth.example"', '"issuer": 7'],
    ['"issuer": "https://auth.example"', '"issuer": "a", "issuer": "https://auth.example"'],
    ['"issuer": "https://auth.example"', '"issuer": "https://auth.example", "extra": null'],
    ['"issuer": "https://auth.example"', '"issuer": "https://auth.example", "__proto__": null'],
    ['"status": "active"', '"status": "trusted"'],
    ['"status": "active"', '"status": "active", "since": 5'],
    ['"status": "active"', '"status": "retired"'],
    ['"status": "active"', '"status": "revoked", "since": null'],
    ['"status": "active"', '"status": "revoked", "since": 1.0'],
    ['"status": "active"', '"status": "revoked", "since": -1'],
    ['"status": "active"', '"status": "revoked", "since": 18446744073709551616'],
    ['"not_before": 1', '"not_before": 01'],
    ['"not_before": 1', '"not_before": 2'],
    [id, id.toUpperCase()],
    [key, `${key}=`],
    [key, key.slice(1)],
    [key, `${key}A`],
    [key, key.replace(/.$/, "_")],
    ["}\n  ]", "},\n  ]"],
    ["}\n  ]", "}\n  ]]"],
    ["{\n  ", "\ufeff{\n  "],
    ["{\n  ", "[{\n  "],
    ["trefoil:trust-root/1", `trefoil:trust-root/1${" ".repeat(512 * 1024)}`],
  ];
  for (const [found, replacement] of edits) {
    assert(JSON_TEXT.includes(found), found);
    const changed = JSON_TEXT.replace(found, () => replacement);
    assert.throws(() => TrustRoot.fromJson(changed), JsonError, `${found} -> ${replacement.slice(0, 60)}`);
  }
  for (let end = 0; end < JSON_TEXT.trimEnd().length; end += 7) {
    assert.throws(() => TrustRoot.fromJson(JSON_TEXT.slice(0, end)), JsonError, `${end} characters`);
  }
  assert.throws(() => TrustRoot.fromJson("[".repeat(100_000)), JsonError);
  assert.throws(() => TrustRoot.fromJson('{"a":'.repeat(100_000)), JsonError);
});

test("numbers beyond 2^53 stay exact", () => {
  const changed = JSON_TEXT.replace('"status": "active"', '"status": "revoked", "since": 18446744073709551615');
  assert.deepEqual(TrustRoot.fromJson(changed).keySets[0]?.status, { state: "revoked", since: 2n ** 64n - 1n });
});

test("a key set is found by its identifier", () => {
  const [keys] = TRUST_ROOT.keySets;
  assert(keys !== undefined && JSON_TEXT.includes(toHex(keys.id)));
  assert.equal(TRUST_ROOT.keySet(keys.id), keys);
  assert.equal(TRUST_ROOT.keySet(new Uint8Array(32)), undefined);
});
