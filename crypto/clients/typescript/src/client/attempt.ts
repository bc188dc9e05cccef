/** One login: what is shown, and why it was refused. */

import { isBytes } from "../bytes.js";
import { isName } from "../cbor.js";
import { NONCE_BYTES_MAX, NONCE_BYTES_MIN } from "../statement.js";
import type { Answer } from "./answer.js";
import { Problem } from "./errors.js";
import {
  type AttestationForm,
  type Embedding,
  type Names,
  type Session,
  type Signed,
  signed,
  type Unproven,
} from "./login.js";
import { described } from "./transport.js";

const NAME_BYTES_MAX = 64;

/** A face, shown in a session or of an {@link Unproven} subject, for a relying party's nonce. */
export interface Attempt extends Names {
  readonly session: Session | Unproven;
  readonly embedding: Embedding;
  /** 16 to 64 bytes, fresh for each login. */
  readonly nonce: Uint8Array;
}

/** The login of an attempt at this time. Finds its mistakes before anything is sent. */
export function login({ session, embedding, nonce, ...names }: Attempt, issuedAt: number, form: AttestationForm | "none"): Signed {
  if (!isBytes(nonce) || nonce.length < NONCE_BYTES_MIN || nonce.length > NONCE_BYTES_MAX) {
    throw new TypeError("nonce has 16 to 64 bytes");
  }
  const given: { source?: string; embedder?: string } = {};
  for (const name of ["source", "embedder"] as const) {
    const text: unknown = names[name];
    if (text === undefined) continue;
    if (typeof text !== "string" || !isName(text, NAME_BYTES_MAX)) {
      throw new TypeError(`${name} is a text of 1 to ${NAME_BYTES_MAX} bytes of UTF-8 without control characters`);
    }
    given[name] = text;
  }
  const subject = "proof" in session ? session.proof : session;
  return signed(subject, embedding, nonce, issuedAt, form, given);
}

/** The problem of one entry of a batch. */
export function entryProblem(document: Answer): Problem {
  return new Problem(described(document, document.whole("status"), document.wholeIfAny("retry_after_s")));
}
