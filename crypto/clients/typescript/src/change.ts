/**
 * The other kind of statement: what a service changed for a tenant, and its verification offline.
 *
 * A receipt comes in the same container as an attestation, under the same seals. It does not expire: it is kept for years.
 */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { decodeAttestation } from "./attestation.js";
import { equal, isBytes } from "./bytes.js";
import { Reader, utf8 } from "./cbor.js";
import { DecodeError } from "./decode-error.js";
import { CLOCK_SKEW_SECONDS_DEFAULT } from "./policy.js";
import type { Seal, SealHeader } from "./seal.js";
import { NAME_BYTES_MAX, readSuite, STATEMENT_BYTES_MAX, type Suite, TREFOIL_CLAIM, U32_MAX } from "./statement.js";
import { utc } from "./time.js";
import { TrustRoot } from "./trust-root.js";
import { checkNow, checkSeal, decoded, otherIssuer, refuseIf, sealedDigest, sealOf } from "./verify.js";

/** Largest number of one byte. */
const U8_MAX = 255;
/** Longest name of an operator, bytes. */
const OPERATOR_NAME_BYTES_MAX = 64;
/** Name and version of the format (`eat_profile`). */
const CHANGE_FORMAT = "trefoil:change/1";

/** What was done. */
export type What =
  | {
      /** A subject has a template of this generation, and had none before. */
      readonly kind: "enrolled";
      /** The subject, 32 bytes. */
      readonly handle: Uint8Array;
      /** The template's generation. */
      readonly generation: number;
      /** {@link consentDigest} of the caller's reference to the subject's consent. */
      readonly consent: Uint8Array;
    }
  | {
      /** The template of a subject was destroyed; none is left. */
      readonly kind: "erased";
      /** The subject, 32 bytes. */
      readonly handle: Uint8Array;
      /** The newest generation that was destroyed. */
      readonly generation: number;
    }
  | {
      /** A credential root was published; sessions under a generation below `generationMin` ended. */
      readonly kind: "root_published";
      /** Its generation. */
      readonly generation: number;
      /** The oldest that is accepted. */
      readonly generationMin: number;
      /** The root, 32 bytes. */
      readonly root: Uint8Array;
      /** Digest of the issuer's signed statement, 32 bytes. */
      readonly head: Uint8Array;
    }
  | {
      /** A version of the policy is in force. */
      readonly kind: "policy_changed";
      /** The policy's number. */
      readonly policyId: number;
      /** Its version. */
      readonly policyVersion: number;
      /** SHA3-256 of the policy in canonical JSON (RFC 8785). */
      readonly policyDigest: Uint8Array;
    }
  | {
      /** A proof opened a session. */
      readonly kind: "session_opened";
      /** The session, 32 bytes. */
      readonly session: Uint8Array;
      /** When it ends, Unix seconds. */
      readonly expiresAt: bigint;
    }
  | {
      /** A session was ended before its time, and its proof opens it no more. */
      readonly kind: "session_ended";
      /** The session, 32 bytes. */
      readonly session: Uint8Array;
    }
  | {
      /** A subject has a template in place of another, which was destroyed. */
      readonly kind: "replaced";
      /** The subject, 32 bytes. */
      readonly handle: Uint8Array;
      /** The new template's generation. */
      readonly generation: number;
      /** The generation that was destroyed. */
      readonly replaced: number;
      /** {@link consentDigest} of the caller's reference to the subject's consent. */
      readonly consent: Uint8Array;
    }
  | {
      /** A subject's logins are refused from now on, and its sessions ended. The key of its template was destroyed; its record stays. */
      readonly kind: "revoked";
      /** The subject, 32 bytes. */
      readonly handle: Uint8Array;
      /** The generation of its template, which decides no login any more. */
      readonly generation: number;
    }
  | {
      /** A tenant was created. */
      readonly kind: "tenant_created";
      /** SHA3-256 of version 1 of its policy in canonical JSON (RFC 8785). */
      readonly policyDigest: Uint8Array;
    }
  | {
      /** A tenant's API keys are refused from now on, or taken again; or its count of malformed jobs or the delay of one of its subjects was reset. */
      readonly kind: "tenant_disabled" | "tenant_enabled" | "malformed_reset" | "attempts_reset";
    }
  | {
      /** An API key was created. */
      readonly kind: "api_key_created";
      /** Its public part, 8 bytes. */
      readonly apiKey: Uint8Array;
      /** The sum of 1 for `enrol`, 2 for `authenticate` and 4 for `issue`. */
      readonly scopes: number;
    }
  | {
      /** An API key was revoked. */
      readonly kind: "api_key_revoked";
      /** Its public part, 8 bytes. */
      readonly apiKey: Uint8Array;
    }
  | {
      /** The key under which a tenant's roots verify from now on was registered. */
      readonly kind: "issuer_key_registered";
      /** Its name, 32 bytes. */
      readonly issuerKey: Uint8Array;
    }
  | {
      /** A rotation of the keys of a tenant's templates began, or ended. */
      readonly kind: "key_rotation_begun" | "key_rotation_ended";
      /** The epoch of the new keys. */
      readonly epoch: number;
    }
  | {
      /** An operator was created. */
      readonly kind: "operator_created";
      /** The new operator, 8 bytes. */
      readonly operator: Uint8Array;
      /** 1 viewer, 2 operator, 3 owner. */
      readonly role: number;
    }
  | {
      /** All tokens of an operator are refused from now on. */
      readonly kind: "operator_revoked";
      /** Whose, 8 bytes. */
      readonly operator: Uint8Array;
    }
  | {
      /** An operator has one more token, or one less. */
      readonly kind: "operator_token_created" | "operator_token_revoked";
      /** The operator, 8 bytes. */
      readonly operator: Uint8Array;
      /** Counts the operator's tokens from 1. */
      readonly token: number;
    }
  | {
      /** An operator asked for a change that its role does not allow, and nothing was changed. */
      readonly kind: "refused";
      /** The change that it would have been. */
      readonly action: Exclude<Kind, "refused">;
    }
  | {
      /** A disabled tenant was deleted: its templates with their keys, its sessions, API keys and policies. */
      readonly kind: "tenant_deleted";
      /** Templates that were destroyed. */
      readonly templates: bigint;
    };

/** The kinds of changes. */
export type Kind = What["kind"];

type Read<T> = (r: Reader) => T;

function bytes(name: string, length: number): Read<Uint8Array> {
  return (r) => r.bytes(`what.${name}`, length);
}

function number(name: string, largest = U32_MAX): Read<number> {
  return (r) => r.number(`what.${name}`, largest);
}

function uint(name: string): Read<bigint> {
  return (r) => r.uint(`what.${name}`);
}

const handle = bytes("handle", 32);
const generation = number("generation");
const consent = bytes("consent", 32);
const policyDigest = bytes("digest", 32);
const session = bytes("session", 32);
const apiKey = bytes("key", 8);
const epoch = number("epoch");
const operator = bytes("operator", 8);
const token = number("token");

/** The change that was refused, which is no refusal itself. */
function action(r: Reader): Exclude<Kind, "refused"> {
  const at = r.offset;
  const kind = kindOf(r.uint("what.action"));
  if (kind === undefined || kind === "refused") throw r.outOfRange("what.action", at);
  return kind;
}

type Of<K, W = What> = W extends What ? (K extends W["kind"] ? W : never) : never;
type Fields<W> = { readonly [F in Exclude<keyof W, "kind">]: Read<W[F]> };

/** The kinds in the order of their numbers, which count from 1, and the fields of each in the order on the wire. */
const FIELDS: { readonly [K in Kind]: Fields<Of<K>> } = {
  enrolled: { handle, generation, consent },
  erased: { handle, generation },
  root_published: { generation, generationMin: number("generation_min"), root: bytes("root", 32), head: bytes("head", 32) },
  policy_changed: { policyId: number("policy_id"), policyVersion: number("policy_version"), policyDigest },
  session_opened: { session, expiresAt: uint("expires_at") },
  session_ended: { session },
  tenant_created: { policyDigest },
  tenant_disabled: {},
  tenant_enabled: {},
  api_key_created: { apiKey, scopes: number("scopes", U8_MAX) },
  api_key_revoked: { apiKey },
  issuer_key_registered: { issuerKey: bytes("key", 32) },
  key_rotation_begun: { epoch },
  key_rotation_ended: { epoch },
  malformed_reset: {},
  operator_created: { operator, role: number("role", U8_MAX) },
  operator_revoked: { operator },
  operator_token_created: { operator, token },
  operator_token_revoked: { operator, token },
  refused: { action },
  tenant_deleted: { templates: uint("templates") },
  attempts_reset: {},
  replaced: { handle, generation, replaced: number("replaced"), consent },
  revoked: { handle, generation },
};
const KINDS = Object.keys(FIELDS) as Kind[];

function kindOf(number: bigint): Kind | undefined {
  return number > BigInt(KINDS.length) ? undefined : KINDS[Number(number) - 1];
}

/** An operator of the service. */
export interface Actor {
  /** Who, 8 bytes. */
  readonly operator: Uint8Array;
  /** The operator's name. */
  readonly name: string;
}

/** What a service changed for a tenant. */
export interface Change {
  /** Signature suite that protects it. */
  readonly suite: Suite;
  /** The service that states this. */
  readonly issuer: string;
  /** For whom, 16 bytes; zeros where the change concerns the service itself. */
  readonly tenant: Uint8Array;
  /** When it was done, Unix seconds. */
  readonly changedAt: bigint;
  /** Random, 16 bytes, so that nobody can try out what a digest is of. */
  readonly salt: Uint8Array;
  /** What was done. */
  readonly what: What;
  /** The operator who did it, or tried to; undefined where a tenant did it with its API key, or the service on its own. */
  readonly by: Actor | undefined;
}

/** What a receipt calls a reference to a consent by, so that the reference itself stays with the tenant. */
export function consentDigest(reference: string): Uint8Array {
  return sha3_256(utf8(`trefoil/consent/1${reference}`));
}

/** Decodes the one canonical encoding of a change; any other bytes are a {@link DecodeError}. */
function decodeChange(bytes: Uint8Array): Change {
  const r = Reader.of("change", bytes, STATEMENT_BYTES_MAX);
  r.map("change", 5);
  const issuer = r.key("iss", 1).text("iss", NAME_BYTES_MAX);
  const changedAt = r.key("iat", 6).uint("iat");
  const salt = r.key("cti", 7).bytes("cti", 16);
  r.key("eat_profile", 265).format("eat_profile", CHANGE_FORMAT);
  const fields = r.key("trefoil", TREFOIL_CLAIM).map("trefoil", 4, 5);
  const suite = readSuite(r.key("suite", 1));
  const tenant = r.key("tenant", 2).bytes("tenant", 16);
  const kind = r.key("kind", 3).uint("kind");
  const what = Object.freeze(readWhat(kind, r.key("what", 4)));
  const by = fields === 5 ? Object.freeze(readActor(r.key("by", 5))) : undefined;
  r.finish("change");
  return Object.freeze({ suite, issuer, tenant, changedAt, salt, what, by });
}

function readActor(r: Reader): Actor {
  r.array("by", 2);
  return { operator: r.bytes("by.operator", 8), name: r.text("by.name", OPERATOR_NAME_BYTES_MAX) };
}

/** What a receipt says, and undefined for an attestation of a login and for what is neither. Nothing is verified. */
export function changeIn(bytes: Uint8Array): Change | undefined {
  try {
    return decodeChange(decodeAttestation(bytes).statement);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function readWhat(number: bigint, r: Reader): What {
  const kind = kindOf(number);
  if (kind === undefined) throw r.outOfRange("kind");
  const fields: [string, Read<unknown>][] = Object.entries(FIELDS[kind]);
  r.array("what", fields.length);
  return { kind, ...Object.fromEntries(fields.map(([name, read]) => [name, read(r)])) } as What;
}

let newVerified: (change: Change, digest: Uint8Array, leafIndex: bigint, seal: SealHeader) => VerifiedChange;

/** A receipt for which every check passed. Only {@link verifyChange} and {@link verifyChangeWithSeal} make one. */
export class VerifiedChange {
  /** What was changed. */
  readonly change: Change;
  /** SHA3-256 of the change: its entry in the tree, and the receipt's `id`. */
  readonly digest: Uint8Array;
  /** The change's leaf. */
  readonly leafIndex: bigint;
  /** The seal that covers it. */
  readonly seal: SealHeader;

  private constructor(change: Change, digest: Uint8Array, leafIndex: bigint, seal: SealHeader) {
    this.change = change;
    this.digest = digest;
    this.leafIndex = leafIndex;
    this.seal = seal;
    Object.freeze(this);
  }

  static {
    newVerified = (...parts) => new VerifiedChange(...parts);
  }
}

/**
 * Verifies a full receipt about `tenant` (16 bytes; undefined for any) at `now` (Unix seconds); refuses with a {@link VerifyError}.
 * What else it must say is the caller's to compare.
 */
export function verifyChange(
  bytes: Uint8Array,
  trustRoot: TrustRoot,
  tenant: Uint8Array | undefined,
  now: number,
): VerifiedChange {
  checkArguments(trustRoot, tenant, now);
  return verifyReceipt(bytes, undefined, trustRoot, tenant, now);
}

/**
 * Verifies a compact receipt with the seal that it names (or a full one, whose seal must then be the same); refuses with a
 * {@link VerifyError}.
 */
export function verifyChangeWithSeal(
  bytes: Uint8Array,
  seal: Seal,
  trustRoot: TrustRoot,
  tenant: Uint8Array | undefined,
  now: number,
): VerifiedChange {
  checkArguments(trustRoot, tenant, now);
  checkSeal(seal);
  return verifyReceipt(bytes, seal, trustRoot, tenant, now);
}

/** Mistakes of the caller, not of the receipt. */
function checkArguments(trustRoot: TrustRoot, tenant: Uint8Array | undefined, now: number): void {
  if (!(trustRoot instanceof TrustRoot)) throw new TypeError("trustRoot must be a TrustRoot");
  if (tenant !== undefined && !(isBytes(tenant) && tenant.length === 16)) {
    throw new TypeError("tenant must be a Uint8Array of 16 bytes, or undefined");
  }
  checkNow(now);
}

function verifyReceipt(
  bytes: Uint8Array,
  passed: Seal | undefined,
  trustRoot: TrustRoot,
  tenant: Uint8Array | undefined,
  now: number,
): VerifiedChange {
  const receipt = decoded(() => decodeAttestation(bytes));
  refuseIf(receipt.device !== undefined, "device-signature", "a device signs logins, never changes; do not accept");
  const seal = sealOf(receipt, passed, "receipt");
  const change = decoded(() => decodeChange(receipt.statement));
  const { header } = seal;
  if (change.issuer !== trustRoot.issuer) throw otherIssuer(change.issuer);
  refuseIf(
    tenant !== undefined && !equal(change.tenant, tenant),
    "tenant",
    "another tenant than required; do not accept",
  );
  const skew = BigInt(CLOCK_SKEW_SECONDS_DEFAULT);
  const { changedAt } = change;
  const latest = BigInt(now) + skew;
  refuseIf(changedAt > latest, "not-yet-valid", `done at ${utc(changedAt)}, in the future; check the clocks`);
  refuseIf(
    header.time > latest || header.time + skew < changedAt,
    "seal-time",
    `sealed at ${utc(header.time)}, before its change or in the future`,
  );
  const digest = sealedDigest(receipt, "receipt", change.suite, seal, trustRoot);
  return newVerified(change, digest, receipt.leafIndex, header);
}
