/** Inclusion against the RFC's recursive definitions and the known roots of Certificate Transparency. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { leafHash, rootFromPath, verifyInclusion } from "../src/tree.js";
import { mth, pathOf } from "./rfc9162.js";
import { hex } from "./testdata.js";

/**
 * Entries and roots that every Certificate Transparency implementation tests with (`testonly/constants.go` of
 * transparency-dev/merkle): root `n` is that of the first `n` entries.
 */
const ENTRIES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

test("roots are those of Certificate Transparency", () => {
  const leaves = ENTRIES.map((entry) => leafHash(hex(entry)));
  for (const [index, root] of ROOTS.entries()) {
    assert.deepEqual(Buffer.from(mth(leaves.slice(0, index + 1))).toString("hex"), root);
    for (const [at, entry] of ENTRIES.slice(0, index + 1).entries()) {
      const path = pathOf(at, leaves.slice(0, index + 1));
      assert(verifyInclusion(hex(entry), BigInt(at), BigInt(index + 1), path, hex(root)));
    }
  }
});

test("every leaf of every size up to 66 is included and nothing else", () => {
  for (let size = 1; size <= 66; size += 1) {
    const entries = Array.from({ length: size }, (_, index) => Uint8Array.of(index));
    const leaves = entries.map(leafHash);
    const root = mth(leaves);
    for (const [index, entry] of entries.entries()) {
      const path = pathOf(index, leaves);
      const included = (at: bigint, nodes: readonly Uint8Array[]): boolean =>
        verifyInclusion(entry, at, BigInt(size), nodes, root);
      assert(included(BigInt(index), path), `leaf ${index} of ${size}`);
      assert(size === 1 || !included(BigInt(index ^ 1), path));
      assert(!included(BigInt(index + size), path));
      assert(!included(-1n, path));
      assert(!included(BigInt(index), [...path, new Uint8Array(32)]));
      assert(size === 1 || !included(BigInt(index), path.slice(0, -1)));
      assert(!verifyInclusion(Uint8Array.of(index, 0), BigInt(index), BigInt(size), path, root));
    }
  }
});

test("absurd sizes, which only an attacker names, are refused", () => {
  const node = new Uint8Array(32).fill(1);
  for (const size of [(1n << 64n) - 1n, (1n << 64n) - 2n, 1n << 63n]) {
    for (const index of [0n, 1n, size / 2n, size - 1n]) {
      assert.equal(rootFromPath(node, index, size, []), undefined);
      assert(!verifyInclusion(node, index, size, Array.from({ length: 63 }, () => node), node));
    }
  }
  assert.equal(rootFromPath(node, 0n, 0n, []), undefined);
});
