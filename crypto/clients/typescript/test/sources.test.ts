/** What the application says of a login: its source, by which the service limits failures, and its model. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { TrustRoot } from "trefoil-attest";
import { Problem, Tenant, type Unproven } from "trefoil-attest/client";
import { fetchWith } from "trefoil-attest/node";

import { ANOTHERS, AUDIENCE, file, makeKey, makeTenant, OWN, type Place, POLICY, start } from "./service.js";

let place: Place;
let stop: () => Promise<void>;

function nonce(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
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

before(async () => ({ place, stop } = await start()));

after(() => stop());

test("a source that failed for ten people is refused by its name in each form", async () => {
  const trustRoot = TrustRoot.fromJson(new TextDecoder().decode(file(place, "trust-root.json")));
  const fetch = fetchWith({ ca: file(place, "trefoil-data/tls-certificate.pem") });
  const tenantId = makeTenant(place, { ...POLICY, proof: "none" });
  const caller = (): Tenant => {
    const { apiKey } = makeKey(place, tenantId, "enrol", "authenticate");
    return new Tenant({ url: place.url, apiKey, trustRoot, fetch });
  };
  // Through two keys, neither of which fails for ten people.
  const [tenant, other] = [caller(), caller()];
  const source = "198.51.100.7, hashed";
  const person = (): Unproven => ({ tenant: tenantId, handle: nonce(), audience: AUDIENCE });
  for (let at = 0; at < 10; at += 1) {
    const tried = person();
    await tenant.enrol(tried.handle, [OWN], "form 7");
    const { decision } = await (at % 2 === 0 ? tenant : other).authenticate(tried, ANOTHERS, nonce(), { source });
    assert.equal(decision, "no_match");
  }
  const [last, once] = [person(), nonce()];
  await tenant.enrol(last.handle, [OWN], "form 7");
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
    await assert.rejects(tenant.authenticate(last, OWN, nonce(), { source: wrong }), /source is a text of 1 to 64 bytes/);
    await assert.rejects(tenant.authenticateMany([{ ...shown, source: wrong }]), /source is a text of 1 to 64 bytes/);
  }
});

test("the model of a face is named in each form", async () => {
  const trustRoot = TrustRoot.fromJson(new TextDecoder().decode(file(place, "trust-root.json")));
  const fetch = fetchWith({ ca: file(place, "trefoil-data/tls-certificate.pem") });
  const tenantId = makeTenant(place, { ...POLICY, proof: "none" });
  const { apiKey } = makeKey(place, tenantId, "enrol", "authenticate");
  const tenant = new Tenant({ url: place.url, apiKey, trustRoot, fetch });
  const session: Unproven = { tenant: tenantId, handle: nonce(), audience: AUDIENCE };
  await tenant.enrol(session.handle, [OWN], "form 7");
  const shown = (embedder: string) => ({ session, embedding: OWN, nonce: nonce(), embedder });
  const embedder = "another";
  const problems = [
    await refused("embedding-invalid", tenant.authenticate(session, OWN, nonce(), { embedder })),
    await refused("embedding-invalid", tenant.decide(session, OWN, nonce(), { embedder })),
    ...(await tenant.authenticateMany([shown(embedder)])),
    ...(await tenant.decideMany([shown(embedder)])),
  ];
  assert.equal(problems.length, 4);
  for (const problem of problems) {
    assert(problem instanceof Problem && problem.code === "embedding-invalid");
    assert.match(problem.errors[0]?.pointer ?? "", /\/embedder$/);
  }
  const own = { embedder: POLICY.embedder };
  assert.equal((await tenant.authenticate(session, OWN, nonce(), own)).decision, "match");
  const [login] = await tenant.authenticateMany([shown(POLICY.embedder)]);
  assert(login !== undefined && !(login instanceof Problem) && login.decision === "match");
  const wrong = { embedder: "" };
  await assert.rejects(tenant.decide(session, OWN, nonce(), wrong), /embedder is a text of 1 to 64 bytes/);
});
