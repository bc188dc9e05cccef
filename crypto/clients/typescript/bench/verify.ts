/**
 * Time to verify one full attestation, in this runtime: `npm run bench`, and `npm run bench -- FILE LABEL` to keep the result
 * as a record with the name of the machine. Processor time stands beside elapsed time, because other programs on the machine lengthen only the latter much.
 */

import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { performance } from "node:perf_hooks";

import { type Policy, verify } from "trefoil-attest";

import { decodeAttestation } from "../src/attestation.js";
import { FAMILIES } from "../src/family.js";
import { FULL, NOW, policy, TRUST_ROOT } from "../test/testdata.js";
import { origin } from "./origin.js";

const WARM_UP = 50;
const ROUNDS = 300;

/** What was measured, by name. */
const record: Record<string, unknown> = {};

/** The quantiles of the rounds after the warm-up, milliseconds. */
function measure(name: string, work: () => void): void {
  for (let round = 0; round < WARM_UP; round += 1) work();
  const elapsed: number[] = [];
  const processor: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const usage = process.cpuUsage();
    const start = performance.now();
    work();
    elapsed.push(performance.now() - start);
    const { user, system } = process.cpuUsage(usage);
    processor.push((user + system) / 1000);
  }
  const [low, median, high] = quantiles(elapsed);
  const [, busy] = quantiles(processor);
  const [p10, p50, p99, busyMs] = [low, median, high, busy].map(Number);
  record[name] = { median_ms: p50, processor_median_ms: busyMs, p10_ms: p10, p99_ms: p99 };
  console.log(`${name.padEnd(22)} median ${median}, processor ${busy}, p10 ${low}, p99 ${high} ms`);
}

function quantiles(times: number[]): string[] {
  times.sort((a, b) => a - b);
  return [0.1, 0.5, 0.99].map((part) => (times[Math.floor(part * ROUNDS)] ?? 0).toFixed(2));
}

const [file, label] = process.argv.slice(2);
const { host, build } = origin(label);
console.log(`node ${process.version}, ${process.arch}, ${FULL.length} bytes, ${ROUNDS} rounds`);
const required: Policy = policy();
measure("verify", () => void verify(FULL, required, NOW));
measure("decoding", () => void decodeAttestation(FULL));
const { evidence } = decodeAttestation(FULL);
if (evidence.form === "full") {
  const { seal } = evidence;
  const keys = TRUST_ROOT.keySet(seal.header.keySetId);
  for (const family of FAMILIES) {
    measure(family.id, () => {
      if (keys === undefined || !seal.isSignedBy(family, keys.publicKeys[family.id])) {
        throw new Error(`the ${family.id} signature of the vector does not verify`);
      }
    });
  }
}
if (file !== undefined) {
  const head = {
    format: "trefoil-bench/1",
    benchmark: "typescript-verify",
    command: `npm run bench -- ${basename(file)}${label === undefined ? "" : ` "${label}"`}`,
    host,
    build,
    bytes: FULL.length,
    rounds: ROUNDS,
  };
  writeFileSync(file, `${JSON.stringify({ ...head, ...record }, undefined, 2)}\n`);
}
