/** A service that demands a certificate of its callers. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { TrustRoot } from "trefoil-attest";
import { Problem, Tenant, Unreachable } from "trefoil-attest/client";
import { type Certificates, fetchWith } from "trefoil-attest/node";

import { file, makeKey, makeTenant, POLICY, start } from "./service.js";

function callers(name: string): string {
  return fileURLToPath(new URL(`../../../testdata/${name}`, import.meta.url));
}

test("a certificate is shown where the service demands one", async () => {
  const { place, stop } = await start({ TREFOIL_TLS_CLIENT_CA: callers("caller-ca.pem") });
  try {
    // The admin listener demands none.
    const { apiKey } = makeKey(place, makeTenant(place, POLICY), "enrol");
    const trustRoot = TrustRoot.fromJson(new TextDecoder().decode(file(place, "trust-root.json")));
    const ca = file(place, "trefoil-data/tls-certificate.pem");
    const revoked = (certificates: Certificates): Promise<unknown> =>
      new Tenant({ url: place.url, apiKey, trustRoot, fetch: fetchWith(certificates) }).revoke(new Uint8Array(32));
    const answered = (error: unknown): boolean => error instanceof Problem && error.code === "subject-unknown";
    const identity = readFileSync(callers("caller.pem"));
    await assert.rejects(revoked({ ca, identity }), answered);
    await assert.rejects(revoked({ ca }), (error) => error instanceof Unreachable && /as `identity`/.test(error.message));
    await assert.rejects(revoked({}), (error) => error instanceof Unreachable && /as `ca`/.test(error.message));
    assert.throws(() => fetchWith({ identity: readFileSync(callers("caller-ca.pem")) }), /a certificate and its key/);
    assert.throws(() => fetchWith({ ca: "trefoil-data/tls-certificate.pem" }), /ca must be PEM/);
  } finally {
    await stop();
  }
});
