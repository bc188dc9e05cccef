/** The vectors of two heads and of two seals, described in `crypto/attest/testdata/README.md`. */

import { Seal } from "trefoil-attest";

import { hex, text } from "./testdata.js";

export interface Valid {
  readonly old_size: string;
  readonly old_root: string;
  readonly size: string;
  readonly root: string;
  readonly proof: readonly string[];
}

/** A valid case with changes: fields, where a number in the proof is a node of that case, or bits that are flipped. */
interface Refused extends Partial<Omit<Valid, "proof">> {
  readonly of: number;
  readonly flip?: readonly number[];
  readonly proof?: readonly (string | number)[];
}

interface Pair {
  readonly one: string;
  readonly other: string;
  readonly consistency: readonly string[];
  readonly inclusion: readonly string[];
  readonly expect: string;
}

export const VECTORS = JSON.parse(text("consistency.json")) as {
  readonly valid: readonly Valid[];
  readonly refused: readonly Refused[];
  readonly forks: { readonly seed: string; readonly count: number; readonly digest: string };
  readonly seals: Readonly<Record<string, readonly (string | number)[]>>;
  readonly pairs: readonly Pair[];
};

/** A seal of the vectors: well formed, its signatures are zeros. */
export function seal(name: string): Seal {
  const pieces = VECTORS.seals[name] ?? [];
  const joined = pieces.map((piece) => (typeof piece === "number" ? new Uint8Array(piece) : hex(piece)));
  return Seal.decode(Buffer.concat(joined));
}
