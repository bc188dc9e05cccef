/**
 * The service's API, from the tenant's side and the operator's.
 *
 * {@link Tenant} enrols, opens and ends sessions, logs in and verifies each attestation before it returns it; {@link Admin} makes
 * tenants, their policies and API keys. Written from `server/API.md`, over `fetch`.
 */

export {
  Admin,
  type AdminOptions,
  type ApiKey,
  type Attempts,
  type ChangedPolicy,
  type CreatedApiKey,
  type CreatedTenant,
  type PolicyVersion,
  type Scope,
  type TenantDetail,
  type TenantPolicy,
  type TenantSummary,
} from "./admin.js";
export { type FieldError, Problem, type ProblemDocument, TrefoilError, UnexpectedAnswer, Unreachable } from "./errors.js";
export { type AttestationForm, type Embedding, Proof, probeDigest, type Session, type Unproven } from "./login.js";
export {
  type Attempt,
  type Counts,
  type DayOfUse,
  type Decided,
  type EndedSession,
  type Enrolled,
  type Erased,
  type LiveSession,
  type Login,
  type Receipt,
  type Replaced,
  type Subject,
  Tenant,
  type TenantOptions,
} from "./tenant.js";
export type { Connection } from "./transport.js";
