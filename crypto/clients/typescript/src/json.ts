/**
 * JSON, the subset the trust-root file needs: objects, arrays, strings, unsigned integers, null.
 *
 * `JSON.parse` keeps the last of repeated members and rounds integers above 2^53; this reader refuses the first and
 * keeps the second exact, so that this verifier and others read one file alike.
 */

/** A JSON text that was refused. */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

export type JsonValue = string | bigint | null | readonly JsonValue[] | ReadonlyMap<string, JsonValue>;

/** A trust root nests three deep. */
const DEPTH_MAX = 8;
const U64_MAX = (1n << 64n) - 1n;

/** Parses exactly one value; anything else is a {@link JsonError}. */
export function parseJson(text: string): JsonValue {
  const reader = new JsonReader(text);
  const value = reader.value(DEPTH_MAX);
  reader.finish();
  return value;
}

class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  #error(expected: string): JsonError {
    return new JsonError(`unexpected JSON at character ${this.#at}: ${expected}`);
  }

  /** The next character that is not white space (RFC 8259 section 2); empty at the end. */
  #peek(): string {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "end")) this.#at += 1;
    return this.#text[this.#at] ?? "";
  }

  #skip(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }

  finish(): void {
    if (this.#peek() !== "") throw this.#error("the text must end here");
  }

  value(depth: number): JsonValue {
    if (depth === 0) throw this.#error("nested too deeply");
    const next = this.#peek();
    if (next === "{") return this.#object(depth);
    if (next === "[") return this.#array(depth);
    if (next === '"') return this.#string();
    if (this.#text.startsWith("null", this.#at)) {
      this.#at += 4;
      return null;
    }
    return this.#integer();
  }

  #object(depth: number): ReadonlyMap<string, JsonValue> {
    const members = new Map<string, JsonValue>();
    this.#at += 1;
    if (this.#skip("}")) return members;
    do {
      if (this.#peek() !== '"') throw this.#error("a field name belongs here");
      const name = this.#string();
      if (members.has(name)) throw this.#error(`field ${JSON.stringify(name)} is repeated`);
      if (!this.#skip(":")) throw this.#error("a colon belongs here");
      members.set(name, this.value(depth - 1));
    } while (this.#skip(","));
    if (!this.#skip("}")) throw this.#error("a comma or a closing brace belongs here");
    return members;
  }

  #array(depth: number): readonly JsonValue[] {
    const items: JsonValue[] = [];
    this.#at += 1;
    if (this.#skip("]")) return items;
    do items.push(this.value(depth - 1));
    while (this.#skip(","));
    if (!this.#skip("]")) throw this.#error("a comma or a closing bracket belongs here");
    return items;
  }

  #string(): string {
    let end = this.#at + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === "\\" ? 2 : 1;
    const value = unescape(this.#text.slice(this.#at, end + 1));
    if (value === undefined) throw this.#error("a string of Unicode characters belongs here");
    this.#at = end + 1;
    return value;
  }

  #integer(): bigint {
    const digits = /(?:0|[1-9][0-9]{0,19})(?![0-9.eE])/y;
    digits.lastIndex = this.#at;
    const found = digits.exec(this.#text)?.[0];
    if (found === undefined || BigInt(found) > U64_MAX) {
      throw this.#error("an object, an array, a string or an unsigned 64-bit integer belongs here");
    }
    this.#at += found.length;
    return BigInt(found);
  }
}

/** The text of one string token; none where the token is no JSON string or names half a surrogate pair. */
function unescape(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === "string" && !/\p{Cs}/u.test(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
