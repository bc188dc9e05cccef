/** What wants attention by the rates of the last minutes. What stands now the service says itself, in the words of `trefoil doctor`. */

import { span } from "../time.js";
import { between, elapsed, quantile, slower, together } from "./history.js";
import type { Durations, Finding, RequestTimes, Status } from "./status.js";

const LOGINS = "/v1/authentications";
const SECOND = 1;

/** Findings from the difference of two answers, the worst first. One of those that `stood` goes only once its rate is half of that at which it came. */
export function attention(before: Status, now: Status, stood: ReadonlySet<string> = new Set()): Finding[] {
  const found: Finding[] = [];
  const minutes = `in the last ${span(elapsed(before, now))}`;
  const add = (level: Finding["level"], code: string, what: string, remedy: string): void => {
    found.push({ level, code, place: "the last minutes", what, remedy });
  };
  const answers = now.requests.map((times) => ({ times, grown: between(earlier(before, times), times) }));
  const all = answers.reduce((sum, { grown }) => sum + grown.count, 0);
  const failed = answers.filter(({ times }) => times.status >= 500).reduce((sum, { grown }) => sum + grown.count, 0);
  const [part, least] = stood.has("server-errors") ? [0.005, 1] : [0.01, 5];
  if (failed > part * all && failed >= least) {
    add("broken", "server-errors", `${failed} of ${all} answers were 5xx ${minutes}`, "see the refusals below by code, and the log");
  }
  const logins = together(answers.filter(({ times }) => times.route === LOGINS).map(({ grown }) => grown));
  const p99 = quantile(logins, now.request_bounds_s, 0.99);
  const [slow, many] = stood.has("slow-logins") ? [SECOND / 2, 1] : [SECOND, 3];
  if (p99 !== undefined && p99 > slow && slower(logins, now.request_bounds_s, slow) >= many) {
    add("warning", "slow-logins", `the slowest hundredth of the logins took over ${slow} s ${minutes}`, "see the stages below, then processor and disk");
  }
  return found.sort((one, other) => rank(one) - rank(other));
}

/** Refusals and faults between two answers, by code. */
export function refusals(before: Status, now: Status): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { code, route, count } of now.problems) {
    const old = before.problems.find((other) => other.code === code && other.route === route)?.count ?? 0;
    if (count > old) counts.set(code, (counts.get(code) ?? 0) + count - old);
  }
  return counts;
}

/** The same requests in an earlier answer. */
export function earlier(before: Status, { method, route, status }: RequestTimes): Durations | undefined {
  return before.requests.find((other) => other.method === method && other.route === route && other.status === status);
}

/** Broken before warnings. */
export function rank({ level }: Finding): number {
  return { broken: 0, warning: 1, ok: 2 }[level];
}
