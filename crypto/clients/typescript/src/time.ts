/** Unix seconds as a date in UTC; the number, if no date has so many digits. */
export function utc(seconds: bigint): string {
  const date = new Date(Number(seconds) * 1000);
  const text = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  return /^\d{4}-/.test(text) ? text.replace(".000Z", "Z") : String(seconds);
}
