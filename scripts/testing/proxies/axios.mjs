// See pauses.py. Each connection is an agent of its own that keeps it, as `new https.Agent({ keepAlive: true })` does for as long as it can.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import https from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import axios from "axios";

const { url, ca, key, pauses, ...about } = JSON.parse(process.argv[2]);
const lost = [];
let answered = 0;

async function login(httpsAgent) {
  const body = { ...about, nonce: randomBytes(16).toString("hex"), issued_at: Math.floor(Date.now() / 1000), attestation: "none" };
  try {
    const { data } = await axios.post(url, body, { httpsAgent, headers: { authorization: `Bearer ${key}` }, proxy: false });
    if (data.decision !== "match") throw new Error(JSON.stringify(data));
    answered += 1;
  } catch (error) {
    lost.push(`${error.code ?? ""} ${error.message}`);
  }
}

const certificate = readFileSync(ca);
await Promise.all(
  pauses.map(async (own) => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: certificate });
    await login(agent);
    for (const seconds of own) {
      await pause(1000 * seconds);
      await login(agent);
    }
    agent.destroy();
  }),
);
console.log(JSON.stringify({ answered, lost }));
