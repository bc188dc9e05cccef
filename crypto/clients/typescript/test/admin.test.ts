/**
 * The operator's side against a running service that demands a certificate of its callers: each change answers with a receipt that was
 * verified.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { TrustRoot, VerifyError, verifyChangeWithSeal } from "trefoil-attest";
import {
  Admin,
  policyDigest,
  Problem,
  type Receipt,
  Tenant,
  type TenantPolicy,
  UnexpectedAnswer,
  Unreachable,
  type Unproven,
} from "trefoil-attest/client";
import { fetchWith } from "trefoil-attest/node";

import { ANOTHERS, AUDIENCE, file, OWN, type Place, start } from "./service.js";
import { packageFile } from "./testdata.js";

const POLICY: TenantPolicy = {
  embedder: "test-128",
  threshold: { calibrated: { score: 18_000, fmr_class: 3 } },
  audiences: [AUDIENCE],
  proof: "none",
};
const NOBODY = new Uint8Array(8);

let place: Place;
let stop: () => Promise<void>;
let trustRoot: TrustRoot;
let ca: Uint8Array;
let admin: Admin;

type Fetch = typeof globalThis.fetch;

function callers(name: string): string {
  return fileURLToPath(new URL(`../../../testdata/${name}`, import.meta.url));
}

function text(name: string): string {
  return new TextDecoder().decode(file(place, name));
}

function as(token: string, fetch: Fetch = fetchWith({ ca })): Admin {
  return new Admin({ url: place.adminUrl, token, trustRoot, fetch });
}

function caller(apiKey: string): Tenant {
  const fetch = fetchWith({ ca, identity: readFileSync(callers("caller.pem")) });
  return new Tenant({ url: place.url, apiKey, trustRoot, fetch });
}

function nonce(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
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

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await holds())) assert(Date.now() < end, "not within ten seconds");
}

/** What a receipt says was done, and for whom. */
function said(receipt: Receipt | undefined): object {
  assert(receipt);
  const { tenant, what } = receipt.verified.change;
  return { tenant, ...what };
}

/** Sends as usual, and loses the first answer or changes it. */
function meddling(change: (answer: Record<string, unknown>) => void, lose = false): Fetch {
  const fetch = fetchWith({ ca });
  let count = 0;
  return async (input, init) => {
    const response = await fetch(input, init);
    const answer = (await response.json()) as Record<string, unknown>;
    count += 1;
    if (lose && count === 1) throw new TypeError("the answer was lost");
    change(answer);
    return new Response(JSON.stringify(answer), { status: response.status });
  };
}

before(async () => {
  ({ place, stop } = await start({ TREFOIL_TLS_CLIENT_CA: callers("caller-ca.pem") }));
  trustRoot = TrustRoot.fromJson(text("trust-root.json"));
  ca = file(place, "trefoil-data/tls-certificate.pem");
  // The admin listener demands no certificate.
  admin = as(text("trefoil-data/admin.token"));
});

after(() => stop());

test("a tenant is made, shown, disabled, enabled and deleted", async () => {
  const policy = { embedder: "facenet-128", threshold: { fmr_class: 2 }, audiences: ["a.example"], sessions_in_memory: 10 };
  const made = await admin.createTenant("shown", policy);
  const { tenantId } = made;
  assert.deepEqual(said(made.receipt), { tenant: tenantId, kind: "tenant_created", policyDigest: policyDigest(policy) });
  assert.deepEqual(made.receipt?.verified.change.by?.operator, NOBODY);
  const shown = await admin.tenant(tenantId);
  assert.deepEqual([shown.name, shown.lockedOut, shown.distinctFailuresRefused], ["shown", 0, 0]);
  assert.deepEqual(policyDigest(shown.policy), policyDigest(policy), "with its defaults");
  await refused("tenant-in-use", admin.deleteTenant(tenantId));
  const disabled = await admin.disableTenant(tenantId);
  assert.deepEqual(said(disabled.receipt), { tenant: tenantId, kind: "tenant_disabled" });
  assert.equal((await admin.disableTenant(tenantId)).receipt, undefined, "nothing was changed again");
  assert.deepEqual(said((await admin.enableTenant(tenantId)).receipt), { tenant: tenantId, kind: "tenant_enabled" });
  await admin.disableTenant(tenantId);
  const deleted = await admin.deleteTenant(tenantId);
  assert.equal(deleted?.templates, 0);
  assert.deepEqual(said(deleted?.receipt), { tenant: tenantId, kind: "tenant_deleted", templates: 0n });
  await refused("tenant-unknown", admin.deleteTenant(tenantId));
});

test("a receipt names whether the policy asks for proofs", async () => {
  const { receipt } = await admin.createTenant("unproven", POLICY);
  const digest = policyDigest(POLICY);
  assert.deepEqual(said(receipt), { tenant: receipt?.verified.change.tenant, kind: "tenant_created", policyDigest: digest });
  assert.notDeepEqual(digest, policyDigest({ ...POLICY, proof: "credential" }));
});

test("a lost answer creates nothing twice", async () => {
  const losing = (): Admin => as(text("trefoil-data/admin.token"), meddling(() => undefined, true));
  const { tenantId } = await losing().createTenant("once", POLICY);
  const named = (await all(admin.tenants())).filter(({ name }) => name === "once");
  assert.deepEqual(named.map((tenant) => tenant.tenantId), [tenantId]);
  const again = await admin.createTenant("own key", POLICY, "mine");
  assert.deepEqual((await admin.createTenant("own key", POLICY, "mine")).tenantId, again.tenantId);
  // A secret is shown once: the repetition names what to revoke.
  const problem = await refused("secret-shown", losing().createApiKey(tenantId, ["enrol"]));
  const [key, ...others] = await all(admin.apiKeys(tenantId));
  assert(key && others.length === 0 && problem.resent);
  assert(problem.detail.includes(Buffer.from(key.id).toString("hex")), problem.detail);
});

test("an API key is rotated, and shown by a caller with a certificate", async () => {
  const { tenantId: tenant } = await admin.createTenant("rotating", POLICY);
  const old = await admin.createApiKey(tenant, ["enrol"], { label: "kiosk" });
  assert.deepEqual(said(old.receipt), { tenant, kind: "api_key_created", apiKey: old.id, scopes: 1 });
  const fresh = await admin.createApiKey(tenant, ["authenticate", "enrol"]);
  assert.deepEqual(said(fresh.receipt), { tenant, kind: "api_key_created", apiKey: fresh.id, scopes: 3 });
  for (const { apiKey } of [old, fresh]) assert.deepEqual(await all(caller(apiKey).subjects()), []);
  const revoked = await admin.revokeApiKey(tenant, old.id);
  assert.deepEqual([revoked.state, revoked.label], ["revoked", "kiosk"]);
  assert.deepEqual(said(revoked.receipt), { tenant, kind: "api_key_revoked", apiKey: old.id });
  await refused("caller-unauthenticated", all(caller(old.apiKey).subjects()));

  const without = new Tenant({ url: place.url, apiKey: fresh.apiKey, trustRoot, fetch: fetchWith({ ca }) });
  await assert.rejects(all(without.subjects()), (error) => error instanceof Unreachable && /as `identity`/.test(error.message));
  assert.throws(() => fetchWith({ identity: readFileSync(callers("caller-ca.pem")) }), /a certificate and its key/);
  assert.throws(() => fetchWith({ ca: "trefoil-data/tls-certificate.pem" }), /ca must be PEM/);
  const stranger = new Tenant({ url: place.url, apiKey: fresh.apiKey, trustRoot, fetch: fetchWith({}) });
  await assert.rejects(stranger.keys(), (error) => error instanceof Unreachable && /as `ca`/.test(error.message));
});

test("a changed policy is a version with a receipt", async () => {
  const first = { ...POLICY, attestation_lifetime_s: 30 };
  const { tenantId: tenant } = await admin.createTenant("changing", first);
  const stricter = { ...first, audiences: ["a.example", "b.example"] };
  const changed = await admin.setPolicy(tenant, stricter, 1);
  const { policyId, policyVersion, policyDigest: digest } = changed;
  assert.deepEqual([policyVersion, digest], [2, policyDigest(stricter)]);
  assert.deepEqual(said(changed.receipt), { tenant, kind: "policy_changed", policyId, policyVersion, policyDigest: digest });
  assert.equal(changed.receipt?.verified.change.changedAt, BigInt(changed.madeAt));
  await refused("policy-overtaken", admin.setPolicy(tenant, first, 1));
  // More than a page.
  for (let lifetime = 60; lifetime < 68; lifetime += 1) {
    await admin.setPolicy(tenant, { ...first, attestation_lifetime_s: lifetime });
  }
  const versions = await all(admin.policies(tenant));
  assert.deepEqual(versions.map((version) => version.policyVersion), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(versions[1]?.policy, changed.policy);
});

test("a locked-out subject is counted and let in again", async () => {
  const policy = { ...POLICY, attempts: { consecutive: 2, delay_s: 86_400 } };
  const { tenantId: tenant } = await admin.createTenant("locking", policy);
  const app = caller((await admin.createApiKey(tenant, ["enrol", "authenticate"])).apiKey);
  const ann: Unproven = { tenant, handle: new Uint8Array(32), audience: AUDIENCE };
  await app.enrol(ann.handle, OWN, "form 7");
  for (let time = 0; time < 2; time += 1) await app.authenticate(ann, ANOTHERS, nonce());
  await until(async () => (await app.counts()).lockedOut === 1 && (await admin.tenant(tenant)).lockedOut === 1);
  assert.deepEqual(said(await admin.resetAttempts(tenant, ann.handle)), { tenant, kind: "attempts_reset" });
  // A worker remembers for a second who had no attempt left.
  await until(async () => (await app.authenticate(ann, OWN, nonce())).decision === "match");
  await refused("subject-unknown", admin.resetAttempts(tenant, new Uint8Array(32).fill(1)));
  assert.deepEqual(said(await admin.resetMalformed(tenant)), { tenant, kind: "malformed_reset" });
  await until(async () => (await all(admin.usage(tenant))).length === 1);
  assert.equal((await all(admin.usage(tenant)))[0]?.enrolments, 1);
});

test("keys of templates are rotated, and a malformed key is not registered", async () => {
  const { tenantId: tenant } = await admin.createTenant("renewing", { ...POLICY, proof: "credential" });
  const started = await admin.rotateKeys(tenant);
  assert.deepEqual(said(started.receipt), { tenant, kind: "key_rotation_begun", epoch: 1 });
  await until(async () => (await admin.keyRotation(tenant)).state === "idle");
  await refused("field-invalid", admin.registerIssuerKey(tenant, new Uint8Array(8)));
});

test("operators have roles and tokens and leave a trail", async () => {
  const service = new Uint8Array(16);
  const made = await admin.createOperator("Vic", "viewer", { expiresAt: Math.floor(Date.now() / 1_000) + 3_600 });
  const operator = made.operatorId;
  assert.deepEqual(said(made.receipt), { tenant: service, kind: "operator_created", operator, role: 1 });
  const { tenantId: tenant } = await admin.createTenant("watched", POLICY);
  await refused("role-missing", as(made.token).disableTenant(tenant));
  const second = await admin.createOperatorToken(operator);
  assert.deepEqual(said(second.receipt), { tenant: service, kind: "operator_token_created", operator, token: 2 });
  await refused("operator-conflict", admin.createOperatorToken(operator));
  const fewer = await admin.revokeOperatorToken(operator, 1);
  assert.deepEqual(said(fewer.receipt), { tenant: service, kind: "operator_token_revoked", operator, token: 1 });
  await refused("caller-unauthenticated", as(made.token).tenant(tenant));
  const vic = as(second.token);
  const shown = await vic.operator(operator);
  assert.deepEqual([shown.name, shown.role, shown.tokens.length], ["Vic", "viewer", 2]);
  const listed = await all(vic.operators());
  assert(listed.some(({ id, role }) => id.every((byte) => byte === 0) && role === "owner"));
  assert.deepEqual(listed.find(({ name }) => name === "Vic"), shown);
  assert.notEqual((await admin.revokeOperator(operator)).revokedAt, undefined);

  const trail = await all(admin.audit(tenant));
  assert.deepEqual(trail.map(({ action, outcome }) => [action, outcome]), [["tenant_created", "done"], ["tenant_disabled", "refused"]]);
  assert.deepEqual([trail[1]?.operatorName, trail[1]?.tenant], ["Vic", tenant]);
  assert((await all(admin.audit())).length > trail.length);
  // An entry names its seal, which anybody may fetch.
  const sealed = trail[0]?.receipt;
  assert(sealed);
  const seal = await caller("").seal(sealed.sealNumber);
  const verified = verifyChangeWithSeal(sealed.attestation, seal, trustRoot, tenant, Math.floor(Date.now() / 1_000));
  assert.deepEqual(verified.change.what, { kind: "tenant_created", policyDigest: policyDigest(POLICY) });
});

test("a trail of more than a page is read to its end", async () => {
  const { tenantId: tenant } = await admin.createTenant("restless", POLICY);
  for (let time = 0; time < 130; time += 1) {
    await admin.disableTenant(tenant);
    await admin.enableTenant(tenant);
  }
  assert.equal((await all(admin.audit(tenant))).length, 261);
});

test("an answer that its receipt does not bear out is refused", async () => {
  const token = text("trefoil-data/admin.token");
  const { tenantId } = await admin.createTenant("one", POLICY);
  const other = meddling((answer) => (answer["tenant_id"] = "01".repeat(16)));
  await assert.rejects(as(token, other).createTenant("two", POLICY), (error) => error instanceof VerifyError && error.code === "tenant");
  const swapped = meddling((answer) => (answer["id"] = "00".repeat(8)));
  await assert.rejects(as(token, swapped).createApiKey(tenantId, ["enrol"]), (error) => {
    return error instanceof UnexpectedAnswer && /something else than the answer in "apiKey"/.test(error.message);
  });
});

test("the examples of the README make a tenant and rotate its API key", async () => {
  const examples = [...packageFile("README.md").matchAll(/```js\n([^]*?)```/g)].map(([, source = ""]) => source);
  const example = async (mentions: string): Promise<unknown> => {
    const source = examples.find((source) => source.includes(mentions)) ?? assert.fail(mentions);
    const module = new URL(`readme-${mentions.replaceAll(/\W/g, "")}.mjs`, import.meta.url);
    writeFileSync(module, source.replaceAll("https://127.0.0.1:9443", place.adminUrl));
    return import(module.href);
  };
  const directory = process.cwd();
  process.chdir(place.folder);
  const made = (await example("new Admin(")) as { admin: Admin; tenantId: Uint8Array; apiKey: string };
  process.chdir(directory);
  const { rotate } = (await example("function rotate")) as { rotate(admin: Admin, tenantId: Uint8Array): Promise<string> };
  assert.notEqual(await rotate(made.admin, made.tenantId), made.apiKey);
  assert.deepEqual((await all(admin.apiKeys(made.tenantId))).map(({ state }) => state), ["active", "active"]);
});
