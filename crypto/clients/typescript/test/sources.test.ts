/** The source of a login, which the application names and by which the service limits failures; and access tokens. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { TrustRoot } from "trefoil-attest";
import {
  Admin,
  type Attempt,
  Problem,
  Tenant,
  type TenantOptions,
  type TenantPolicy,
  type Unproven,
} from "trefoil-attest/client";
import { fetchWith } from "trefoil-attest/node";

import { ANOTHERS, AUDIENCE, file, OWN, type Place, start } from "./service.js";

type Fetch = typeof globalThis.fetch;

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

async function refused(code: string, call: Promise<unknown>): Promise<Problem> {
  return call.then(
    () => assert.fail(`not refused with ${code}`),
    (error: unknown) => {
      assert(error instanceof Problem && error.code === code, String(error));
      return error;
    },
  );
}

/** Notes path and credential of each request. */
function noting(requests: string[], send: Fetch = own): Fetch {
  return (input, init) => {
    requests.push(`${new URL(String(input)).pathname} ${new Headers(init?.headers).get("authorization")}`);
    return send(input, init);
  };
}

before(async () => {
  ({ place, stop } = await start());
  const text = (name: string): string => new TextDecoder().decode(file(place, name));
  trustRoot = TrustRoot.fromJson(text("trust-root.json"));
  own = fetchWith({ ca: file(place, "trefoil-data/tls-certificate.pem") });
  admin = new Admin({ url: place.adminUrl, token: text("trefoil-data/admin.token"), trustRoot, fetch: own });
  const { tenantId } = await admin.createTenant("shop", POLICY);
  key = await admin.createApiKey(tenantId, ["enrol", "authenticate"]);
  shop = as(key.apiKey);
  ann = { tenant: tenantId, handle: nonce(), audience: AUDIENCE };
  await shop.enrol(ann.handle, OWN, "form 7");
});

after(() => stop());

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
  ];
  assert.equal(problems.length, 4);
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
