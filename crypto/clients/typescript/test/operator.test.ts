/** What the operator's page computes from two answers of `GET /v1/status`. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { attention } from "../page/operator/attention.js";
import { between, History, quantile, rate, share, slower, together, WINDOW_MS } from "../page/operator/history.js";
import type { Status } from "../page/operator/status.js";
import { span } from "../page/time.js";

function status(clock_ms: number, changes: Partial<Status> = {}): Status {
  return {
    version: "0.1.0",
    issuer: "https://auth.example",
    started_at: 1,
    now: 1 + Math.floor(clock_ms / 1000),
    clock_ms,
    ready: true,
    attention: [],
    logins: { submitted: 0, matched: 0, not_matched: 0 },
    batches: { sealed: 0, lanes: 0, lanes_max: 32 },
    seals: { stored: 0, pruned: 0, archived: 0, waits: false },
    stage_bounds_s: [],
    stages: [],
    request_bounds_s: [0.5, 1, 2],
    requests: [],
    problems: [],
    caches: [],
    tenants: [],
    key_holders: [],
    key_holder: null,
    proofs: { accepted: 0, refused: 0, waiting: 0 },
    queue: { used: 0, limit: 100 },
    nonces: { used: 0, limit: 10 },
    in_flight_limit: 10,
    templates: { used: 0, limit: 10 },
    disk: { free_bytes: 1, low_water_bytes: 0 },
    connections: [],
    certificate_until: null,
    signing_keys_until: null,
    log_lines_lost: 0,
    process: { processor_seconds: null, memory_bytes: null, open_files: null },
    ...changes,
  };
}

const logins = (matched: number): Partial<Status> => ({ logins: { submitted: matched, matched, not_matched: 0 } });

test("history keeps five minutes, and nothing of a process before", () => {
  const history = new History();
  for (let at = 0; at <= 400; at += 2) history.add(status(1000 * at, logins(at)));
  assert.equal(history.seconds, WINDOW_MS / 1000);
  const perSecond = history.series((before, now) => rate(before, now, ({ logins }) => logins.matched));
  assert.deepEqual([...new Set(perSecond)], [1]);
  history.add(status(2_000, { started_at: 2 }));
  assert.equal(history.seconds, 0);
  assert.equal(history.last?.started_at, 2);
});

test("rates and shares of nothing are nothing", () => {
  assert.equal(rate(status(5), status(5), () => 1), undefined);
  assert.equal(share(status(0), status(1), () => 1, () => 1), undefined);
  assert.equal(rate(status(0), status(2_000, logins(30)), ({ logins }) => logins.matched), 15);
});

test("percentiles are read off the difference of two histograms", () => {
  const bounds = [1, 2, 4];
  const grown = between({ count: 100, seconds: 1, below: [100, 100, 100] }, { count: 200, seconds: 150, below: [150, 190, 199] });
  assert.deepEqual(grown, { count: 100, seconds: 149, below: [50, 90, 99] });
  assert.equal(quantile(grown, bounds, 0.5), 1);
  assert.equal(quantile(grown, bounds, 0.7), 1.5);
  assert.equal(quantile(grown, bounds, 0.99), 4);
  assert.equal(quantile(grown, bounds, 1), Number.POSITIVE_INFINITY);
  assert.equal(quantile({ count: 0, seconds: 0, below: [0, 0, 0] }, bounds, 0.5), undefined);
  assert.equal(slower(grown, bounds, 2), 10);
  assert.equal(slower(grown, bounds, 8), 0);
  assert.deepEqual(together([grown, grown]).below, [100, 180, 198]);
});

test("what grew worse is named with the next step, the worst first, and a single error is not", () => {
  const request = (status: number, count: number, below: number[]) => ({ method: "POST", route: "/v1/authentications", status, count, seconds: 0, below });
  const before = status(0);
  assert.deepEqual(attention(before, before), []);
  assert.deepEqual(attention(before, status(60_000, { requests: [request(503, 4, [4, 4, 4])] })), []);
  const found = attention(before, status(60_000, { requests: [request(200, 90, [10, 20, 90]), request(503, 9, [9, 9, 9])] }));
  assert.deepEqual(
    found.map(({ level, code }) => [level, code]),
    [
      ["broken", "server-errors"],
      ["warning", "slow-logins"],
    ],
  );
  assert(found.every(({ remedy, what }) => remedy !== "" && what !== ""));
});

test("a finding of a rate comes once and goes once, and not with each login around its mark", () => {
  const request = (status: number, count: number, below: number[]) => ({ method: "POST", route: "/v1/authentications", status, count, seconds: 0, below });
  const failing = (failed: number) => [request(200, 1000 - failed, [1000 - failed, 1000 - failed, 1000 - failed]), request(500, failed, [failed, failed, failed])];
  // So many of a thousand logins took over a second, and as many again over half of one.
  const slow = (over: number) => [request(200, 1000, [1000 - 2 * over, 1000 - over, 1000])];
  for (const [code, requests, values] of [
    ["server-errors", failing, [[10, false], [11, true], [10, true], [6, true], [5, false], [10, false], [11, true], [0, false]]],
    ["slow-logins", slow, [[9, false], [11, true], [9, true], [6, true], [4, false], [9, false], [11, true], [0, false]]],
  ] as const) {
    let stood: ReadonlySet<string> = new Set();
    for (const [value, expected] of values) {
      const found = attention(status(0), status(60_000, { requests: requests(value) }), stood);
      stood = new Set(found.map((finding) => finding.code));
      assert.equal(stood.has(code), expected, `${code}: ${value}`);
    }
  }
});

test("times are in words", () => {
  assert.deepEqual([2, 150, 7_200, 400_000].map(span), ["2 s", "3 min", "2 h", "4 days"]);
});
