/** Times as people read them. */

import { utc } from "../src/time.js";

/** Unix seconds as UTC, and how far they are from `now`, if it is given. */
export function time(seconds: bigint, now?: number): string {
  const shown = utc(seconds);
  return now === undefined ? shown : `${shown}, ${distance(seconds - BigInt(now))}`;
}

/** `in 43 s` or `43 s ago`. */
function distance(seconds: bigint): string {
  return seconds > 0n ? `in ${span(Number(seconds))}` : `${span(-Number(seconds))} ago`;
}

/** A length of time in words. */
export function span(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** A message of the verifier that says how far its times are from `now`, if it is given. */
export function withTimes(message: string, now?: number): string {
  return message.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (date) => time(BigInt(Date.parse(date) / 1000), now));
}
