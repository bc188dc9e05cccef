/**
 * The service's API, from the tenant's side and the operator's.
 *
 * {@link Tenant} enrols, opens and ends sessions, logs in and verifies each attestation before it returns it; {@link Admin} makes
 * tenants, their policies, API keys and operators, and verifies each receipt. Written from `server/API.md`, over `fetch`.
 */

export {
  Admin,
  type AdminOptions,
  type ApiKey,
  type ApiKeyOptions,
  type ChangedTenant,
  type CreatedApiKey,
  type CreatedTenant,
  type DeletedTenant,
  type KeyRotation,
  type RevokedApiKey,
  type StartedRotation,
  type TenantDetail,
  type TenantSummary,
} from "./admin.js";
export type { Attempt } from "./attempt.js";
export { type FieldError, Problem, type ProblemDocument, TrefoilError, UnexpectedAnswer, Unreachable } from "./errors.js";
export { type AttestationForm, type Embedding, Proof, probeDigest, type Session, type Unproven } from "./login.js";
export { nodesInOrder } from "./nodes.js";
export type { AuditEntry, ChangedOperator, CreatedToken, Operator, OperatorToken, Role } from "./operators.js";
export { type Attempts, type ChangedPolicy, policyDigest, type PolicyVersion, type TenantPolicy } from "./policy.js";
export type { Receipt, SealedEntry } from "./receipts.js";
export type { Scope } from "./scopes.js";
export {
  type Counts,
  type Decided,
  type EndedSession,
  type Enrolled,
  type Erased,
  type LiveSession,
  type Login,
  type LoginOptions,
  type Replaced,
  type Revoked,
  type Subject,
  Tenant,
  type TenantOptions,
} from "./tenant.js";
export type { Connection } from "./transport.js";
export type { DayOfUse } from "./usage.js";
