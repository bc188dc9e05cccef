/** Why a call failed. */

/** Anything that a call of the client throws about the service or the way to it. */
export class TrefoilError extends Error {
  override readonly name: string = "TrefoilError";
}

/** One offending place in a JSON body. */
export interface FieldError {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly detail: string;
}

/** A problem document (RFC 9457) as the service sends it. */
export interface ProblemDocument {
  readonly status: number;
  /** The stable name, such as `session-expired`. */
  readonly code: string;
  readonly title: string;
  /** What was wrong this time, and where. */
  readonly detail: string;
  /** What to do. */
  readonly cure: string;
  /** Names the request in the service's log; empty for an entry of a batch. */
  readonly requestId: string;
  readonly errors: readonly FieldError[];
  /** Seconds after which a repetition makes sense, if one does. */
  readonly retryAfter: number | undefined;
}

/** The service declined or failed, and said why. */
export class Problem extends TrefoilError implements ProblemDocument {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly cure: string;
  readonly requestId: string;
  readonly errors: readonly FieldError[];
  readonly retryAfter: number | undefined;
  /** Whether the request was sent before in this call, and its connection broke without an answer. */
  readonly resent: boolean;

  constructor(document: ProblemDocument, resent = false) {
    const { status, code, title, detail, cure, requestId, errors, retryAfter } = document;
    const lost =
      resent && code === "nonce-replayed"
        ? " The login was sent twice and attempted at most once; its answer is lost: make a new one with a fresh nonce."
        : "";
    const named = requestId === "" ? "" : ` (request ${requestId})`;
    super(`${status} ${code}: ${detail}. ${cure}${named}${lost}`.replace(".. ", ". ").replace("  ", " "));
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.cure = cure;
    this.requestId = requestId;
    this.errors = errors;
    this.retryAfter = retryAfter;
    this.resent = resent;
  }
}

/** No answer came. The request may have been carried out. */
export class Unreachable extends TrefoilError {
  override readonly name = "Unreachable";
}

/** An answer that is not what API.md says: another service, another version, or one that contradicts its attestation. */
export class UnexpectedAnswer extends TrefoilError {
  override readonly name = "UnexpectedAnswer";
}
