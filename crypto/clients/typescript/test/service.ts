/** A running `trefoil serve`, and a member with a wallet, made with the program's own commands. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { toHex } from "../src/bytes.js";

export const AUDIENCE = "https://shop.example";
export const OWN = Array.from({ length: 128 }, (_, at) => Math.sin(0.7 * at));
export const ANOTHERS = Array.from({ length: 128 }, (_, at) => Math.cos(1.3 * at));

/** What the tests' tenants decide under: a score that only the same face reaches, and any number of attempts. */
export const POLICY = {
  embedder: "test-128",
  threshold: { calibrated: { score: 18_000, fmr_class: 3 } },
  audiences: [AUDIENCE],
  attempts: {
    consecutive: 2 ** 31,
    delay_s: 0,
    failures_per_day: 2 ** 31,
    failures_per_generation: 2 ** 31,
    attempts_per_day: 2 ** 31,
    attempts_per_generation: 2 ** 31,
  },
};

/** `TREFOIL`, or the program that `cargo build -p trefoil-cli` makes. */
function program(): string {
  const built = fileURLToPath(new URL("../../../../../target/debug/trefoil", import.meta.url));
  const path = process.env["TREFOIL"] ?? built;
  if (existsSync(path)) return path;
  throw new Error(`${path}: run \`cargo build -p trefoil-cli\`, or set TREFOIL to the built program`);
}

/** Where a service is. Plain data, so that another process can have it. */
export interface Place {
  readonly folder: string;
  readonly url: string;
  readonly adminUrl: string;
}

/** Starts a service on free ports, with these variables of its own. */
export async function start(variables: Readonly<Record<string, string>> = {}): Promise<{ place: Place; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "trefoil-client-"));
  const listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const server: ChildProcess = spawn(program(), ["serve", "--data-dir", join(folder, "trefoil-data"), ...listen], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      TREFOIL_PROOFS_CACHE_CAPACITY: "1000",
      TREFOIL_KEYS_PRECOMPUTE: "brief",
      // Credit for two invalid proofs, back within a few seconds.
      TREFOIL_PROOFS_CREDIT_MAX: "100",
      TREFOIL_PROOFS_CREDIT_PER_S: "20",
      ...variables,
    },
  });
  assert(server.stdout);
  const addresses: string[] = [];
  for await (const line of createInterface({ input: server.stdout })) {
    const [address] = /https:\/\/\S+/.exec(line) ?? [];
    if (address !== undefined) addresses.push(address);
    if (addresses.length === 2) break;
  }
  const [url = "", adminUrl = ""] = addresses;
  writeFileSync(join(folder, "passphrase"), "a passphrase for this test\n", { mode: 0o600 });
  const place = { folder, url, adminUrl };
  run(place, "keys", "export-trust-root", "--data-dir", "trefoil-data", "--output", "trust-root.json");
  const stop = async (): Promise<void> => {
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true });
  };
  return { place, stop };
}

/** Standard output of a command of the program that succeeds, in the folder. */
export function run({ folder }: Place, ...command: readonly string[]): string {
  return execFileSync(program(), command, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** What a file of the folder has. */
export function file({ folder }: Place, name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(folder, name)));
}

/** What `trefoil admin` answers to a command. */
export function operator(place: Place, ...command: readonly string[]): Record<string, unknown> {
  const there = ["--data-dir", "trefoil-data", "--admin", place.adminUrl, "--json"];
  return JSON.parse(run(place, "admin", ...command, ...there)) as Record<string, unknown>;
}

/** Makes a tenant, and says its identifier. */
export function makeTenant(place: Place, policy: object): Uint8Array {
  writeFileSync(join(place.folder, "policy.json"), JSON.stringify(policy));
  const { tenant_id: id } = operator(place, "tenant", "create", "shop", "--policy", "policy.json");
  return new Uint8Array(Buffer.from(String(id), "hex"));
}

/** Makes an API key. */
export function makeKey(place: Place, tenant: Uint8Array, ...scopes: readonly string[]): { id: string; apiKey: string } {
  const asked = scopes.flatMap((scope) => ["--scope", scope]);
  const { id, api_key: apiKey } = operator(place, "api-key", "create", "--tenant", toHex(tenant), ...asked);
  return { id: String(id), apiKey: String(apiKey) };
}

/** Makes a credential for a new wallet under this tenant, whose API key has every scope. */
export function admit(place: Place, name: string, tenantId: Uint8Array, apiKey: string): void {
  const tenant = toHex(tenantId);
  writeFileSync(join(place.folder, `${name}.key`), apiKey);
  const [directory, wallet] = [`${name}-issuer`, `${name}.wallet`];
  const passphrase = ["--passphrase-file", "passphrase"];
  const ca = ["--ca", "trefoil-data/tls-certificate.pem"];
  const there = ["--service", place.url, ...ca, "--api-key-file", `${name}.key`];
  const registrar = ["--admin", place.adminUrl, ...ca, "--admin-token-file", "trefoil-data/admin.token"];
  run(place, "issuer", "init", "--directory", directory, "--tenant", tenant, ...passphrase);
  run(place, "issuer", "register", "--directory", directory, ...registrar);
  const commitment = run(place, "wallet", "create", "--wallet", wallet, ...passphrase).trim().split(" ").at(-1) ?? "";
  const tomorrow = String(Math.floor(Date.now() / 1000) + 86_400);
  const ann = ["--commitment", commitment, "--level", "2", "--expires", tomorrow];
  run(place, "issuer", "add", "ann", "--directory", directory, ...ann);
  run(place, "issuer", "publish", "--directory", directory, ...passphrase, ...there);
  run(place, "issuer", "export", "ann", "--directory", directory, "--output", `${name}.credential`);
  run(place, "wallet", "receive", `${name}.credential`, "--wallet", wallet, ...passphrase);
}

/** What `trefoil wallet prove` writes. */
export function prove(place: Place, name: string, output: string, ...more: readonly string[]): Uint8Array {
  const wallet = ["--wallet", `${name}.wallet`, "--passphrase-file", "passphrase"];
  run(place, "wallet", "prove", ...wallet, "--audience", AUDIENCE, "--output", output, ...more);
  return file(place, output);
}
