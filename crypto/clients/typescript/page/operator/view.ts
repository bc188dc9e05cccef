/** The page's figures as elements. Text is set as text, so nothing in an answer can become markup. */

import { span } from "../time.js";
import { attention, earlier, rank, refusals } from "./attention.js";
import { between, type History, quantile, rate, share, slower } from "./history.js";
import type { CacheCounts, Finding, LoginOutcomes, Status } from "./status.js";

const SVG = "http://www.w3.org/2000/svg";
const LOGINS = "/v1/authentications";
const [WIDTH, HEIGHT] = [150, 36];

type Counted = (status: Status) => number;
type Pair = (before: Status, now: Status) => number | undefined;

const decided: Counted = ({ logins }) => logins.matched + logins.not_matched;
const refused: Counted = ({ problems }) => problems.reduce((sum, { count }) => sum + count, 0);
const hits: Counted = ({ caches }) => caches.reduce((sum, { hits }) => sum + hits, 0);
const lookUps: Counted = ({ caches }) => caches.reduce((sum, { hits, misses }) => sum + hits + misses, 0);
const failed: Counted = ({ requests }) => requests.reduce((sum, { status, count }) => sum + (status >= 500 ? count : 0), 0);

/** 99th percentile of a stage, in seconds. */
const stageP99 = (name: string): Pair => (before, now) => {
  const times = now.stages.find(({ stage }) => stage === name);
  const old = before.stages.find(({ stage }) => stage === name);
  return times && quantile(between(old, times), now.stage_bounds_s, 0.99);
};

interface Tile {
  readonly name: string;
  readonly value: Pair;
  readonly text: (value: number) => string;
  readonly note: (status: Status) => string;
  /** The top of the sparkline; the largest value where there is none. */
  readonly top?: number;
}

const TILES: readonly Tile[] = [
  { name: "Logins", value: (b, n) => rate(b, n, decided), text: perSecond, note: (s) => `${whole(decided(s))} since the start` },
  { name: "Time of a batch with its seal, p99", value: stageP99("total"), text: duration, note: () => "of a hundred batches, 99 take less" },
  {
    name: "Batch fill",
    value: (b, n) => {
      const lanes = share(b, n, ({ batches }) => batches.lanes, ({ batches }) => batches.sealed);
      return lanes === undefined ? undefined : lanes / n.batches.lanes_max;
    },
    text: percent,
    note: ({ batches }) => `of ${batches.lanes_max} logins; fuller is cheaper`,
    top: 1,
  },
  { name: "Sessions found in the cache", value: (b, n) => share(b, n, hits, lookUps), text: percent, note: () => "the others are read from the store", top: 1 },
  { name: "Seals", value: (b, n) => rate(b, n, ({ seals }) => seals.stored), text: perSecond, note: ({ seals }) => `${whole(seals.stored)} since the start, ${whole(seals.pruned)} pruned` },
  { name: "Refusals", value: (b, n) => rate(b, n, refused), text: perSecond, note: (s) => `${whole(refused(s))} since the start, by code below` },
  { name: "Server errors", value: (b, n) => rate(b, n, failed), text: perSecond, note: (s) => `${whole(failed(s))} answers were 5xx` },
  { name: "Processor", value: (b, n) => rate(b, n, ({ process }) => process.processor_seconds ?? 0), text: cores, note: ({ process }) => (process.memory_bytes === null ? "" : `${bytes(process.memory_bytes)} of memory`) },
];

/** Puts everything that is known into its place. */
export function show(history: History, page: (id: string) => HTMLElement): void {
  const span = history.span;
  if (span === undefined) return;
  const [before, now] = span;
  fill(page("attention"), findings(history, before, now));
  fill(page("tiles"), TILES.map((tile) => shown(tile, history)));
  fill(page("stages"), stages(before, now));
  fill(page("requests"), requests(before, now));
  fill(page("refusals"), refusalRows(before, now));
  fill(page("tenants"), [...tenantLogins(now), ...tenants(before, now)]);
  fill(page("key-holders"), keyHolders(before, now));
  fill(page("rest"), rest(now));
  const minutes = history.seconds < 1 ? "Rates and percentiles need a second look: in two seconds." : over(history.seconds);
  page("window").textContent = minutes;
  page("about").textContent = `${now.issuer}, version ${now.version}, up for ${spanOf(now)}`;
}

function over(seconds: number): string {
  return `Rates and percentiles are over the last ${span(seconds)}; this page keeps five minutes.`;
}

function spanOf({ now, started_at }: Status): string {
  return span(Math.max(0, now - started_at));
}

function findings(history: History, before: Status, now: Status): HTMLElement[] {
  const rates = attention(before, now, history.stood);
  history.stood = new Set(rates.map(({ code }) => code));
  const all = [...now.attention, ...rates].sort((one, other) => rank(one) - rank(other));
  if (all.length > 0) return all.map(finding);
  const calm = element("li", "", "calm");
  calm.append(
    badge("ok", "All well"),
    element("p", "Nothing wants attention. Watched: certificate, signing keys, disk, key-holder, attempts without a budget, refusals of each tenant, log, errors, slow logins."),
  );
  return [calm];
}

function finding({ level, code, place, what, remedy }: Finding): HTMLElement {
  const item = element("li", "", level);
  const next = element("p", "", "next");
  next.append(element("strong", "Next: "), ...marked(remedy));
  const wrong = element("p", "", "what");
  wrong.append(...marked(what));
  item.append(badge(level, level === "broken" ? "Broken" : "Warning"), wrong, next, element("p", `${code}, ${place}`, "place"));
  return item;
}

function badge(level: Finding["level"], text: string): HTMLElement {
  const mark = { ok: "✓", warning: "!", broken: "✕" }[level];
  const made = element("span", "", `badge ${level}`);
  const sign = element("span", mark);
  sign.setAttribute("aria-hidden", "true");
  made.append(sign, ` ${text}`);
  return made;
}

function shown({ name, value, text, note, top }: Tile, history: History): HTMLElement {
  const series = history.series(value);
  const last = series.at(-1);
  const tile = element("div", "", "tile");
  const heading = element("h3", name);
  tile.append(heading, element("p", last === undefined ? "–" : text(last), "value"));
  tile.append(sparkline(series, `${name} over five minutes`, text, top));
  const { last: status } = history;
  tile.append(element("p", status ? note(status) : "", "note"));
  return tile;
}

/** The values in their order; a gap where there is none. */
function sparkline(series: readonly (number | undefined)[], name: string, text: (value: number) => string, top?: number): Element {
  const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" });
  const finite = series.filter((value): value is number => value !== undefined && Number.isFinite(value));
  const most = Math.max(...finite, 0);
  const least = Math.min(...finite, most);
  const title = drawn("title", {});
  title.textContent = finite.length === 0 ? `${name}: nothing yet` : `${name}: from ${text(least)} to ${text(most)}`;
  picture.append(title, drawn("line", { x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1, class: "base" }));
  const step = WIDTH / Math.max(series.length - 1, 30);
  const ceiling = top ?? (most || 1);
  const left = WIDTH - step * (series.length - 1);
  for (const run of runs(series)) {
    const points = run.map(([at, value]) => {
      const [x, y] = [left + at * step, HEIGHT - 2 - (HEIGHT - 4) * Math.min(1, value / ceiling)];
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    const isDot = points.length === 1;
    if (isDot) points.push(points[0] as string);
    picture.append(drawn("polyline", { points: points.join(" "), class: isDot ? "trace dot" : "trace" }));
  }
  return picture;
}

/** Values that follow one another, with their places. */
function runs(series: readonly (number | undefined)[]): [number, number][][] {
  const all: [number, number][][] = [[]];
  series.forEach((value, at) => {
    if (value !== undefined && Number.isFinite(value)) all.at(-1)?.push([at, value]);
    else if (all.at(-1)?.length) all.push([]);
  });
  return all.filter((run) => run.length > 0);
}

const STAGES: Readonly<Record<string, string>> = {
  proof_lookup: "Prove: look the verdicts up",
  match: "Match, with the templates encrypted",
  key_holder: "Key-holder: decrypt and decide",
  digest: "Digest: one statement for each",
  seal: "Sign: one seal over what waits",
  total: "All, from batch to seal",
};

function stages(before: Status, now: Status): HTMLElement[] {
  const rows = now.stages.map((times) => {
    const grown = between(before.stages.find(({ stage }) => stage === times.stage), times);
    const at = (part: number): string => durationOr(quantile(grown, now.stage_bounds_s, part));
    return [STAGES[times.stage] ?? times.stage, at(0.5), at(0.99), whole(grown.count)];
  });
  return [table("Stages of a batch", ["Stage", "Median", "p99", "How many"], rows)];
}

function requests(before: Status, now: Status): HTMLElement[] {
  const seconds = (now.clock_ms - before.clock_ms) / 1000;
  const rows = now.requests
    .map((times) => ({ times, grown: between(earlier(before, times), times) }))
    .filter(({ grown }) => grown.count > 0)
    .sort((one, other) => Number(other.times.route === LOGINS) - Number(one.times.route === LOGINS) || other.grown.count - one.grown.count)
    .map(({ times, grown }) => {
      const at = (part: number): string => durationOr(quantile(grown, now.request_bounds_s, part));
      const late = slower(grown, now.request_bounds_s, 1);
      const name = times.route === "-" ? "no such route" : `${times.method} ${times.route}`;
      return [name, `${times.status}`, seconds > 0 ? perSecond(grown.count / seconds) : "–", at(0.5), at(0.99), whole(late)];
    });
  const heads = ["Request", "Status", "Rate", "Median", "p99", "Over 1 s"];
  return [rows.length > 0 ? table("Requests by route and status", heads, rows) : element("p", "No request yet.", "empty")];
}

function refusalRows(before: Status, now: Status): HTMLElement[] {
  const recent = refusals(before, now);
  const rows = [...now.problems]
    .sort((one, other) => (recent.get(other.code) ?? 0) - (recent.get(one.code) ?? 0) || other.count - one.count)
    .map(({ code, route, count, title, cure }) => {
      const old = before.problems.find((other) => other.code === code && other.route === route)?.count ?? 0;
      return [`${title} (${code})`, route === "-" ? "no such route" : route, whole(count - old), whole(count), cure];
    });
  const heads = ["Refusal", "Route", "Lately", "Since the start", "What the caller does"];
  return [rows.length > 0 ? table("Refusals and faults by code", heads, rows) : element("p", "Nothing was refused.", "empty")];
}

/** How the logins of each tenant, and with each of two models, ended, where there were any today. */
function tenantLogins(now: Status): HTMLElement[] {
  const rows = now.tenants
    .filter(({ day }) => day.matched + day.not_matched + day.turned_away > 0)
    .map(({ tenant, model, hour, day, model_refuses }) => {
      const both = (count: (of: LoginOutcomes) => number): string => `${whole(count(hour))} / ${whole(count(day))}`;
      const refused = (of: LoginOutcomes): number => of.not_matched + of.turned_away;
      const part = (of: LoginOutcomes): string => (refused(of) > 0 ? percent(refused(of) / (of.matched + refused(of))) : "0 %");
      const expected = model_refuses === null ? "not known" : percent(model_refuses);
      return [
        named(now, tenant) + (model === null ? "" : `, model ${model}`),
        both(({ matched }) => matched),
        both(({ not_matched }) => not_matched),
        both(({ locked_out }) => locked_out),
        both(({ turned_away }) => turned_away),
        `${part(hour)} / ${part(day)}`,
        expected,
      ];
    });
  const heads = ["Tenant", "Matched", "No match", "Of these without an attempt left", "Turned away", "Refused", "Expected of its model"];
  return rows.length > 0 ? [table("Logins of each tenant: last hour / last day", heads, rows)] : [];
}

function tenants(before: Status, now: Status): HTMLElement[] {
  const rows = now.caches.map((cache) => {
    const old = before.caches.find(({ tenant }) => tenant === cache.tenant);
    const grown = (count: (of: CacheCounts) => number): number => count(cache) - (old === undefined ? 0 : count(old));
    const looked = grown(({ hits, misses }) => hits + misses);
    const ratio = looked > 0 ? percent(grown(({ hits }) => hits) / looked) : "–";
    const [won, lost] = [grown((of) => of.admissions_won), grown((of) => of.admissions_lost)];
    const frozen = now.key_holder?.frozen.includes(cache.tenant) ? ", frozen" : "";
    const name = `${named(now, cache.tenant)}${cache.disabled ? ", disabled" : ""}${frozen}`;
    return [name, whole(looked), ratio, `${whole(cache.entries)} of ${whole(cache.capacity)}`, `${whole(won)} of ${whole(won + lost)}`, whole(grown(({ evictions }) => evictions))];
  });
  const heads = ["Tenant", "Look-ups", "Found", "Sessions held", "Admitted", "Made room"];
  return [rows.length > 0 ? table("Session cache of each tenant", heads, rows) : element("p", "There is no tenant: trefoil admin tenant create makes one.", "empty")];
}

/** A tenant by its name and the begin of its identifier. */
function named({ caches }: Status, tenant: string): string {
  const name = caches.find((cache) => cache.tenant === tenant)?.name ?? "";
  return `${name} (${tenant.slice(0, 8)}…)`;
}

/** A line for each tenant on whose subjects attempts were refused. */
function budgetTrips(now: Status): HTMLElement[] {
  const rows = (now.key_holder?.budget_trips_by_tenant ?? []).map(({ tenant, trips, recent }) => [named(now, tenant), whole(recent), whole(trips)]);
  const caption = "Attempts refused because a budget was spent";
  return rows.length > 0 ? [table(caption, ["Tenant", "In the last minutes", "Since its start"], rows)] : [];
}

function keyHolders(before: Status, now: Status): HTMLElement[] {
  const { key_holder: counts, key_holders: seats } = now;
  const made: HTMLElement[] = [];
  if (counts === null) {
    made.push(element("p", "The key-holder has not said what it counts.", "empty"));
  } else {
    const grown = (count: (of: NonNullable<Status["key_holder"]>) => number): number => count(counts) - (before.key_holder === null ? 0 : count(before.key_holder));
    made.push(
      list([
        ["Attempts, lately", `${whole(grown(({ attempts }) => attempts))}, of which ${whole(grown(({ failures }) => failures))} failed`],
        ["Attempts since its start", `${whole(counts.attempts)}, of which ${whole(counts.failures)} failed`],
        ["Refused since its start, budget spent", whole(counts.budget_trips)],
        ["Enrolments since its start", whole(counts.enrolments)],
        ["Malformed jobs", counts.malformed === 0 ? "none" : whole(counts.malformed)],
        ["Frozen tenants", counts.frozen.length === 0 ? "none" : counts.frozen.join(", ")],
        ["Tenants that it knows", whole(counts.tenants)],
        ["Templates that it has keys of", whole(counts.templates)],
      ]),
      ...budgetTrips(now),
    );
  }
  if (seats.length > 0) {
    const rows = seats.map(({ seat, address, away, silent, disagreed, lied, accused }) => [
      `${seat}, ${address}`,
      away === null ? "there" : `away: ${away}`,
      ...[silent, disagreed, lied, accused].map(whole),
    ]);
    made.push(table("The three key-holders", ["Seat", "State", "Silent", "Disagreed", "Lied", "Accused"], rows));
  }
  return made;
}

function rest(now: Status): HTMLElement[] {
  const { disk, queue, nonces, templates, proofs, seals, process } = now;
  const rows: [string, string][] = [
    ["TLS certificate", ends(now.certificate_until, now.now)],
    ["Signing keys", ends(now.signing_keys_until, now.now)],
    ["Disk", `${bytes(disk.free_bytes)} free; below ${bytes(disk.low_water_bytes)} logins are refused`],
    ...now.connections.map(({ listener, open, limit, refused }): [string, string] => [
      `Connections, ${listener}`,
      `${whole(open)} of ${whole(limit)} open, ${whole(refused)} dropped`,
    ]),
    ["Logins that wait for a batch", `${whole(queue.used)} of ${whole(queue.limit)}`],
    ["Nonces of two minutes", `${whole(nonces.used)} of ${whole(nonces.limit)}`],
    ["Requests of a tenant in flight", `at most ${whole(now.in_flight_limit)}`],
    ["Proofs", `${whole(proofs.accepted)} accepted, ${whole(proofs.refused)} refused, ${whole(proofs.waiting)} wait`],
    ["Templates in memory", `${whole(templates.used)} of ${whole(templates.limit)}`],
    ["A seal waits for the store", seals.waits ? "yes" : "no"],
    ["Log lines lost", whole(now.log_lines_lost)],
    ["Open files", process.open_files === null ? "unknown" : whole(process.open_files)],
  ];
  return [list(rows)];
}

function ends(until: number | null, now: number): string {
  if (until === null) return "unknown";
  const date = new Date(until * 1000).toISOString().slice(0, 10);
  return until <= now ? `ended on ${date}` : `until ${date}, in ${span(until - now)}`;
}

/** A table that a narrow screen shows as cards: each cell has its column's name. */
function table(caption: string, heads: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const made = element("table", "");
  const head = element("thead", "");
  const names = element("tr", "");
  names.append(...heads.map((text) => attributed(element("th", text), { scope: "col" })));
  head.append(names);
  const body = element("tbody", "");
  for (const [name = "", ...cells] of rows) {
    const row = element("tr", "");
    row.append(attributed(element("th", name), { scope: "row" }));
    row.append(...cells.map((text, at) => {
      const cell = attributed(element("td", ""), { "data-name": heads[at + 1] ?? "" });
      // One child, which is a column of a narrow screen's grid.
      const value = element("span", "");
      value.append(...marked(text));
      cell.append(value);
      return cell;
    }));
    body.append(row);
  }
  made.append(element("caption", caption), head, body);
  return made;
}

/** Text in which backticks enclose what is typed or named. */
function marked(text: string): (Node | string)[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? element("code", part) : part));
}

function list(rows: readonly (readonly [string, string])[]): HTMLElement {
  const made = element("dl", "");
  for (const [name, value] of rows) made.append(element("dt", name), element("dd", value));
  return made;
}

/** Replaces what is there where it is different, so that what is read or selected stays. */
function fill(place: HTMLElement, children: readonly HTMLElement[]): void {
  const made = document.createElement("div");
  made.append(...children);
  if (made.innerHTML !== place.innerHTML) place.replaceChildren(...children);
}

function attributed<E extends Element>(made: E, attributes: Readonly<Record<string, string | number>>): E {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, `${value}`);
  return made;
}

function drawn(name: string, attributes: Readonly<Record<string, string | number>>): Element {
  return attributed(document.createElementNS(SVG, name), attributes);
}

function element(name: string, text: string, kind = ""): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind !== "") made.className = kind;
  return made;
}

function whole(count: number): string {
  return Math.round(count).toLocaleString("en");
}

function perSecond(value: number): string {
  if (value > 0 && value < 0.05) return "< 0.1 /s";
  const digits = value !== 0 && value < 10 ? 1 : 0;
  return `${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} /s`;
}

function percent(value: number): string {
  return `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`;
}

function cores(value: number): string {
  return `${value.toFixed(2)} cores`;
}

function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "over the scale";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.01) return `${(seconds * 1e3).toFixed(1)} ms`;
  return seconds < 1 ? `${Math.round(seconds * 1e3)} ms` : `${seconds.toFixed(1)} s`;
}

function durationOr(seconds: number | undefined): string {
  return seconds === undefined ? "–" : duration(seconds);
}

function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
