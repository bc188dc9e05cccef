/** What a tenant's logins are decided under, and its versions. */

import { sha3_256 } from "@noble/hashes/sha3.js";

import type { Answer } from "./answer.js";
import type { Receipt } from "./receipts.js";

/** How often a template may be tried. What is left out has the service's default. */
export interface Attempts {
  /** Failures in a row before a delay. */
  readonly consecutive?: number;
  readonly delay_s?: number;
  readonly failures_per_day?: number;
  readonly failures_per_generation?: number;
  /** Matches included. */
  readonly attempts_per_day?: number;
  readonly attempts_per_generation?: number;
}

/**
 * What a tenant's logins are decided under, in the API's own names. `embedder`, `probe` and `proof` are for good; a change of the rest
 * is a version.
 */
export interface TenantPolicy {
  /** The model whose vectors are compared, such as `facenet-128`. */
  readonly embedder: string;
  /** A class of false-match rate, 10^-class, or a score that you calibrated to one. */
  readonly threshold:
    | { readonly fmr_class: number }
    | { readonly calibrated: { readonly score: number; readonly fmr_class: number } };
  /** Relying parties, exactly as attestations name them. */
  readonly audiences: readonly string[];
  /** Whether a login needs a credential proof; with `none` the API key alone vouches for it, and each attestation says so. */
  readonly proof?: "credential" | "none";
  readonly level_min?: number;
  readonly attempts?: Attempts;
  readonly attestation_lifetime_s?: number;
  readonly probe?: "plain" | "shared";
  readonly sessions_in_memory?: number;
}

/** A version of a tenant's policy. */
export interface PolicyVersion {
  readonly policyId: number;
  /** Counts from 1; attestations name it. */
  readonly policyVersion: number;
  readonly madeAt: number;
  /** SHA3-256 of the policy in canonical JSON, as receipts name it. */
  readonly policyDigest: Uint8Array;
  readonly policy: TenantPolicy;
}

/** The version in force. */
export interface ChangedPolicy extends PolicyVersion {
  /** Also for the policy in force again; undefined where the service could not seal it. */
  readonly receipt: Receipt | undefined;
}

/** What the service fills in for what a policy leaves out. */
const DEFAULT_ATTEMPTS: Required<Attempts> = {
  consecutive: 5,
  delay_s: 30,
  failures_per_day: 20,
  failures_per_generation: 100,
  attempts_per_day: 200,
  attempts_per_generation: 2_000,
};

/**
 * What receipts call a policy by, and with it whether it asks for proofs: SHA3-256 of its canonical JSON (RFC 8785), defaults included.
 */
export function policyDigest({ proof, attempts, ...policy }: TenantPolicy): Uint8Array {
  const defaults = { level_min: 0, attestation_lifetime_s: 120, probe: "plain" };
  const complete = { ...defaults, ...policy, attempts: { ...DEFAULT_ATTEMPTS, ...attempts } };
  // A policy that asks for a credential is written as it was before there was another.
  return sha3_256(new TextEncoder().encode(canonical(proof === "none" ? { ...complete, proof } : complete)));
}

/** JSON with its members sorted, without white space; what is undefined is left out. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

export function policyVersion(answer: Answer): PolicyVersion {
  return {
    policyId: answer.whole("policy_id"),
    policyVersion: answer.whole("policy_version"),
    madeAt: answer.whole("made_at"),
    policyDigest: answer.hex("policy_digest", 32),
    policy: policy(answer.object("policy")),
  };
}

export function policy(answer: Answer): TenantPolicy {
  const sessions = answer.wholeIfAny("sessions_in_memory");
  return {
    embedder: answer.text("embedder"),
    threshold: threshold(answer.object("threshold")),
    audiences: answer.texts("audiences"),
    level_min: answer.whole("level_min"),
    attempts: attempts(answer.object("attempts")),
    attestation_lifetime_s: answer.whole("attestation_lifetime_s"),
    probe: answer.oneOf("probe", ["plain", "shared"]),
    ...(answer.has("proof") ? { proof: answer.oneOf("proof", ["credential", "none"]) } : {}),
    ...(sessions === undefined ? {} : { sessions_in_memory: sessions }),
  };
}

function threshold(answer: Answer): TenantPolicy["threshold"] {
  if (!answer.has("calibrated")) return { fmr_class: answer.whole("fmr_class") };
  const calibrated = answer.object("calibrated");
  return { calibrated: { score: calibrated.whole("score"), fmr_class: calibrated.whole("fmr_class") } };
}

function attempts(answer: Answer): Attempts {
  return {
    consecutive: answer.whole("consecutive"),
    delay_s: answer.whole("delay_s"),
    failures_per_day: answer.whole("failures_per_day"),
    failures_per_generation: answer.whole("failures_per_generation"),
    attempts_per_day: answer.whole("attempts_per_day"),
    attempts_per_generation: answer.whole("attempts_per_generation"),
  };
}
