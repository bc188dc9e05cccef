/**
 * The operator's page in headless Chromium, served by the program itself under its own policy, at both widths, with logins, refusals and a
 * service that stops. A violation of the content security policy fails the test.
 */

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import type { BrowserContext, Page } from "playwright-core";

import { logIn, type Service } from "./login.js";
import { startChromium, startService } from "./started.js";

const [WIDE, PHONE] = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
];

let folder: string;
let server: ChildProcess;
let service: Service;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "operator-page-"));
  ({ server, service } = await startService(folder));
  context = await startChromium(folder);
  page = context.pages()[0] ?? (await context.newPage());
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(service.adminApi) && !request.url().startsWith("data:")) complaints.push(request.url());
  });
  await page.setViewportSize(WIDE);
  const answer = await page.goto(`${service.adminApi}/operator`);
  const policy = answer?.headers()["content-security-policy"] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});

after(async () => {
  await context?.close();
  server?.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function enter(token: string): Promise<void> {
  await page.fill("#token", token);
  await page.click("#enter button");
}

/** Waits until an element has this text. */
async function says(selector: string, expected: RegExp): Promise<string> {
  const { source, flags } = expected;
  await page.waitForFunction(
    ({ selector, source, flags }) => new RegExp(source, flags).test(document.querySelector<HTMLElement>(selector)?.innerText ?? ""),
    { selector, source, flags },
    { timeout: 20_000 },
  );
  return page.innerText(selector);
}

async function picture(name: string): Promise<void> {
  const screenshots = process.env["SCREENSHOTS"];
  if (screenshots !== undefined) await page.screenshot({ path: join(screenshots, `operator-${name}.png`), fullPage: true });
}

async function fits(): Promise<void> {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert(overflow <= 0, `${overflow} pixels beyond the screen`);
}

test("a token that is not the operator's shows nothing and is named", async () => {
  await enter("of somebody else");
  await says("#refused", /does not take this token.*admin\.token/s);
  assert(!(await page.isVisible("#figures")));
  assert.equal(await page.inputValue("#token"), "");
  await enter(" ");
  await says("#refused", /Enter the admin token/);
  // The browser reports the refusal.
  assert.match(complaints.pop() ?? "", /401/);
  await picture("token");
});

test("a new service is well, and says so", async () => {
  await enter(readFileSync(service.adminToken, "utf8"));
  await says("#attention", /All well/);
  await says("#state", /Takes logins/);
  await says("#tenants", /trefoil admin tenant create/);
  await says("#rest", /TLS certificate\s+until 20\d\d-/);
  await says("#window", /over the last/);
  await fits();
});

test("logins, refusals and tenants appear with what to do", async () => {
  await logIn(service, folder, { audience: "shop.example", nonce: "5f".repeat(16) });
  await says("#tiles", /Logins[^]*1 since the start/);
  await says("#requests", /POST \/v1\/authentications\s+200/);
  await says("#tenants", /Logins of each tenant[^]*shop \([0-9a-f]{8}…\)\s+1 \/ 1\s+0 \/ 0\s+0 \/ 0\s+0 \/ 0\s+0 % \/ 0 %\s+not known/);
  await says("#key-holders", /Attempts, lately\s+1, of which 0 failed/);
  await says("#stages", /Match, with the templates encrypted\s+\d/);
  await says("#refusals", /The caller is not authenticated \(caller-unauthenticated\)/);
  // A share of nothing, once the login is out of the window, is a dash.
  await says("#tiles", /Batch fill\s+(3\.1 %|–)\s+of 32 logins/);
  await says("#tiles", /Sessions found in the cache\s+(\d+ %|–)/);
  await says("#tiles", /Seals[^]*[1-9]\d* since the start/);
  await says("#tenants", /Look-ups[^]*Found[^]*Sessions held[^]*Admitted[^]*shop[^]*1 of [\d,]+/);
  await says("#requests", /Median[^]*p99[^]*Over 1 s/);
  await says("#rest", /Disk\s+\d[\d,.]* [KMGT]iB free; below \d[\d,.]* [KMGT]iB logins are refused/);
  const sparklines = await page.evaluate(() => [...document.querySelectorAll("#tiles svg title")].map((title) => title.textContent ?? ""));
  assert(sparklines.length >= 8 && sparklines.every((title) => /over five minutes: /.test(title)), `${sparklines}`);
  await fits();
  await picture("wide");
});

test("it fits a phone, and everything has a name", async () => {
  await page.setViewportSize(PHONE);
  await fits();
  await picture("phone");
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("input, button, section, svg, table")]
      .filter((part) => {
        const labels = part instanceof HTMLInputElement ? (part.labels?.length ?? 0) : 0;
        const named = part.getAttribute("aria-labelledby") ?? part.querySelector("title, caption")?.textContent;
        return labels === 0 && !named && !part.textContent?.trim();
      })
      .map((part) => part.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture("phone-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(WIDE);
});

/** Luminance of a colour as the browser writes it (WCAG 2.1). */
function luminance(colour: string): number {
  const channels = (/rgba?\((\d+), (\d+), (\d+)/.exec(colour) ?? []).slice(1).map((text) => {
    const part = Number(text) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const [red = 0, green = 0, blue = 0] = channels;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("text has contrast in both colour schemes", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const pairs = await page.evaluate(() => {
      const behind = (part: Element | null): string => {
        if (part === null) return "rgb(255, 255, 255)";
        const { backgroundColor } = getComputedStyle(part);
        return /, 0\)$/.test(backgroundColor) ? behind(part.parentElement) : backgroundColor;
      };
      const parts = [...document.querySelectorAll("h1, h2, h3, p, th, td, dt, dd, .badge, button")].filter((part) => part.checkVisibility());
      return parts.map((part) => [getComputedStyle(part).color, behind(part), part.textContent ?? ""] as const);
    });
    assert(pairs.length > 50, `${pairs.length}`);
    for (const [ink, paper, text] of pairs) {
      const [light, dark] = [luminance(ink), luminance(paper)].sort((one, other) => other - one) as [number, number];
      assert((light + 0.05) / (dark + 0.05) >= 4.5, `${colorScheme}: ${ink} on ${paper}: ${text}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
});

test("attempts without a budget have a line of their tenant", async () => {
  assert(!(await page.innerText("#key-holders")).includes("In the last minutes"), "there were none");
  await page.route("**/v1/status", async (route) => {
    const status = (await (await route.fetch()).json()) as { caches: { tenant: string }[]; key_holder: Record<string, unknown> };
    const tenant = status.caches[0]?.tenant ?? "";
    const key_holder = { ...status.key_holder, budget_trips: 1234, budget_trips_by_tenant: [{ tenant, trips: 1234, recent: 61 }] };
    await route.fulfill({ json: { ...status, key_holder } });
  });
  await says("#key-holders", /Refused since its start, budget spent\s+1,234[^]*Attempts refused because a budget was spent[^]*shop \([0-9a-f]{8}…\)\s+61\s+1,234/);
  await fits();
  await page.setViewportSize(PHONE);
  await fits();
  await page.setViewportSize(WIDE);
  await page.unroute("**/v1/status");
});

test("three key-holders have a line each, and one that is away is named", async () => {
  await page.route("**/v1/status", async (route) => {
    const status = (await (await route.fetch()).json()) as Record<string, unknown>;
    const seat = (seat: number, away: string | null, lied: number): unknown => ({
      seat, address: `127.0.0.1:${9600 + seat}`, away, silent: 0, disagreed: 0, lied, accused: 0,
    });
    await route.fulfill({ json: { ...status, key_holders: [seat(1, null, 0), seat(2, "connection refused", 0), seat(3, null, 4)] } });
  });
  await says("#key-holders", /1, 127\.0\.0\.1:9601\s+there[^]*2, 127\.0\.0\.1:9602\s+away: connection refused[^]*3, 127\.0\.0\.1:9603\s+there\s+0\s+0\s+4\s+0/);
  await fits();
  await page.setViewportSize(PHONE);
  await fits();
  await page.setViewportSize(WIDE);
  await page.unroute("**/v1/status");
});

test("what the service finds wrong stands first with the next step, and cannot become markup", async () => {
  await page.route("**/v1/status", async (route) => {
    const status = (await (await route.fetch()).json()) as Record<string, unknown>;
    const finding = { level: "broken", code: "tenant-frozen", place: "key-holder", what: "tenant <b>x</b> is frozen", remedy: "find out which gateway" };
    const warning = { level: "warning", code: "disk-low-soon", place: "/data", what: "300 MiB are free", remedy: "make room" };
    await route.fulfill({ json: { ...status, ready: false, attention: [finding, warning] } });
  });
  const shown = await says("#attention", /Broken[^]*tenant <b>x<\/b> is frozen[^]*Next: find out which gateway[^]*Warning[^]*Next: make room/);
  assert(!shown.includes("All well"), shown);
  await says("#state", /Takes no logins/);
  assert.match(await page.title(), /Takes no logins/);
  await picture("attention");
  await page.unroute("**/v1/status");
  await says("#attention", /All well/);
});

test("pausing keeps what is shown, and going on goes on", async () => {
  await page.click("#pause");
  assert.equal(await page.getAttribute("#pause", "aria-pressed"), "true");
  await page.click("#pause");
  await says("#state", /Last answer at/);
});

test("a service that stops is named, keeps what was known, and is asked on", async () => {
  await page.route("**/v1/status", (route) => route.fulfill({ status: 500, body: "" }));
  await says("#lost", /stopped answering[^]*status 500/);
  await page.unroute("**/v1/status");
  await page.waitForSelector("#lost", { state: "hidden" });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
  await says("#lost", /has stopped answering[^]*last answer came at[^]*cannot be reached[^]*Next: [^]*trefoil doctor/);
  assert.match(await page.title(), /Does not answer/);
  await says("#tenants", /shop/);
  await says("#state", /Not known/);
  assert(!(await page.isVisible("#attention")), "nothing is said to be well");
  await picture("stopped");
  await page.setViewportSize(PHONE);
  await fits();
  await picture("stopped-phone");
});

test("nothing complained and nothing was fetched from elsewhere", () => {
  // The browser reports every question that had no answer, or none with 200.
  const unexpected = complaints.filter((text) => !/ERR_CONNECTION|status of 500|ERR_EMPTY_RESPONSE|ERR_HTTP2/.test(text));
  assert.deepEqual(unexpected, []);
});
