/** Operators of the service, their tokens, and the audit trail of what they changed. */

import type { Answer } from "./answer.js";
import { type Receipt, type SealedEntry, sealedEntry } from "./receipts.js";

/** What an operator may do; each role may do what the one before it may. */
export type Role = "viewer" | "operator" | "owner";
/** In the order of their numbers in receipts, which count from 1. */
export const ROLES: readonly Role[] = ["viewer", "operator", "owner"];

/** A token of an operator, without its secret. Times are Unix seconds. */
export interface OperatorToken {
  /** Counts the operator's tokens from 1. */
  readonly number: number;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
}

/** An operator of the service. */
export interface Operator {
  /** Zeros are the operator of the file `admin.token`. */
  readonly id: Uint8Array;
  readonly name: string;
  readonly role: Role;
  /** Undefined for the operator of the file `admin.token`. */
  readonly createdAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** Oldest first, the ended ones too. */
  readonly tokens: readonly OperatorToken[];
}

/** An operator who was revoked, or whose token was. */
export interface ChangedOperator extends Operator {
  /** Undefined where it was revoked already, or where the service could not seal it. */
  readonly receipt: Receipt | undefined;
}

/** A token with its secret, which the service shows once. */
export interface CreatedToken {
  readonly operatorId: Uint8Array;
  readonly token: string;
  readonly number: number;
  readonly expiresAt: number | undefined;
  readonly receipt: Receipt | undefined;
}

/** What an operator changed, or was refused for the role. */
export interface AuditEntry {
  readonly number: number;
  /** Unix seconds. */
  readonly at: number;
  /** Undefined where the service did it on its own, as the end of a key rotation. */
  readonly operatorId: Uint8Array | undefined;
  readonly operatorName: string | undefined;
  /** Undefined where it concerns the service itself. */
  readonly tenant: Uint8Array | undefined;
  /** A kind of change, such as `policy_changed`. */
  readonly action: string;
  readonly outcome: "done" | "refused";
  /** What it was done to. */
  readonly object: string | undefined;
  /** Undefined until it is sealed. */
  readonly receipt: SealedEntry | undefined;
}

export function operator(answer: Answer): Operator {
  return {
    id: answer.hex("operator_id", 8),
    name: answer.text("name"),
    role: answer.oneOf("role", ROLES),
    createdAt: answer.wholeIfAny("created_at"),
    revokedAt: answer.wholeIfAny("revoked_at"),
    tokens: answer.objects("tokens").map((token) => ({
      number: token.whole("number"),
      createdAt: token.whole("created_at"),
      expiresAt: token.wholeIfAny("expires_at"),
      revokedAt: token.wholeIfAny("revoked_at"),
    })),
  };
}

export function auditEntry(answer: Answer): AuditEntry {
  const ifAny = <T>(name: string, read: () => T): T | undefined => (answer.has(name) ? read() : undefined);
  return {
    number: answer.whole("number"),
    at: answer.whole("at"),
    operatorId: ifAny("operator_id", () => answer.hex("operator_id", 8)),
    operatorName: ifAny("operator_name", () => answer.text("operator_name")),
    tenant: ifAny("tenant", () => answer.hex("tenant", 16)),
    action: answer.text("action"),
    outcome: answer.oneOf("outcome", ["done", "refused"]),
    object: ifAny("object", () => answer.text("object")),
    receipt: ifAny("receipt", () => sealedEntry(answer.object("receipt"))),
  };
}
