/**
 * The client against a running service, in a process of its own: `fetch` of Node takes a certificate from the environment that its
 * process starts with.
 */

import { spawn } from "node:child_process";
import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { start } from "./service.js";

test("client.live.ts against a running service", async () => {
  const { place, stop } = await start();
  try {
    // A test inside a test would speak the runner's own format.
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
    const live = spawn(process.execPath, [fileURLToPath(new URL("client.live.js", import.meta.url))], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...environment,
        NODE_EXTRA_CA_CERTS: join(place.folder, "trefoil-data/tls-certificate.pem"),
        SERVICE_PLACE: JSON.stringify(place),
      },
    });
    let said = "";
    live.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    const [code] = (await once(live, "close")) as [number];
    assert.equal(code, 0, said);
    // An empty run passes as well.
    assert(Number(/^\S+ pass (\d+)$/m.exec(said)?.[1]) >= 12, said);
  } finally {
    await stop();
  }
});
