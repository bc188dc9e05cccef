/** A login at a running service through the program's own commands, from a new tenant to an attested answer. */

import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";

/** What `trefoil serve` prints about itself. */
export interface Service {
  readonly program: string;
  readonly publicApi: string;
  readonly adminApi: string;
  readonly certificate: string;
  readonly adminToken: string;
}

export interface Login {
  readonly audience: string;
  /** Hexadecimal. */
  readonly nonce: string;
}

/** The service's JSON answer about a person who is enrolled, opens a session and shows the same face again. */
export async function logIn(service: Service, folder: string, { audience, nonce }: Login): Promise<string> {
  const { adminApi, publicApi, certificate, adminToken } = service;
  const policy = {
    embedder: "test-128",
    threshold: { calibrated: { score: 18_000, fmr_class: 3 } },
    audiences: [audience],
    level_min: 2,
  };
  const { tenant_id: tenant } = await post(service, "/v1/tenants", { name: "shop", policy });
  const scopes = ["enrol", "authenticate", "issue"];
  const { api_key: key } = await post(service, `/v1/tenants/${tenant}/api-keys`, { scopes });
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const [directory, wallet] = [join(folder, "issuer"), join(folder, "ann.wallet")];
  const ann = file("ann.json", JSON.stringify(Array.from({ length: 128 }, (_, at) => Math.sin(0.7 * at))));
  const passphrase = ["--passphrase-file", file("passphrase", "a passphrase for this test\n")];
  const there = ["--service", publicApi, "--ca", certificate, "--api-key-file", file("api.key", String(key))];
  const issuer = (command: string, ...rest: string[]): Promise<string> =>
    run(service, ["issuer", command, "--directory", directory, ...rest]);
  const holder = (command: string, ...rest: string[]): Promise<string> =>
    run(service, ["wallet", command, "--wallet", wallet, ...passphrase, ...rest]);

  await issuer("init", "--tenant", String(tenant), ...passphrase);
  await issuer("register", "--admin", adminApi, "--ca", certificate, "--admin-token-file", adminToken);
  await holder("create");
  const tomorrow = String(Math.floor(Date.now() / 1000) + 24 * 60 * 60);
  const commitment = (await holder("commitment")).trim();
  await issuer("add", "ann", "--commitment", commitment, "--level", "2", "--expires", tomorrow);
  await issuer("publish", ...passphrase, ...there);
  const credential = join(folder, "ann.credential");
  await issuer("export", "ann", "--output", credential);
  await holder("receive", credential);
  await holder("enrol", "--embedding", ann, "--consent", "form 7", ...there);
  await holder("open", "--audience", audience, ...there);
  const answer = join(folder, "answer.json");
  await holder("authenticate", "--audience", audience, "--embedding", ann, "--nonce", nonce, "--output", answer, ...there);
  return readFileSync(answer, "utf8");
}

/** Standard output of a command that succeeds. */
async function run(service: Service, command: readonly string[]): Promise<string> {
  return (await promisify(execFile)(service.program, command)).stdout;
}

/** The answer of the admin API, which must have made something. */
function post(service: Service, path: string, body: object): Promise<Record<string, unknown>> {
  const { adminApi, adminToken, certificate } = service;
  const authorization = `Bearer ${readFileSync(adminToken, "utf8").trim()}`;
  const headers = { authorization, "content-type": "application/json" };
  const options = { method: "POST", ca: readFileSync(certificate), headers };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${adminApi}${path}`, options, async (answer) => {
      const text = (await answer.setEncoding("utf8").toArray()).join("");
      if (answer.statusCode === 201) resolve(JSON.parse(text) as Record<string, unknown>);
      else reject(new Error(`${path}: ${answer.statusCode}: ${text}`));
    });
    outgoing.on("error", reject).end(JSON.stringify(body));
  });
}
