/** The outcome as elements. Text is set as text, so nothing in an attestation can become markup. */

import { toHex } from "../src/bytes.js";
import { FAMILIES } from "../src/family.js";
import type { Verified } from "../src/verify.js";

/** Shows what was verified. */
export function showVerified(verified: Verified, served: boolean): HTMLElement {
  const { statement, seal } = verified;
  const match = statement.decision === "match";
  const box = element("div", "", `outcome ${match ? "good" : "attested-denial"}`);
  box.append(
    element("h2", match ? "Verified: match" : "Verified: no match"),
    element("p", match ? "The holder of this account was authenticated." : "The service attests a denial: nobody was authenticated."),
  );
  const families = element("ul", "");
  families.append(...FAMILIES.map(({ name }) => element("li", `${name} signature verifies`)));
  box.append(families);
  if (served) {
    box.append(element("p", "The trust root came from this server. That shows consistency, not who the issuer is."));
  }
  const list = element("dl", "");
  const row = (name: string, value: string, kind = ""): void => {
    list.append(element("dt", name), element("dd", value, kind));
  };
  row("Issuer", statement.issuer);
  row("Audience", statement.audience);
  row("Account", toHex(statement.account), "bytes");
  row("Session", statement.proof === undefined ? "none" : toHex(statement.proof.session), "bytes");
  row("Tenant", toHex(statement.tenant), "bytes");
  row("Nonce", toHex(statement.nonce), "bytes");
  row("Issued", time(statement.issuedAt));
  row("Expires", time(statement.expiresAt));
  row("Sealed", `${time(seal.time)}, seal ${seal.sealNumber}`);
  row("Root", toHex(seal.root), "bytes");
  row("Place", `leaf ${verified.leafIndex} of ${seal.treeSize}`);
  row("Key set", toHex(seal.keySetId), "bytes");
  box.append(
    list,
    element("p", "Keep the account: it is the same at every login of this person here. Session and nonce are not."),
  );
  return box;
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
