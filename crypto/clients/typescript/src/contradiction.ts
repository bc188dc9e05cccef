/**
 * Whether two attestations contradict each other: evidence against a service that attests match to one party and no match
 * to another.
 *
 * The request digest covers a request's session, handle, audience, nonce, time and probe, and a service decides a request
 * once. So two statements of one issuer about one request digest contradict each other if they differ in the decision or in
 * what the request fixes. A service that states another request digest contradicts nothing: the person who made the request
 * compares the digest.
 */

import { equal } from "./bytes.js";
import type { Proof, Statement } from "./statement.js";
import { Verified } from "./verify.js";

/** Stable names for programs, the same in every verifier of these formats. */
export const RELATIONS = [
  /** They are about different requests, or by different issuers. */
  "unrelated",
  /** They attest one and the same statement. */
  "same",
  /** Two statements of one request that agree. */
  "repeated",
  /** One request was attested as a match and as no match. This and those below: keep both as evidence. */
  "contradiction-decision",
  "contradiction-account",
  "contradiction-session",
  "contradiction-tenant",
  "contradiction-audience",
  "contradiction-nonce",
] as const;

export type Relation = (typeof RELATIONS)[number];

/** How two attestations, in any order, are related. Only verified ones count: anybody can write a statement. */
export function compare(one: Verified, other: Verified): Relation {
  if (!(one instanceof Verified) || !(other instanceof Verified)) {
    throw new TypeError("both must be Verified; verify them first");
  }
  // A statement has one encoding.
  if (equal(one.statementDigest, other.statementDigest)) return "same";
  return related(one.statement, other.statement);
}

function related(one: Statement, other: Statement): Relation {
  if (one.issuer !== other.issuer || !equal(one.requestDigest, other.requestDigest)) return "unrelated";
  if (one.decision !== other.decision) return "contradiction-decision";
  if (!equal(one.account, other.account)) return "contradiction-account";
  if (!isOneProof(one.proof, other.proof)) return "contradiction-session";
  if (!equal(one.tenant, other.tenant)) return "contradiction-tenant";
  if (one.audience !== other.audience) return "contradiction-audience";
  return equal(one.nonce, other.nonce) ? "repeated" : "contradiction-nonce";
}

function isOneProof(one: Proof | undefined, other: Proof | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const { circuit, root, level, epoch, session } = one;
  const isAlike = circuit === other.circuit && level === other.level && epoch === other.epoch;
  return isAlike && equal(root, other.root) && equal(session, other.session);
}
