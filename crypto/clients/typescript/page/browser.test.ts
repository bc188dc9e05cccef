/**
 * The page in headless Chromium, served by the program itself under its own policy. `TREFOIL` names the server's binary
 * and `CHROMIUM` the browser; a violation of the content security policy fails the test.
 */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";

import type * as attest from "../src/index.js";
import type * as client from "../src/client/index.js";
import { VERIFY_ERROR_CODES } from "../src/verify-error.js";
import { advice } from "./advice.js";
import { logIn, type Service } from "./login.js";
import { startChromium, startService } from "./started.js";

type Everything = typeof attest & typeof client;

const TESTDATA = new URL("../../../../attest/testdata/", import.meta.url);
const MANIFEST = JSON.parse(text("cases.json")) as { audience: string; nonce: string };
function text(name: string): string {
  return readFileSync(new URL(name, TESTDATA), "utf8");
}

let folder: string;
let server: ChildProcess;
let service: Service;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "verify-page-"));
  ({ server, service } = await startService(folder));
  const address = service.publicApi;
  context = await startChromium(folder);
  page = context.pages()[0] ?? (await context.newPage());
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) complaints.push(request.url());
  });
  const answer = await page.goto(`${address}/verify`);
  const policy = answer?.headers()["content-security-policy"] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});

after(async () => {
  await context?.close();
  server?.kill("SIGTERM");
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Fills the form with the vectors' attestation and their trust root, at the time of issue. */
async function fill(attestation: string): Promise<void> {
  await page.reload();
  await page.fill("#attestation", attestation);
  await page.fill("#audience", MANIFEST.audience);
  await page.fill("#nonce", MANIFEST.nonce);
  await page.check("input[name=root][value=own]");
  await page.fill("#trust-root", text("trust-root.json"));
  await page.check("input[name=time][value=issued]");
}

async function outcome(): Promise<string> {
  await page.click("button[type=submit]");
  // Each test starts from a page without an outcome or changes something that gives another one.
  await page.waitForSelector("#outcome .outcome");
  return page.innerText("#outcome");
}

/** Keeps what the page looks like, light and dark, in the folder that `SCREENSHOTS` names. */
async function screenshots(name: string): Promise<void> {
  const kept = process.env["SCREENSHOTS"];
  if (kept === undefined) return;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(kept, `${name}-${colorScheme}.png`), fullPage: true });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** The page's clock stands still at this time until it is loaded again. */
async function stopClock(seconds: number): Promise<void> {
  await page.evaluate((now) => (Date.now = () => now), seconds * 1000);
}

const FULL = readFileSync(new URL("full.cbor", TESTDATA));
const SEAL = readFileSync(new URL("seal.cbor", TESTDATA));

test("a valid attestation is shown with its three families", async () => {
  await fill(FULL.toString("base64"));
  const shown = await outcome();
  for (const expected of ["Verified: match", "ML-DSA-65", "Falcon-512", "SLH-DSA-SHA2-128f", MANIFEST.audience, "Root"]) {
    assert(shown.includes(expected), `${expected}: ${shown}`);
  }
  assert.equal(await page.evaluate(() => document.activeElement?.id), "outcome");
  await screenshots("verified");
});

test("a statement without a proof is shown as one", async () => {
  await fill(readFileSync(new URL("without-proof.cbor", TESTDATA)).toString("base64"));
  const shown = await outcome();
  assert.match(shown, /Verified: match, without a credential proof/);
  assert.match(shown, /the word of the tenant's application alone/);
  await fill(FULL.toString("base64"));
  assert.doesNotMatch(await outcome(), /without a credential proof/);
});

test("the service's JSON answer and a chosen CBOR file are read", async () => {
  await fill(JSON.stringify({ decision: "match", attestation: FULL.toString("base64") }));
  assert.match(await outcome(), /Verified: match/);
  await fill("");
  await page.setInputFiles("#attestation-file", new URL("full.cbor", TESTDATA).pathname);
  await page.waitForFunction(() => document.getElementById("attestation-state")?.textContent?.includes("full.cbor"));
  assert.match(await outcome(), /Verified: match/);
});

/** What a person who drags a file does to the page; whether the page took each event instead of opening the file. */
function drag(events: readonly string[], bytes: Buffer, name: string): Promise<boolean[]> {
  return page.evaluate(
    ({ events, bytes, name }) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
      const target = document.getElementById("attestation");
      return events.map((type) => {
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        return target?.dispatchEvent(event) === false;
      });
    },
    { events, bytes: [...bytes], name },
  );
}

test("a dropped CBOR file is read", async () => {
  await fill("");
  const marked = (): Promise<boolean> => page.evaluate(() => document.querySelector("#drop.over") !== null);
  assert.deepEqual(await drag(["dragover"], FULL, "full.cbor"), [true]);
  assert(await marked(), "the place to drop it shows");
  assert.deepEqual(await drag(["dragleave"], FULL, "full.cbor"), [true]);
  assert(!(await marked()));
  assert.deepEqual(await drag(["dragover", "drop"], FULL, "dropped.cbor"), [true, true]);
  assert(!(await marked()));
  await page.waitForFunction(() => document.getElementById("attestation-state")?.textContent?.includes("dropped.cbor"));
  assert.match(await outcome(), /Verified: match/);
  // Something else after it takes its place.
  await drag(["drop"], FULL.subarray(0, 100), "short.cbor");
  await page.waitForFunction(() => document.getElementById("attestation-state")?.textContent?.includes("short.cbor"));
  await page.evaluate(() => document.getElementById("outcome")?.replaceChildren());
  assert.match(await outcome(), /Code: malformed/);
  await drag(["drop"], Buffer.alloc(512 * 1024 + 1), "long.cbor");
  await page.waitForFunction(() => document.getElementById("outcome")?.textContent?.includes("too large"));
});

test("a compact attestation is verified with the seal that the server gives, and only with that", async () => {
  const compact = readFileSync(new URL("compact.cbor", TESTDATA)).toString("base64");
  const altered = Buffer.from(SEAL);
  const last = altered.length - 1;
  altered.writeUInt8((altered[last] ?? 0) ^ 1, last);
  for (const [body, expected] of [
    [SEAL, /Verified: match/],
    [altered, /Code: signature-slh-dsa-sha2-128f/],
    [SEAL.subarray(1), /Nothing was verified yet.*What this server gave as seal 17 is none/s],
  ] as const) {
    const asked: string[] = [];
    await page.route("**/v1/seals/*", (route) => {
      asked.push(new URL(route.request().url()).pathname);
      return route.fulfill({ contentType: "application/cbor", body });
    });
    await fill(compact);
    assert.match(await outcome(), expected);
    assert.deepEqual(asked, ["/v1/seals/17"]);
    await page.unroute("**/v1/seals/*");
  }
});

test("a receipt is shown without audience and nonce, and an altered one is refused", async () => {
  const receipt = readFileSync(new URL("change-full.cbor", TESTDATA));
  const { tenant, compact } = JSON.parse(text("changes.json")) as { tenant: string; compact: Record<string, string> };
  const unasked = async (attestation: string): Promise<string> => {
    await fill(attestation);
    await page.fill("#audience", "");
    await page.fill("#nonce", "");
    return outcome();
  };
  const answer = { handle: "", receipt: { attestation: receipt.toString("base64"), seal_number: 1 } };
  for (const given of [receipt.toString("base64"), JSON.stringify(answer)]) {
    const shown = await unasked(given);
    for (const expected of ["Verified receipt: subject erased", "ML-DSA-65", "Falcon-512", "SLH-DSA-SHA2-128f", tenant, "Generation"]) {
      assert(shown.includes(expected), `${expected}: ${shown}`);
    }
    assert(!shown.includes("authenticated"), shown);
  }
  for (const at of [200, receipt.length - 1]) {
    const altered = Buffer.from(receipt);
    altered.writeUInt8((altered[at] ?? 0) ^ 1, at);
    assert.match(await unasked(altered.toString("base64")), /Not verified/);
  }
  assert.match(await unasked('{"receipt": null}'), /alone or in “receipt”/);
  // Compact ones of each kind, with the seal that the server gives.
  const body = readFileSync(new URL("changes-seal.cbor", TESTDATA));
  await page.route("**/v1/seals/*", (route) => route.fulfill({ contentType: "application/cbor", body }));
  for (const [kind, heading] of [
    ["enrolled", "subject enrolled"],
    ["erased", "subject erased"],
    ["root_published", "credential root published"],
    ["policy_changed", "policy changed"],
    ["session_opened", "session opened"],
    ["session_ended", "session ended"],
    ["replaced", "template replaced"],
    ["revoked", "subject revoked"],
  ] as const) {
    const shown = await unasked(Buffer.from(compact[kind] ?? "", "hex").toString("base64"));
    assert(shown.includes(`Verified receipt: ${heading}`), `${kind}: ${shown}`);
  }
  await page.unroute("**/v1/seals/*");
});

test("what is wrong is named", async () => {
  const altered = Buffer.from(FULL);
  const last = altered.length - 1;
  altered.writeUInt8((altered[last] ?? 0) ^ 1, last);
  await fill(altered.toString("base64"));
  assert.match(await outcome(), /The SLH-DSA-SHA2-128f .* does not verify\.\s+Do not accept it: it may be forged.*\s+Code: signature-slh-dsa-sha2-128f/);
  await screenshots("refused");
  for (const [field, value, expected] of [
    ["#audience", "https://other.example", /not made for you.*\s+Code: audience/],
    ["#nonce", "00".repeat(16), /not made for this login.*\s+Code: nonce/],
    ["#nonce", "xyz", /hexadecimal digits/],
    ["#account-key", "00".repeat(32), /of this account did not sign this login.*\s+Code: no-device-signature/],
    ["#account-key", "00", /account key is 64 hexadecimal digits/],
    ["#audience", "", /Enter the audience/],
    ["#attestation", "", /Paste an attestation/],
    ["#attestation", "{", /not JSON/],
    ["#attestation", "AAAA", /may be damaged, .* or forged.*\s+Code: malformed/],
    ["#trust-root", "{}", /trust root cannot be read/],
  ] as const) {
    await fill(FULL.toString("base64"));
    await page.fill(field, value);
    const shown = await outcome();
    assert.match(shown, expected, `${field} ${value}`);
    const sentences = await page.locator("#outcome p:not(:last-of-type), #outcome p:only-of-type").allInnerTexts();
    for (const said of sentences) assert.match(said, /^[A-Z].*\.$/s, shown);
    // Advice is about an attestation, and there is none yet where something cannot be read.
    assert.equal(shown.includes("Do not accept it"), shown.includes("Not verified"), shown);
  }
  for (const code of VERIFY_ERROR_CODES) assert.match(advice(code), /^Do not accept it.*\.$/, code);
});

test("now is another time than that of issue", async () => {
  await fill(FULL.toString("base64"));
  await page.check("input[name=time][value=now]");
  assert.match(await outcome(), /Code: (not-yet-valid|expired)/);
});

test("an end is shown with how far away it is, where the time is now", async () => {
  await fill(FULL.toString("base64"));
  const [, end = ""] = /^Expires\s+(\S+Z)$/m.exec(await outcome()) ?? [];
  const expires = Date.parse(end) / 1000;
  assert(expires > 0, end);
  const at = async (now: number): Promise<string> => {
    await fill(FULL.toString("base64"));
    await page.check("input[name=time][value=now]");
    await stopClock(now);
    return outcome();
  };
  const row = async (now: number): Promise<string | undefined> => /^Expires\s+(.*)$/m.exec(await at(now))?.[1];
  assert.equal(await row(expires - 43), `${end}, in 43 s`);
  assert.equal(await row(expires - 1), `${end}, in 1 s`);
  // A clock may be ten seconds off.
  assert.equal(await row(expires + 9), `${end}, 9 s ago`);
  for (const [after, ago] of [
    [43, "43 s"],
    [43 * 60, "43 min"],
    [5 * 3600, "5 h"],
    [3 * 86_400, "3 days"],
  ] as const) {
    const shown = await at(expires + after);
    assert(shown.includes(`Expired at ${end}, ${ago} ago; authenticate again.`), shown);
    assert.match(shown, /ask for a new login\.\s+Code: expired/);
  }
  assert.match(await at(expires - 400), /^Issued at \S+Z, in 5 min, in the future.*\s+Do not accept it.*clock.*\s+Code: not-yet-valid/m);
});

test("a sign stands before each kind of heading", async () => {
  const sign = (): Promise<string> =>
    page.evaluate(() => getComputedStyle(document.querySelector("#outcome h2") ?? document.body, "::before").content);
  await fill(FULL.toString("base64"));
  await outcome();
  // The second part is what is read out: nothing.
  assert.equal(await sign(), '"\u2713" / ""');
  await fill("AAAA");
  await outcome();
  assert.equal(await sign(), '"\u2715" / ""');
  await page.evaluate(() => document.querySelector("#outcome .refused")?.setAttribute("class", "outcome attested-denial"));
  assert.equal(await sign(), '"!" / ""');
});

test("opened as a file, without a server, the page verifies", async () => {
  const alone = await context.newPage();
  const asked: string[] = [];
  alone.on("request", (request) => void asked.push(new URL(request.url()).protocol));
  await alone.goto(new URL("../../../../../server/src/page/verify.html", import.meta.url).href);
  assert.doesNotMatch(await alone.innerText("body"), /this server|this service/);
  await alone.click("#example");
  await alone.click("button[type=submit]");
  await alone.waitForSelector("#outcome .outcome");
  assert.match(await alone.innerText("#outcome"), /Verified: match/);
  await alone.fill("#attestation", readFileSync(new URL("compact.cbor", TESTDATA)).toString("base64"));
  await alone.click("button[type=submit]");
  await alone.waitForFunction(() => document.getElementById("outcome")?.textContent?.includes("no server to ask"));
  assert.deepEqual(asked.filter((scheme) => scheme !== "file:" && scheme !== "data:"), []);
  await alone.close();
});

test("an example is filled in, and one press verifies it", async () => {
  await fill("");
  // What was entered before gives way, a file too.
  await page.setInputFiles("#attestation-file", { name: "short.cbor", mimeType: "application/cbor", buffer: FULL.subarray(0, 100) });
  await page.waitForFunction(() => document.getElementById("attestation-state")?.textContent?.includes("short.cbor"));
  await page.check("input[name=root][value=served]");
  await page.check("input[name=time][value=now]");
  assert.match(await outcome(), /Not verified/);
  await page.click("#example");
  assert.equal(await page.innerText("#outcome"), "");
  assert.match(await page.innerText("#attestation-state"), /example.*Verify/);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "submit");
  assert.equal(await page.inputValue("#attestation-file"), "");
  assert.equal(await page.inputValue("#trust-root"), text("trust-root.json"));
  assert(await page.isVisible("#trust-root"));
  assert(!(await page.isVisible("#served-note")));
  await screenshots("example");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#outcome .outcome");
  const shown = await page.innerText("#outcome");
  for (const expected of ["Verified: match", MANIFEST.audience, MANIFEST.nonce]) assert(shown.includes(expected), shown);
});

test("the page says what Trefoil is, and links to this service alone", async () => {
  await page.reload();
  assert.match(await page.innerText("#about"), /Trefoil.*face.*attestation/s);
  const links = await page.evaluate(() => [...document.querySelectorAll("a")].map(({ href }) => href));
  assert.deepEqual(links, [`${service.publicApi}/reference`]);
  const answer = await context.request.get(links[0] ?? "");
  assert.match(await answer.text(), /Trefoil: the API/);
});

test("the trust root of this server is used, with a warning, where none is pinned", async () => {
  await fill(FULL.toString("base64"));
  await page.check("input[name=root][value=served]");
  assert.match(await page.innerText("#served-note"), /proves nothing/);
  assert.match(await outcome(), /Code: issuer/);
});

test("an attestation that this server just made is verified under the trust root that it serves", async () => {
  const login = { audience: "shop.example", nonce: "5f".repeat(16) };
  const answer = await logIn(service, folder, login);
  await page.reload();
  await page.fill("#attestation", answer);
  await page.fill("#audience", login.audience);
  await page.fill("#nonce", login.nonce);
  // By the present clock and the served trust root, which are what the form begins with.
  const shown = await outcome();
  for (const expected of ["Verified: match", "ML-DSA-65", "Falcon-512", "SLH-DSA-SHA2-128f", login.audience]) {
    assert(shown.includes(expected), `${expected}: ${shown}`);
  }
  await page.reload();
  await page.fill("#attestation", answer);
  await page.fill("#audience", login.audience);
  await page.fill("#nonce", login.nonce);
  await page.check("input[name=root][value=own]");
  await page.fill("#trust-root", text("trust-root.json"));
  assert.match(await outcome(), /Code: issuer/, "another issuer's trust root");
});

test("the client logs in from a page of the service, with its own code and fetch", async () => {
  // The wallet and the key of the login before.
  const wallet = ["--wallet", join(folder, "ann.wallet"), "--passphrase-file", join(folder, "passphrase")];
  const proof = join(folder, "ann.proof");
  execFileSync(service.program, ["wallet", "prove", ...wallet, "--audience", "shop.example", "--output", proof]);
  const contents = 'export * from "./src/index.ts"; export * from "./src/client/index.ts";';
  const absWorkingDir = fileURLToPath(new URL("../../", import.meta.url));
  const options = { bundle: true, format: "iife", globalName: "trefoil", target: "es2022", write: false } as const;
  const { outputFiles } = await build({ ...options, absWorkingDir, stdin: { contents, resolveDir: absWorkingDir } });
  await page.evaluate(`${outputFiles[0]?.text}; globalThis.trefoil = trefoil`);
  const shown = await page.evaluate(
    async ({ apiKey, proof, url }) => {
      const { Problem, Proof, Tenant, TrustRoot } = (globalThis as unknown as { trefoil: Everything }).trefoil;
      const trustRoot = TrustRoot.fromJson(await (await fetch("/v1/keys")).text());
      const tenant = new Tenant({ url, apiKey, trustRoot });
      const session = await tenant.openSession(new Proof(Uint8Array.from(proof)));
      const face = Array.from({ length: 128 }, (_, at) => Math.sin(0.7 * at));
      const nonce = crypto.getRandomValues(new Uint8Array(32));
      const login = await tenant.authenticate(session, face, nonce);
      const again = await tenant.authenticate(session, face, nonce).catch((error: unknown) => error);
      return [login.decision, login.verified.statement.audience, again instanceof Problem ? again.code : String(again)];
    },
    { apiKey: readFileSync(join(folder, "api.key"), "utf8"), proof: [...readFileSync(proof)], url: service.publicApi },
  );
  assert.deepEqual(shown, ["match", "shop.example", "nonce-replayed"]);
  // The browser reports each refusal.
  assert.match(complaints.pop() ?? "", /409/);
});

test("it fits a phone, and every field has a name", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await fill(FULL.toString("base64"));
  await outcome();
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert(overflow <= 0, `${overflow} pixels beyond the screen`);
  const outside = await page.evaluate(() => {
    const edge = document.getElementById("form")?.getBoundingClientRect().right ?? 0;
    return [...document.querySelectorAll("form *")].filter((part) => part.getBoundingClientRect().right >= edge).map((part) => part.outerHTML);
  });
  assert.deepEqual(outside, [], "beyond the form's edge");
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("input, textarea, button")]
      .filter((field) => {
        const labels = (field as HTMLInputElement).labels?.length ?? 0;
        return labels === 0 && !field.getAttribute("aria-label") && !field.textContent?.trim();
      })
      .map((field) => field.id),
  );
  assert.deepEqual(nameless, []);
  await screenshots("phone");
  await page.fill("#nonce", "00".repeat(16));
  await page.evaluate(() => document.getElementById("outcome")?.replaceChildren());
  await outcome();
  await screenshots("phone-refused");
});

test("nothing complained and nothing was fetched from elsewhere", () => {
  assert.deepEqual(complaints, []);
});
