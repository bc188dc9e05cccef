/** What a login is made of: the embedding, the proof envelope, the session, the MAC. */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { isBytes, toHex } from "../bytes.js";
import { toBase64 } from "./answer.js";

/**
 * As many numbers as the tenant's model gives, 2 to 512; a `Uint8Array` is their bytes as little-endian 32-bit floats. The numbers of an
 * `Int8Array` are sent in a byte each.
 */
export type Embedding = ArrayLike<number> | Uint8Array;
/** A face in a body: base64 of 32-bit floats, or of signed bytes. */
export type SentEmbedding = string | { readonly int8: string };
/** How much of the attestation an answer carries: 22 KB, or 1 KB and a seal that is fetched. */
export type AttestationForm = "full" | "compact";

const NUMBERS_MIN = 2;
const NUMBERS_MAX = 512;
const STATEMENT_BYTES = 191;

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function sha3(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = sha3_256.create();
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

function u64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

/** The bytes of an embedding as 32-bit floats, which are signed. */
export function embeddingBytes(embedding: Embedding): Uint8Array {
  if (isBytes(embedding) && embedding.length % 4 !== 0) {
    throw new TypeError(`an embedding has 4 bytes (float32) for each number, and ${embedding.length} is no multiple`);
  }
  const count = isBytes(embedding) ? embedding.length / 4 : embedding.length;
  if (!(count >= NUMBERS_MIN && count <= NUMBERS_MAX)) {
    throw new TypeError(`an embedding has ${NUMBERS_MIN} to ${NUMBERS_MAX} numbers, not ${count}`);
  }
  const packed = new Uint8Array(4 * count);
  const view = new DataView(packed.buffer);
  if (isBytes(embedding)) packed.set(embedding);
  for (let at = 0; at < count; at += 1) {
    if (!isBytes(embedding)) view.setFloat32(4 * at, embedding[at] ?? Number.NaN, true);
    if (!Number.isFinite(view.getFloat32(4 * at, true))) throw new TypeError("an embedding has finite numbers only");
  }
  return packed;
}

/** An embedding as it is sent. */
export function sentEmbedding(embedding: Embedding): SentEmbedding {
  const packed = embeddingBytes(embedding);
  const isInt8 = Object.prototype.toString.call(embedding) === "[object Int8Array]";
  return isInt8 ? { int8: toBase64(Uint8Array.from(embedding)) } : toBase64(packed);
}

/** SHA3-256 of a plain probe, under its name: what the MAC covers of it. */
export function probeDigest(embedding: Embedding): Uint8Array {
  return sha3(ascii("trefoil/probe/1"), embeddingBytes(embedding));
}

/** What `trefoil wallet prove` wrote. It holds the session's key: anyone who has it can use the session. */
export class Proof {
  readonly tenant: Uint8Array;
  /** The person at this tenant: what enrolment names. */
  readonly handle: Uint8Array;
  /** The person towards this audience, as attestations say it. */
  readonly account: Uint8Array;
  readonly audience: string;
  readonly sessionId: Uint8Array;
  // Private, so that no log shows them.
  readonly #key: Uint8Array;
  readonly #envelope: Uint8Array<ArrayBuffer>;

  /** Reads the layout; throws a `TypeError` for anything else. The service verifies the proof itself. */
  constructor(envelope: Uint8Array) {
    if (!isBytes(envelope)) throw new TypeError("a proof envelope is bytes");
    const bytes = new Uint8Array(envelope);
    const magic = String.fromCharCode(...bytes.subarray(0, 8));
    if (magic !== "TFP3TFS1") {
      throw new TypeError("not a proof envelope; `trefoil wallet prove --output FILE` writes one");
    }
    const statement = bytes.subarray(4, 4 + STATEMENT_BYTES);
    const audienceAt = 5 + STATEMENT_BYTES;
    const keyAt = audienceAt + (bytes[audienceAt - 1] ?? 0);
    const proofAt = keyAt + 32 + 32 + 4 + 4;
    const view = new DataView(bytes.buffer);
    if (bytes.length < proofAt || bytes.length - proofAt !== view.getUint32(proofAt - 4, true)) {
      throw new TypeError("the proof envelope is cut off, or something follows it");
    }
    this.tenant = statement.slice(6, 22);
    this.account = statement.slice(95, 127);
    this.handle = statement.slice(127, 159);
    this.audience = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(audienceAt, keyAt));
    this.sessionId = sha3(ascii("trefoil/statement/1"), statement);
    this.#key = bytes.slice(keyAt, keyAt + 32);
    this.#envelope = bytes;
  }

  /** The body of `POST /v1/proof-sessions`, secrets included. */
  get envelope(): Uint8Array {
    return this.#envelope.slice();
  }

  /** The MAC of what a login covers. */
  mac(...covered: readonly Uint8Array[]): Uint8Array {
    return sha3(ascii("trefoil/request-mac/1"), this.#key, ...covered);
  }
}

/** An open proof session. */
export interface Session {
  readonly proof: Proof;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/**
 * A subject of a tenant whose policy says `"proof": "none"`, towards one audience: in place of a session.
 *
 * Nothing signs such a login. The service takes your API key's word that it is the subject's, and each attestation says so.
 */
export interface Unproven {
  readonly tenant: Uint8Array;
  /** Who the subject is at this tenant: 32 bytes of your choice, such as a keyed digest of your own user id. */
  readonly handle: Uint8Array;
  readonly audience: string;
  /** The account that you kept of an earlier login; an attestation for another one is refused. */
  readonly account?: Uint8Array;
}

/** What an application may say of a login. */
export interface Names {
  /**
   * Where your user is, under a name of your choice, such as a keyed hash of the address: 1 to 64 bytes. The service limits failures by
   * it.
   */
  readonly source?: string;
  /** The model of the face: needed where two models of the tenant give as many numbers. */
  readonly embedder?: string;
}

/** A login as it is sent. */
export interface Signed {
  readonly body: {
    readonly handle: string;
    readonly audience: string;
    readonly nonce: string;
    readonly issued_at: number;
    readonly embedding: SentEmbedding;
    readonly attestation: AttestationForm | "none";
    readonly source?: string;
    readonly embedder?: string;
    /** Of a login in a session, and of no other. */
    readonly session_id?: string;
    readonly mac?: string;
  };
  /** What its attestation must carry. */
  readonly requestDigest: Uint8Array;
}

/** The login of a subject with this probe, signed in the session of a proof. Without one nothing signs it. */
export function signed(
  subject: Pick<Proof, "handle" | "sessionId" | "audience" | "mac"> | Unproven,
  probe: Embedding,
  nonce: Uint8Array,
  issuedAt: number,
  attestation: AttestationForm | "none",
  names: Names = {},
): Signed {
  const { handle, audience } = subject;
  const name = new TextEncoder().encode(audience);
  // What every login covers, after what it is backed by.
  const ofAll = [handle, u64(issuedAt), probeDigest(probe), u32(name.length), name, u32(nonce.length), nonce];
  const body = {
    handle: toHex(handle),
    audience,
    nonce: toHex(nonce),
    issued_at: issuedAt,
    embedding: sentEmbedding(probe),
    attestation,
    ...names,
  };
  if ("mac" in subject) {
    const covered = [subject.sessionId, ...ofAll];
    return {
      body: { ...body, session_id: toHex(subject.sessionId), mac: toHex(subject.mac(...covered)) },
      requestDigest: sha3(ascii("trefoil/request/1"), ...covered),
    };
  }
  const { tenant, account } = subject;
  checkLength("tenant", tenant, 16);
  checkLength("handle", handle, 32);
  if (account !== undefined) checkLength("account", account, 32);
  return { body, requestDigest: sha3(ascii("trefoil/unproven-request/1"), tenant, ...ofAll) };
}

function checkLength(name: string, bytes: Uint8Array, length: number): void {
  if (!isBytes(bytes) || bytes.length !== length) throw new TypeError(`${name} must be a Uint8Array of ${length} bytes`);
}
