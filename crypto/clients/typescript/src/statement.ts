/** The statement: what one authentication decided, as a deterministic CBOR map of CWT/EAT claims. */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { Reader } from "./cbor.js";

/** Name and version of the statement format (`eat_profile`). */
const STATEMENT_FORMAT = "trefoil:statement/3";
/** Longest issuer and audience, in bytes: the length of a DNS name. */
export const NAME_BYTES_MAX = 255;
/** Shortest relying-party nonce: 128 bits, so that none repeats by chance. */
export const NONCE_BYTES_MIN = 16;
/** Longest relying-party nonce: the limit of EAT (RFC 9711 section 4.1). */
export const NONCE_BYTES_MAX = 64;
/** Longest embedder and quantiser name, in bytes. */
const MODEL_BYTES_MAX = 64;
/** Longest life of a statement: an attestation is for use now, not a bearer credential. */
const LIFETIME_SECONDS_MAX = 120n;
/** Upper bound on an encoded statement; the longest legal one is shorter. */
export const STATEMENT_BYTES_MAX = 1024;
/** Most requests of one batch. */
const BATCH_MAX = 32;

/** Private-use claim key (below -65536, RFC 8392 section 9.1) of the map that holds our own fields. */
export const TREFOIL_CLAIM = -65537;

export const U8_MAX = 0xff;
const U16_MAX = 0xffff;
export const U32_MAX = 0xffff_ffff;

/** The signature suite; a new set of families gets a new number. */
export type Suite = 1;
/** The answer of one authentication; `no_match` is one value for every reason. */
export type Decision = "match" | "no_match";
/** Who saw the probe: the service (`plain`), or neither of the two parties that it was split between (`shared`). */
export type ProbeMode = "plain" | "shared";

const DECISIONS: readonly Decision[] = ["no_match", "match"];
/** Number 0 is not assigned. */
const PROBE_MODES: readonly (ProbeMode | undefined)[] = [undefined, "plain", "shared"];

/** The credential proof that backed the request. */
export interface Proof {
  /** Circuit identifier. */
  readonly circuit: number;
  /** Root of the tenant's credential tree, 32 bytes. */
  readonly root: Uint8Array;
  /** Attribute level that was proven. */
  readonly level: number;
  /** The credential was shown to expire in this epoch (hour since 1970) or later; the proof counts in it and in the next. */
  readonly epoch: number;
  /** The session that the proof opened, 32 bytes; another one with every proof. */
  readonly session: Uint8Array;
}

/** What the service states about one authentication. */
export interface Statement {
  /** Signature suite that protects it. */
  readonly suite: Suite;
  /** The service that states this. */
  readonly issuer: string;
  /** Tenant, 16 bytes. */
  readonly tenant: Uint8Array;
  /** The relying party this is for. */
  readonly audience: string;
  /** The account, 32 bytes: who was authenticated, towards this audience of this tenant. The same in every session; to keep. */
  readonly account: Uint8Array;
  /** The relying party's nonce, 16 to 64 bytes. */
  readonly nonce: Uint8Array;
  /** Digest of the authenticated request, 32 bytes. */
  readonly requestDigest: Uint8Array;
  /** The answer. */
  readonly decision: Decision;
  /** Who saw the probe. */
  readonly probeMode: ProbeMode;
  /** Policy identifier of the service. */
  readonly policyId: number;
  /** Version of that policy. */
  readonly policyVersion: number;
  /** False-match class k: the policy's threshold was calibrated to a false-match rate of at most 10^-k. */
  readonly fmrClass: number;
  /** Embedding model. */
  readonly embedder: string;
  /** Quantiser. */
  readonly quantiser: string;
  /** Generation of the enrolled template. */
  readonly templateGeneration: number;
  /** The credential proof, absent where the tenant's policy asks for none. */
  readonly proof: Proof | undefined;
  /** Batch that the request was decided in, 16 bytes. */
  readonly batchId: Uint8Array;
  /** Place in that batch, 0 to 31, drawn anew for each batch: it says nothing about who was authenticated. */
  readonly place: number;
  /** Time of the decision, Unix seconds. */
  readonly issuedAt: bigint;
  /** First second at which it no longer holds. */
  readonly expiresAt: bigint;
}

/** SHA3-256 of an encoded statement: the entry that goes into the tree. */
export function statementDigest(encoded: Uint8Array): Uint8Array {
  return sha3_256(encoded);
}

/** Decodes the one canonical encoding of a statement; any other bytes are a {@link DecodeError}. */
export function decodeStatement(bytes: Uint8Array): Statement {
  const r = Reader.of("statement", bytes, STATEMENT_BYTES_MAX);
  r.map("statement", 8);
  const issuer = r.key("iss", 1).text("iss", NAME_BYTES_MAX);
  const audience = r.key("aud", 3).text("aud", NAME_BYTES_MAX);
  const expiresAt = r.key("exp", 4).uint("exp");
  const issuedAt = r.key("iat", 6).uint("iat");
  const life = expiresAt - issuedAt;
  if (life < 1n || life > LIFETIME_SECONDS_MAX) throw r.outOfRange("exp");
  const tokenId = r.key("cti", 7).bytes("cti", 17);
  const place = tokenId[16] ?? BATCH_MAX;
  if (place >= BATCH_MAX) throw r.outOfRange("cti");
  const nonce = r.key("eat_nonce", 10).bytes("eat_nonce", NONCE_BYTES_MIN, NONCE_BYTES_MAX);
  r.key("eat_profile", 265).format("eat_profile", STATEMENT_FORMAT);
  r.key("trefoil", TREFOIL_CLAIM);
  const own = readTrefoil(r);
  r.finish("statement");
  const batchId = tokenId.slice(0, 16);
  return Object.freeze({ issuer, audience, expiresAt, issuedAt, batchId, place, nonce, ...own });
}

/** Fields of our own map. */
const FIELDS = 11;

type RegisteredClaim = "issuer" | "audience" | "expiresAt" | "issuedAt" | "batchId" | "place" | "nonce";

/** Our own fields. They are evaluated in the order written: the order on the wire. */
function readTrefoil(r: Reader): Omit<Statement, RegisteredClaim> {
  r.map("trefoil", FIELDS);
  return {
    suite: readSuite(r.key("suite", 1)),
    tenant: r.key("tenant", 2).bytes("tenant", 16),
    account: r.key("account", 3).bytes("account", 32),
    requestDigest: r.key("request_digest", 4).bytes("request_digest", 32),
    decision: readEnumerated(r.key("decision", 5), "decision", DECISIONS),
    probeMode: readEnumerated(r.key("probe_mode", 6), "probe_mode", PROBE_MODES),
    policyId: readPair(r.key("policy", 7), "policy").number("policy.id", U32_MAX),
    policyVersion: r.number("policy.version", U32_MAX),
    fmrClass: r.key("fmr_class", 8).number("fmr_class", U8_MAX),
    embedder: readPair(r.key("model", 9), "model").text("model.embedder", MODEL_BYTES_MAX),
    quantiser: r.text("model.quantiser", MODEL_BYTES_MAX),
    templateGeneration: r.key("template_generation", 10).number("template_generation", U32_MAX),
    proof: readProof(r.key("proof", 11)),
  };
}

export function readSuite(r: Reader): Suite {
  const start = r.offset;
  const number = r.uint("suite");
  if (number === 1n) return 1;
  const explanation = `signature suite ${number} is unknown; update the verifier`;
  throw r.error("suite", "unknown-suite", explanation, start);
}

function readPair(r: Reader, field: string): Reader {
  r.array(field, 2);
  return r;
}

function readEnumerated<T>(r: Reader, field: string, values: readonly (T | undefined)[]): T {
  const start = r.offset;
  const number = r.uint(field);
  const value = number < BigInt(values.length) ? values[Number(number)] : undefined;
  if (value === undefined) throw r.outOfRange(field, start);
  return value;
}

function readProof(r: Reader): Proof | undefined {
  if (r.isNull()) {
    r.null("proof");
    return undefined;
  }
  r.array("proof", 5);
  return Object.freeze({
    circuit: r.number("proof.circuit", U16_MAX),
    root: r.bytes("proof.root", 32),
    level: r.number("proof.level", U8_MAX),
    epoch: r.number("proof.epoch", U32_MAX),
    session: r.bytes("proof.session", 32),
  });
}
