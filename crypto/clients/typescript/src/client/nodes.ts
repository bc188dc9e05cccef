/** The nodes of a fleet for callers that reach each of them. */

import { sha3_256 } from "@noble/hashes/sha3.js";

/**
 * The nodes of a fleet in the order in which to ask them about the subject with this handle. A name is any text that all callers use for
 * the node, such as its address. Every node answers for every subject, and one that has the subject's template in memory answers a little
 * sooner: ask the first, and the next if it cannot be reached. A node that leaves or joins moves its own subjects only. Nothing is sent
 * for it. Rendezvous hashing (Thaler and Ravishankar, 1998): by descending SHA3-256 of domain, length of the name, name and handle.
 */
export function nodesInOrder(names: readonly string[], handle: Uint8Array): string[] {
  const encoder = new TextEncoder();
  const weighed = names.map((name) => {
    const text = encoder.encode(name);
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
    const parts = sha3_256.create().update(encoder.encode("trefoil/node/1")).update(length).update(text).update(handle);
    return { name, weight: parts.digest() };
  });
  return weighed.sort((one, other) => descending(one.weight, other.weight)).map(({ name }) => name);
}

function descending(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, place) => byte !== other[place]);
  return at < 0 ? 0 : (other[at] ?? 0) - (one[at] ?? 0);
}
