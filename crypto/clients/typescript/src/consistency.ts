/** Consistency of two heads of a log: two sizes and roots of a tree of RFC 9162 section 2.1 with SHA-256. */

import { equal, isBytes } from "./bytes.js";
import { HASH_BYTES, nodeHash } from "./tree.js";

/** Sizes are unsigned numbers of 64 bits. */
const SIZE_END = 1n << 64n;
/** Longest proof between such sizes: a node for each level, and the one that a consistency proof begins with. */
const PROOF_MAX = 65;

/** A node of a proof: its bytes, or the hexadecimal digits in an answer of the service. */
export type ProofNode = Uint8Array | string;

/**
 * Whether the tree of `size` leaves with root `root` extends the one of `oldSize` leaves with root `oldRoot` (RFC 9162
 * section 2.1.4.2). The nodes have 32 bytes each; a proof with any others connects nothing.
 */
export function verifyConsistency(
  oldSize: bigint,
  oldRoot: Uint8Array,
  size: bigint,
  root: Uint8Array,
  proof: readonly ProofNode[],
): boolean {
  // A `number` beyond 2^53 is not the size that was written.
  if (typeof oldSize !== "bigint" || typeof size !== "bigint") throw new TypeError("sizes must be bigint");
  if (oldSize <= 0n || oldSize > size || size >= SIZE_END) return false;
  const nodes = proofNodes(proof);
  if (nodes === undefined || !isNode(oldRoot) || !isNode(root)) return false;
  if (oldSize === size) return nodes.length === 0 && equal(oldRoot, root);
  // Step 2: a perfect old tree is a node of the new one and is not repeated in the proof.
  const [seed, ...rest] = (oldSize & (oldSize - 1n)) === 0n ? [oldRoot, ...nodes] : nodes;
  if (seed === undefined) return false;
  let first = oldSize - 1n;
  let second = size - 1n;
  while ((first & 1n) === 1n) {
    first >>= 1n;
    second >>= 1n;
  }
  let [oldHash, newHash] = [seed, seed];
  for (const node of rest) {
    if (second === 0n) return false;
    if ((first & 1n) === 1n || first === second) {
      oldHash = nodeHash(node, oldHash);
      newHash = nodeHash(node, newHash);
      while ((first & 1n) === 0n && first !== 0n) {
        first >>= 1n;
        second >>= 1n;
      }
    } else {
      newHash = nodeHash(newHash, node);
    }
    first >>= 1n;
    second >>= 1n;
  }
  return second === 0n && equal(oldHash, oldRoot) && equal(newHash, root);
}

/** A proof as bytes; none where it is longer than any, or has something else than nodes in it. */
export function proofNodes(proof: readonly ProofNode[]): Uint8Array[] | undefined {
  if (proof.length > PROOF_MAX) return undefined;
  const nodes = proof.map((node) => (typeof node === "string" ? fromHex(node) : node));
  return nodes.every(isNode) ? nodes : undefined;
}

function isNode(value: unknown): value is Uint8Array {
  return isBytes(value) && value.length === HASH_BYTES;
}

/** The one form in which the service writes a node. */
function fromHex(digits: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{64}$/.test(digits)) return undefined;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
