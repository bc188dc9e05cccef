/** The outcome as elements. Text is set as text, so nothing in an attestation can become markup. */

import { toHex } from "../src/bytes.js";
import type { OperatorsWhat, VerifiedChange, What } from "../src/change.js";
import { FAMILIES } from "../src/family.js";
import type { SealHeader } from "../src/seal.js";
import type { Verified } from "../src/verify.js";

const NO_PROOF =
  "No credential proof: that the request was this person's is the word of the tenant's application alone. A relying party that " +
  "expects a proof must not accept it.";

/** Shows what was verified. */
export function showVerified(verified: Verified, served: boolean): HTMLElement {
  const { statement, seal } = verified;
  const match = statement.decision === "match";
  const box = element("div", "", `outcome ${match ? "good" : "attested-denial"}`);
  const backed = statement.proof === undefined ? ", without a credential proof" : "";
  box.append(
    element("h2", `${match ? "Verified: match" : "Verified: no match"}${backed}`),
    element("p", match ? "The holder of this account was authenticated." : "The service attests a denial: nobody was authenticated."),
  );
  if (statement.proof === undefined) box.append(element("p", NO_PROOF));
  box.append(...signatures(served));
  box.append(
    rows([
      ["Issuer", statement.issuer],
      ["Audience", statement.audience],
      ["Account", statement.account],
      ["Proof", statement.proof === undefined ? "none" : `level ${statement.proof.level}`],
      ["Session", statement.proof?.session ?? "none"],
      ["Tenant", statement.tenant],
      ["Nonce", statement.nonce],
      ["Issued", time(statement.issuedAt)],
      ["Expires", time(statement.expiresAt)],
      ...place(seal, verified.leafIndex),
    ]),
    element("p", "Keep the account: it is the same at every login of this person here. Session and nonce are not."),
  );
  return box;
}

/** Shows what a receipt says was done. */
export function showReceipt(verified: VerifiedChange, served: boolean): HTMLElement {
  const { change, seal } = verified;
  const { heading, details } = done(change.what);
  const box = element("div", "", "outcome good");
  box.append(
    element("h2", `Verified receipt: ${heading}`),
    element("p", change.what.kind === "refused" ? "The service attests that it refused this change, and changed nothing." : "The service attests that it made this change. It says nothing about a login."),
    ...signatures(served),
    rows([
      ["Issuer", change.issuer],
      ["Tenant", change.tenant.every((byte) => byte === 0) ? "none: the service itself" : change.tenant],
      ...details,
      ...(change.by ? ([["By", `${change.by.name} (${toHex(change.by.operator)})`]] as const) : []),
      ["Done", time(change.changedAt)],
      ...place(seal, verified.leafIndex),
    ]),
    element("p", "Compare tenant and what was done with what you expect: this page does not know it."),
  );
  return box;
}

/** A row: its name, and text or bytes. */
type Row = readonly [name: string, value: string | Uint8Array];

function done(what: What): { readonly heading: string; readonly details: readonly Row[] } {
  switch (what.kind) {
    case "enrolled": {
      const details: Row[] = [["Subject", what.handle], ["Generation", `${what.generation}`], ["Consent digest", what.consent]];
      return { heading: "subject enrolled", details };
    }
    case "erased":
      return { heading: "subject erased", details: [["Subject", what.handle], ["Generation", `${what.generation}`]] };
    case "root_published": {
      const generation = `${what.generation}, accepted from ${what.generationMin}`;
      const details: Row[] = [["Generation", generation], ["Credential root", what.root], ["Log head", what.head]];
      return { heading: "credential root published", details };
    }
    case "policy_changed": {
      const policy = `${what.policyId} version ${what.policyVersion}`;
      return { heading: "policy changed", details: [["Policy", policy], ["Policy digest", what.policyDigest]] };
    }
    case "session_opened":
      return { heading: "session opened", details: [["Session", what.session], ["Ends", time(what.expiresAt)]] };
    case "session_ended":
      return { heading: "session ended", details: [["Session", what.session]] };
    case "replaced": {
      const generation = `${what.generation}, in place of ${what.replaced}`;
      const details: Row[] = [["Subject", what.handle], ["Generation", generation], ["Consent digest", what.consent]];
      return { heading: "template replaced", details };
    }
    case "revoked":
      return { heading: "subject revoked", details: [["Subject", what.handle], ["Generation", `${what.generation}`]] };
    default:
      return { heading: what.kind.replaceAll("_", " "), details: detailsOf(what) };
  }
}

/** Names of roles by their numbers. */
const ROLES = ["unknown", "viewer", "operator", "owner"];
/** Names of scopes by their bits. */
const SCOPES = ["enrol", "authenticate", "issue"];

/** What operators do. */
function detailsOf(what: OperatorsWhat): readonly Row[] {
  switch (what.kind) {
    case "tenant_created":
      return [["Policy digest", what.policyDigest]];
    case "tenant_disabled":
    case "tenant_enabled":
    case "malformed_reset":
    case "attempts_reset":
      return [];
    case "api_key_created":
      return [["API key", what.apiKey], ["Scopes", SCOPES.filter((_, bit) => (what.scopes >> bit) % 2 === 1).join(", ")]];
    case "api_key_revoked":
      return [["API key", what.apiKey]];
    case "issuer_key_registered":
      return [["Issuer key", what.issuerKey]];
    case "key_rotation_begun":
    case "key_rotation_ended":
      return [["Epoch", `${what.epoch}`]];
    case "operator_created":
      return [["Operator", what.operator], ["Role", ROLES[what.role] ?? "unknown"]];
    case "operator_revoked":
      return [["Operator", what.operator]];
    case "operator_token_created":
    case "operator_token_revoked":
      return [["Operator", what.operator], ["Token", `${what.token}`]];
    case "tenant_deleted":
      return [["Templates destroyed", `${what.templates}`]];
    case "refused":
      return [["Change", what.action.replaceAll("_", " ")]];
  }
}

/** What was signed by whom, and the note where the trust root proves little. */
function signatures(served: boolean): HTMLElement[] {
  const families = element("ul", "");
  families.append(...FAMILIES.map(({ name }) => element("li", `${name} signature verifies`)));
  const note = "The trust root came from this server. That shows consistency, not who the issuer is.";
  return served ? [families, element("p", note)] : [families];
}

function place(seal: SealHeader, leafIndex: bigint): readonly Row[] {
  return [
    ["Sealed", `${time(seal.time)}, seal ${seal.sealNumber}`],
    ["Root", seal.root],
    ["Place", `leaf ${leafIndex} of ${seal.treeSize}`],
    ["Key set", seal.keySetId],
  ];
}

function rows(all: readonly Row[]): HTMLElement {
  const list = element("dl", "");
  for (const [name, value] of all) {
    const shown = typeof value === "string" ? element("dd", value) : element("dd", toHex(value), "bytes");
    list.append(element("dt", name), shown);
  }
  return list;
}

/** Shows why nothing was verified. `code` is the stable name, where there is one. */
export function showRefused(heading: string, message: string, code?: string): HTMLElement {
  const box = element("div", "", "outcome refused");
  box.setAttribute("role", "alert");
  box.append(element("h2", heading), element("p", message));
  if (code !== undefined) box.append(element("p", `Code: ${code}`));
  return box;
}

function time(seconds: bigint): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString().replace(".000Z", "Z");
}

function element(name: string, text: string, kind = ""): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind !== "") made.className = kind;
  return made;
}
