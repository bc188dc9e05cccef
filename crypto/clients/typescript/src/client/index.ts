/**
 * The service's API for an application: {@link Tenant} enrols, opens and ends sessions, logs in, and verifies each attestation and receipt
 * before it returns it. Written from `server/API.md`, over `fetch`.
 */

export type { Attempt } from "./attempt.js";
export { type FieldError, Problem, type ProblemDocument, TrefoilError, UnexpectedAnswer, Unreachable } from "./errors.js";
export { type AttestationForm, type Embedding, Proof, probeDigest, type Session, type Unproven } from "./login.js";
export { nodesInOrder } from "./nodes.js";
export type { Receipt } from "./receipts.js";
export {
  type Changed,
  type Decided,
  type EndedSession,
  type Enrolled,
  type Erased,
  type Login,
  type LoginOptions,
  type Replaced,
  type Revoked,
  Tenant,
  type TenantOptions,
} from "./tenant.js";
