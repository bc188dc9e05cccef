/** The operator's side: tenants, their policies and API keys, operators, the audit trail. */

import { TrustRoot } from "../trust-root.js";
import { type Answer, identifier, identifierBytes, toBase64 } from "./answer.js";
import {
  type AuditEntry,
  auditEntry,
  type ChangedOperator,
  type CreatedToken,
  type Operator,
  operator,
  type Role,
  ROLES,
} from "./operators.js";
import { type ChangedPolicy, policy, policyDigest, type PolicyVersion, policyVersion, type TenantPolicy } from "./policy.js";
import { type Receipt, receipt, type Said } from "./receipts.js";
import { type Scope, SCOPES } from "./scopes.js";
import { type Connection, get, once, postJson, putJson, Transport, withoutBody } from "./transport.js";
import { type DayOfUse, dayOfUse } from "./usage.js";

/** In place of a tenant, where a change concerns the service itself. */
const SERVICE = new Uint8Array(16);

/** A tenant that was made. */
export interface CreatedTenant {
  readonly tenantId: Uint8Array;
  readonly policyId: number;
  /** That it was made with this policy; undefined, here and in what follows, where the service could not seal it. */
  readonly receipt: Receipt | undefined;
}

/** A tenant in a list. Times are Unix seconds. */
export interface TenantSummary {
  readonly tenantId: Uint8Array;
  readonly name: string;
  readonly createdAt: number;
  readonly disabledAt: number | undefined;
}

/** A tenant that was disabled or enabled. */
export interface ChangedTenant extends TenantSummary {
  /** Undefined also where it was so already. */
  readonly receipt: Receipt | undefined;
}

/** A tenant that was deleted. */
export interface DeletedTenant {
  readonly tenantId: Uint8Array;
  /** Those that were destroyed. */
  readonly templates: number;
  readonly deletedAt: number;
  readonly receipt: Receipt | undefined;
}

/** A tenant with its policy. */
export interface TenantDetail extends TenantSummary {
  readonly policyId: number;
  readonly policyVersion: number;
  readonly policy: TenantPolicy;
  /** The newest credential root; undefined before the first. */
  readonly rootGeneration: number | undefined;
  /** Subjects without an attempt now; undefined where the key-holder cannot say. */
  readonly lockedOut: number | undefined;
  /** Logins refused with `distinct-failures` since the service started. */
  readonly distinctFailuresRefused: number;
}

/** An API key with its secret, which the service shows once. */
export interface CreatedApiKey {
  readonly apiKey: string;
  readonly id: Uint8Array;
  readonly expiresAt: number | undefined;
  readonly receipt: Receipt | undefined;
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

/** An API key that is refused from now on. */
export interface RevokedApiKey extends ApiKey {
  /** Undefined also where it was revoked already. */
  readonly receipt: Receipt | undefined;
}

/** Where a rotation of the keys of a tenant's templates stands. */
export interface KeyRotation {
  readonly state: "idle" | "running" | "stopped";
  /** Of the newest keys. */
  readonly epoch: number;
  /** Templates under them. */
  readonly renewed: number;
  /** Templates under the keys before. */
  readonly left: number;
  /** Why it stopped. */
  readonly error: string | undefined;
}

/** A rotation that was asked for. */
export interface StartedRotation extends KeyRotation {
  /** Undefined also where it had begun before. */
  readonly receipt: Receipt | undefined;
}

/** How to reach the service as its operator. */
export interface AdminOptions extends Connection {
  /** An operator's; `admin.token` in the data directory has the first. */
  readonly token: string;
  /** The pinned one: every receipt is verified under it. */
  readonly trustRoot: TrustRoot;
}

/** What may be said of an API key that is made. */
export interface ApiKeyOptions {
  readonly label?: string;
  /** Unix seconds. */
  readonly expiresAt?: number;
  /** Your own, to repeat the call yourself. */
  readonly idempotencyKey?: string;
}

/**
 * An operator at the admin listener.
 *
 * Every change answers with a receipt, which is verified under the pinned trust root and must say what was asked for. What is created
 * is created once: a repetition after a lost answer carries the same `Idempotency-Key`. A secret is shown once, so that the repetition
 * rejects with a `Problem` of the code `secret-shown`, which names what to revoke.
 */
export class Admin {
  readonly #transport: Transport;
  readonly #trustRoot: TrustRoot;

  constructor({ token, trustRoot, ...connection }: AdminOptions) {
    if (!(trustRoot instanceof TrustRoot)) throw new TypeError("trustRoot must be a TrustRoot");
    this.#transport = new Transport(connection, token);
    this.#trustRoot = trustRoot;
  }

  async createTenant(name: string, policy: TenantPolicy, idempotencyKey?: string): Promise<CreatedTenant> {
    const answer = await this.#transport.json(postJson("/v1/tenants", { name, policy }, true, once(idempotencyKey)));
    const tenantId = answer.hex("tenant_id", 16);
    // The digest says whether the policy asks for proofs.
    const sealed = this.#receipt(answer, tenantId, { kind: "tenant_created", policyDigest: policyDigest(policy) });
    return { tenantId, policyId: answer.whole("policy_id"), receipt: sealed };
  }

  /** All tenants, page by page. */
  async *tenants(): AsyncGenerator<TenantSummary> {
    yield* this.#transport.pages("/v1/tenants", "tenants", summary);
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
      lockedOut: answer.wholeIfAny("locked_out"),
      distinctFailuresRefused: answer.whole("distinct_failures_refused"),
    };
  }

  /**
   * Makes a policy the next version; with `ifVersion` only where that one is in force. The policy in force makes no version.
   */
  async setPolicy(tenant: Uint8Array | string, policy: TenantPolicy, ifVersion?: number): Promise<ChangedPolicy> {
    const headers = ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
    const answer = await this.#transport.json(putJson(path(tenant, "/policy"), { policy }, headers));
    const made = policyVersion(answer);
    const said = {
      kind: "policy_changed",
      policyId: made.policyId,
      policyVersion: made.policyVersion,
      policyDigest: policyDigest(policy),
    };
    return { ...made, receipt: this.#receipt(answer, tenant, said) };
  }

  /** Every version of a tenant's policy, oldest first. */
  async *policies(tenant: Uint8Array | string): AsyncGenerator<PolicyVersion> {
    yield* this.#transport.pages(path(tenant, "/policies"), "policies", policyVersion);
  }

  /** Refuses all of a tenant's API keys. Nothing is deleted. */
  async disableTenant(tenant: Uint8Array | string): Promise<ChangedTenant> {
    const answer = await this.#transport.json(withoutBody("POST", path(tenant, "/disable")));
    return { ...summary(answer), receipt: this.#receipt(answer, tenant, { kind: "tenant_disabled" }) };
  }

  /** Takes them again. */
  async enableTenant(tenant: Uint8Array | string): Promise<ChangedTenant> {
    const answer = await this.#transport.json(withoutBody("POST", path(tenant, "/enable")));
    return { ...summary(answer), receipt: this.#receipt(answer, tenant, { kind: "tenant_enabled" }) };
  }

  /**
   * Destroys a disabled tenant with its templates and their keys; its root log stays. Undefined where an earlier attempt of this call
   * did it and its answer is lost.
   */
  async deleteTenant(tenant: Uint8Array | string): Promise<DeletedTenant | undefined> {
    const answer = await this.#transport.destroy(path(tenant, ""), "tenant-unknown");
    if (answer === undefined) return undefined;
    const templates = answer.whole("templates");
    const sealed = this.#receipt(answer, tenant, { kind: "tenant_deleted", templates: BigInt(templates) });
    return { tenantId: answer.hex("tenant_id", 16), templates, deletedAt: answer.whole("deleted_at"), receipt: sealed };
  }

  /** Makes an API key. The answer is the only time that its secret is shown. */
  async createApiKey(
    tenant: Uint8Array | string,
    scopes: readonly Scope[],
    { label, expiresAt, idempotencyKey }: ApiKeyOptions = {},
  ): Promise<CreatedApiKey> {
    // What is undefined is left out.
    const body = { scopes, label, expires_at: expiresAt };
    const answer = await this.#transport.json(postJson(path(tenant, "/api-keys"), body, true, once(idempotencyKey)));
    const id = answer.hex("id", 8);
    const sum = SCOPES.reduce((sum, scope, bit) => sum + (scopes.includes(scope) ? 1 << bit : 0), 0);
    const sealed = this.#receipt(answer, tenant, { kind: "api_key_created", apiKey: id, scopes: sum });
    return { apiKey: answer.text("api_key"), id, expiresAt: answer.wholeIfAny("expires_at"), receipt: sealed };
  }

  /** All API keys of a tenant, the ended ones too, page by page. */
  async *apiKeys(tenant: Uint8Array | string): AsyncGenerator<ApiKey> {
    yield* this.#transport.pages(path(tenant, "/api-keys"), "api_keys", apiKey);
  }

  /** Refuses an API key from now on. */
  async revokeApiKey(tenant: Uint8Array | string, id: Uint8Array | string): Promise<RevokedApiKey> {
    const key = path(tenant, `/api-keys/${identifier(id, 8, "id")}`);
    const answer = await this.#transport.json(withoutBody("DELETE", key));
    const shown = apiKey(answer);
    const said = { kind: "api_key_revoked", apiKey: identifierBytes(id, 8, "id") };
    return { ...shown, receipt: this.#receipt(answer, tenant, said) };
  }

  /** What a tenant's API keys were used for in the last 31 days, page by page. */
  async *usage(tenant: Uint8Array | string): AsyncGenerator<DayOfUse> {
    yield* this.#transport.pages(path(tenant, "/usage"), "usage", dayOfUse);
  }

  /** Takes a tenant's credential roots under this key from now on, 1,952 bytes; `trefoil issuer register` sends its own. */
  async registerIssuerKey(tenant: Uint8Array | string, mlDsa65: Uint8Array): Promise<Receipt | undefined> {
    const answer = await this.#transport.json(putJson(path(tenant, "/issuer-key"), { ml_dsa_65: toBase64(mlDsa65) }));
    return this.#receipt(answer, tenant, { kind: "issuer_key_registered", issuerKey: answer.hex("key_id", 32) });
  }

  /** Ends the delay of a locked-out subject, and forgets its failures of the day. */
  async resetAttempts(tenant: Uint8Array | string, handle: Uint8Array | string): Promise<Receipt | undefined> {
    const subject = path(tenant, `/subjects/${identifier(handle, 32, "handle")}/reset-attempts`);
    return this.#receipt(await this.#transport.json(withoutBody("POST", subject)), tenant, { kind: "attempts_reset" });
  }

  /** Has the key-holder decide again for a tenant whose malformed jobs froze it. */
  async resetMalformed(tenant: Uint8Array | string): Promise<Receipt | undefined> {
    const answer = await this.#transport.json(withoutBody("POST", path(tenant, "/reset-malformed")));
    return this.#receipt(answer, tenant, { kind: "malformed_reset" });
  }

  /** Has a tenant's templates encrypted under new keys, or goes on with a rotation that stopped. */
  async rotateKeys(tenant: Uint8Array | string): Promise<StartedRotation> {
    const answer = await this.#transport.json(withoutBody("POST", path(tenant, "/key-rotation")));
    const rotation = keyRotation(answer);
    const said = { kind: "key_rotation_begun", epoch: rotation.epoch };
    return { ...rotation, receipt: this.#receipt(answer, tenant, said) };
  }

  /** Where the rotation of a tenant's keys stands. */
  async keyRotation(tenant: Uint8Array | string): Promise<KeyRotation> {
    return keyRotation(await this.#transport.json(get(path(tenant, "/key-rotation"))));
  }

  /** Makes an operator with a first token, which this answer alone shows; `expiresAt` is the token's. Owners may. */
  async createOperator(
    name: string,
    role: Role,
    { expiresAt, idempotencyKey }: Omit<ApiKeyOptions, "label"> = {},
  ): Promise<CreatedToken> {
    const body = { name, role, expires_at: expiresAt };
    return this.#createdToken("/v1/operators", body, idempotencyKey, () => ({
      kind: "operator_created",
      role: ROLES.indexOf(role) + 1,
    }));
  }

  /** All operators, the revoked ones too, page by page. */
  async *operators(): AsyncGenerator<Operator> {
    yield* this.#transport.pages("/v1/operators", "operators", operator);
  }

  /** One operator. */
  async operator(operatorId: Uint8Array | string): Promise<Operator> {
    return operator(await this.#transport.json(get(operatorPath(operatorId))));
  }

  /** Refuses all tokens of an operator from now on. */
  async revokeOperator(operatorId: Uint8Array | string): Promise<ChangedOperator> {
    return this.#revoked(operatorPath(operatorId), { kind: "operator_revoked" });
  }

  /** Makes another token of an operator, who has at most two at a time. */
  async createOperatorToken(
    operatorId: Uint8Array | string,
    { expiresAt, idempotencyKey }: Omit<ApiKeyOptions, "label"> = {},
  ): Promise<CreatedToken> {
    const body = { expires_at: expiresAt };
    return this.#createdToken(operatorPath(operatorId, "/tokens"), body, idempotencyKey, (token) => ({
      kind: "operator_token_created",
      token,
    }));
  }

  /** Refuses one token of an operator from now on. */
  async revokeOperatorToken(operatorId: Uint8Array | string, number: number): Promise<ChangedOperator> {
    const said = { kind: "operator_token_revoked", token: number };
    return this.#revoked(operatorPath(operatorId, `/tokens/${number}`), said);
  }

  /** What operators changed and were refused for their role, oldest first, page by page: of all tenants, or of one. */
  async *audit(tenant?: Uint8Array | string): AsyncGenerator<AuditEntry> {
    const ofOne = tenant === undefined ? "" : `?tenant=${identifier(tenant, 16, "tenant")}`;
    yield* this.#transport.pages(`/v1/audit${ofOne}`, "entries", auditEntry);
  }

  async #createdToken(
    path: string,
    body: object,
    idempotencyKey: string | undefined,
    said: (number: number) => Said,
  ): Promise<CreatedToken> {
    const answer = await this.#transport.json(postJson(path, body, true, once(idempotencyKey)));
    const operatorId = answer.hex("operator_id", 8);
    const number = answer.whole("number");
    const sealed = this.#receipt(answer, SERVICE, { operator: operatorId, ...said(number) });
    const expiresAt = answer.wholeIfAny("expires_at");
    return { operatorId, token: answer.text("token"), number, expiresAt, receipt: sealed };
  }

  async #revoked(path: string, said: Said): Promise<ChangedOperator> {
    const answer = await this.#transport.json(withoutBody("DELETE", path));
    const shown = operator(answer);
    return { ...shown, receipt: this.#receipt(answer, SERVICE, { operator: shown.id, ...said }) };
  }

  #receipt(answer: Answer, tenant: Uint8Array | string, said: Said): Receipt | undefined {
    return receipt(answer, this.#trustRoot, identifierBytes(tenant, 16, "tenant"), said);
  }
}

function path(tenant: Uint8Array | string, rest: string): string {
  return `/v1/tenants/${identifier(tenant, 16, "tenant")}${rest}`;
}

function operatorPath(operatorId: Uint8Array | string, rest = ""): string {
  return `/v1/operators/${identifier(operatorId, 8, "operatorId")}${rest}`;
}

function summary(answer: Answer): TenantSummary {
  return {
    tenantId: answer.hex("tenant_id", 16),
    name: answer.text("name"),
    createdAt: answer.whole("created_at"),
    disabledAt: answer.wholeIfAny("disabled_at"),
  };
}

function keyRotation(answer: Answer): KeyRotation {
  return {
    state: answer.oneOf("state", ["idle", "running", "stopped"]),
    epoch: answer.whole("epoch"),
    renewed: answer.whole("renewed"),
    left: answer.whole("left"),
    error: answer.has("error") ? answer.text("error") : undefined,
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
