/** The trust root: what a relying party pins, obtained out of band. */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { equal, fromBase64Url, toHex } from "./bytes.js";
import { isName, Reader, utf8, Writer } from "./cbor.js";
import { FAMILIES, type Family, type PerFamily, perFamily } from "./family.js";
import { JsonError, type JsonValue, parseJson } from "./json.js";
import { NAME_BYTES_MAX } from "./statement.js";

/** Name and version of the trust-root format. */
export const TRUST_ROOT_FORMAT = "trefoil:trust-root/1";
/** Name and version of the key-set format. */
const KEY_SET_FORMAT = "trefoil:key-set/1";
/** Most key sets of one trust root: years of rotation, and a bound on what a verifier reads. */
const KEY_SETS_MAX = 64;
/** Longest JSON text of a trust root: 64 key sets of about 4.4 KB and 4 cosignatures of 28 KB. */
const TRUST_ROOT_JSON_BYTES_MAX = 512 * 1024;
/** Longest binary form: 64 key sets of about 2.9 KB and 4 cosignatures of 21 KB. */
const TRUST_ROOT_BYTES_MAX = 320 * 1024;
/** Most cosignatures of one version. */
const COSIGNATURES_MAX = 4;

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

/** What one key set signed about a version of a trust root. */
export interface Cosignature {
  /** The key set that signs, 32 bytes. */
  readonly keySetId: Uint8Array;
  readonly signatures: PerFamily<Uint8Array>;
}

/** Where a trust root stands in its issuer's chain. */
interface Place {
  readonly version: bigint;
  readonly previous: Uint8Array;
  readonly cosignatures: readonly Cosignature[];
}

const FIRST: Place = { version: 1n, previous: new Uint8Array(32), cosignatures: [] };

/**
 * An issuer and its key sets, in a version. The first is authentic only as far as the channel that delivered it; each
 * later one can be accepted from the one before, see `acceptTrustRoot`.
 */
export class TrustRoot {
  /** The issuer whose seals this root vouches for. */
  readonly issuer: string;
  /** The key sets, in the order given. */
  readonly keySets: readonly KeySet[];
  /** Position in the issuer's chain of trust roots, from 1. */
  readonly version: bigint;
  /** Digest of the version before, 32 bytes; zeros for version 1. */
  readonly previous: Uint8Array;
  /** What key sets of the version before and of this one signed about it. Not verified. */
  readonly cosignatures: readonly Cosignature[];

  private constructor(issuer: string, keySets: readonly KeySet[], place: Place) {
    this.issuer = issuer;
    this.keySets = Object.freeze(keySets);
    this.version = place.version;
    this.previous = place.previous;
    this.cosignatures = Object.freeze(place.cosignatures);
    Object.freeze(this);
  }

  /** SHA3-256 of everything but the cosignatures: what they sign, and what the next version names as `previous`. */
  digest(): Uint8Array {
    const first = this.version === 1n;
    const w = new Writer().array(first ? 3 : 5).text(TRUST_ROOT_FORMAT).text(this.issuer).array(this.keySets.length);
    for (const set of this.keySets) {
      writeKeySet(w.array(3), set);
      const { status } = set;
      w.int(["active", "retired", "revoked"].indexOf(status.state)).uint(status.state === "active" ? 0n : status.since);
    }
    if (!first) w.uint(this.version).bytes(this.previous);
    return sha3_256(w.finish());
  }

  /** The key set with this identifier. */
  keySet(id: Uint8Array): KeySet | undefined {
    return this.keySets.find((keys) => equal(keys.id, id));
  }

  /** Decodes the one canonical binary form; any other bytes are a {@link DecodeError}. */
  static decode(bytes: Uint8Array): TrustRoot {
    const r = Reader.of("trust_root", bytes, TRUST_ROOT_BYTES_MAX);
    const parts = r.array("trust_root", 3, 6);
    if (parts !== 3 && parts !== 6) throw r.wrongLength("trust_root");
    r.format("trust_root.format", TRUST_ROOT_FORMAT);
    const issuer = r.text("trust_root.issuer", NAME_BYTES_MAX);
    const length = r.array("trust_root.key_sets", 1, KEY_SETS_MAX);
    const keySets = Array.from({ length }, () => readKeySet(r));
    if (isRepeated(keySets)) throw r.outOfRange("trust_root.key_sets");
    const place = parts === 3 ? FIRST : readPlace(r);
    r.finish("trust_root");
    return new TrustRoot(issuer, keySets, place);
  }

  /** Reads the text form, the file that the issuer publishes; any other text is a {@link JsonError}. */
  static fromJson(text: string): TrustRoot {
    if (typeof text !== "string") throw new TypeError("a trust root in text form is a string");
    // UTF-8 is never shorter than the string, so the first test bounds the second.
    if (text.length > TRUST_ROOT_JSON_BYTES_MAX || utf8(text).length > TRUST_ROOT_JSON_BYTES_MAX) {
      throw new JsonError("the JSON text is too long; pass exactly one object");
    }
    const file = parseJson(text);
    const [format, issuer, entries] = fields(file, ["format", "issuer", "key_sets"], ...PLACE_FIELDS);
    if (format !== TRUST_ROOT_FORMAT) {
      throw new JsonError("unknown format or version; update this program");
    }
    if (typeof issuer !== "string" || !isName(issuer, NAME_BYTES_MAX)) {
      throw new JsonError("the issuer must be 1 to 255 bytes without control characters");
    }
    if (!Array.isArray(entries) || entries.length < 1 || entries.length > KEY_SETS_MAX) {
      throw new JsonError("a trust root holds 1 to 64 key sets");
    }
    const keySets = (entries as readonly JsonValue[]).map(keySetFromJson);
    if (isRepeated(keySets)) {
      throw new JsonError("a key set is listed twice; list it once with its current status");
    }
    return new TrustRoot(issuer, keySets, placeFromJson(file as ReadonlyMap<string, JsonValue>));
  }
}

const PLACE_FIELDS = ["version", "previous", "cosignatures"] as const;

function placeFromJson(file: ReadonlyMap<string, JsonValue>): Place {
  const [version, previous, entries] = PLACE_FIELDS.map((name) => file.get(name) ?? null);
  if (version === null && previous === null && entries === null) return FIRST;
  const digest = typeof previous === "string" ? fromHex(previous) : undefined;
  // Version 1 has another form.
  if (typeof version !== "bigint" || version < 2n || digest === undefined || !Array.isArray(entries)) {
    throw new JsonError("version 1 has neither version, previous nor cosignatures; later ones have all three");
  }
  if (entries.length > COSIGNATURES_MAX) throw new JsonError("a trust root has at most 4 cosignatures");
  const cosignatures = (entries as readonly JsonValue[]).map(cosignatureFromJson);
  return { version, previous: digest, cosignatures };
}

function cosignatureFromJson(entry: JsonValue): Cosignature {
  const [id, ...texts] = fields(entry, ["key_set", ...FAMILIES.map((family) => family.id)]);
  const keySetId = typeof id === "string" ? fromHex(id) : undefined;
  if (keySetId === undefined) throw new JsonError("a key set's id is 64 lower-case hexadecimal digits");
  const signatures = perFamily((family) =>
    base64Url(texts[FAMILIES.indexOf(family)], family, family.signatureBytes),
  );
  return { keySetId, signatures };
}

/** 32 bytes from lower-case hexadecimal. */
function fromHex(text: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{64}$/.test(text)) return undefined;
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** Reads what versions from 2 on have. */
function readPlace(r: Reader): Place {
  const start = r.offset;
  const version = r.uint("trust_root.version");
  const previous = r.bytes("trust_root.previous", 32);
  const length = r.array("trust_root.cosignatures", 0, COSIGNATURES_MAX);
  const cosignatures = Array.from({ length }, () => {
    r.array("trust_root.cosignature", 4);
    const keySetId = r.bytes("trust_root.cosignature.key_set", 32);
    return {
      keySetId,
      signatures: perFamily((family) => r.bytes("trust_root.cosignature", family.signatureBytes)),
    };
  });
  if (version < 2n) throw r.outOfRange("trust_root.version", start);
  return { version, previous, cosignatures };
}

function isRepeated(keySets: readonly KeySet[]): boolean {
  return new Set(keySets.map((keys) => toHex(keys.id))).size !== keySets.length;
}

function keySet(of: Omit<KeySet, "id">): KeySet {
  const w = new Writer();
  writeKeySet(w, of);
  return Object.freeze({ id: sha3_256(w.finish()), ...of });
}

function writeKeySet(w: Writer, of: Omit<KeySet, "id">): void {
  w.array(6).text(KEY_SET_FORMAT);
  for (const family of FAMILIES) w.bytes(of.publicKeys[family.id]);
  w.uint(of.notBefore).uint(of.notAfter);
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
  return base64Url(text, family, family.publicKeyBytes);
}

function base64Url(text: JsonValue | undefined, family: Family, length: number): Uint8Array {
  const bytes = typeof text === "string" ? fromBase64Url(text) : undefined;
  if (bytes?.length !== length) {
    throw new JsonError(`${family.id} is not unpadded base64url of the right length`);
  }
  return bytes;
}

/** The values of exactly these fields; `optional` ones may be there too. */
function fields(value: JsonValue, names: readonly string[], ...optional: string[]): (JsonValue | undefined)[] {
  if (!(value instanceof Map)) throw new JsonError("unexpected JSON: an object belongs here");
  for (const name of value.keys()) {
    if (!optional.includes(name) && !names.includes(name)) {
      // A long name may be another file's secret.
      throw new JsonError(`unexpected JSON: unknown field${/^[\w.-]{1,16}$/.test(name) ? ` ${name}` : ""}`);
    }
  }
  return names.map((name) => {
    if (!value.has(name)) throw new JsonError(`unexpected JSON: field ${name} is missing`);
    return value.get(name) as JsonValue;
  });
}
