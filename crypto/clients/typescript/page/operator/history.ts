/** Five minutes of answers, and what follows from the difference of two of them. No DOM here. */

import type { Durations, Status } from "./status.js";

/** How far back the page looks. */
export const WINDOW_MS = 5 * 60 * 1000;

/** Answers in their order, of one process of the service. */
export class History {
  #kept: Status[] = [];
  /** The codes of what was found at the last look. */
  stood: ReadonlySet<string> = new Set();

  /** Keeps an answer. Counts of another process begin anew, so what came before is dropped. */
  add(status: Status): void {
    const last = this.#kept.at(-1);
    const follows = last === undefined || (last.started_at === status.started_at && last.clock_ms <= status.clock_ms);
    const recent = follows ? this.#kept.filter(({ clock_ms }) => status.clock_ms - clock_ms <= WINDOW_MS) : [];
    this.#kept = [...recent, status];
  }

  /** The newest answer. */
  get last(): Status | undefined {
    return this.#kept.at(-1);
  }

  /** The oldest and the newest answer: the same one at the beginning. */
  get span(): readonly [Status, Status] | undefined {
    const [first, last] = [this.#kept[0], this.last];
    return first === undefined || last === undefined ? undefined : [first, last];
  }

  /** Seconds between these two. */
  get seconds(): number {
    return this.span === undefined ? 0 : elapsed(...this.span);
  }

  /** A value of each answer with the one before it. */
  series(value: (before: Status, now: Status) => number | undefined): (number | undefined)[] {
    return this.#kept.slice(1).map((now, at) => value(this.#kept[at] as Status, now));
  }
}

/** Seconds between two answers. */
export function elapsed(before: Status, now: Status): number {
  return (now.clock_ms - before.clock_ms) / 1000;
}

/** How much a count grew in a second. */
export function rate(before: Status, now: Status, count: (status: Status) => number): number | undefined {
  const seconds = elapsed(before, now);
  return seconds > 0 ? (count(now) - count(before)) / seconds : undefined;
}

/** What share a count's growth is of another's; nothing where the other did not grow. */
export function share(
  before: Status,
  now: Status,
  part: (status: Status) => number,
  whole: (status: Status) => number,
): number | undefined {
  const grown = whole(now) - whole(before);
  return grown > 0 ? (part(now) - part(before)) / grown : undefined;
}

/** Durations that came between two answers. */
export function between(before: Durations | undefined, now: Durations): Durations {
  if (before === undefined) return now;
  return {
    count: now.count - before.count,
    seconds: now.seconds - before.seconds,
    below: now.below.map((count, at) => count - (before.below[at] ?? 0)),
  };
}

/** The sum of durations with the same bounds. */
export function together(all: readonly Durations[]): Durations {
  const longest = all.reduce((length, { below }) => Math.max(length, below.length), 0);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    seconds: all.reduce((sum, { seconds }) => sum + seconds, 0),
    below: Array.from({ length: longest }, (_, at) => all.reduce((sum, { below }) => sum + (below[at] ?? 0), 0)),
  };
}

/** The duration, in seconds, that this share of them stays below: read off its bucket, and infinite beyond the last bound. */
export function quantile(durations: Durations, bounds: readonly number[], part: number): number | undefined {
  if (durations.count <= 0) return undefined;
  const wanted = part * durations.count;
  const at = durations.below.findIndex((count) => count >= wanted);
  if (at < 0) return Number.POSITIVE_INFINITY;
  const [floor, before] = at === 0 ? [0, 0] : [bounds[at - 1] ?? 0, durations.below[at - 1] ?? 0];
  const [ceiling, upTo] = [bounds[at] ?? 0, durations.below[at] ?? 0];
  return upTo === before ? ceiling : floor + ((ceiling - floor) * (wanted - before)) / (upTo - before);
}

/** How many took longer than this bound, in seconds. */
export function slower(durations: Durations, bounds: readonly number[], than: number): number {
  const at = bounds.findIndex((bound) => bound >= than);
  return durations.count - (at < 0 ? durations.count : (durations.below[at] ?? 0));
}
