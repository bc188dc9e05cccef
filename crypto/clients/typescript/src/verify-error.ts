/** Why an attestation was refused. */

import type { DecodeError } from "./decode-error.js";
import type { Family } from "./family.js";
import type { SealReference } from "./seal.js";

/**
 * Stable names for programs, the same in every verifier of these formats. `seal-fields` and `suite-mismatch` belong to
 * the set and cannot occur here: a seal is checked when it is decoded, and there is one suite.
 */
export const VERIFY_ERROR_CODES = [
  "malformed",
  "unknown-suite",
  "seal-needed",
  "other-seal",
  "issuer",
  "audience",
  "nonce",
  "tenant",
  "account",
  "request-digest",
  "decision",
  "probe-mode",
  "no-proof",
  "proof-level",
  "policy-version",
  "fmr-class",
  "not-yet-valid",
  "expired",
  "seal-time",
  "no-device-signature",
  "account-key",
  "device-signature",
  "suite-mismatch",
  "tree-size-mismatch",
  "not-in-tree",
  "seal-fields",
  "unknown-key-set",
  "revoked-key-set",
  "retired-key-set",
  "key-set-validity",
  "signature-ml-dsa-65",
  "signature-falcon-512-padded-r3",
  "signature-slh-dsa-sha2-128f",
] as const;

export type VerifyErrorCode = (typeof VERIFY_ERROR_CODES)[number];

/** An attestation that was refused. */
export class VerifyError extends Error {
  override readonly name = "VerifyError";
  readonly code: VerifyErrorCode;
  /** With `seal-needed` and `other-seal`: the seal to fetch. */
  readonly seal: SealReference | undefined;

  constructor(code: VerifyErrorCode, message: string, detail: { seal?: SealReference; cause?: Error } = {}) {
    super(message, detail.cause && { cause: detail.cause });
    this.code = code;
    this.seal = detail.seal;
  }

  /** Bytes that do not decode; `cause` has the place. */
  static undecodable(error: DecodeError): VerifyError {
    return error.problem === "unknown-suite"
      ? new VerifyError("unknown-suite", error.explanation, { cause: error })
      : new VerifyError("malformed", `not a valid attestation: ${error.message}`, { cause: error });
  }

  static signature(family: Family): VerifyError {
    return new VerifyError(
      `signature-${family.id}`,
      `the ${family.name} signature does not verify; do not accept`,
    );
  }
}
