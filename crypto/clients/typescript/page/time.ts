/** Times as people read them. */

/** Unix seconds as UTC, and how far they are from `now`, if it is given. */
export function time(seconds: bigint, now?: number): string {
  const date = new Date(Number(seconds) * 1000);
  const shown = Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString().replace(".000Z", "Z");
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

/** A message of the verifier with its Unix seconds as {@link time}. */
export function withTimes(message: string, now?: number): string {
  return message.replace(/\b(at|since) (\d{1,20})(?=[,;]|$)/g, (_, word: string, seconds: string) => `${word} ${time(BigInt(seconds), now)}`);
}
