/** The source of a login, which the application names and by which the service limits failures. */

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

async function refused(code: string, call: Promise<unknown>): Promise<Problem> {
  return call.then(
    () => assert.fail(`not refused with ${code}`),
    (error: unknown) => {
      assert(error instanceof Problem && error.code === code, String(error));
      return error;
    },
  );
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
