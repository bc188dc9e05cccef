/** Inclusion in the Merkle tree of RFC 9162 section 2.1 with SHA-256. */

import { sha256 } from "@noble/hashes/sha2.js";

import { equal } from "./bytes.js";

/** Longest path of a tree with at most 2^63 leaves. */
export const PATH_MAX = 63;
/** Bytes of a node. */
export const HASH_BYTES = 32;

/** Root of the tree without leaves: SHA-256 of nothing (RFC 9162 section 2.1.1). */
export const EMPTY_ROOT: Uint8Array = sha256(new Uint8Array());

/** Hash of a leaf: SHA-256(0x00 | entry). */
export function leafHash(entry: Uint8Array): Uint8Array {
  return sha256.create().update(Uint8Array.of(0)).update(entry).digest();
}

/** Hash of an inner node: SHA-256(0x01 | left | right). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256.create().update(Uint8Array.of(1)).update(left).update(right).digest();
}

/**
 * The root that `path` leads to from a leaf (RFC 9162 section 2.1.3.2); none where the path has the wrong length or
 * the index lies outside the tree.
 */
export function rootFromPath(
  leaf: Uint8Array,
  leafIndex: bigint,
  size: bigint,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  if (leafIndex < 0n || leafIndex >= size) return undefined;
  let index = leafIndex;
  let last = size - 1n;
  let hash = leaf;
  for (const sibling of path) {
    if (last === 0n) return undefined;
    if ((index & 1n) === 1n || index === last) {
      hash = nodeHash(sibling, hash);
      while ((index & 1n) === 0n && index !== 0n) {
        index >>= 1n;
        last >>= 1n;
      }
    } else {
      hash = nodeHash(hash, sibling);
    }
    index >>= 1n;
    last >>= 1n;
  }
  return last === 0n ? hash : undefined;
}

/** Whether `entry` is leaf `leafIndex` of the tree of `size` leaves with this root. */
export function verifyInclusion(
  entry: Uint8Array,
  leafIndex: bigint,
  size: bigint,
  path: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  const computed = rootFromPath(leafHash(entry), leafIndex, size, path);
  return computed !== undefined && equal(computed, root);
}
