/** Streams of logins, their sources, and access tokens, against a service that soon ends a stream. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { ReadableStream as Web } from "node:stream/web";
import { after, before, test } from "node:test";

import { TrustRoot, VerifyError } from "trefoil-attest";
import {
  Admin,
  type Attempt,
  Problem,
  type Streamed,
  Tenant,
  type TenantOptions,
  type TenantPolicy,
  UnexpectedAnswer,
  Unreachable,
  type Unproven,
} from "trefoil-attest/client";
import { fetchWith } from "trefoil-attest/node";

import { ANOTHERS, AUDIENCE, file, OWN, type Place, start } from "./service.js";
import { packageFile } from "./testdata.js";

type Fetch = typeof globalThis.fetch;

const IN_FLIGHT_MAX = 32;
const STREAM = "/v1/authentications/stream";
const POLICY: TenantPolicy = {
  embedder: "test-128",
  threshold: { calibrated: { score: 18_000, fmr_class: 3 } },
  audiences: [AUDIENCE],
  proof: "none",
  attempts: {
    consecutive: 2 ** 31,
    delay_s: 0,
    failures_per_day: 2 ** 31,
    failures_per_generation: 2 ** 31,
    attempts_per_day: 2 ** 31,
    attempts_per_generation: 2 ** 31,
  },
};

let place: Place;
let stop: () => Promise<void>;
let trustRoot: TrustRoot;
let own: Fetch;
let admin: Admin;
let key: { readonly id: Uint8Array; readonly apiKey: string };
let ann: Unproven;
let shop: Tenant;

function as(apiKey: string, fetch: Fetch = own, more: Partial<TenantOptions> = {}): Tenant {
  return new Tenant({ url: place.url, apiKey, trustRoot, fetch, ...more });
}

function nonce(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

function attempt(embedding: readonly number[] = OWN): Attempt {
  return { session: ann, embedding, nonce: nonce() };
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

function said(result: Streamed<unknown, { readonly decision: string }>["result"]): string {
  if (result instanceof Problem) return result.code;
  return result instanceof Unreachable ? "unreachable" : result.decision;
}

async function refused(code: string, call: Promise<unknown>): Promise<Problem> {
  return call.then(
    () => assert.fail(`not refused with ${code}`),
    (error: unknown) => {
      assert(error instanceof Problem && error.code === code, String(error));
      return error;
    },
  );
}

/** A promise that is kept from outside. */
function event(): { readonly come: Promise<void>; readonly tell: () => void } {
  let tell = (): void => undefined;
  const come = new Promise<void>((resolve) => (tell = resolve));
  return { come, tell };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Sends as usual, and changes the answers of streams line by line. */
function altering(change: (answer: Record<string, unknown>) => unknown): Fetch {
  return async (input, init) => {
    const response = await own(input, init);
    if (!String(input).endsWith(STREAM) || !response.ok) return response;
    const lines = async function* (): AsyncGenerator<Uint8Array> {
      let text = "";
      for await (const part of response.body ?? assert.fail()) {
        const [...whole] = (text + new TextDecoder().decode(part)).split("\n");
        text = whole.pop() ?? "";
        for (const line of whole) {
          const answer = JSON.parse(line) as Record<string, unknown>;
          change(answer);
          yield new TextEncoder().encode(`${JSON.stringify(answer)}\n`);
        }
      }
    };
    return new Response(Web.from(lines()) as unknown as ReadableStream, { status: 200 });
  };
}

/** Notes path and credential of each request. */
function noting(requests: string[], send: Fetch = own): Fetch {
  return (input, init) => {
    requests.push(`${new URL(String(input)).pathname} ${new Headers(init?.headers).get("authorization")}`);
    return send(input, init);
  };
}

before(async () => {
  ({ place, stop } = await start({ TREFOIL_LIMITS_REFUSALS_IN_A_ROW: "5", TREFOIL_LIMITS_IDLE_TIMEOUT_S: "1" }));
  const text = (name: string): string => new TextDecoder().decode(file(place, name));
  trustRoot = TrustRoot.fromJson(text("trust-root.json"));
  own = fetchWith({ ca: file(place, "trefoil-data/tls-certificate.pem") });
  admin = new Admin({ url: place.adminUrl, token: text("trefoil-data/admin.token"), trustRoot, fetch: own });
  const { tenantId } = await admin.createTenant("streams", POLICY);
  key = await admin.createApiKey(tenantId, ["enrol", "authenticate"]);
  shop = as(key.apiKey);
  ann = { tenant: tenantId, handle: nonce(), audience: AUDIENCE };
  await shop.enrol(ann.handle, OWN, "form 7");
});

after(() => stop());

test("each attempt of a stream has its own result, and each login is verified", async () => {
  const used = nonce();
  assert.equal((await shop.authenticate(ann, OWN, used)).decision, "match");
  for (const form of ["full", "compact"] as const) {
    const requests: string[] = [];
    const attempts = Array.from({ length: 100 }, (_, at) => ({ ...attempt(at % 10 === 3 ? ANOTHERS : OWN), at }));
    Object.assign(attempts[5] ?? {}, { nonce: used });
    Object.assign(attempts[70] ?? {}, { embedding: new Array<number>(128).fill(0) });
    const results = await all(as(key.apiKey, noting(requests)).authenticateStream(attempts, form));
    assert.deepEqual(results.map(({ attempt }) => attempt.at).sort((a, b) => a - b), [...attempts.keys()]);
    for (const { attempt, result } of results) {
      const { at } = attempt;
      assert.equal(said(result), { 5: "nonce-replayed", 70: "embedding-invalid" }[at] ?? (at % 10 === 3 ? "no_match" : "match"));
      if (result instanceof Problem) assert(result.requestId === "" && result.cure !== "");
      else if (!(result instanceof Unreachable)) assert.deepEqual(result.verified.statement.nonce, attempt.nonce);
    }
    const fetched = requests.filter((path) => path.includes("/v1/seals/"));
    assert(fetched.length === new Set(fetched).size && fetched.length > 0 === (form === "compact"));
  }
});

test("decisions come without attestations, which are fetched later", async () => {
  const results = await all(shop.decideStream([attempt(), attempt(ANOTHERS)]));
  assert.deepEqual(results.map(({ result }) => said(result)).sort(), ["match", "no_match"]);
  for (const { result } of results) {
    assert(!(result instanceof Problem || result instanceof Unreachable));
    assert.equal((await shop.attested(result)).decision, result.decision);
  }
  assert.deepEqual(await all(shop.decideStream([])), []);
});

test("a result comes while the iterable waits for it, and attempts are taken no further than results are", async () => {
  let decided = event();
  const waiting = async function* (): AsyncGenerator<Attempt> {
    for (let time = 0; time < 3; time += 1) {
      decided = event();
      yield attempt();
      await decided.come;
    }
  };
  let count = 0;
  for await (const { result } of shop.authenticateStream(waiting())) {
    assert.equal(said(result), "match");
    decided.tell();
    count += 1;
  }
  assert.equal(count, 3);

  let taken = 0;
  let left = false;
  const endless = function* (): Generator<Attempt> {
    try {
      for (;;) {
        taken += 1;
        yield attempt();
      }
    } finally {
      left = true;
    }
  };
  let results = 0;
  for await (const { result } of shop.decideStream(endless())) {
    assert.equal(said(result), "match");
    results += 1;
    assert(taken <= results + IN_FLIGHT_MAX + 1, `${taken} taken for ${results} results`);
    if (results === 40) {
      await pause(300);
      assert(taken <= results + IN_FLIGHT_MAX + 1, `${taken} taken for ${results} results`);
      break;
    }
  }
  assert(left, "the iterable was told");
});

test("an answer that is forged or of another login is refused", async () => {
  const flip = (answer: Record<string, unknown>): void => {
    const bytes = Buffer.from(String(answer["attestation"]), "base64");
    bytes[300] = (bytes[300] ?? 0) ^ 1;
    answer["attestation"] = bytes.toString("base64");
  };
  type Change = (answer: Record<string, unknown>) => unknown;
  const changes: [Change, typeof VerifyError | typeof UnexpectedAnswer][] = [
    [flip, VerifyError],
    // The first line of this client is empty.
    [(answer) => (answer["line"] = 5 - Number(answer["line"])), VerifyError],
    [(answer) => (answer["line"] = 1), UnexpectedAnswer],
    [(answer) => (answer["decision"] = "no_match"), UnexpectedAnswer],
    [(answer) => delete answer["seal_number"], UnexpectedAnswer],
  ];
  for (const [change, error] of changes) {
    await assert.rejects(all(as(key.apiKey, altering(change)).authenticateStream([attempt(), attempt()])), error);
  }
});

test("a login whose connection broke is undecided, and not sent again", async () => {
  const cut = event();
  let streams = 0;
  // Answers after the first one are held back, and then the first connection breaks.
  const breaking: Fetch = async (input, init) => {
    const response = await own(input, init);
    if (!String(input).endsWith(STREAM) || (streams += 1) > 1) return response;
    const parts = async function* (): AsyncGenerator<Uint8Array> {
      let text = "";
      for await (const part of response.body ?? assert.fail()) {
        text += new TextDecoder().decode(part);
        yield part;
        if (text.includes("\n")) break;
      }
      await cut.come;
      throw new TypeError("terminated");
    };
    return new Response(Web.from(parts()) as unknown as ReadableStream, { status: 200 });
  };
  const first = event();
  const undecided = [attempt(), attempt(), attempt()];
  const attempts = async function* (): AsyncGenerator<Attempt> {
    yield attempt();
    await first.come;
    yield* undecided;
    // Until the service has decided them.
    for (const { session, embedding, nonce } of undecided) {
      while (said(await shop.decide(session, embedding, nonce).catch((error: Problem) => error)) !== "nonce-replayed") {
        await pause(20);
      }
    }
    cut.tell();
    await pause(100);
    yield attempt();
  };
  const results = new Map<Attempt, string>();
  for await (const { attempt, result } of as(key.apiKey, breaking).decideStream(attempts())) {
    results.set(attempt, said(result));
    if (result instanceof Unreachable) assert.match(result.message, /may have been decided and counted.*same nonce/);
    first.tell();
  }
  assert.deepEqual([...results.values()], ["match", "unreachable", "unreachable", "unreachable", "match"]);
  assert.deepEqual(undecided.map((attempt) => results.get(attempt)), ["unreachable", "unreachable", "unreachable"]);
  assert.equal(streams, 2);
  const again = await all(shop.decideStream(undecided));
  assert.deepEqual(again.map(({ result }) => said(result)), ["nonce-replayed", "nonce-replayed", "nonce-replayed"]);
});

test("a stream that the service ends goes on over another connection", async () => {
  const used = nonce();
  await shop.authenticate(ann, OWN, used);
  const attempts = Array.from({ length: 60 }, (_, at) => (at >= 10 && at < 30 ? { ...attempt(), nonce: used } : attempt()));
  const requests: string[] = [];
  const results = await all(as(key.apiKey, noting(requests)).authenticateStream(attempts));
  assert.deepEqual(new Set(results.map(({ attempt }) => attempt)), new Set(attempts));
  for (const { attempt, result } of results) assert.equal(said(result), attempt.nonce === used ? "nonce-replayed" : "match");
  assert(results.length === 60 && requests.length > 1, "five refusals in a row end a connection");

  // So does one without a login for a while.
  requests.length = 0;
  const slow = async function* (): AsyncGenerator<Attempt> {
    for (const milliseconds of [0, 2_000]) {
      await pause(milliseconds);
      yield attempt();
    }
  };
  const said2 = (await all(as(key.apiKey, noting(requests)).authenticateStream(slow()))).map(({ result }) => said(result));
  assert.deepEqual([said2, requests.length], [["match", "match"], 2]);
});

test("what was not attempted is sent again where the stream may go on", async () => {
  // The first connections end at their first login, which does not reach the service.
  const ending = (code: string, times: number, streams: string[]): Fetch => {
    return async (input, init) => {
      if (!String(input).endsWith(STREAM)) return own(input, init);
      streams.push(code);
      if (streams.length > times) return own(input, init);
      const problem = { status: 503, code, title: "", detail: "made up", cure: "Wait." };
      const ended = async function* (): AsyncGenerator<Uint8Array> {
        let lines = 0;
        for await (const _ of init?.body as ReadableStream) if ((lines += 1) === 2) break;
        yield new TextEncoder().encode(`${JSON.stringify({ line: 2, ended: true, problem })}\n`);
      };
      return new Response(Web.from(ended()) as unknown as ReadableStream, { status: 200 });
    };
  };
  const cases: [string, number, boolean, string, number][] = [
    ["draining", 2, false, "match", 3],
    ["draining", 1_000, false, "draining", 4],
    ["tenant-disabled", 1_000, false, "tenant-disabled", 1],
    // An access token ends after ten minutes, and with it the stream that it opened; an API key does not.
    ["caller-unauthenticated", 1, true, "match", 2],
    ["caller-unauthenticated", 1, false, "caller-unauthenticated", 1],
  ];
  for (const [code, times, token, expected, opened] of cases) {
    const streams: string[] = [];
    const tenant = as(key.apiKey, ending(code, times, streams), { token });
    const results = await all(tenant.decideStream([attempt()]));
    assert.deepEqual([results.map(({ result }) => said(result)), streams.length], [[expected], opened], code);
  }
});

test("what refuses the whole stream rejects before an attempt is taken, and what the iterable throws comes last", async () => {
  const untouched = function* (): Generator<Attempt> {
    yield assert.fail("nothing is taken");
  };
  const { apiKey: narrow } = await admin.createApiKey(ann.tenant, ["enrol"]);
  assert.notEqual((await refused("scope-missing", all(as(narrow).authenticateStream(untouched())))).requestId, "");
  const nobody = as(narrow, own, { url: "https://127.0.0.1:1" });
  await assert.rejects(all(nobody.authenticateStream(untouched())), (error) => error instanceof Unreachable);
  assert.throws(() => shop.authenticateStream(untouched(), "none" as "full"), /`decide` asks for none/);
  Object.assign(globalThis, { document: {} });
  await assert.rejects(all(shop.authenticateStream(untouched())), /a browser's fetch receives nothing/);
  Reflect.deleteProperty(globalThis, "document");

  const broken = function* (): Generator<Attempt> {
    yield attempt();
    throw new RangeError("the camera is gone");
  };
  const mistakes: [Iterable<Attempt>, RegExp][] = [
    [broken(), /the camera is gone/],
    [[attempt(), { ...attempt(), nonce: new Uint8Array(8) }], /16 to 64 bytes/],
    [[attempt(), { ...attempt(), embedding: [1] }], /128 numbers, not 1/],
    [[attempt(), { ...attempt(), source: "" }], /source is a text of 1 to 64 bytes/],
  ];
  for (const [attempts, why] of mistakes) {
    const results = shop.decideStream(attempts);
    const first = await results.next();
    assert(first.done !== true && said(first.value.result) === "match");
    await assert.rejects(results.next(), why);
  }
});

test("a key that is revoked meanwhile ends a stream for what comes later", async () => {
  const extra = await admin.createApiKey(ann.tenant, ["authenticate"]);
  const first = event();
  const attempts = async function* (): AsyncGenerator<Attempt> {
    yield attempt();
    await first.come;
    await admin.revokeApiKey(ann.tenant, extra.id);
    yield attempt();
    yield attempt();
  };
  const results: string[] = [];
  for await (const { result } of as(extra.apiKey).authenticateStream(attempts())) {
    results.push(said(result));
    first.tell();
  }
  assert.deepEqual(results, ["match", "caller-unauthenticated", "caller-unauthenticated"]);
});

test("the example of the README logs in and tells what was refused", async (context) => {
  const examples = [...packageFile("README.md").matchAll(/```js\n([^]*?)```/g)].map(([, source = ""]) => source);
  const module = new URL("readme-stream.mjs", import.meta.url);
  writeFileSync(module, examples.find((source) => source.includes("function logInAll")) ?? assert.fail("no example"));
  const { logInAll } = (await import(module.href)) as { logInAll(...of: unknown[]): Promise<Attempt[]> };
  const log = context.mock.method(console, "log", () => undefined);
  const warn = context.mock.method(console, "warn", () => undefined);
  const stranger = { ...attempt(), session: { ...ann, handle: new Uint8Array(32) } };
  assert.deepEqual(await logInAll(shop, [attempt(), stranger]), [stranger]);
  assert.equal(log.mock.calls[0]?.arguments[0], "match");
  assert.match(String(warn.mock.calls[0]?.arguments[0]), /subject-unknown/);
});

test("a source that failed for ten people is refused by its name in each form", async () => {
  const { tenantId } = await admin.createTenant("sources", POLICY);
  // Through two keys, neither of which fails for ten people.
  const keys = [await admin.createApiKey(tenantId, ["enrol", "authenticate"]), await admin.createApiKey(tenantId, ["authenticate"])];
  const [tenant = shop, other = shop] = keys.map(({ apiKey }) => as(apiKey));
  const source = "198.51.100.7, hashed";
  const person = (): Unproven => ({ tenant: tenantId, handle: nonce(), audience: AUDIENCE });
  for (let at = 0; at < 10; at += 1) {
    const tried = person();
    await tenant.enrol(tried.handle, OWN, "form 7");
    const { decision } = await (at % 2 === 0 ? tenant : other).authenticate(tried, ANOTHERS, nonce(), { source });
    assert.equal(decision, "no_match");
  }
  const [last, once] = [person(), nonce()];
  await tenant.enrol(last.handle, OWN, "form 7");
  const shown = { session: last, embedding: OWN, nonce: once, source };
  const problems = [
    await refused("distinct-failures", tenant.authenticate(last, OWN, once, { source, attestation: "compact" })),
    await refused("distinct-failures", tenant.decide(last, OWN, once, { source })),
    ...(await tenant.authenticateMany([shown])),
    ...(await tenant.decideMany([shown])),
    ...(await all(tenant.authenticateStream([shown]))).map(({ result }) => result),
    ...(await all(tenant.decideStream([shown]))).map(({ result }) => result),
  ];
  assert.equal(problems.length, 6);
  for (const problem of problems) {
    assert(problem instanceof Problem && problem.code === "distinct-failures");
    assert.match(problem.errors[0]?.pointer ?? "", /\/source$/);
  }
  // Nothing was attempted, and another source goes on.
  assert.equal((await tenant.authenticate(last, OWN, once, { source: "another" })).decision, "match");
  for (const wrong of ["", "x".repeat(65), "é".repeat(33), "a\nb", "\ud800", 7 as unknown as string]) {
    await assert.rejects(shop.authenticate(ann, OWN, nonce(), { source: wrong }), /source is a text of 1 to 64 bytes/);
    await assert.rejects(shop.authenticateMany([{ ...attempt(), source: wrong }]), /source is a text of 1 to 64 bytes/);
  }
});

test("an access token is given to a process that is not to have the key, or sent in place of it", async () => {
  const token = await shop.accessToken(["authenticate"]);
  assert.deepEqual(token.scopes, ["authenticate"]);
  assert(Math.abs(token.expiresAt - Date.now() / 1_000 - 600) < 5);
  const kiosk = as(token.text);
  assert.deepEqual((await kiosk.counts()).tenantId, ann.tenant);
  await refused("scope-missing", all(kiosk.subjects()));
  await assert.rejects(kiosk.accessToken(), /only an API key/);
  assert.deepEqual((await shop.accessToken()).scopes, ["enrol", "authenticate"]);

  const requests: string[] = [];
  const tenant = as(key.apiKey, noting(requests), { token: true });
  await Promise.all(Array.from({ length: 8 }, () => tenant.counts()));
  const [exchange = "", ...others] = requests;
  assert.match(exchange, /^\/oauth2\/token Basic /);
  assert(others.length === 8 && new Set(others).size === 1 && others[0]?.startsWith("/v1/tenant Bearer trefoil_access_"));
  const narrow = as(key.apiKey, own, { token: ["enrol"] });
  assert.equal((await all(narrow.subjects())).length, 1);
  await refused("scope-missing", narrow.counts());
});

test("a token is renewed before it ends, and once after the service refused it", async (context) => {
  const requests: string[] = [];
  let refusals = 0;
  const problem = { type: "", title: "", status: 401, code: "caller-unauthenticated", detail: "made up", cure: "Send one.", request_id: "0" };
  const forgetful: Fetch = async (input, init) => {
    if (String(input).endsWith("/v1/tenant") && refusals > 0) {
      refusals -= 1;
      return new Response(JSON.stringify(problem), { status: 401 });
    }
    return own(input, init);
  };
  const tenant = as(key.apiKey, noting(requests, forgetful), { token: true });
  const paths = (): string[] => requests.splice(0).map((request) => request.split(" ")[0] ?? "");
  await tenant.counts();
  await tenant.counts();
  assert.deepEqual(paths(), ["/oauth2/token", "/v1/tenant", "/v1/tenant"]);
  // As after a restart.
  refusals = 1;
  await tenant.counts();
  assert.deepEqual(paths(), ["/v1/tenant", "/oauth2/token", "/v1/tenant"]);
  refusals = 2;
  await refused("caller-unauthenticated", tenant.counts());
  assert.deepEqual(paths(), ["/v1/tenant", "/oauth2/token", "/v1/tenant"], "and not for ever");
  await tenant.counts();
  requests.length = 0;
  const now = Date.now();
  context.mock.method(Date, "now", () => now + 500_000);
  await tenant.counts();
  assert.deepEqual(paths(), ["/oauth2/token", "/v1/tenant"], "100 s before its end");
});

test("a refused exchange says why, and mistakes are named before anything is sent", async () => {
  const extra = await admin.createApiKey(ann.tenant, ["authenticate"]);
  const tenant = as(extra.apiKey, own, { token: true });
  const scope = await refused("invalid_scope", tenant.accessToken(["issue"]));
  assert(scope.status === 400 && scope.detail.includes("`authenticate`") && scope.message.includes(scope.requestId));
  await tenant.counts();
  await admin.revokeApiKey(ann.tenant, extra.id);
  const revoked = await refused("invalid_client", tenant.counts());
  assert(revoked.status === 401 && revoked.detail.includes("revoked") && !revoked.message.includes(extra.apiKey));
  assert.throws(() => as(key.apiKey, own, { token: "authenticate" as unknown as boolean }), /scopes is an array of enrol, authenticate, issue/);
  await assert.rejects(shop.accessToken(["admin" as "enrol"]), /scopes is an array/);
  for (const other of ["0123456789", "trefoil_access_x", "trefoil_0123456789abcdef_"]) {
    assert.throws(
      () => as(other, own, { token: true }),
      (error) => error instanceof TypeError && /only an API key, as the service showed it/.test(error.message) && !error.message.includes(other),
    );
  }
});
