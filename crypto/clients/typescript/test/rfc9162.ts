/** Trees and proofs by the recursive definitions of RFC 9162, over leaf hashes. */

import assert from "node:assert/strict";

import { nodeHash } from "../src/tree.js";

/** The largest power of two below `size`. */
function split(size: number): number {
  let width = 1;
  while (2 * width < size) width *= 2;
  return width;
}

/** MTH of section 2.1.1. */
export function mth(leaves: readonly Uint8Array[]): Uint8Array {
  const [leaf] = leaves;
  assert(leaf !== undefined);
  if (leaves.length === 1) return leaf;
  const middle = split(leaves.length);
  return nodeHash(mth(leaves.slice(0, middle)), mth(leaves.slice(middle)));
}

/** PATH of section 2.1.3.1. */
export function pathOf(index: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (leaves.length === 1) return [];
  const middle = split(leaves.length);
  const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)];
  return index < middle ? [...pathOf(index, left), mth(right)] : [...pathOf(index - middle, right), mth(left)];
}

/** SUBPROOF of section 2.1.4.1; PROOF with `known` as it is. */
export function subproof(size: number, leaves: readonly Uint8Array[], known = true): Uint8Array[] {
  if (size === leaves.length) return known ? [] : [mth(leaves)];
  const middle = split(leaves.length);
  const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)];
  return size <= middle
    ? [...subproof(size, left, known), mth(right)]
    : [...subproof(size - middle, right, false), mth(left)];
}
