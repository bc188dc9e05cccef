/** The trust root: what a relying party pins, obtained out of band. */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { equal, fromBase64Url, toHex } from "./bytes.js";
import { isName, Reader, utf8, Writer } from "./cbor.js";
import { FAMILIES, type Family, type PerFamily, perFamily } from "./family.js";
import { JsonError, type JsonValue, parseJson } from "./json.js";
import { NAME_BYTES_MAX } from "./statement.js";

/** Name and version of the trust-root format. */
const TRUST_ROOT_FORMAT = "trefoil:trust-root/1";
/** Name and version of the key-set format. */
const KEY_SET_FORMAT = "trefoil:key-set/1";
/** Most key sets of one trust root: years of rotation, and a bound on what a verifier reads. */
const KEY_SETS_MAX = 64;
/** Longest JSON text of a trust root: 64 key sets of about 4.4 KB. */
const TRUST_ROOT_JSON_BYTES_MAX = 512 * 1024;
/** Longest binary form: 64 key sets of about 2.9 KB. */
const TRUST_ROOT_BYTES_MAX = 256 * 1024;

/**
 * What a key set may be used for: `active` ones sign today; `retired` ones are rotated out and vouch for seals made
 * before `since`; `revoked` ones are compromised and vouch for nothing, because a thief can back-date a seal.
 */
export type KeySetStatus =
  | { readonly state: "active" }
  | { readonly state: "retired" | "revoked"; readonly since: bigint };

/** The public keys of the three families, generated together, with the time in which they may sign. */
export interface KeySet {
  /** SHA3-256 of the key set's canonical encoding, 32 bytes. */
  readonly id: Uint8Array;
  readonly publicKeys: PerFamily<Uint8Array>;
  /** First second in which the keys may sign, Unix seconds. */
  readonly notBefore: bigint;
  /** First second in which they no longer may. */
  readonly notAfter: bigint;
  readonly status: KeySetStatus;
}

/** An issuer and its key sets. Authentic only as far as the channel that delivered it. */
export class TrustRoot {
  /** The issuer whose seals this root vouches for. */
  readonly issuer: string;
  /** The key sets, in the order given. */
  readonly keySets: readonly KeySet[];

  private constructor(issuer: string, keySets: readonly KeySet[]) {
    this.issuer = issuer;
    this.keySets = Object.freeze(keySets);
    Object.freeze(this);
  }

  /** The key set with this identifier. */
  keySet(id: Uint8Array): KeySet | undefined {
    return this.keySets.find((keys) => equal(keys.id, id));
  }

  /** Decodes the one canonical binary form; any other bytes are a {@link DecodeError}. */
  static decode(bytes: Uint8Array): TrustRoot {
    const r = Reader.of("trust_root", bytes, TRUST_ROOT_BYTES_MAX);
    r.array("trust_root", 3);
    r.format("trust_root.format", TRUST_ROOT_FORMAT);
    const issuer = r.text("trust_root.issuer", NAME_BYTES_MAX);
    const length = r.array("trust_root.key_sets", 1, KEY_SETS_MAX);
    const keySets = Array.from({ length }, () => readKeySet(r));
    r.finish("trust_root");
    if (isRepeated(keySets)) throw r.outOfRange("trust_root.key_sets");
    return new TrustRoot(issuer, keySets);
  }

  /** Reads the text form, the file that the issuer publishes; any other text is a {@link JsonError}. */
  static fromJson(text: string): TrustRoot {
    if (typeof text !== "string") throw new TypeError("a trust root in text form is a string");
    // UTF-8 is never shorter than the string, so the first test bounds the second.
    if (text.length > TRUST_ROOT_JSON_BYTES_MAX || utf8(text).length > TRUST_ROOT_JSON_BYTES_MAX) {
      throw new JsonError("the JSON text is too long; pass exactly one object");
    }
    const [format, issuer, entries] = fields(parseJson(text), ["format", "issuer", "key_sets"]);
    if (format !== TRUST_ROOT_FORMAT) {
      throw new JsonError("unknown format or version; update this program");
    }
    if (typeof issuer !== "string" || !isName(issuer, NAME_BYTES_MAX)) {
      throw new JsonError("the issuer must be 1 to 255 bytes without control characters");
    }
    if (!Array.isArray(entries) || entries.length < 1 || entries.length > KEY_SETS_MAX) {
      throw new JsonError("a trust root holds 1 to 64 key sets; drop the oldest retired ones");
    }
    const keySets = (entries as readonly JsonValue[]).map(keySetFromJson);
    if (isRepeated(keySets)) {
      throw new JsonError("a key set is listed twice; list it once with its current status");
    }
    return new TrustRoot(issuer, keySets);
  }
}

function isRepeated(keySets: readonly KeySet[]): boolean {
  return new Set(keySets.map((keys) => toHex(keys.id))).size !== keySets.length;
}

function keySet(of: Omit<KeySet, "id">): KeySet {
  const w = new Writer().array(6).text(KEY_SET_FORMAT);
  for (const family of FAMILIES) w.bytes(of.publicKeys[family.id]);
  const id = sha3_256(w.uint(of.notBefore).uint(of.notAfter).finish());
  return Object.freeze({ id, ...of });
}

function readKeySet(r: Reader): KeySet {
  r.array("trust_root.key_set", 3);
  r.array("key_set", 6);
  r.format("key_set.format", KEY_SET_FORMAT);
  const publicKeys = perFamily((family) => r.bytes(`key_set.${family.id}`, family.publicKeyBytes));
  const notBefore = r.uint("key_set.not_before");
  const start = r.offset;
  const notAfter = r.uint("key_set.not_after");
  if (notBefore >= notAfter) throw r.outOfRange("key_set.not_after", start);
  const statusStart = r.offset;
  const number = r.uint("trust_root.status");
  const since = r.uint("trust_root.since");
  const status = statusFromNumbers(number, since);
  if (status === undefined) throw r.outOfRange("trust_root.status", statusStart);
  return keySet({ publicKeys, notBefore, notAfter, status });
}

function statusFromNumbers(number: bigint, since: bigint): KeySetStatus | undefined {
  if (number === 0n && since === 0n) return { state: "active" };
  if (number === 1n) return { state: "retired", since };
  if (number === 2n) return { state: "revoked", since };
  return undefined;
}

function keySetFromJson(entry: JsonValue): KeySet {
  const names = ["id", "status", "not_before", "not_after", ...FAMILIES.map((family) => family.id)];
  const [id, state, notBefore, notAfter, ...keys] = fields(entry, names, "since");
  const since = (entry as ReadonlyMap<string, JsonValue>).get("since") ?? null;
  const publicKeys = perFamily((family) => publicKey(keys[FAMILIES.indexOf(family)], family));
  if (typeof notBefore !== "bigint" || typeof notAfter !== "bigint" || notBefore >= notAfter) {
    throw new JsonError("a key set's not_before must be earlier than its not_after");
  }
  const read = keySet({ publicKeys, notBefore, notAfter, status: statusFromJson(state, since) });
  if (toHex(read.id) === id) return read;
  throw new JsonError("a key set's id does not match its keys; fetch the file again");
}

function statusFromJson(state: JsonValue | undefined, since: JsonValue): KeySetStatus {
  if (state === "active" && since === null) return { state };
  if ((state === "retired" || state === "revoked") && typeof since === "bigint") return { state, since };
  throw new JsonError("status is active without since, or retired or revoked with since");
}

function publicKey(text: JsonValue | undefined, family: Family): Uint8Array {
  const bytes = typeof text === "string" ? fromBase64Url(text) : undefined;
  if (bytes?.length !== family.publicKeyBytes) {
    throw new JsonError(`${family.id} is not unpadded base64url of the right length`);
  }
  return bytes;
}

/** The values of exactly these fields; `optional` may be there too. */
function fields(value: JsonValue, names: readonly string[], optional?: string): (JsonValue | undefined)[] {
  if (!(value instanceof Map)) throw new JsonError("unexpected JSON: an object belongs here");
  for (const name of value.keys()) {
    if (name !== optional && !names.includes(name)) {
      throw new JsonError(`unexpected JSON: unknown field ${JSON.stringify(name)}`);
    }
  }
  return names.map((name) => {
    if (!value.has(name)) throw new JsonError(`unexpected JSON: field ${name} is missing`);
    return value.get(name) as JsonValue;
  });
}
