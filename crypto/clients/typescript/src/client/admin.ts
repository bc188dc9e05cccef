/** The operator's side: tenants, their policies and their API keys. */

import { type Answer, identifier } from "./answer.js";
import { type Connection, get, postJson, putJson, Transport } from "./transport.js";

/** One thing that an API key may do. */
export type Scope = "enrol" | "authenticate" | "issue";
const SCOPES: readonly Scope[] = ["enrol", "authenticate", "issue"];

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

/** A tenant that was made. */
export interface CreatedTenant {
  readonly tenantId: Uint8Array;
  readonly policyId: number;
}

/** A tenant in a list. Times are Unix seconds. */
export interface TenantSummary {
  readonly tenantId: Uint8Array;
  readonly name: string;
  readonly createdAt: number;
  readonly disabledAt: number | undefined;
}

/** A tenant with its policy. */
export interface TenantDetail extends TenantSummary {
  readonly policyId: number;
  readonly policyVersion: number;
  readonly policy: TenantPolicy;
  /** The newest credential root; undefined before the first. */
  readonly rootGeneration: number | undefined;
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
  /** CBOR, not verified here, for `verifyChange` under the pinned trust root; undefined where it could not be sealed. */
  readonly receipt: Uint8Array | undefined;
}

/** An API key with its secret, which the service shows once. */
export interface CreatedApiKey {
  readonly apiKey: string;
  readonly id: Uint8Array;
  readonly expiresAt: number | undefined;
}

/** An API key in a list. */
export interface ApiKey {
  readonly id: Uint8Array;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly state: "active" | "expired" | "revoked";
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** The hour of its last use. */
  readonly lastUsedAt: number | undefined;
}

/** How to reach the service as its operator. */
export interface AdminOptions extends Connection {
  /** The content of `admin.token` in the data directory. */
  readonly token: string;
}

/**
 * The operator at the admin listener.
 *
 * Tenants and API keys are made at most once: a call whose answer is lost rejects with `Unreachable`, and is not repeated. List them then.
 */
export class Admin {
  readonly #transport: Transport;

  constructor({ token, ...connection }: AdminOptions) {
    this.#transport = new Transport(connection, token);
  }

  async createTenant(name: string, policy: TenantPolicy): Promise<CreatedTenant> {
    const answer = await this.#transport.json(postJson("/v1/tenants", { name, policy }, false));
    return { tenantId: answer.hex("tenant_id", 16), policyId: answer.whole("policy_id") };
  }

  /** All tenants, page by page. */
  async *tenants(): AsyncGenerator<TenantSummary> {
    for await (const page of this.#transport.pages("/v1/tenants")) yield* page.objects("tenants").map(summary);
  }

  /** One tenant. */
  async tenant(tenant: Uint8Array | string): Promise<TenantDetail> {
    const answer = await this.#transport.json(get(path(tenant, "")));
    return {
      ...summary(answer),
      policyId: answer.whole("policy_id"),
      policyVersion: answer.whole("policy_version"),
      policy: policy(answer.object("policy")),
      rootGeneration: answer.wholeIfAny("root_generation"),
    };
  }

  /**
   * Makes a policy the next version; with `ifVersion` only where that one is in force. The policy in force makes no version.
   */
  async setPolicy(tenant: Uint8Array | string, policy: TenantPolicy, ifVersion?: number): Promise<ChangedPolicy> {
    const headers = ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
    const answer = await this.#transport.json(putJson(path(tenant, "/policy"), { policy }, headers));
    const receipt = answer.has("receipt") ? answer.object("receipt").base64("attestation") : undefined;
    return { ...policyVersion(answer), receipt };
  }

  /** Every version of a tenant's policy, oldest first. */
  async *policies(tenant: Uint8Array | string): AsyncGenerator<PolicyVersion> {
    for await (const page of this.#transport.pages(path(tenant, "/policies"))) {
      yield* page.objects("policies").map(policyVersion);
    }
  }

  /** Refuses all of a tenant's API keys. Nothing is deleted. */
  async disableTenant(tenant: Uint8Array | string): Promise<TenantSummary> {
    return summary(await this.#transport.json({ method: "POST", path: path(tenant, "/disable"), repeatable: true }));
  }

  /** Takes them again. */
  async enableTenant(tenant: Uint8Array | string): Promise<TenantSummary> {
    return summary(await this.#transport.json({ method: "POST", path: path(tenant, "/enable"), repeatable: true }));
  }

  /** Makes an API key. The answer is the only time that its secret is shown. */
  async createApiKey(
    tenant: Uint8Array | string,
    scopes: readonly Scope[],
    { label, expiresAt }: { readonly label?: string; readonly expiresAt?: number } = {},
  ): Promise<CreatedApiKey> {
    // What is undefined is left out.
    const body = { scopes, label, expires_at: expiresAt };
    const answer = await this.#transport.json(postJson(path(tenant, "/api-keys"), body, false));
    return { apiKey: answer.text("api_key"), id: answer.hex("id", 8), expiresAt: answer.wholeIfAny("expires_at") };
  }

  /** All API keys of a tenant, the ended ones too, page by page. */
  async *apiKeys(tenant: Uint8Array | string): AsyncGenerator<ApiKey> {
    for await (const page of this.#transport.pages(path(tenant, "/api-keys"))) yield* page.objects("api_keys").map(apiKey);
  }

  /** Refuses an API key from now on. */
  async revokeApiKey(tenant: Uint8Array | string, id: Uint8Array | string): Promise<ApiKey> {
    const key = path(tenant, `/api-keys/${identifier(id, 8, "id")}`);
    return apiKey(await this.#transport.json({ method: "DELETE", path: key, repeatable: true }));
  }
}

function path(tenant: Uint8Array | string, rest: string): string {
  return `/v1/tenants/${identifier(tenant, 16, "tenant")}${rest}`;
}

function summary(answer: Answer): TenantSummary {
  return {
    tenantId: answer.hex("tenant_id", 16),
    name: answer.text("name"),
    createdAt: answer.whole("created_at"),
    disabledAt: answer.wholeIfAny("disabled_at"),
  };
}

function policyVersion(answer: Answer): PolicyVersion {
  return {
    policyId: answer.whole("policy_id"),
    policyVersion: answer.whole("policy_version"),
    madeAt: answer.whole("made_at"),
    policyDigest: answer.hex("policy_digest", 32),
    policy: policy(answer.object("policy")),
  };
}

function policy(answer: Answer): TenantPolicy {
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

function apiKey(answer: Answer): ApiKey {
  return {
    id: answer.hex("id", 8),
    label: answer.text("label"),
    scopes: SCOPES.filter((scope) => answer.texts("scopes").includes(scope)),
    state: answer.oneOf("state", ["active", "expired", "revoked"]),
    createdAt: answer.whole("created_at"),
    expiresAt: answer.wholeIfAny("expires_at"),
    revokedAt: answer.wholeIfAny("revoked_at"),
    lastUsedAt: answer.wholeIfAny("last_used_at"),
  };
}
