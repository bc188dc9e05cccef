/**
 * The page that verifies an attestation in the browser. It asks this server for public keys and seals, and sends nothing. Opened as a file it
 * has no server, and asks nobody.
 */

import { decodeAttestation } from "../src/attestation.js";
import { type Change, changeIn, verifyChange, verifyChangeWithSeal } from "../src/change.js";
import { DecodeError } from "../src/decode-error.js";
import { JsonError } from "../src/json.js";
import { Policy } from "../src/policy.js";
import { Seal } from "../src/seal.js";
import { decodeStatement } from "../src/statement.js";
import { TrustRoot } from "../src/trust-root.js";
import { verify, verifyWithSeal } from "../src/verify.js";
import { VerifyError } from "../src/verify-error.js";
import { advice } from "./advice.js";
import { accountKeyBytes, asText, attestationBytes, InputError, nonceBytes } from "./input.js";
import { showReceipt, showRefused, showVerified } from "./outcome.js";
import { withTimes } from "./time.js";

/** The example, which bundle.mjs puts here: an attestation in base64 and what it was made for, from the test vectors. */
declare const EXAMPLE: { readonly [field in "attestation" | "audience" | "nonce" | "trustRoot"]: string };

/** Longer files are no attestation and no trust root. */
const FILE_BYTES_MAX = 512 * 1024;

const form = find("form", HTMLFormElement);
const outcome = find("outcome", HTMLElement);
const attestationText = find("attestation", HTMLTextAreaElement);
const attestationState = find("attestation-state", HTMLElement);
const rootText = find("trust-root", HTMLTextAreaElement);
/** Files whose bytes are no text; the text fields are then empty. */
let attestationFile: Uint8Array | undefined;
let rootFile: Uint8Array | undefined;

function find<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

function chosen(name: string): string {
  return String(new FormData(form).get(name));
}

async function check(): Promise<HTMLElement> {
  const data = attestationFile ?? new TextEncoder().encode(attestationText.value);
  if (data.length === 0) throw new InputError("Paste an attestation, or drop a file.");
  const bytes = attestationBytes(data);
  const change = changeIn(bytes);
  return change === undefined ? checkLogin(bytes) : checkReceipt(bytes, change);
}

async function checkLogin(bytes: Uint8Array): Promise<HTMLElement> {
  const audience = find("audience", HTMLInputElement).value.trim();
  if (audience === "") throw new InputError("Enter the audience: the relying party that the attestation must be for.");
  const nonce = nonceBytes(find("nonce", HTMLInputElement).value);
  const key = accountKeyBytes(find("account-key", HTMLInputElement).value);
  const trustRoot = await chosenRoot();
  const pinned = key === undefined ? {} : { accountKey: key };
  const policy = new Policy({ trustRoot, audience, nonce, decision: "any", acceptNoProof: true, ...pinned });
  const now = timeOr(() => issuedAt(bytes));
  const verified = await fetching(
    () => verify(bytes, policy, now),
    (seal) => verifyWithSeal(bytes, seal, policy, now),
  );
  return showVerified(verified, isServed(), key !== undefined, isNow() ? now : undefined);
}

/** A receipt is for nobody in particular and has no end: audience and nonce are not asked for. */
async function checkReceipt(bytes: Uint8Array, change: Change): Promise<HTMLElement> {
  const trustRoot = await chosenRoot();
  const now = timeOr(() => Number(change.changedAt));
  const verified = await fetching(
    () => verifyChange(bytes, trustRoot, undefined, now),
    (seal) => verifyChangeWithSeal(bytes, seal, trustRoot, undefined, now),
  );
  return showReceipt(verified, isServed());
}

function isServed(): boolean {
  return chosen("root") === "served";
}

async function chosenRoot(): Promise<TrustRoot> {
  return isServed() ? servedRoot() : ownRoot();
}

function isNow(): boolean {
  return chosen("time") === "now";
}

function present(): number {
  return Math.floor(Date.now() / 1000);
}

/** The present, or the time of what is shown. */
function timeOr(own: () => number): number {
  return isNow() ? present() : own();
}

/** A compact attestation names its seal, which this server may have. */
async function fetching<T>(whole: () => T, withSeal: (seal: Seal) => T): Promise<T> {
  try {
    return whole();
  } catch (error) {
    if (!(error instanceof VerifyError) || error.code !== "seal-needed" || error.seal === undefined) throw error;
    const number = error.seal.sealNumber;
    if (location.protocol === "file:") throw new InputError(`It names seal ${number} and does not contain it; a page from a file has no server to ask.`);
    const answer = await ask(`/v1/seals/${number}`, `seal ${number}`);
    return withSeal(readSeal(new Uint8Array(await answer.arrayBuffer()), number));
  }
}

function readSeal(bytes: Uint8Array, number: bigint): Seal {
  try {
    return Seal.decode(bytes);
  } catch (error) {
    if (error instanceof DecodeError) throw new InputError(`What this server gave as seal ${number} is none: ${error.message}.`);
    throw error;
  }
}

async function servedRoot(): Promise<TrustRoot> {
  const answer = await ask("/v1/keys", "the trust root");
  return TrustRoot.fromJson(await answer.text());
}

function ownRoot(): TrustRoot {
  if (rootFile !== undefined) return TrustRoot.decode(rootFile);
  if (rootText.value.trim() === "") throw new InputError("Paste your trust root, or choose its file.");
  return TrustRoot.fromJson(rootText.value);
}

async function ask(path: string, what: string): Promise<Response> {
  const answer = await fetch(path, { credentials: "omit" }).catch(() => undefined);
  if (answer?.ok) return answer;
  throw new InputError(`This server did not give ${what}${answer ? ` (status ${answer.status})` : ""}; try again.`);
}

/** Its own time of issue; not verified yet, and verified with all the rest afterwards. */
function issuedAt(bytes: Uint8Array): number {
  try {
    return Number(decodeStatement(decodeAttestation(bytes).statement).issuedAt);
  } catch (error) {
    if (error instanceof DecodeError) throw VerifyError.undecodable(error);
    throw error;
  }
}

function refusal(error: unknown): HTMLElement {
  if (error instanceof VerifyError) {
    const { code, message } = error;
    // The advice says it as well, and what to do.
    const why = message.replace(/; do not accept$/, "");
    return showRefused("Not verified", withTimes(why, isNow() ? present() : undefined), { advice: advice(code), code });
  }
  if (error instanceof JsonError || error instanceof DecodeError) {
    return showRefused("The trust root cannot be read", error.message);
  }
  if (error instanceof InputError) return showRefused("Nothing was verified yet", error.message);
  return showRefused("Nothing was verified", `Unexpected: ${String(error)}`);
}

/** Text goes into its field, where it can be read; other bytes are kept beside it. */
async function take(file: File, field: HTMLTextAreaElement): Promise<Uint8Array | undefined> {
  if (file.size > FILE_BYTES_MAX) throw new InputError(`${file.name} is too large: ${file.size} bytes.`);
  const data = new Uint8Array(await file.arrayBuffer());
  const text = asText(data);
  const printable = text !== undefined && /^[\x20-\x7e\s]*$/.test(text);
  field.value = printable ? text : "";
  return printable ? undefined : data;
}

async function takeAttestation(file: File | undefined): Promise<void> {
  if (file === undefined) return;
  try {
    attestationFile = await take(file, attestationText);
    attestationState.textContent = `${file.name}, ${file.size} bytes`;
  } catch (error) {
    outcome.replaceChildren(refusal(error));
  }
}

/** The field of the trust root that is chosen, or the note about that of the server. */
function showRootFields(): void {
  find("own-root", HTMLElement).hidden = isServed();
  find("served-note", HTMLElement).hidden = !isServed();
}

/** Fills in the example, so that the next step is to press Verify. It was issued once, so it is verified at that time. */
function fillExample(): void {
  form.reset();
  attestationFile = undefined;
  rootFile = undefined;
  attestationText.value = EXAMPLE.attestation;
  find("audience", HTMLInputElement).value = EXAMPLE.audience;
  find("nonce", HTMLInputElement).value = EXAMPLE.nonce;
  rootText.value = EXAMPLE.trustRoot;
  for (const id of ["root-own", "time-issued"]) find(id, HTMLInputElement).checked = true;
  showRootFields();
  attestationState.textContent = "An example. Press Verify.";
  outcome.replaceChildren();
  find("submit", HTMLButtonElement).focus();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  outcome.replaceChildren(await check().catch(refusal));
  outcome.focus();
});
form.addEventListener("change", showRootFields);
find("example", HTMLButtonElement).addEventListener("click", fillExample);
attestationText.addEventListener("input", () => {
  attestationFile = undefined;
  attestationState.textContent = "";
});
rootText.addEventListener("input", () => {
  rootFile = undefined;
});
find("attestation-file", HTMLInputElement).addEventListener("change", (event) => {
  void takeAttestation((event.currentTarget as HTMLInputElement).files?.[0]);
});
find("trust-root-file", HTMLInputElement).addEventListener("change", async (event) => {
  const file = (event.currentTarget as HTMLInputElement).files?.[0];
  try {
    if (file !== undefined) rootFile = await take(file, rootText);
  } catch (error) {
    outcome.replaceChildren(refusal(error));
  }
});
if (location.protocol === "file:") {
  for (const element of document.querySelectorAll<HTMLElement>(".of-server")) element.hidden = true;
  find("root-own", HTMLInputElement).defaultChecked = true;
  showRootFields();
}
const drop = find("drop", HTMLElement);
for (const name of ["dragover", "dragleave", "drop"] as const) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
    if (name === "drop") void takeAttestation(event.dataTransfer?.files[0]);
  });
}
