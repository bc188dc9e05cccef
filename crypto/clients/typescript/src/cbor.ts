/**
 * Deterministic CBOR, the subset the formats need: integers, byte and text strings, arrays, maps, one tag, null.
 *
 * RFC 8949 section 4.2.1: shortest heads, definite lengths, map keys in bytewise order. The reader accepts nothing
 * else, so one value has exactly one encoding. It never recurses; every length is checked against the bytes that are
 * present before it is used.
 */

import { isBytes } from "./bytes.js";
import { DecodeError, type Problem } from "./decode-error.js";

const UNSIGNED = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const NULL = 0xf6;

/** Longer than every format name of ours. */
const FORMAT_BYTES_MAX = 64;
const INT64_MAX = (1n << 63n) - 1n;

// Without `ignoreBOM` a leading U+FEFF would vanish, and two encodings would give one text.
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UTF8_ENCODER = new TextEncoder();

/** The encoding of `text`; an unpaired surrogate, which UTF-8 cannot hold, is not accepted as text anywhere here. */
export function utf8(text: string): Uint8Array {
  return UTF8_ENCODER.encode(text);
}

/** Whether `text` can stand in a name field: 1 to `longest` bytes of UTF-8 without control characters. */
export function isName(text: string, longest: number): boolean {
  const { length } = utf8(text);
  return length >= 1 && length <= longest && !/[\p{Cc}\p{Cs}]/u.test(text);
}

/** Builds deterministic CBOR. */
export class Writer {
  readonly #out: number[] = [];

  #head(major: number, value: bigint): void {
    const width = [0x18n, 0x100n, 0x1_0000n, 0x1_0000_0000n].findIndex((limit) => value < limit);
    if (width === 0) {
      this.#out.push((major << 5) | Number(value));
      return;
    }
    const exponent = width < 0 ? 3 : width - 1;
    this.#out.push((major << 5) | (24 + exponent));
    for (let shift = 8 * (2 ** exponent - 1); shift >= 0; shift -= 8) {
      this.#out.push(Number((value >> BigInt(shift)) & 0xffn));
    }
  }

  uint(value: bigint): this {
    this.#head(UNSIGNED, value);
    return this;
  }

  /** An integer of either sign: a number of a header, or a map key whose value is written next. */
  int(value: number): this {
    // -1 - n for the encoded n, RFC 8949 section 3.1.
    if (value < 0) this.#head(NEGATIVE, BigInt(-1 - value));
    else this.#head(UNSIGNED, BigInt(value));
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#head(BYTES, BigInt(value.length));
    for (const byte of value) this.#out.push(byte);
    return this;
  }

  text(value: string): this {
    const encoded = utf8(value);
    this.#head(TEXT, BigInt(encoded.length));
    for (const byte of encoded) this.#out.push(byte);
    return this;
  }

  array(items: number): this {
    this.#head(ARRAY, BigInt(items));
    return this;
  }

  map(pairs: number): this {
    this.#head(MAP, BigInt(pairs));
    return this;
  }

  null(): this {
    this.#out.push(NULL);
    return this;
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#out);
  }
}

/** Reads deterministic CBOR from untrusted bytes; `field` names what is being read, for the error. */
export class Reader {
  readonly #input: Uint8Array;
  #at = 0;

  constructor(input: Uint8Array) {
    this.#input = input;
  }

  /** A reader of a copy of `bytes`, so that nothing changes them while they are read. `longest` bounds the copy. */
  static of(field: string, bytes: Uint8Array, longest: number): Reader {
    if (!isBytes(bytes)) throw new TypeError(`${field} must be a Uint8Array`);
    if (bytes.length > longest) throw new Reader(new Uint8Array()).wrongLength(field);
    return new Reader(new Uint8Array(bytes));
  }

  /** The position, for an error that is known only after reading on. */
  get offset(): number {
    return this.#at;
  }

  /** An error at the current position, or at `offset`. */
  error(field: string, problem: Problem, explanation: string, offset = this.#at): DecodeError {
    return new DecodeError(offset, field, problem, explanation);
  }

  outOfRange(field: string, offset = this.#at): DecodeError {
    return this.error(field, "out-of-range", "the value is outside its limits", offset);
  }

  wrongLength(field: string, offset = this.#at): DecodeError {
    return this.error(field, "wrong-length", "the length is outside its limits", offset);
  }

  /** Every byte must have been read. */
  finish(field: string): void {
    if (this.#at !== this.#input.length) {
      throw this.error(field, "trailing-bytes", "bytes follow the end; pass exactly one object");
    }
  }

  /** The next `length` bytes, as a view. */
  #take(field: string, length: number): Uint8Array {
    if (length > this.#input.length - this.#at) {
      throw this.error(field, "truncated", "the input ends here; fetch the complete file again");
    }
    this.#at += length;
    return this.#input.subarray(this.#at - length, this.#at);
  }

  /** Reads one head of the given major type. `expected` names that type. */
  #head(field: string, major: number, expected: string): bigint {
    const start = this.#at;
    const initial = this.#take(field, 1)[0] ?? 0;
    if (initial >> 5 !== major) {
      throw this.error(field, "wrong-type", `${expected} belongs here`, start);
    }
    const additional = initial & 31;
    if (additional < 24) return BigInt(additional);
    // 28-30 are reserved, 31 is an indefinite length.
    if (additional > 27) throw this.#notCanonical(field, start);
    const width = 1 << (additional - 24);
    let value = 0n;
    for (const byte of this.#take(field, width)) value = (value << 8n) | BigInt(byte);
    const floor = width === 1 ? 24n : 1n << BigInt(4 * width);
    if (value < floor) throw this.#notCanonical(field, start);
    return value;
  }

  #notCanonical(field: string, offset: number): DecodeError {
    const explanation = "not deterministic CBOR (RFC 8949 4.2); pass the issuer's bytes unchanged";
    return this.error(field, "not-canonical", explanation, offset);
  }

  uint(field: string): bigint {
    return this.#head(field, UNSIGNED, "an unsigned integer");
  }

  /** An unsigned integer up to `largest`, which is at most 2^53 - 1. */
  number(field: string, largest: number): number {
    const start = this.#at;
    const value = this.uint(field);
    if (value > BigInt(largest)) throw this.outOfRange(field, start);
    return Number(value);
  }

  /** An integer of either sign; magnitudes beyond 63 bits are out of range. */
  int(field: string): bigint {
    const start = this.#at;
    const negative = (this.#input[start] ?? 0) >> 5 === NEGATIVE;
    const magnitude = this.#head(field, negative ? NEGATIVE : UNSIGNED, "an integer");
    if (magnitude > INT64_MAX) throw this.outOfRange(field, start);
    return negative ? -1n - magnitude : magnitude;
  }

  /**
   * The next integer must be exactly `key`: with all keys required and written in canonical order this refuses
   * unknown, missing, repeated and reordered keys alike.
   */
  key(field: string, key: number): this {
    const start = this.#at;
    const found = this.int(field);
    if (found !== BigInt(key)) throw this.unexpectedKey(field, key, found, start);
    return this;
  }

  unexpectedKey(field: string, expected: number, found: bigint, offset: number): DecodeError {
    return this.error(field, "unexpected-key", `map key ${expected} belongs here, found ${found}`, offset);
  }

  /** A copy of a byte string of `shortest` to `longest` bytes. */
  bytes(field: string, shortest: number, longest = shortest): Uint8Array {
    const start = this.#at;
    const length = this.#head(field, BYTES, "a byte string");
    return this.#bounded(field, start, length, shortest, longest).slice();
  }

  /** A text string of 1 to `longest` bytes without control characters: these strings are shown on terminals. */
  text(field: string, longest: number): string {
    const start = this.#at;
    const length = this.#head(field, TEXT, "a text string");
    const bytes = this.#bounded(field, start, length, 1, longest);
    try {
      const text = UTF8.decode(bytes);
      if (!/\p{Cc}/u.test(text)) return text;
    } catch {
      // Not UTF-8: refused below, like text with control characters.
    }
    throw this.error(field, "invalid-text", "text must be UTF-8 without control characters", start);
  }

  /** A text string that must equal `value`: the name and version of a format. */
  format(field: string, value: string): void {
    const start = this.#at;
    if (this.text(field, FORMAT_BYTES_MAX) !== value) {
      throw this.error(field, "unknown-format", `this version reads ${value} only; update it`, start);
    }
  }

  #bounded(field: string, start: number, length: bigint, shortest: number, longest: number): Uint8Array {
    if (length < BigInt(shortest) || length > BigInt(longest)) throw this.wrongLength(field, start);
    return this.#take(field, Number(length));
  }

  /** An array header with `fewest` to `most` items. */
  array(field: string, fewest: number, most = fewest): number {
    const start = this.#at;
    const found = this.#head(field, ARRAY, "an array");
    if (found < BigInt(fewest) || found > BigInt(most)) throw this.wrongLength(field, start);
    return Number(found);
  }

  /** A map header with `fewest` to `most` pairs; returns their number. */
  map(field: string, fewest: number, most = fewest): number {
    const start = this.#at;
    const found = this.#head(field, MAP, "a map");
    if (found < BigInt(fewest) || found > BigInt(most)) throw this.wrongLength(field, start);
    return Number(found);
  }

  tag(field: string, tag: number): void {
    const start = this.#at;
    if (this.#head(field, TAG, "a tag") !== BigInt(tag)) throw this.outOfRange(field, start);
  }

  null(field: string): void {
    if (!this.isNull()) throw this.error(field, "wrong-type", "null belongs here");
    this.#take(field, 1);
  }

  isNull(): boolean {
    return this.#input[this.#at] === NULL;
  }
}
