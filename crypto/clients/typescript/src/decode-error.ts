/** Why untrusted bytes were refused. */

/** What was wrong at one place of an encoding. */
export type Problem =
  | "truncated"
  | "trailing-bytes"
  | "not-canonical"
  | "wrong-type"
  | "unexpected-key"
  | "wrong-length"
  | "out-of-range"
  | "invalid-text"
  | "unknown-format"
  | "unknown-suite"
  | "wrong-identifier";

/** Bytes that are not the one canonical encoding of a known format. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** Byte offset inside the structure that was being decoded. */
  readonly offset: number;
  /** The field that was being read. */
  readonly field: string;
  /** What was wrong there. */
  readonly problem: Problem;
  /** The same in words, with what to do. */
  readonly explanation: string;

  constructor(offset: number, field: string, problem: Problem, explanation: string) {
    super(`${field} at byte ${offset}: ${explanation}`);
    this.offset = offset;
    this.field = field;
    this.problem = problem;
    this.explanation = explanation;
  }
}
