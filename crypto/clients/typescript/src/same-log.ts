/**
 * Whether two seals are of one log: what a client that keeps the seals it has seen asks about them.
 *
 * A seal of number `n` signs the log of the `n` seals before it, and is itself entry `n`. Two seals are of one log if the
 * later one's log extends the earlier one's (a consistency proof) and holds the earlier seal (an inclusion proof). The
 * consistency proof alone would miss histories that part at the earlier seal itself.
 *
 * A log that goes on from a backup says so in every seal. A seal of the part that was lost is of no log any more, which is
 * told apart from a fork.
 */

import { equal } from "./bytes.js";
import { type ProofNode, proofNodes, verifyConsistency } from "./consistency.js";
import { Seal, type SealHeader } from "./seal.js";
import { verifyInclusion } from "./tree.js";

/** Stable names for programs, the same in every verifier of these formats. */
export const LOG_ERROR_CODES = ["issuer", "forked", "restored", "consistency", "inclusion"] as const;

export type LogErrorCode = (typeof LOG_ERROR_CODES)[number];

/** Two seals that are not shown to be of one log. */
export class LogError extends Error {
  override readonly name = "LogError";
  readonly code: LogErrorCode;

  constructor(code: LogErrorCode) {
    super(MESSAGES[code]);
    this.code = code;
  }
}

const MESSAGES: Readonly<Record<LogErrorCode, string>> = {
  issuer: "the seals are of different issuers; nothing can be said about them",
  forked: "the log has forked: these seals cannot be of one history; keep both as evidence",
  restored:
    "the log was restored from a backup, and one of these seals is of the part that was lost; accept it only if you accept restorations",
  consistency:
    "the log of the later seal is not shown to extend that of the earlier; ask for another proof, and take the log for forked if there is none",
  inclusion:
    "the earlier seal is not shown to be in the log of the later; ask for another proof, and take the log for forked if there is none",
};

/** What the log gives about two seals; nothing where it gives none. */
export interface LogProofs {
  /** `proof` of `/v1/log/consistency/{old}/{new}`. */
  readonly consistency?: readonly ProofNode[] | undefined;
  /** `path` of `/v1/log/inclusion/{old}/{new}`. */
  readonly inclusion?: readonly ProofNode[] | undefined;
}

/**
 * Checks that two seals, in any order, are of one log; refuses with a {@link LogError}. There is no consistency proof from
 * seal 0, which signs the empty log, and no proof at all between seals of one number. Signatures are not verified here:
 * see `verifySeal`.
 */
export function verifySameLog(one: Seal, other: Seal, proofs: LogProofs = {}): void {
  if (!(one instanceof Seal) || !(other instanceof Seal)) throw new TypeError("both must be a Seal");
  refuseIf(one.header.issuer !== other.header.issuer, "issuer");
  const [old, late] = one.header.sealNumber <= other.header.sealNumber ? [one, other] : [other, one];
  refuseIf(isLost(old.header, late.header) || isLost(late.header, old.header), "restored");
  const { sealNumber: oldSize, logRoot: oldRoot } = old.header;
  const { sealNumber: size, logRoot: root } = late.header;
  const { digest } = old.reference();
  const neighbours = size - oldSize === 1n;
  refuseIf(oldSize === size && !equal(late.reference().digest, digest), "forked");
  refuseIf(neighbours && !equal(late.header.previous, digest), "forked");
  const { consistency = [], inclusion = [] } = proofs;
  const isExtended =
    oldSize === 0n ? consistency.length === 0 : verifyConsistency(oldSize, oldRoot, size, root, consistency);
  refuseIf(!isExtended, "consistency");
  const path = proofNodes(inclusion);
  const isHeld =
    oldSize === size
      ? inclusion.length === 0
      : path !== undefined && verifyInclusion(digest, oldSize, size, path, root);
  refuseIf(!isHeld, "inclusion");
}

/** Whether `seal` is of the part of the log that was lost when the log of `kept` was restored. */
function isLost(seal: SealHeader, kept: SealHeader): boolean {
  const { restored } = kept;
  if (restored === undefined) return false;
  const knows = seal.restored !== undefined && seal.restored.time >= restored.time;
  return !knows && seal.sealNumber >= restored.first && seal.time < restored.time;
}

function refuseIf(condition: boolean, code: LogErrorCode): void {
  if (condition) throw new LogError(code);
}
