/**
 * The page in headless Chromium, served by the program itself under its own policy. `TREFOIL` names the server's binary
 * and `CHROMIUM` the browser; a violation of the content security policy fails the test.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { type BrowserContext, chromium, type Page } from "playwright-core";

const TESTDATA = new URL("../../../../attest/testdata/", import.meta.url);
const MANIFEST = JSON.parse(text("cases.json")) as { audience: string; nonce: string };
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function text(name: string): string {
  return readFileSync(new URL(name, TESTDATA), "utf8");
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`set ${name}; cargo xtask clients does`);
  return value;
}

/** The whole path of a program on the path. */
function onPath(name: string): string {
  const candidates = name.includes("/") ? [name] : (process.env["PATH"] ?? "").split(":").map((at) => join(at, name));
  const found = candidates.find((path) => {
    try {
      return readFileSync(path).length > 0;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`${name} is not on the path`);
  return found;
}

let folder: string;
let server: ChildProcess;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "verify-page-"));
  const data = ["--data-dir", join(folder, "data"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  server = spawn(required("TREFOIL"), ["serve", ...data], { stdio: ["ignore", "pipe", "inherit"] });
  assert(server.stdout);
  let address = "";
  for await (const line of createInterface({ input: server.stdout })) {
    address = /^public API\s+(https:\S+)/.exec(line)?.[1] ?? "";
    if (address !== "") break;
  }
  assert.notEqual(address, "", "the server did not start");
  context = await chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: onPath(required("CHROMIUM")),
    args: FLAGS,
    ignoreHTTPSErrors: true,
    colorScheme: "light",
  });
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

const FULL = readFileSync(new URL("full.cbor", TESTDATA));

test("a valid attestation is shown with its three families", async () => {
  await fill(FULL.toString("base64"));
  const shown = await outcome();
  for (const expected of ["Verified: match", "ML-DSA-65", "Falcon-512", "SLH-DSA-SHA2-128f", MANIFEST.audience, "Root"]) {
    assert(shown.includes(expected), `${expected}: ${shown}`);
  }
  assert.equal(await page.evaluate(() => document.activeElement?.id), "outcome");
  if (process.env["SCREENSHOTS"] !== undefined) {
    await page.screenshot({ path: join(process.env["SCREENSHOTS"], "verified.png"), fullPage: true });
  }
});

test("the service's JSON answer and a dropped CBOR file are read", async () => {
  await fill(JSON.stringify({ decision: "match", attestation: FULL.toString("base64") }));
  assert.match(await outcome(), /Verified: match/);
  await fill("");
  await page.setInputFiles("#attestation-file", new URL("full.cbor", TESTDATA).pathname);
  await page.waitForFunction(() => document.getElementById("attestation-state")?.textContent?.includes("full.cbor"));
  assert.match(await outcome(), /Verified: match/);
});

test("what is wrong is named", async () => {
  const altered = Buffer.from(FULL);
  const last = altered.length - 1;
  altered.writeUInt8((altered[last] ?? 0) ^ 1, last);
  await fill(altered.toString("base64"));
  assert.match(await outcome(), /Code: signature-slh-dsa-sha2-128f/);
  for (const [field, value, expected] of [
    ["#audience", "https://other.example", /Code: audience/],
    ["#nonce", "00".repeat(16), /Code: nonce/],
    ["#nonce", "xyz", /hexadecimal digits/],
    ["#audience", "", /Enter the audience/],
    ["#attestation", "", /Paste an attestation/],
    ["#attestation", "{", /not JSON/],
    ["#attestation", "AAAA", /Code: malformed/],
    ["#trust-root", "{}", /trust root cannot be read/],
  ] as const) {
    await fill(FULL.toString("base64"));
    await page.fill(field, value);
    assert.match(await outcome(), expected, `${field} ${value}`);
  }
});

test("now is another time than that of issue", async () => {
  await fill(FULL.toString("base64"));
  await page.check("input[name=time][value=now]");
  assert.match(await outcome(), /Code: (not-yet-valid|expired)/);
});

test("the trust root of this server is used, with a warning, where none is pinned", async () => {
  await fill(FULL.toString("base64"));
  await page.check("input[name=root][value=served]");
  assert.match(await page.innerText("#served-note"), /proves nothing/);
  assert.match(await outcome(), /Code: issuer/);
});

test("it fits a phone, and every field has a name", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await fill(FULL.toString("base64"));
  await outcome();
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert(overflow <= 0, `${overflow} pixels beyond the screen`);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("input, textarea, button")]
      .filter((field) => {
        const labels = (field as HTMLInputElement).labels?.length ?? 0;
        return labels === 0 && !field.getAttribute("aria-label") && !field.textContent?.trim();
      })
      .map((field) => field.id),
  );
  assert.deepEqual(nameless, []);
  if (process.env["SCREENSHOTS"] !== undefined) {
    await page.screenshot({ path: join(process.env["SCREENSHOTS"], "phone.png"), fullPage: true });
  }
});

test("nothing complained and nothing was fetched from elsewhere", () => {
  assert.deepEqual(complaints, []);
});
