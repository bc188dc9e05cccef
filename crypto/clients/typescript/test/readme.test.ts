/** The examples of the README that stand by themselves run as written. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { LogError, type Seal, verify } from "trefoil-attest";

import { seal, VECTORS } from "./consistency-vectors.js";
import { FULL, hex, MANIFEST, NOW, packageFile, policy, TESTDATA } from "./testdata.js";

interface Example {
  authenticate(attestation: Uint8Array, nonce: Uint8Array, now?: number): Uint8Array | undefined;
}

interface Comparison {
  compare(one: Seal, other: Seal, getJson: (path: string) => Promise<object>): Promise<void>;
}

/** Example `number`, as a module beside this file, so that the package resolves by its name. */
async function example(number: number, mentions: string): Promise<unknown> {
  const examples = [...packageFile("README.md").matchAll(/```js\n([^]*?)```/g)];
  const source = examples[number]?.[1];
  assert(source !== undefined && source.includes(mentions));
  const module = new URL(`readme-example-${number}.mjs`, import.meta.url);
  writeFileSync(module, source);
  return import(module.href);
}

test("the first example gives the account of the vectors and nothing for anything else", async (context) => {
  // It reads its trust root from the working directory.
  const directory = process.cwd();
  process.chdir(fileURLToPath(TESTDATA));
  const { authenticate } = (await example(0, "verify(")) as Example;
  process.chdir(directory);

  const warn = context.mock.method(console, "warn", () => undefined);
  const nonce = hex(MANIFEST.nonce);
  assert.deepEqual(authenticate(FULL, nonce, NOW), verify(FULL, policy(), NOW).statement.account);
  assert.equal(warn.mock.callCount(), 0);
  assert.equal(authenticate(FULL, new Uint8Array(32), NOW), undefined);
  assert.match(String(warn.mock.calls[0]?.arguments[0]), /refused \(nonce\)/);
  assert.equal(authenticate(FULL, nonce), undefined, "expired by the present clock");
});

test("the example of two seals asks the service for their proofs", async () => {
  const { compare } = (await example(3, "verifySameLog(")) as Comparison;
  const asked: string[] = [];
  for (const { one, other, consistency, inclusion, expect } of VECTORS.pairs) {
    const getJson = async (path: string): Promise<object> => {
      asked.push(path);
      return path.includes("inclusion") ? { path: inclusion } : { proof: consistency };
    };
    // What the example does not ask for, or the vectors do not have, is another case.
    if (one === other || one.endsWith("0") || other.endsWith("0")) continue;
    const compared = compare(seal(one), seal(other), getJson);
    if (expect === "same-log") await compared;
    else await assert.rejects(compared, (error) => error instanceof LogError && error.code === expect);
  }
  assert(asked.includes("/v1/log/consistency/2/7") && asked.includes("/v1/log/inclusion/2/7"));
  asked.length = 0;
  await compare(seal("a6"), seal("a6"), () => assert.fail("there is nothing to prove of one seal"));
  await compare(seal("a0"), seal("a1"), async (path) => (asked.push(path), { path: [] }));
  assert.deepEqual(asked, ["/v1/log/inclusion/0/1"]);
});
