/** One login: what is shown, and why it was refused. */

import { isBytes } from "../bytes.js";
import { isName } from "../cbor.js";
import { NONCE_BYTES_MAX, NONCE_BYTES_MIN } from "../statement.js";
import type { Answer } from "./answer.js";
import { Problem } from "./errors.js";
import {
  type AttestationForm,
  type Embedding,
  type Session,
  type Signed,
  signed,
  type Unproven,
} from "./login.js";
import { described } from "./transport.js";

const SOURCE_BYTES_MAX = 64;

/** A face, shown in a session or of an {@link Unproven} subject, for a relying party's nonce. */
export interface Attempt {
  readonly session: Session | Unproven;
  readonly embedding: Embedding;
  /** 16 to 64 bytes, fresh for each login. */
  readonly nonce: Uint8Array;
  /**
   * Where your user is, under a name of your choice, such as a keyed hash of the address: 1 to 64 bytes. The service limits failures by
   * it.
   */
  readonly source?: string | undefined;
}

/** The login of an attempt at this time. Finds its mistakes before anything is sent. */
export function login({ session, embedding, nonce, source }: Attempt, issuedAt: number, form: AttestationForm | "none"): Signed {
  if (!isBytes(nonce) || nonce.length < NONCE_BYTES_MIN || nonce.length > NONCE_BYTES_MAX) {
    throw new TypeError("nonce has 16 to 64 bytes");
  }
  if (source !== undefined && !(typeof source === "string" && isName(source, SOURCE_BYTES_MAX))) {
    throw new TypeError(`source is a text of 1 to ${SOURCE_BYTES_MAX} bytes of UTF-8 without control characters`);
  }
  const subject = "proof" in session ? session.proof : session;
  return signed(subject, embedding, nonce, issuedAt, form, source);
}

/** The problem of one entry of a batch. */
export function entryProblem(document: Answer): Problem {
  return new Problem(described(document, document.whole("status"), document.wholeIfAny("retry_after_s")));
}
