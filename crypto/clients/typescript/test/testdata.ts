/** The vectors that all verifiers of these formats share, and what the tests make of them. */

import { readFileSync } from "node:fs";

import { Policy, type Requirements, TrustRoot } from "trefoil-attest";

/** From the compiled file, `dist/test/testdata.js`. */
const PACKAGE = new URL("../../", import.meta.url);
export const TESTDATA = new URL("../../attest/testdata/", PACKAGE);

export function packageFile(name: string): string {
  return readFileSync(new URL(name, PACKAGE), "utf8");
}

export function text(name: string): string {
  return readFileSync(new URL(name, TESTDATA), "utf8");
}

export function bytes(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(name, TESTDATA)));
}

export function hex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, "hex"));
}

export interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export interface Case {
  readonly name: string;
  readonly base: string;
  readonly edits: readonly Edit[];
  readonly trust_root: string;
  readonly seal: boolean;
  readonly expect: string;
  readonly now?: number;
  readonly audience?: string;
  readonly nonce?: string;
}

export interface Manifest {
  readonly now: number;
  readonly audience: string;
  readonly nonce: string;
  readonly cases: readonly Case[];
}

export const MANIFEST = JSON.parse(text("cases.json")) as Manifest;
export const NOW = MANIFEST.now;
export const FULL = bytes("full.cbor");
export const TRUST_ROOT = TrustRoot.fromJson(text("trust-root.json"));

export function edited(original: Uint8Array, edits: readonly Edit[]): Uint8Array {
  let result: Uint8Array = original;
  for (const { at, remove, insert } of edits) {
    result = Uint8Array.from([...result.subarray(0, at), ...hex(insert), ...result.subarray(at + remove)]);
  }
  return result;
}

/** The policy of the vectors, with changes. */
export function policy(changes: Partial<Requirements> = {}): Policy {
  const { audience, nonce } = MANIFEST;
  return new Policy({ trustRoot: TRUST_ROOT, audience, nonce: hex(nonce), ...changes });
}
