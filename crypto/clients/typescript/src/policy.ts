/** What a relying party requires of an attestation. */

import { isBytes } from "./bytes.js";
import { isName } from "./cbor.js";
import {
  type Decision,
  NAME_BYTES_MAX,
  NONCE_BYTES_MAX,
  NONCE_BYTES_MIN,
  type ProbeMode,
  U32_MAX,
  U8_MAX,
} from "./statement.js";
import { TrustRoot } from "./trust-root.js";

/** Largest clock difference a policy may tolerate: more would stretch the 120 s life of a statement by half. */
export const CLOCK_SKEW_SECONDS_MAX = 60;
/** Clock difference tolerated unless the policy says otherwise. */
export const CLOCK_SKEW_SECONDS_DEFAULT = 10;

/** Any nonce. For auditors of stored attestations: as an authentication it can be replayed for its whole life. */
export const DANGEROUS_ANY_NONCE: unique symbol = Symbol("trefoil: dangerous: any nonce");

/** The requirements. A field that is left out is not required, except where a default is given. */
export interface Requirements {
  /** The issuer and its keys. */
  readonly trustRoot: TrustRoot;
  /** This relying party, as the service knows it. */
  readonly audience: string;
  /** The nonce this relying party issued for this authentication; it must accept each nonce once. */
  readonly nonce: Uint8Array | typeof DANGEROUS_ANY_NONCE;
  /** This tenant, 16 bytes. */
  readonly tenant?: Uint8Array;
  /** This account, 32 bytes. */
  readonly account?: Uint8Array;
  /**
   * The key of this account (its id of 32 bytes, {@link Verified.accountKey} of the first login): the account's device signed this login. Without it the attestation is the service's word alone.
   */
  readonly accountKey?: Uint8Array;
  /** This request, 32 bytes. */
  readonly requestDigest?: Uint8Array;
  /** `match` by default. With `any` the caller must look at the decision: for auditors and for showing a file. */
  readonly decision?: "match" | "any";
  /** This probe mode. */
  readonly probeMode?: ProbeMode;
  /** A credential proof of at least this level; 0 by default. */
  readonly proofLevel?: number;
  /**
   * Accepts a statement without a credential proof too, as tenants with `proof: none` get them: that the request was
   * the person's is then the word of the tenant's application alone. Not together with `proofLevel`.
   */
  readonly acceptNoProof?: boolean;
  /** The service's policy `id` in `version` or later. */
  readonly policyVersion?: { readonly id: number; readonly version: number };
  /** A false-match rate of 10^-class or less; 0 by default. */
  readonly fmrClass?: number;
  /** Tolerated clock difference in seconds, 0 to 60; 10 by default. */
  readonly clockSkew?: number;
}

/** The names of all requirements; `true` says that one must be given. */
const NAMES: { readonly [name in keyof Required<Requirements>]: boolean } = {
  trustRoot: true,
  audience: true,
  nonce: true,
  tenant: false,
  account: false,
  accountKey: false,
  requestDigest: false,
  decision: false,
  probeMode: false,
  proofLevel: false,
  acceptNoProof: false,
  policyVersion: false,
  fmrClass: false,
  clockSkew: false,
};

/**
 * Checked requirements.
 *
 * A misspelt or undefined requirement would be one that is not checked, so both are refused here, also where no
 * compiler looked at the caller.
 */
export class Policy {
  readonly trustRoot: TrustRoot;
  readonly audience: string;
  readonly nonce: Uint8Array | typeof DANGEROUS_ANY_NONCE;
  readonly tenant: Uint8Array | undefined;
  readonly account: Uint8Array | undefined;
  readonly accountKey: Uint8Array | undefined;
  readonly requestDigest: Uint8Array | undefined;
  /** Absent: any. */
  readonly decision: Decision | undefined;
  readonly probeMode: ProbeMode | undefined;
  /** Absent: a statement without a proof is accepted too. */
  readonly proofLevel: number | undefined;
  readonly policyVersion: { readonly id: number; readonly version: number } | undefined;
  readonly fmrClass: number;
  readonly clockSkew: bigint;

  /** Throws a `TypeError` or `RangeError` that names the requirement to correct. */
  constructor(requirements: Requirements) {
    checkNames(requirements);
    const { trustRoot, audience, nonce, tenant, account, accountKey, requestDigest } = requirements;
    const { decision = "match", probeMode, proofLevel, policyVersion, fmrClass = 0 } = requirements;
    const { acceptNoProof = false, clockSkew = CLOCK_SKEW_SECONDS_DEFAULT } = requirements;
    if (!(trustRoot instanceof TrustRoot)) throw new TypeError("trustRoot must be a TrustRoot");
    if (typeof audience !== "string" || !isName(audience, NAME_BYTES_MAX)) {
      throw new TypeError("audience must be text of 1 to 255 bytes without control characters");
    }
    if (decision !== "match" && decision !== "any") throw new TypeError('decision must be "match" or "any"');
    if (probeMode !== undefined && probeMode !== "plain" && probeMode !== "shared") {
      throw new TypeError('probeMode must be "plain" or "shared"');
    }
    if (typeof acceptNoProof !== "boolean") throw new TypeError("acceptNoProof must be true or false");
    if (acceptNoProof && proofLevel !== undefined) {
      throw new TypeError("proofLevel requires a proof and acceptNoProof none; leave one of them out");
    }
    this.trustRoot = trustRoot;
    this.audience = audience;
    this.nonce =
      nonce === DANGEROUS_ANY_NONCE ? nonce : copy("nonce", nonce, NONCE_BYTES_MIN, NONCE_BYTES_MAX);
    this.tenant = tenant === undefined ? undefined : copy("tenant", tenant, 16);
    this.account = account === undefined ? undefined : copy("account", account, 32);
    this.accountKey = accountKey === undefined ? undefined : copy("accountKey", accountKey, 32);
    this.requestDigest = requestDigest === undefined ? undefined : copy("requestDigest", requestDigest, 32);
    this.decision = decision === "any" ? undefined : decision;
    this.probeMode = probeMode;
    this.proofLevel = acceptNoProof ? undefined : whole("proofLevel", proofLevel ?? 0, U8_MAX);
    this.policyVersion =
      policyVersion === undefined
        ? undefined
        : Object.freeze({
            id: whole("policyVersion.id", policyVersion.id, U32_MAX),
            version: whole("policyVersion.version", policyVersion.version, U32_MAX),
          });
    this.fmrClass = whole("fmrClass", fmrClass, U8_MAX);
    this.clockSkew = BigInt(whole("clockSkew", clockSkew, CLOCK_SKEW_SECONDS_MAX));
    Object.freeze(this);
  }
}

function checkNames(requirements: Requirements): void {
  for (const [name, value] of Object.entries(requirements)) {
    if (!Object.hasOwn(NAMES, name)) throw new TypeError(`unknown requirement ${name}; correct its name`);
    if (value === undefined || value === null) {
      throw new TypeError(`requirement ${name} has no value; leave it out where it is not required`);
    }
  }
  for (const [name, needed] of Object.entries(NAMES)) {
    if (needed && !Object.hasOwn(requirements, name)) throw new TypeError(`requirement ${name} is missing`);
  }
}

function copy(name: string, bytes: Uint8Array, shortest: number, longest = shortest): Uint8Array {
  if (!isBytes(bytes) || bytes.length < shortest || bytes.length > longest) {
    const lengths = shortest === longest ? `${shortest}` : `${shortest} to ${longest}`;
    throw new TypeError(`${name} must be a Uint8Array of ${lengths} bytes`);
  }
  return new Uint8Array(bytes);
}

function whole(name: string, value: number, largest: number): number {
  if (!Number.isInteger(value) || value < 0 || value > largest) {
    throw new RangeError(`${name} must be a whole number from 0 to ${largest}`);
  }
  return value;
}
