/** A service and a browser for tests of pages. `TREFOIL` names the server's binary and `CHROMIUM` the browser. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { type BrowserContext, chromium } from "playwright-core";

import type { Service } from "./login.js";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`set ${name}; cargo xtask clients does`);
  return value;
}

/** The whole path of a program on the path. */
function onPath(name: string): string {
  const candidates = name.includes("/") ? [name] : (process.env["PATH"] ?? "").split(":").map((at) => join(at, name));
  const found = candidates.find((path) => {
    try {
      return readFileSync(path).length > 0;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`${name} is not on the path`);
  return found;
}

/** Starts a service on ports that are free, with its data in `folder`. */
export async function startService(folder: string): Promise<{ server: ChildProcess; service: Service }> {
  const data = ["--data-dir", join(folder, "data"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const program = required("TREFOIL");
  const server = spawn(program, ["serve", ...data], { stdio: ["ignore", "pipe", "inherit"] });
  assert(server.stdout);
  const said = new Map<string, string>();
  for await (const line of createInterface({ input: server.stdout })) {
    const [, name = "", value = ""] = /^(\S+ ?\S+) +(\S+)$/.exec(line) ?? [];
    said.set(name, value);
    if (name === "trust root") break;
  }
  const told = (name: string): string => {
    const value = said.get(name) ?? "";
    assert.notEqual(value, "", `the server did not say its ${name}`);
    return value;
  };
  const [publicApi, adminApi] = [told("public API"), told("admin API")];
  const service = { program, publicApi, adminApi, certificate: told("certificate"), adminToken: told("admin token") };
  return { server, service };
}

/** Starts the browser with a profile in `folder`. */
export function startChromium(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: onPath(required("CHROMIUM")),
    args: FLAGS,
    ignoreHTTPSErrors: true,
    colorScheme: "light",
  });
}
