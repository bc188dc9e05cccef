/** The vectors that all verifiers of these formats share, and what the tests make of them. */

import { readFileSync } from "node:fs";

import { Policy, type Requirements, TrustRoot } from "trefoil-attest";

import { Writer } from "../src/cbor.js";
import { FAMILIES } from "../src/family.js";

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

export function json(name: string): unknown {
  return JSON.parse(text(name));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
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
  readonly tenant?: string;
  readonly account_key?: string;
  readonly device?: string;
  readonly accept_no_proof?: boolean;
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

export interface Changes {
  readonly issuer?: string;
  readonly copies?: number;
  readonly status?: readonly [bigint, bigint];
  readonly notBefore?: bigint;
  readonly notAfter?: bigint;
}

/** The binary form of the vectors' trust root, with changes. */
export function binary(changes: Changes = {}): Uint8Array {
  const [keys] = TRUST_ROOT.keySets;
  if (keys === undefined) throw new Error("the vectors' trust root has no key set");
  const { issuer = TRUST_ROOT.issuer, copies = 1, status = [0n, 0n] } = changes;
  const { notBefore = keys.notBefore, notAfter = keys.notAfter } = changes;
  const w = new Writer().array(3).text("trefoil:trust-root/1").text(issuer).array(copies);
  for (let copy = 0; copy < copies; copy += 1) {
    w.array(3).array(6).text("trefoil:key-set/1");
    for (const { id } of FAMILIES) w.bytes(keys.publicKeys[id]);
    w.uint(notBefore).uint(notAfter);
    w.uint(status[0]).uint(status[1]);
  }
  return w.finish();
}
