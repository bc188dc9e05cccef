/** What API keys were used for. */

import type { Answer } from "./answer.js";

/** What an API key of a tenant was used for on one day. */
export interface DayOfUse {
  /** Its public part. */
  readonly apiKey: Uint8Array;
  /** Unix second at which the day began, in UTC. */
  readonly day: number;
  /** Logins decided with a match. */
  readonly matched: number;
  /** Logins decided with none. */
  readonly notMatched: number;
  /** Replacements among them. */
  readonly enrolments: number;
  /** Requests refused, or failed; of a batch each login. */
  readonly refusals: number;
}

export function dayOfUse(answer: Answer): DayOfUse {
  return {
    apiKey: answer.hex("api_key", 8),
    day: answer.whole("day"),
    matched: answer.whole("matched"),
    notMatched: answer.whole("not_matched"),
    enrolments: answer.whole("enrolments"),
    refusals: answer.whole("refusals"),
  };
}
