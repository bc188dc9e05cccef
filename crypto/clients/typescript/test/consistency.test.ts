/** The shared vectors of two heads and of two seals, and a thousand forks: decided as by the other verifiers. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { LOG_ERROR_CODES, LogError, Seal, VerifyError, verifyConsistency, verifySameLog, verifySeal } from "trefoil-attest";

import { leafHash, nodeHash } from "../src/tree.js";
import { seal, type Valid, VECTORS } from "./consistency-vectors.js";
import { mth, subproof } from "./rfc9162.js";
import { bytes, hex, TRUST_ROOT } from "./testdata.js";

function connects({ old_size, old_root, size, root, proof }: Valid): boolean {
  const decided = verifyConsistency(BigInt(old_size), hex(old_root), BigInt(size), hex(root), proof);
  const asBytes = verifyConsistency(BigInt(old_size), hex(old_root), BigInt(size), hex(root), proof.map(hex));
  assert.equal(decided, asBytes, "a proof says the same as text and as bytes");
  return decided;
}

function flipped(heads: Valid, bit: number): Valid {
  const parts = [heads.old_root, heads.root, ...heads.proof].map(hex);
  const part = parts[Math.floor(bit / 256)];
  assert(part !== undefined);
  const at = Math.floor((bit % 256) / 8);
  part[at] = (part[at] ?? 0) ^ (1 << bit % 8);
  const [old_root = "", root = "", ...proof] = parts.map((node) => Buffer.from(node).toString("hex"));
  return { ...heads, old_root, root, proof };
}

test("two heads are connected by their own proof only", () => {
  const { valid, refused } = VECTORS;
  for (const heads of valid) assert(connects(heads), JSON.stringify(heads));
  let [flips, changes] = [0, 0];
  for (const { of, flip, proof, ...fields } of refused) {
    const base = valid[of];
    assert(base !== undefined);
    for (const bit of flip ?? []) {
      assert(!connects(flipped(base, bit)), `bit ${bit} of ${of}`);
      flips += 1;
    }
    if (flip !== undefined) continue;
    const nodes = proof?.map((node) => (typeof node === "number" ? (base.proof[node] ?? "") : node)) ?? base.proof;
    assert(!connects({ ...base, ...fields, proof: nodes }), JSON.stringify({ of, proof, ...fields }));
    changes += 1;
  }
  assert(valid.length >= 100 && flips >= 900 && changes >= 900, `${valid.length}, ${flips}, ${changes}`);
});

test("what is no size, no node or longer than any proof connects nothing", () => {
  const heads = VECTORS.valid.find(({ old_size, size }) => old_size === "3" && size === "5");
  assert(heads !== undefined);
  const [oldRoot, root, proof] = [hex(heads.old_root), hex(heads.root), heads.proof.map(hex)] as const;
  assert(verifyConsistency(3n, oldRoot, 5n, root, proof));
  for (const [old, size] of [[-3n, 5n], [0n, 5n], [3n, -5n], [3n, (1n << 64n) + 5n], [(1n << 64n) + 3n, (1n << 64n) + 5n]] as const) {
    assert(!verifyConsistency(old, oldRoot, size, root, proof), `${old} to ${size}`);
  }
  for (const [old, size] of [[3, 5n], [3n, 5], [5, 5], ["3", "5"]] as unknown as [bigint, bigint][]) {
    assert.throws(() => verifyConsistency(old, oldRoot, size, root, proof), TypeError);
  }
  const [first = oldRoot, ...rest] = proof;
  for (const node of [first.subarray(1), Uint8Array.of(...first, 0), "", heads.proof[0]?.toUpperCase(), 7, undefined]) {
    assert(!verifyConsistency(3n, oldRoot, 5n, root, [node as Uint8Array, ...rest]), String(node));
  }
  assert(!verifyConsistency(3n, oldRoot.subarray(1), 5n, root, proof));
  assert(!verifyConsistency(5n, oldRoot.subarray(1), 5n, oldRoot.subarray(1), []));
  // Nothing is read of what is too long.
  const long = Object.defineProperty(new Array<Uint8Array>(66).fill(first), 0, { get: () => assert.fail("was read") });
  assert(!verifyConsistency(3n, oldRoot, 5n, root, long));
  // A log longer than 64 bits can count, whose entries are all the same.
  const perfect = [leafHash(new Uint8Array())];
  for (const node of perfect) if (perfect.length <= 64) perfect.push(nodeHash(node, node));
  const [leaf = first, ...roots] = perfect;
  assert(verifyConsistency(1n, leaf, 1n << 63n, roots[62] ?? leaf, perfect.slice(0, 63)));
  assert(!verifyConsistency(1n, leaf, 1n << 64n, roots[63] ?? leaf, perfect.slice(0, 64)));
});

/** Fork `number`, as `crypto/attest/testdata/README.md` describes it. */
function fork(seed: string, number: number): { old: Uint8Array[]; oldGrown: Uint8Array[]; late: Uint8Array[] } {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(number);
  const random = createHash("sha256").update(seed).update(counter).digest();
  const common = random.readUInt8(0) % 64;
  const [one, two] = [1, 2].map((at) => common + 1 + (random.readUInt8(at) % 32)) as [number, number];
  const history = (name: number, size: number): Uint8Array[] =>
    Array.from({ length: size }, (_, index) => {
      const entry = new Uint8Array(9);
      entry[0] = index < common ? 0 : name;
      entry[8] = index;
      return leafHash(entry);
    });
  const [name, size, other, longer] = one <= two ? [1, one, 2, two] : [2, two, 1, one];
  return { old: history(name, size), oldGrown: history(name, longer), late: history(other, longer) };
}

test("a thousand forks are seen, whatever the log answers", () => {
  const { seed, count, digest } = VECTORS.forks;
  assert(count >= 1000);
  const all = createHash("sha256");
  for (let number = 0; number < count; number += 1) {
    const { old, oldGrown, late } = fork(seed, number);
    const [oldSize, size] = [BigInt(old.length), BigInt(late.length)];
    const [oldRoot, root] = [mth(old), mth(late)];
    const [theirs, ours] = [subproof(old.length, late), subproof(old.length, oldGrown)];
    for (const node of [...theirs, ...ours, oldRoot, root]) all.update(node);
    for (const answer of [theirs, ours, [], [oldRoot], [root], [oldRoot, root]]) {
      assert(!verifyConsistency(oldSize, oldRoot, size, root, answer), `fork ${number}`);
    }
    assert(verifyConsistency(oldSize, mth(late.slice(0, old.length)), size, root, theirs), `fork ${number}`);
    assert(verifyConsistency(oldSize, oldRoot, size, mth(oldGrown), ours), `fork ${number}`);
  }
  assert.equal(all.digest("hex"), digest, "other forks than those of the vectors");
});

test("two seals are of one log, or it is said why not", () => {
  const outcomes = new Map<string, number>();
  for (const { one, other, consistency, inclusion, expect } of VECTORS.pairs) {
    const [first, second] = [seal(one), seal(other)];
    let outcome = "same-log";
    try {
      verifySameLog(first, second, { consistency, inclusion });
    } catch (error) {
      assert(error instanceof LogError, String(error));
      outcome = error.code;
    }
    assert.equal(outcome, expect, `${one} and ${other}`);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  assert((outcomes.get("same-log") ?? 0) >= 16 && VECTORS.pairs.length >= 44, `${[...outcomes]}`);
  for (const code of LOG_ERROR_CODES) assert(outcomes.has(code), code);
});

test("a seal is of the log that it is in, and one without signatures is not verified by that", () => {
  const signed = Seal.decode(bytes("seal.cbor"));
  verifySameLog(signed, signed);
  assert.throws(() => verifySameLog(signed, {} as Seal), TypeError);
  const unsigned = Seal.decode(bytes("seal.cbor").map((byte, at, all) => (at === all.length - 1 ? byte ^ 1 : byte)));
  verifySameLog(signed, unsigned);
  assert.throws(() => verifySeal(unsigned, TRUST_ROOT), VerifyError);
});
