/** Run by client.test.ts with `SERVICE_PLACE`, where a service is. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import {
  consentDigest,
  Policy,
  TrustRoot,
  verify,
  VerifyError,
  type VerifyErrorCode,
  verifySameLog,
  verifySeal,
} from "trefoil-attest";
import {
  Problem,
  Proof,
  type Session,
  Tenant,
  UnexpectedAnswer,
  Unreachable,
  type Unproven,
} from "trefoil-attest/client";

import { toHex } from "../src/bytes.js";
import { admit, ANOTHERS, AUDIENCE, file, makeKey, makeTenant, operator, OWN, type Place, POLICY, prove, run } from "./service.js";
import { packageFile } from "./testdata.js";

const PLACE = JSON.parse(process.env["SERVICE_PLACE"] ?? "") as Place;
const TRUST_ROOT = TrustRoot.fromJson(new TextDecoder().decode(file(PLACE, "trust-root.json")));
let tenantId: Uint8Array;
let apiKey: string;
let tenant: Tenant;
let session: Session;

function nonce(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

type Fetch = typeof globalThis.fetch;

function as(key: string, fetch: Fetch = globalThis.fetch, retryFor = 10_000): Tenant {
  return new Tenant({ url: PLACE.url, apiKey: key, trustRoot: TRUST_ROOT, fetch, retryFor });
}

async function refused(code: string, call: Promise<unknown>): Promise<Problem> {
  const problem = await call.then(
    () => assert.fail(`not refused with ${code}`),
    (error: unknown) => (error instanceof Problem ? error : assert.fail(String(error))),
  );
  assert.equal(problem.code, code, problem.message);
  assert(problem.cure !== "" && problem.message.includes(problem.requestId) && problem.status >= 400);
  return problem;
}

/** Sends as usual, and changes the answers to logins on their way. */
function altering(change: (answer: Record<string, unknown>) => void, path = "/v1/authentications"): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).endsWith(path)) return response;
    const answer = (await response.json()) as Record<string, unknown>;
    change(answer);
    return new Response(JSON.stringify(answer), { status: response.status });
  };
}

/** Loses the first answer to a request that was carried out. */
function losing(sent: string[]): Fetch {
  return async (input, init) => {
    sent.push(`${String(input)} ${String(init?.body)}`);
    const response = await fetch(input, init);
    if (sent.length > 1) return response;
    await response.arrayBuffer();
    throw new TypeError("the answer was lost");
  };
}

/** Answers the first request with a problem, and lets the others through. */
function refusing(code: string, retryAfter: string | undefined, sent: string[]): Fetch {
  return async (input, init) => {
    sent.push(String(init?.body));
    if (sent.length > 1) return fetch(input, init);
    const document = { type: "", title: "", status: 503, code, detail: "made up", cure: "Wait.", request_id: "0" };
    return new Response(JSON.stringify(document), { status: 503, headers: retryAfter ? { "retry-after": retryAfter } : {} });
  };
}

before(async () => {
  tenantId = makeTenant(PLACE, POLICY);
  ({ apiKey } = makeKey(PLACE, tenantId, "enrol", "authenticate", "issue"));
  admit(PLACE, "ann", tenantId, apiKey);
  const proof = new Proof(prove(PLACE, "ann", "live.proof"));
  tenant = as(apiKey);
  assert.equal((await tenant.enrol(proof.handle, [OWN], "form 7")).generation, 1);
  session = await tenant.openSession(proof);
});

test("the own face matches and another's does not, both attested", async () => {
  const own = await tenant.authenticate(session, OWN, nonce());
  assert.equal(own.decision, "match");
  const { account, audience } = own.verified.statement;
  assert.deepEqual([account, audience], [session.proof.account, AUDIENCE]);
  const another = await tenant.authenticate(session, Float32Array.from(ANOTHERS), nonce());
  assert.deepEqual([another.decision, another.verified.statement.decision], ["no_match", "no_match"]);
  const compact = await tenant.authenticate(session, OWN, nonce(), { attestation: "compact" });
  assert(compact.decision === "match" && compact.attestation.length < 2_000);
});

test("a decision without its attestation is asked for by another name, alone and in a batch", async () => {
  const own = await tenant.decide(session, OWN, nonce());
  assert.deepEqual([own.decision, own.id.length], ["match", 32]);
  assert.equal((await tenant.decide(session, ANOTHERS, nonce())).decision, "no_match");
  await assert.rejects(tenant.decide(session, OWN, new Uint8Array(8)), /16 to 64 bytes/);
  const used = nonce();
  await tenant.decide(session, OWN, used);
  await refused("nonce-replayed", tenant.decide(session, OWN, used));
  const attempts = [OWN, ANOTHERS, OWN].map((embedding, at) => ({ session, embedding, nonce: at === 2 ? used : nonce() }));
  const said = (await tenant.decideMany(attempts)).map((each) => (each instanceof Problem ? each.code : each.decision));
  assert.deepEqual(said, ["match", "no_match", "nonce-replayed"]);
});

test("a template is replaced in one step, with a receipt", async () => {
  const { handle } = session.proof;
  const replaced = await tenant.replace(handle, [ANOTHERS], "form 8", "replace-1");
  assert.deepEqual([replaced.generation, replaced.replaced], [2, 1]);
  const { what } = replaced.receipt?.verified.change ?? {};
  assert.deepEqual(what, { kind: "replaced", handle, generation: 2, replaced: 1, consent: consentDigest("form 8") });
  assert.equal((await tenant.replace(handle, [ANOTHERS], "form 8", "replace-1")).generation, 2);
  assert.equal((await tenant.authenticate(session, ANOTHERS, nonce())).decision, "match");
  assert.equal((await tenant.authenticate(session, OWN, nonce())).decision, "no_match");
  const both = await tenant.replace(handle, [OWN, Float32Array.from(OWN, (number) => 2 * number)], "form 7");
  assert.deepEqual([replaced.agreement, both.agreement], [undefined, 1]);
  await refused("subject-unknown", tenant.replace(new Uint8Array(32), [OWN], "form 7"));
});

test("a nonce is taken once", async () => {
  const once = nonce();
  await tenant.authenticate(session, OWN, once);
  assert.equal((await refused("nonce-replayed", tenant.authenticate(session, OWN, once))).resent, false);
  await assert.rejects(tenant.authenticate(session, OWN, new Uint8Array(8)), /16 to 64 bytes/);
});

test("many logins are verified each, and one that is wrong refuses only itself", async () => {
  const used = nonce();
  await tenant.authenticate(session, OWN, used);
  for (const form of ["full", "compact"] as const) {
    const fetched: string[] = [];
    const watched: Fetch = (input, init) => {
      if (String(input).includes("/v1/seals/")) fetched.push(String(input));
      return fetch(input, init);
    };
    const attempts = Array.from({ length: 32 }, (_, at) => ({
      session,
      embedding: at === 3 ? ANOTHERS : at === 7 ? new Array<number>(128).fill(0) : OWN,
      nonce: at === 5 ? used : nonce(),
    }));
    const logins = await as(apiKey, watched).authenticateMany(attempts, form);
    assert.equal(logins.length, 32);
    assert(fetched.length === new Set(fetched).size && fetched.length > 0 === (form === "compact"));
    for (const [at, login] of logins.entries()) {
      if (login instanceof Problem) {
        assert.equal(login.code, { 5: "nonce-replayed", 7: "embedding-invalid" }[at]);
        assert(login.cure !== "" && !login.message.includes("(request") && login.retryAfter === undefined);
      } else {
        assert.equal(login.decision, at === 3 ? "no_match" : "match");
        assert.deepEqual(login.verified.statement.nonce, attempts[at]?.nonce);
      }
    }
    assert.equal(logins.filter((login) => login instanceof Problem).length, 2);
  }
});

test("a batch whose answers are swapped, forged or missing is refused", async () => {
  const flip = (results: Record<string, unknown>[]): void => {
    const bytes = Buffer.from(String(results[2]?.["attestation"]), "base64");
    bytes[300] = (bytes[300] ?? 0) ^ 1;
    Object.assign(results[2] ?? {}, { attestation: bytes.toString("base64") });
  };
  const four = (): { session: Session; embedding: number[]; nonce: Uint8Array }[] =>
    Array.from({ length: 4 }, () => ({ session, embedding: OWN, nonce: nonce() }));
  type Change = (results: Record<string, unknown>[]) => unknown;
  const changes: [Change, typeof VerifyError | typeof UnexpectedAnswer][] = [
    [flip, VerifyError],
    [(results) => results.reverse(), VerifyError],
    [(results) => results.pop(), UnexpectedAnswer],
  ];
  for (const [change, error] of changes) {
    const altered = altering((answer) => change(answer["results"] as Record<string, unknown>[]), "/v1/authentications/batch");
    await assert.rejects(as(apiKey, altered).authenticateMany(four()), error);
  }
  await assert.rejects(tenant.authenticateMany([]), /1 to 32 attempts, not 0/);
  const attempt = { session, embedding: OWN, nonce: nonce() };
  await assert.rejects(tenant.authenticateMany(new Array<typeof attempt>(33).fill(attempt)), /1 to 32 attempts, not 33/);
  await assert.rejects(tenant.authenticateMany([{ ...attempt, nonce: new Uint8Array(8) }]), /16 to 64 bytes/);
});

test("a tampered attestation is refused", async () => {
  for (const at of [60, 300, 1_000, 12_000, 21_000]) {
    const flipped = altering((answer) => {
      const bytes = Buffer.from(String(answer["attestation"]), "base64");
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      answer["attestation"] = bytes.toString("base64");
    });
    await assert.rejects(as(apiKey, flipped).authenticate(session, OWN, nonce()), VerifyError, `byte ${at}`);
  }
});

test("an attestation of another login, person or tenant is refused", async () => {
  const first = await tenant.authenticate(session, OWN, nonce());
  const replayed = altering((answer) => (answer["attestation"] = Buffer.from(first.attestation).toString("base64")));
  const isRefusedFor = (code: VerifyErrorCode) => (error: unknown) => error instanceof VerifyError && error.code === code;
  await assert.rejects(as(apiKey, replayed).authenticate(session, ANOTHERS, nonce()), isRefusedFor("nonce"));
  for (const name of ["account", "tenant"] as const) {
    const { proof } = session;
    const other = Object.defineProperty(new Proof(proof.envelope), name, { value: new Uint8Array(proof[name].length) });
    await assert.rejects(tenant.authenticate({ ...session, proof: other }, OWN, nonce()), isRefusedFor(name));
  }
  // Another request of the same person with the same nonce: the other face was shown.
  const once = nonce();
  const swapped: Fetch = (input, init) => {
    if (!String(input).endsWith("/v1/authentications")) return fetch(input, init);
    return fetch(input, { ...init, body: another });
  };
  let another = "";
  const recorded: Fetch = async (input, init) => {
    another = String(init?.body);
    return fetch(input, { ...init, body: "{}" });
  };
  await refused("field-invalid", as(apiKey, recorded).authenticate(session, ANOTHERS, once));
  await assert.rejects(as(apiKey, swapped).authenticate(session, OWN, once), isRefusedFor("request-digest"));
});

test("an answer that contradicts its attestation is refused, and one without a field names it", async () => {
  for (const change of [{ decision: "match" }, { id: "00".repeat(32) }, { seal_number: 7_000 }]) {
    const altered = as(apiKey, altering((answer) => Object.assign(answer, change)));
    const refusal = altered.authenticate(session, ANOTHERS, nonce());
    await assert.rejects(refusal, /something else than its attestation/, Object.keys(change)[0]);
  }
  const without = as(apiKey, altering((answer) => delete answer["seal_number"]));
  await assert.rejects(without.authenticate(session, OWN, nonce()), (error) => {
    return error instanceof UnexpectedAnswer && error.message.includes('whole number in "seal_number"');
  });
});

test("a wrong API key, a missing scope, a revoked key and a disabled tenant are refused", async () => {
  const wrong = apiKey.slice(0, -2) + (apiKey.endsWith("AA") ? "BB" : "AA");
  await refused("caller-unauthenticated", as(wrong).authenticate(session, OWN, nonce()));
  const narrow = makeKey(PLACE, tenantId, "enrol");
  await refused("scope-missing", as(narrow.apiKey).authenticate(session, OWN, nonce()));
  operator(PLACE, "api-key", "revoke", narrow.id, "--tenant", toHex(tenantId));
  await refused("caller-unauthenticated", as(narrow.apiKey).delete(session.proof.handle));
  operator(PLACE, "tenant", "disable", toHex(tenantId));
  await refused("tenant-disabled", tenant.authenticate(session, OWN, nonce()));
  operator(PLACE, "tenant", "enable", toHex(tenantId));
});

/** Leaves the subject active, with a template of generation 2. */
async function isRefusedOnceRevoked(app: Tenant, subject: Unproven): Promise<void> {
  const { handle } = subject;
  const revoked = await app.revoke(handle);
  const change = revoked.receipt?.verified.change;
  assert.deepEqual(change?.what, { kind: "revoked", handle, generation: 1 });
  assert.equal(change?.changedAt, BigInt(revoked.revokedAt));
  assert.equal((await app.revoke(toHex(handle))).revokedAt, revoked.revokedAt);
  await refused("subject-unknown", app.authenticate(subject, OWN, nonce()));
  assert.equal((await app.replace(handle, [OWN], "form 8")).generation, 2);
  assert.equal((await app.authenticate(subject, OWN, nonce())).decision, "match");
  await refused("subject-unknown", app.revoke(new Uint8Array(32)));
}

test("a tenant without credentials logs in with its API key alone, and each attestation says so", async () => {
  const audiences = [AUDIENCE, "https://other.example"];
  const policy = { ...POLICY, audiences, proof: "none" };
  const trial = makeTenant(PLACE, policy);
  const app = as(makeKey(PLACE, trial, "enrol", "authenticate").apiKey);
  const ann: Unproven = { tenant: trial, handle: crypto.getRandomValues(new Uint8Array(32)), audience: AUDIENCE };
  await app.enrol(ann.handle, [OWN], "form 7");
  const once = nonce();
  const login = await app.authenticate(ann, OWN, once);
  const { account, proof } = login.verified.statement;
  assert.deepEqual([login.decision, proof], ["match", undefined]);
  // A relying party gets the bytes: it refuses them unless it accepts that there is no proof.
  const now = Math.floor(Date.now() / 1_000);
  const demands = { trustRoot: TRUST_ROOT, audience: AUDIENCE, nonce: once };
  const isRefusedFor = (code: VerifyErrorCode) => (error: unknown) => error instanceof VerifyError && error.code === code;
  assert.throws(() => verify(login.attestation, new Policy(demands), now), isRefusedFor("no-proof"));
  const accepting = new Policy({ ...demands, tenant: trial, acceptNoProof: true });
  assert.deepEqual(verify(login.attestation, accepting, now).statement.account, account);
  // The account is the same at every login with the audience, and is checked where it was kept.
  const denied = await app.authenticate({ ...ann, account }, ANOTHERS, nonce(), { attestation: "compact" });
  assert.equal(denied.decision, "no_match");
  await assert.rejects(app.authenticate({ ...ann, account: new Uint8Array(32) }, OWN, nonce()), isRefusedFor("account"));
  const elsewhere = await app.authenticate({ ...ann, audience: "https://other.example" }, OWN, nonce());
  assert.notDeepEqual(elsewhere.verified.statement.account, account);
  await assert.rejects(app.authenticate({ ...ann, handle: new Uint8Array(8) }, OWN, nonce()), /handle must be/);

  const stranger = { ...ann, handle: new Uint8Array(32) };
  const attempts = [ann, ann, stranger].map((session, at) => ({ session, embedding: OWN, nonce: at === 1 ? once : nonce() }));
  const said = (await app.authenticateMany(attempts)).map((one) => (one instanceof Problem ? one.code : one.decision));
  assert.deepEqual(said, ["match", "nonce-replayed", "subject-unknown"]);
  await isRefusedOnceRevoked(app, ann);

  // The example of the README.
  const examples = [...packageFile("README.md").matchAll(/```js\n([^]*?)```/g)].map(([, source = ""]) => source);
  const module = new URL("readme-unproven.mjs", import.meta.url);
  writeFileSync(module, examples.find((source) => source.includes("function logIn")) ?? assert.fail("no example"));
  const { logIn } = (await import(module.href)) as { logIn(...of: unknown[]): Promise<Uint8Array> };
  assert.deepEqual(await logIn(app, trial, ann.handle, OWN), account);

  // Neither passes for the other.
  await refused("proof-mode-mismatch", app.openSession(session.proof));
  const unproven = { tenant: tenantId, handle: session.proof.handle, audience: AUDIENCE };
  assert.match((await refused("field-invalid", tenant.authenticate(unproven, OWN, nonce()))).detail, /session_id/);
});

for (const length of [192, 512]) {
  test(`arrays of ${length} numbers are compared, and another length is refused with both`, async () => {
    const wave = (of: (x: number) => number): Float32Array => Float32Array.from({ length }, (_, at) => of(0.7 * at));
    const embedder = `test-${length}`;
    const trial = makeTenant(PLACE, { ...POLICY, proof: "none", embedder, dimension: length });
    const app = as(makeKey(PLACE, trial, "enrol", "authenticate").apiKey);
    const bob: Unproven = { tenant: trial, handle: crypto.getRandomValues(new Uint8Array(32)), audience: AUDIENCE };
    const own = wave(Math.sin);
    await app.enrol(bob.handle, [own, own.map((number) => 2 * number)], "form 7");
    for (const [face, expected] of [[own, "match"], [wave(Math.cos), "no_match"]] as const) {
      const { decision, verified } = await app.authenticate(bob, face, nonce());
      assert.deepEqual([decision, verified.statement.embedder], [expected, embedder]);
    }
    const short = own.subarray(1);
    for (const call of [app.enrol(new Uint8Array(32), [own, short], "form 7"), app.authenticate(bob, short, nonce())]) {
      const { message } = await refused("embedding-invalid", call);
      assert(message.includes(`expected ${length} numbers, which model ${embedder} gives, got ${length - 1}`), message);
    }
  });
}

test("a session is ended, with a receipt", async () => {
  const other = makeTenant(PLACE, POLICY);
  const key = makeKey(PLACE, other, "enrol", "authenticate", "issue");
  admit(PLACE, "carl", other, key.apiKey);
  const [carl, proof] = [as(key.apiKey), new Proof(prove(PLACE, "carl", "carl.proof"))];
  await carl.enrol(proof.handle, [OWN], "form 12");
  const opened = await carl.openSession(proof);
  await refused("session-unknown", tenant.endSession(proof.sessionId));
  const path = `/v1/proof-sessions/${toHex(proof.sessionId)}`;
  const swapped = as(key.apiKey, altering((answer) => (answer["session_id"] = "01".repeat(32)), path));
  await assert.rejects(swapped.endSession(proof.sessionId), /says something else/);
  // It was ended all the same.
  await refused("session-expired", carl.authenticate(opened, OWN, nonce()));
  const next = new Proof(prove(PLACE, "carl", "carl-2.proof"));
  await carl.openSession(next);
  const ended = await carl.endSession(next.sessionId);
  assert.deepEqual(ended?.receipt?.verified.change.what, { kind: "session_ended", session: next.sessionId });
  assert.deepEqual(ended?.receipt?.verified.change.tenant, other);
  await refused("session-unknown", carl.endSession(next.sessionId));
});

test("proofs beyond the credit are refused and taken later", async () => {
  const { apiKey: key } = makeKey(PLACE, tenantId, "authenticate");
  const bytes = prove(PLACE, "ann", "quota.proof");
  const damaged = bytes.slice();
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  for (let time = 0; time < 2; time += 1) await refused("proof-rejected", as(key).openSession(new Proof(damaged)));
  const proof = new Proof(bytes);
  assert.equal((await refused("quota-exceeded", as(key, fetch, 0).openSession(proof))).retryAfter, 1);
  const patient = as(key, fetch, 60_000);
  const opened = await patient.openSession(proof);
  assert.deepEqual(await patient.openSession(proof), opened);
  assert.equal((await patient.authenticate(opened, OWN, nonce())).decision, "match");
});

test("a lost answer is asked for again where that is safe", async () => {
  const other = "cd".repeat(32);
  for (const call of [
    (client: Tenant) => client.enrol(other, [OWN], "form 8"),
    (client: Tenant) => client.delete(other),
    (client: Tenant) => client.openSession(session.proof),
  ]) {
    const sent: string[] = [];
    await call(as(apiKey, losing(sent)));
    assert(sent.length === 2 && sent[0] === sent[1]);
  }
  await refused("subject-unknown", tenant.delete(other));
  const enrolled = await tenant.enrol(other, [OWN], "form 9");
  const erased = await tenant.delete(other);
  assert.deepEqual([enrolled.generation, erased?.generation], [2, 2]);
  assert.equal(enrolled.receipt?.verified.change.what.kind, "enrolled");
  assert.equal(erased?.receipt?.verified.change.what.kind, "erased");
  assert.equal(erased?.receipt?.verified.change.changedAt, BigInt(erased?.erasedAt ?? 0));
  const sent: string[] = [];
  const problem = await refused("nonce-replayed", as(apiKey, losing(sent)).authenticate(session, OWN, nonce()));
  assert(problem.resent && problem.message.includes("its answer is lost") && sent.length === 2);
});

test("refusals are followed by what the documents say", async () => {
  for (const code of ["overloaded", "draining", "disk-low", "quota-exceeded", "key-holder-unavailable", "undecided", "store-unavailable"]) {
    const sent: string[] = [];
    assert.equal((await as(apiKey, refusing(code, "0", sent)).authenticate(session, OWN, nonce())).decision, "match");
    assert(sent.length === 2 && sent[0] === sent[1], code);
  }
  const signed: string[] = [];
  await as(apiKey, refusing("before-restart", "1", signed)).authenticate(session, OWN, nonce());
  const [first, second] = signed.map((body) => Number((JSON.parse(body) as { issued_at: number }).issued_at));
  assert(signed.length === 2 && first !== undefined && second !== undefined && first < second, "signed again");
  for (const [code, after] of [["unsealed", "0"], ["timed-out", undefined], ["internal", undefined], ["disk-low", "30"]] as const) {
    const sent: string[] = [];
    await refused(code, as(apiKey, refusing(code, after, sent)).authenticate(session, OWN, nonce()));
    assert.equal(sent.length, 1, code);
  }
});

test("mistakes of the caller say what to do", async () => {
  const wrong = await refused("embedding-invalid", tenant.authenticate(session, new Float32Array(512).fill(1), nonce()));
  assert.match(wrong.message, /expected 128 numbers, which model test-128 gives, got 512/);
  assert.equal(wrong.errors[0]?.pointer, "/embedding");
  await assert.rejects(tenant.authenticate(session, [1], nonce()), /2 to 512 numbers, not 1/);
  await assert.rejects(tenant.authenticate(session, new Float64Array(513), nonce()), /2 to 512 numbers, not 513/);
  await assert.rejects(tenant.authenticate(session, new Uint8Array(5), nonce()), /4 bytes .*, and 5 is no multiple/);
  await assert.rejects(tenant.enrol(new Uint8Array(32), OWN as unknown as number[][], "form 7"), /such as \[embedding\]/);
  await assert.rejects(tenant.enrol(new Uint8Array(32), [], "form 7"), /1 to 8 photographs, not of 0/);
  await assert.rejects(tenant.authenticate(session, new Array<number>(128).fill(Number.NaN), nonce()), /finite/);
  await refused("embedding-invalid", tenant.authenticate(session, new Array<number>(128).fill(0), nonce()));
  await assert.rejects(tenant.authenticate(session, OWN, nonce(), { attestation: "none" as "full" }), /`decide` asks for none/);
  const secret = "a key\nof two lines";
  assert.throws(
    () => as(secret),
    (error) => error instanceof TypeError && /one word of visible ASCII/.test(error.message) && !error.message.includes(secret),
  );
  await assert.rejects(tenant.enrol("ann", [OWN], "form 7"), /64 hexadecimal digits/);
  assert.throws(() => new Tenant({ url: "127.0.0.1:8443", apiKey, trustRoot: TRUST_ROOT }), /https:\/\/host:port/);
  const nobody = new Tenant({ url: "https://127.0.0.1:1", apiKey, trustRoot: TRUST_ROOT });
  await assert.rejects(nobody.seal(1), (error) => error instanceof Unreachable && /bad port|nothing listens/.test(error.message));
});

test("a service that cannot be reached is waited for", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  await new Promise((closed) => taken.close(closed));
  const there = { url: `https://127.0.0.1:${port}`, apiKey, trustRoot: TRUST_ROOT };
  await assert.rejects(new Tenant({ ...there, retryFor: 0 }).seal(1), /nothing listens there/);
  const asked = refused("seal-unknown", new Tenant({ ...there, retryFor: 60_000 }).seal(2 ** 40));
  // Nobody sees a connection that is refused.
  await pause(300);
  const relay = createServer((near) => {
    const far = connect(Number(new URL(PLACE.url).port), "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const end of [near, far]) end.on("error", () => end.destroy()).unref();
  });
  relay.listen(port, "127.0.0.1").unref();
  await asked;
});

test("two seals are of one log, by the proofs that the service gives", async () => {
  const numbers: number[] = [];
  for (let time = 0; time < 2; time += 1) numbers.push((await tenant.authenticate(session, OWN, nonce())).sealNumber);
  const [old = 0, late = 0] = numbers;
  const [one, other] = [await tenant.seal(old), await tenant.seal(late)];
  verifySeal(other, TRUST_ROOT);
  const asked = async (kind: string): Promise<Record<string, string[]>> => {
    const answer = await fetch(`${PLACE.url}/v1/log/${kind}/${old}/${late}`);
    return (await answer.json()) as Record<string, string[]>;
  };
  const [{ proof: consistency }, { path: inclusion }] = [await asked("consistency"), await asked("inclusion")];
  verifySameLog(one, other, { consistency, inclusion });
  await refused("seal-unknown", tenant.seal(2 ** 40));
});

test("the example of the README logs in", async () => {
  const examples = [...packageFile("README.md").matchAll(/```js\n([^]*?)```/g)].map(([, source = ""]) => source);
  const source = examples.find((source) => source.includes("new Tenant("));
  assert(source !== undefined);
  const reader = makeTenant(PLACE, POLICY);
  const key = makeKey(PLACE, reader, "enrol", "authenticate", "issue");
  admit(PLACE, "reader", reader, key.apiKey);
  prove(PLACE, "reader", "ann.proof");
  writeFileSync(join(PLACE.folder, "api.key"), `${key.apiKey}\n`);
  writeFileSync(join(PLACE.folder, "face.json"), JSON.stringify(OWN));
  const module = new URL("readme-client.mjs", import.meta.url);
  writeFileSync(module, source.replaceAll("https://127.0.0.1:8443", PLACE.url));
  process.chdir(PLACE.folder);
  const { login } = (await import(module.href)) as { login: { decision: string; attestation: Uint8Array } };
  assert.equal(login.decision, "match");
  writeFileSync(join(PLACE.folder, "live.cbor"), login.attestation);
  const said = run(PLACE, "verify", "live.cbor", "--trust-root", "trust-root.json", "--audience", AUDIENCE, "--any-nonce");
  assert.match(said, /decision match/);
});
