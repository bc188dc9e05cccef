/** Reading answers: a field of the wrong kind is an {@link UnexpectedAnswer} that names it. */

import { isBytes, toHex } from "../bytes.js";
import { UnexpectedAnswer } from "./errors.js";

const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/** The bytes of hexadecimal digits; none of anything else. */
function fromHex(text: string): Uint8Array | undefined {
  if (!HEX.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

/** Base64 of the standard alphabet, padded. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The hexadecimal digits of an identifier, which may come as such. */
export function identifier(value: Uint8Array | string, length: number, name: string): string {
  const bytes = typeof value === "string" ? fromHex(value) : isBytes(value) ? value : undefined;
  if (bytes?.length === length) return toHex(bytes);
  throw new TypeError(`${name} has ${length} bytes, or ${2 * length} hexadecimal digits`);
}

/** A JSON object of an answer to `route`. */
export class Answer {
  readonly #route: string;
  readonly #fields: Record<string, unknown>;

  constructor(route: string, value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new UnexpectedAnswer(`${route} answered something else than a JSON object`);
    }
    this.#route = route;
    this.#fields = value as Record<string, unknown>;
  }

  static parse(route: string, body: Uint8Array): Answer {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    } catch (cause) {
      throw new UnexpectedAnswer(`${route} answered something else than JSON`, { cause });
    }
    return new Answer(route, value);
  }

  #wrong(name: string, expected: string): UnexpectedAnswer {
    return new UnexpectedAnswer(`${this.#route} answered without ${expected} in "${name}"`);
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined && this.#fields[name] !== null;
  }

  text(name: string): string {
    const value = this.#fields[name];
    if (typeof value === "string") return value;
    throw this.#wrong(name, "a text");
  }

  /** A text that is one of these. */
  oneOf<T extends string>(name: string, known: readonly T[]): T {
    const value = known.find((value) => value === this.#fields[name]);
    if (value !== undefined) return value;
    throw this.#wrong(name, `one of ${known.join(", ")}`);
  }

  whole(name: string): number {
    const value = this.#fields[name];
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
    throw this.#wrong(name, "a whole number");
  }

  numberIfAny(name: string): number | undefined {
    const value = this.#fields[name] ?? undefined;
    if (value === undefined || typeof value === "number") return value;
    throw this.#wrong(name, "a number");
  }

  wholeIfAny(name: string): number | undefined {
    return this.has(name) ? this.whole(name) : undefined;
  }

  hex(name: string, length: number): Uint8Array {
    const bytes = fromHex(this.text(name));
    if (bytes?.length === length) return bytes;
    throw this.#wrong(name, `${2 * length} hexadecimal digits`);
  }

  base64(name: string): Uint8Array {
    const bytes = fromBase64(this.text(name));
    if (bytes !== undefined) return bytes;
    throw this.#wrong(name, "base64");
  }

  objects(name: string): Answer[] {
    const value = this.#fields[name];
    if (Array.isArray(value)) return value.map((entry) => new Answer(this.#route, entry));
    throw this.#wrong(name, "an array");
  }

  object(name: string): Answer {
    return new Answer(`${this.#route}, "${name}",`, this.#fields[name]);
  }
}
