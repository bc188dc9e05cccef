/**
 * The other kind of statement: what a service changed for a tenant, and its verification offline.
 *
 * A receipt comes in the same container as an attestation, under the same seals. It does not expire: it is kept for years.
 */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { type Attestation, decodeAttestation } from "./attestation.js";
import { equal, isBytes } from "./bytes.js";
import { Reader, utf8 } from "./cbor.js";
import { DecodeError } from "./decode-error.js";
import { CLOCK_SKEW_SECONDS_DEFAULT } from "./policy.js";
import { Seal, type SealHeader } from "./seal.js";
import {
  NAME_BYTES_MAX,
  readSuite,
  STATEMENT_BYTES_MAX,
  type Suite,
  statementDigest,
  TREFOIL_CLAIM,
  U32_MAX,
} from "./statement.js";
import { verifyInclusion } from "./tree.js";
import { TrustRoot } from "./trust-root.js";
import { checkNow, decoded, isSame, otherIssuer, refuseIf, verifySeal } from "./verify.js";
import { VerifyError } from "./verify-error.js";

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
  | OperatorsWhat;

/** What operators do. */
export type OperatorsWhat =
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

/** In the order of their numbers on the wire, which count from 1. */
const KINDS = [
  "enrolled",
  "erased",
  "root_published",
  "policy_changed",
  "session_opened",
  "session_ended",
  "tenant_created",
  "tenant_disabled",
  "tenant_enabled",
  "api_key_created",
  "api_key_revoked",
  "issuer_key_registered",
  "key_rotation_begun",
  "key_rotation_ended",
  "malformed_reset",
  "operator_created",
  "operator_revoked",
  "operator_token_created",
  "operator_token_revoked",
  "refused",
  "tenant_deleted",
  "attempts_reset",
  "replaced",
  "revoked",
] as const;

/** The kinds of changes. */
export type Kind = (typeof KINDS)[number];

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

/** Fields are evaluated in the order written: the order on the wire. */
function readWhat(kind: bigint, r: Reader): What {
  const start = r.offset;
  switch (kind) {
    case 1n:
      r.array("what", 3);
      return {
        kind: "enrolled",
        handle: r.bytes("what.handle", 32),
        generation: r.number("what.generation", U32_MAX),
        consent: r.bytes("what.consent", 32),
      };
    case 2n:
      r.array("what", 2);
      return {
        kind: "erased",
        handle: r.bytes("what.handle", 32),
        generation: r.number("what.generation", U32_MAX),
      };
    case 3n:
      r.array("what", 4);
      return {
        kind: "root_published",
        generation: r.number("what.generation", U32_MAX),
        generationMin: r.number("what.generation_min", U32_MAX),
        root: r.bytes("what.root", 32),
        head: r.bytes("what.head", 32),
      };
    case 4n:
      r.array("what", 3);
      return {
        kind: "policy_changed",
        policyId: r.number("what.policy_id", U32_MAX),
        policyVersion: r.number("what.policy_version", U32_MAX),
        policyDigest: r.bytes("what.digest", 32),
      };
    case 5n:
      r.array("what", 2);
      return {
        kind: "session_opened",
        session: r.bytes("what.session", 32),
        expiresAt: r.uint("what.expires_at"),
      };
    case 6n:
      r.array("what", 1);
      return { kind: "session_ended", session: r.bytes("what.session", 32) };
    case 23n:
      r.array("what", 4);
      return {
        kind: "replaced",
        handle: r.bytes("what.handle", 32),
        generation: r.number("what.generation", U32_MAX),
        replaced: r.number("what.replaced", U32_MAX),
        consent: r.bytes("what.consent", 32),
      };
    case 24n:
      r.array("what", 2);
      return {
        kind: "revoked",
        handle: r.bytes("what.handle", 32),
        generation: r.number("what.generation", U32_MAX),
      };
    default:
      return readOperatorsWhat(kind, r, start);
  }
}

function readOperatorsWhat(number: bigint, r: Reader, start: number): OperatorsWhat {
  const kind = kindOf(number);
  switch (kind) {
    case "tenant_created":
      r.array("what", 1);
      return { kind, policyDigest: r.bytes("what.digest", 32) };
    case "tenant_disabled":
    case "tenant_enabled":
    case "malformed_reset":
    case "attempts_reset":
      r.array("what", 0);
      return { kind };
    case "api_key_created":
      r.array("what", 2);
      return { kind, apiKey: r.bytes("what.key", 8), scopes: r.number("what.scopes", U8_MAX) };
    case "api_key_revoked":
      r.array("what", 1);
      return { kind, apiKey: r.bytes("what.key", 8) };
    case "issuer_key_registered":
      r.array("what", 1);
      return { kind, issuerKey: r.bytes("what.key", 32) };
    case "key_rotation_begun":
    case "key_rotation_ended":
      r.array("what", 1);
      return { kind, epoch: r.number("what.epoch", U32_MAX) };
    case "operator_created":
      r.array("what", 2);
      return { kind, operator: r.bytes("what.operator", 8), role: r.number("what.role", U8_MAX) };
    case "operator_revoked":
      r.array("what", 1);
      return { kind, operator: r.bytes("what.operator", 8) };
    case "operator_token_created":
    case "operator_token_revoked":
      r.array("what", 2);
      return { kind, operator: r.bytes("what.operator", 8), token: r.number("what.token", U32_MAX) };
    case "refused": {
      r.array("what", 1);
      const at = r.offset;
      const action = kindOf(r.uint("what.action"));
      if (action === undefined || action === "refused") throw r.outOfRange("what.action", at);
      return { kind, action };
    }
    case "tenant_deleted":
      r.array("what", 1);
      return { kind, templates: r.uint("what.templates") };
    default:
      throw r.outOfRange("kind", start);
  }
}

function kindOf(number: bigint): Kind | undefined {
  return number > BigInt(KINDS.length) ? undefined : KINDS[Number(number) - 1];
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
  const receipt = decoded(() => decodeAttestation(bytes));
  const { evidence } = receipt;
  if (evidence.form === "full") return verifyDecoded(receipt, evidence.seal, trustRoot, tenant, now);
  const { sealNumber } = evidence.reference;
  const message = `compact receipt; fetch seal ${sealNumber} from the issuer and pass it too`;
  throw new VerifyError("seal-needed", message, { seal: evidence.reference });
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
  if (!(seal instanceof Seal)) throw new TypeError("seal must be a Seal; make one with Seal.decode");
  const receipt = decoded(() => decodeAttestation(bytes));
  const { evidence } = receipt;
  const named = evidence.form === "full" ? evidence.seal.reference() : evidence.reference;
  if (isSame(named, seal.reference())) return verifyDecoded(receipt, seal, trustRoot, tenant, now);
  const message = `the seal passed is not the one named; fetch seal ${named.sealNumber} from the issuer`;
  throw new VerifyError("other-seal", message, { seal: named });
}

/** Mistakes of the caller, not of the receipt. */
function checkArguments(trustRoot: TrustRoot, tenant: Uint8Array | undefined, now: number): void {
  if (!(trustRoot instanceof TrustRoot)) throw new TypeError("trustRoot must be a TrustRoot");
  if (tenant !== undefined && !(isBytes(tenant) && tenant.length === 16)) {
    throw new TypeError("tenant must be a Uint8Array of 16 bytes, or undefined");
  }
  checkNow(now);
}

function verifyDecoded(
  receipt: Attestation,
  seal: Seal,
  trustRoot: TrustRoot,
  tenant: Uint8Array | undefined,
  now: number,
): VerifiedChange {
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
  refuseIf(changedAt > latest, "not-yet-valid", `done at ${changedAt}, in the future; check the clocks`);
  refuseIf(
    header.time > latest || header.time + skew < changedAt,
    "seal-time",
    `sealed at ${header.time}, before its change or in the future`,
  );
  const { leafIndex, treeSize, path } = receipt;
  refuseIf(
    header.suite !== change.suite,
    "suite-mismatch",
    "change and seal name different suites; do not accept",
  );
  refuseIf(
    header.treeSize !== treeSize,
    "tree-size-mismatch",
    "receipt and seal name different tree sizes; do not accept",
  );
  const digest = statementDigest(receipt.statement);
  refuseIf(
    !verifyInclusion(digest, leafIndex, treeSize, path, header.root),
    "not-in-tree",
    "the change is not in the sealed tree; do not accept",
  );
  verifySeal(seal, trustRoot);
  return newVerified(change, digest, leafIndex, header);
}
