/** The operator's side: tenants and their API keys. */

import { type Answer, identifier } from "./answer.js";
import { type Connection, get, postJson, Transport } from "./transport.js";

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

/** What a tenant's logins are decided under, in the API's own names; for good. */
export interface TenantPolicy {
  /** The model whose vectors are compared, such as `facenet-128`. */
  readonly embedder: string;
  /** A class of false-match rate, 10^-class, or a score that you calibrated to one. */
  readonly threshold:
    | { readonly fmr_class: number }
    | { readonly calibrated: { readonly score: number; readonly fmr_class: number } };
  /** Relying parties, exactly as attestations name them. */
  readonly audiences: readonly string[];
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
    for await (const page of this.#pages("/v1/tenants")) yield* page.objects("tenants").map(summary);
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
    for await (const page of this.#pages(path(tenant, "/api-keys"))) yield* page.objects("api_keys").map(apiKey);
  }

  /** Refuses an API key from now on. */
  async revokeApiKey(tenant: Uint8Array | string, id: Uint8Array | string): Promise<ApiKey> {
    const key = path(tenant, `/api-keys/${identifier(id, 8, "id")}`);
    return apiKey(await this.#transport.json({ method: "DELETE", path: key, repeatable: true }));
  }

  async *#pages(at: string): AsyncGenerator<Answer> {
    for (let following = at; ; ) {
      const page = await this.#transport.json(get(following));
      yield page;
      if (!page.has("next")) return;
      following = `${at}?from=${page.text("next")}`;
    }
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
