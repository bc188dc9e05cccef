/**
 * Offline verification of Trefoil attestations.
 *
 * An attestation carries a statement, its place in an RFC 9162 tree, and a seal: the tree's root signed by three
 * post-quantum families. {@link verify} needs a {@link TrustRoot}, a {@link Policy} and the time; it reads no clock,
 * uses no network and holds no secret.
 */

export { type Change, consentDigest, type VerifiedChange, verifyChange, type What } from "./change.js";
export { type ProofNode, verifyConsistency } from "./consistency.js";
export { compare, RELATIONS, type Relation } from "./contradiction.js";
export { DecodeError, type Problem } from "./decode-error.js";
export type { FamilyId, PerFamily } from "./family.js";
export { JsonError } from "./json.js";
export {
  CLOCK_SKEW_SECONDS_DEFAULT,
  CLOCK_SKEW_SECONDS_MAX,
  DANGEROUS_ANY_NONCE,
  Policy,
  type Requirements,
} from "./policy.js";
export { acceptTrustRoot, UPDATE_ERROR_CODES, UpdateError, type UpdateErrorCode } from "./rotation.js";
export { LOG_ERROR_CODES, LogError, type LogErrorCode, type LogProofs, verifySameLog } from "./same-log.js";
export { type JobsHead, type Restoration, Seal, type SealHeader, type SealReference, type VaultState } from "./seal.js";
export { type Pinned, verifySuccession } from "./succession.js";
export type { Decision, ProbeMode, Proof, Statement, Suite } from "./statement.js";
export { type Cosignature, type KeySet, type KeySetStatus, TrustRoot } from "./trust-root.js";
export { type Verified, verify, verifySeal, verifyWithSeal } from "./verify.js";
export { VERIFY_ERROR_CODES, VerifyError, type VerifyErrorCode } from "./verify-error.js";
