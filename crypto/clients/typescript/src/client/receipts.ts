/** Receipts: what the service says that it changed, verified before an answer is believed. */

import { equal, isBytes } from "../bytes.js";
import { type VerifiedChange, verifyChange } from "../change.js";
import type { TrustRoot } from "../trust-root.js";
import type { Answer } from "./answer.js";
import { UnexpectedAnswer } from "./errors.js";

/** That something was changed, verified under the pinned trust root. */
export interface Receipt {
  readonly verified: VerifiedChange;
  /** CBOR: keep it to verify the receipt again. */
  readonly attestation: Uint8Array;
  readonly sealNumber: number;
}

/** The receipt of an answer, which must verify and say what the answer says. For any tenant: an API key does not tell whose it is. */
export function receipt(
  answer: Answer,
  trustRoot: TrustRoot,
  said: Readonly<Record<string, string | number | Uint8Array>>,
): Receipt | undefined {
  if (!answer.has("receipt")) return undefined;
  const shown = answer.object("receipt");
  const attestation = shown.base64("attestation");
  const verified = verifyChange(attestation, trustRoot, undefined, seconds());
  const what: Readonly<Record<string, unknown>> = { ...verified.change.what };
  for (const [name, value] of Object.entries(said)) {
    const sealed = what[name];
    const same = isBytes(sealed) && isBytes(value) ? equal(sealed, value) : sealed === value;
    if (!same) throw new UnexpectedAnswer(`the receipt says something else than the answer in "${name}"; do not believe it`);
  }
  return { verified, attestation, sealNumber: shown.whole("seal_number") };
}

/** Now, in whole Unix seconds. */
export function seconds(): number {
  return Math.floor(Date.now() / 1_000);
}
