/** The outcome as elements. Text is set as text, so nothing in an attestation can become markup. */

import { toHex } from "../src/bytes.js";
import type { VerifiedChange, What } from "../src/change.js";
import { FAMILIES } from "../src/family.js";
import type { SealHeader } from "../src/seal.js";
import type { Verified } from "../src/verify.js";
import { time } from "./time.js";

const NO_PROOF =
  "No credential proof: that the request was this person's is the word of the tenant's application alone. A relying party that " +
  "expects a proof must not accept it.";
const NOT_SIGNED =
  "Nothing here shows that the person's device took part: a service whose keys were stolen can say it too. A relying party that keeps " +
  "the account's key asks for its signature.";
const NOT_PINNED =
  "A device signed this login, and whether with the account's key is not shown. Keep the account key with the account at the first " +
  "login, and enter it at later ones.";

/** Shows what was verified. `now` is the present, where it was verified by that; `pinned` says that the account's key was demanded. */
export function showVerified(verified: Verified, served: boolean, pinned: boolean, now?: number): HTMLElement {
  const { statement, seal, accountKey } = verified;
  const match = statement.decision === "match";
  const box = element("div", "", `outcome ${match ? "good" : "attested-denial"}`);
  const backed = statement.proof === undefined ? ", without a credential proof" : "";
  box.append(
    element("h2", `${match ? "Verified: match" : "Verified: no match"}${backed}`),
    element("p", match ? "The holder of this account was authenticated." : "The service attests a denial: nobody was authenticated."),
  );
  if (statement.proof === undefined) box.append(element("p", NO_PROOF));
  else if (accountKey === undefined) box.append(element("p", NOT_SIGNED));
  else box.append(element("p", pinned ? "The account's device signed this login." : NOT_PINNED));
  box.append(...signatures(served));
  box.append(
    rows([
      ["Issuer", statement.issuer],
      ["Audience", statement.audience],
      ["Account", statement.account],
      ["Account key", accountKey ?? "none"],
      ["Proof", statement.proof === undefined ? "none" : `level ${statement.proof.level}`],
      ["Session", statement.proof?.session ?? "none"],
      ["Tenant", statement.tenant],
      ["Nonce", statement.nonce],
      ["Issued", time(statement.issuedAt)],
      ["Expires", time(statement.expiresAt, now)],
      ...place(seal, verified.leafIndex),
    ]),
    element("p", "Keep the account: it is the same at every login of this person here. Session and nonce are not."),
  );
  return box;
}

/** Shows what a receipt says was done. */
export function showReceipt(verified: VerifiedChange, served: boolean): HTMLElement {
  const { change, seal } = verified;
  const { kind } = change.what;
  const box = element("div", "", "outcome good");
  box.append(
    element("h2", `Verified receipt: ${HEADINGS[kind] ?? kind.replaceAll("_", " ")}`),
    element("p", kind === "refused" ? "The service attests that it refused this change, and changed nothing." : "The service attests that it made this change. It says nothing about a login."),
    ...signatures(served),
    rows([
      ["Issuer", change.issuer],
      ["Tenant", change.tenant.every((byte) => byte === 0) ? "none: the service itself" : change.tenant],
      ...details(change.what),
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

/** Headings of changes whose name does not say what was changed. */
const HEADINGS: { readonly [K in What["kind"]]?: string } = {
  enrolled: "subject enrolled",
  erased: "subject erased",
  root_published: "credential root published",
  replaced: "template replaced",
  revoked: "subject revoked",
};

type FieldOf<W> = W extends What ? Exclude<keyof W, "kind"> : never;
type Field = FieldOf<What>;

const LABELS: { readonly [F in Field]: string } = {
  handle: "Subject",
  generation: "Generation",
  generationMin: "Accepted from generation",
  replaced: "In place of generation",
  consent: "Consent digest",
  root: "Credential root",
  head: "Log head",
  policyId: "Policy",
  policyVersion: "Policy version",
  policyDigest: "Policy digest",
  session: "Session",
  expiresAt: "Ends",
  apiKey: "API key",
  scopes: "Scopes",
  issuerKey: "Issuer key",
  epoch: "Epoch",
  operator: "Operator",
  role: "Role",
  token: "Token",
  templates: "Templates destroyed",
  action: "Change",
};

/** Names of roles by their numbers. */
const ROLES = ["unknown", "viewer", "operator", "owner"];
/** Names of scopes by their bits. */
const SCOPES = ["enrol", "authenticate", "issue"];

function details(what: What): readonly Row[] {
  const fields = Object.entries(what) as [Field | "kind", string | number | bigint | Uint8Array][];
  return fields.flatMap(([name, value]): Row[] => (name === "kind" ? [] : [[LABELS[name], shown(name, value)]]));
}

function shown(name: Field, value: string | number | bigint | Uint8Array): string | Uint8Array {
  if (value instanceof Uint8Array) return value;
  switch (name) {
    case "expiresAt":
      return time(BigInt(value));
    case "scopes":
      return SCOPES.filter((_, bit) => (Number(value) >> bit) % 2 === 1).join(", ");
    case "role":
      return ROLES[Number(value)] ?? "unknown";
    default:
      return `${value}`.replaceAll("_", " ");
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

/** Shows why nothing was verified: what is wrong, what to do and, where there is one, the stable name `code`. */
export function showRefused(heading: string, message: string, { advice, code }: { advice?: string; code?: string } = {}): HTMLElement {
  const box = element("div", "", "outcome refused");
  box.setAttribute("role", "alert");
  box.append(element("h2", heading), element("p", sentence(message)));
  if (advice !== undefined) box.append(element("p", advice, "advice"));
  if (code !== undefined) box.append(element("p", `Code: ${code}`));
  return box;
}

/** With a capital letter and a full stop. */
function sentence(message: string): string {
  const first = message.slice(0, 1).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

function element(name: string, text: string, kind = ""): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind !== "") made.className = kind;
  return made;
}
