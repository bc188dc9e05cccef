/** What API keys may do. */

/** One thing that an API key may do. */
export type Scope = "enrol" | "authenticate" | "issue";
/** In the order of their bits in receipts. */
export const SCOPES: readonly Scope[] = ["enrol", "authenticate", "issue"];
