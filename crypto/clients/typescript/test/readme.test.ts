/** The first example of the README runs as written. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { verify } from "trefoil-attest";

import { FULL, hex, MANIFEST, NOW, packageFile, policy, TESTDATA } from "./testdata.js";

interface Example {
  authenticate(attestation: Uint8Array, nonce: Uint8Array, now?: number): Uint8Array | undefined;
}

test("the first example authenticates the subject of the vectors and nobody else", async (context) => {
  const [, source] = /```js\n([^]*?)```/.exec(packageFile("README.md")) ?? [];
  assert(source !== undefined && source.includes("verify("));
  // Beside this file, so that the package resolves by its name; it reads its trust root from the working directory.
  const module = new URL("readme-example.mjs", import.meta.url);
  writeFileSync(module, source);
  const directory = process.cwd();
  process.chdir(fileURLToPath(TESTDATA));
  const { authenticate } = (await import(module.href)) as Example;
  process.chdir(directory);

  const warn = context.mock.method(console, "warn", () => undefined);
  const nonce = hex(MANIFEST.nonce);
  assert.deepEqual(authenticate(FULL, nonce, NOW), verify(FULL, policy(), NOW).statement.handle);
  assert.equal(warn.mock.callCount(), 0);
  assert.equal(authenticate(FULL, new Uint8Array(32), NOW), undefined);
  assert.match(String(warn.mock.calls[0]?.arguments[0]), /refused \(nonce\)/);
  assert.equal(authenticate(FULL, nonce), undefined, "expired by the present clock");
});
