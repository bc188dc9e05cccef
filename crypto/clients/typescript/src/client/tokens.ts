/** Access tokens: for some minutes they do what their API key may do, or less (OAuth 2.0 client credentials, RFC 6749 section 4.4). */

import type { Answer } from "./answer.js";
import { seconds } from "./receipts.js";
import { type Scope, SCOPES } from "./scopes.js";

/** Part of its life after which a token is replaced by another. */
const RENEWED_AFTER = 0.8;

/** A credential in place of an API key. It ends with the key, and when the service restarts. */
export interface AccessToken {
  /** What a `Tenant` takes as its `apiKey`. */
  readonly text: string;
  readonly scopes: readonly Scope[];
  /** Unix seconds of this machine's clock. */
  readonly expiresAt: number;
}

/** The access token that a client sends in place of its API key. */
export class Tokens {
  readonly #exchange: () => Promise<AccessToken>;
  #token: Promise<AccessToken> | undefined;
  /** Unix seconds. */
  #due = 0;

  constructor(exchange: () => Promise<AccessToken>) {
    this.#exchange = exchange;
  }

  /** The token to send now. Calls that come while it is asked for wait for the same one. */
  async text(): Promise<string> {
    if (this.#token === undefined || seconds() >= this.#due) this.#renew();
    return (await this.#token)?.text ?? "";
  }

  #renew(): void {
    const asked = seconds();
    const token = this.#exchange();
    this.#token = token;
    this.#due = Number.POSITIVE_INFINITY;
    token.then(
      ({ expiresAt }) => (this.#due = asked + RENEWED_AFTER * (expiresAt - asked)),
      () => (this.#token = undefined),
    );
  }

  /** The service refuses its token, or the one with this text: the next call gets another one. */
  async forget(text?: string): Promise<void> {
    const token = this.#token;
    const refused = text === undefined || (await token)?.text === text;
    if (refused && this.#token === token) this.#token = undefined;
  }
}

/** The header that shows an API key as an OAuth client's secret. The client's name is the key's id, which the key contains. */
export function basic(apiKey: string): string {
  const [, id] = /^trefoil_([0-9a-f]{16})_[A-Za-z0-9_-]+$/.exec(apiKey) ?? [];
  // Not shown: it may be a secret.
  if (id === undefined) {
    throw new TypeError("only an API key, as the service showed it, is exchanged for an access token; a token is not");
  }
  return `Basic ${btoa(`${id}:${apiKey}`)}`;
}

/** The body of a request for a token with these scopes, or all of the key's. */
export function form(scopes: readonly Scope[] | undefined): string {
  const asked = scopes === undefined ? "" : `&scope=${listed(scopes).join("+")}`;
  return `grant_type=client_credentials${asked}`;
}

function listed(scopes: readonly Scope[]): readonly Scope[] {
  if (Array.isArray(scopes) && scopes.every((scope) => SCOPES.includes(scope))) return scopes;
  throw new TypeError(`scopes is an array of ${SCOPES.join(", ")}, not ${JSON.stringify(scopes)}`);
}

/** The token of an answer to a request of this time. */
export function granted(answer: Answer, asked: number): AccessToken {
  const scopes = answer.text("scope").split(" ");
  return {
    text: answer.text("access_token"),
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    expiresAt: asked + answer.whole("expires_in"),
  };
}
