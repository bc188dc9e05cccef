/** Devices and successions: the shared vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { VerifyError, verifySuccession } from "trefoil-attest";

import { deviceSigned } from "../src/device.js";
import { decodeStatement } from "../src/statement.js";
import { type Edit, edited, hex, json, toHex } from "./testdata.js";

interface Vectors {
  readonly keys: readonly { readonly seed: string; readonly public_key: string }[];
  readonly signed: readonly { readonly seed: string; readonly statement: string; readonly signature: string }[];
  readonly succession: { readonly bytes: string; readonly new_account: string; readonly new_account_key: string };
  readonly successions: readonly {
    readonly name: string;
    readonly account: string;
    readonly account_key: string;
    readonly edits: readonly Edit[];
    readonly expect: string;
  }[];
}

const { keys, signed, succession, successions } = json("device.json") as Vectors;

test("a device's signature is over its own statement only", () => {
  const statements = signed.map(({ statement }) => decodeStatement(hex(statement)));
  for (const [place, { seed, signature }] of signed.entries()) {
    const publicKey = hex(keys.find((key) => key.seed === seed)?.public_key ?? "");
    const verified = statements.map((statement) => deviceSigned(statement, { publicKey, signature: hex(signature) }));
    assert.deepEqual(verified, signed.map((_, other) => other === place));
  }
});

for (const { name, account, account_key, edits, expect } of successions) {
  test(`succession: ${name}`, () => {
    const bytes = edited(hex(succession.bytes), edits);
    let outcome = "verified";
    try {
      const next = verifySuccession(bytes, { account: hex(account), accountKey: hex(account_key) });
      assert.deepEqual([next.account, next.accountKey].map(toHex), [succession.new_account, succession.new_account_key]);
    } catch (error) {
      assert(error instanceof VerifyError, String(error));
      outcome = error.code;
    }
    assert.equal(outcome, expect);
  });
}
