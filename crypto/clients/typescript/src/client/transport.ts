/** HTTPS to the service, bounded answers, and the retries that API.md allows. */

import { Answer } from "./answer.js";
import { Problem, type ProblemDocument, UnexpectedAnswer, Unreachable } from "./errors.js";

/** Longest answer that is read: 32 logins with full attestations have 1.2 MB. */
const ANSWER_BYTES_MAX = 1 << 21;
/** Refusals after which the same request is sent again. */
const SAME_AGAIN: readonly string[] = [
  "overloaded",
  "draining",
  "disk-low",
  "quota-exceeded",
  "key-holder-unavailable",
  "undecided",
  "idempotency-in-flight",
  "store-unavailable",
];

/** What Node and Bun say of a connection that could not be made, though a later one may be. Browsers do not say it. */
const NOT_REACHED = /ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused/;
/** Milliseconds before a connection is tried again, doubled with each up to a second. */
const NOT_REACHED_PAUSE = 50;

/** A request. Sent twice, each takes effect at most once. */
export interface Outgoing {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly mediaType?: string;
  readonly idempotencyKey?: string;
}

/** What became of a request that was sent once: the body of a success, or why there is none. */
type Outcome = Uint8Array | ProblemDocument | Unreachable;

export function withJson(method: "POST" | "PUT", path: string, body: object): Outgoing {
  return { method, path, body: JSON.stringify(body), mediaType: "application/json" };
}

export class Transport {
  readonly #base: string;
  readonly #apiKey: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #timeout: number;
  readonly #retryFor: number;

  constructor(url: string, apiKey: string, fetch: typeof globalThis.fetch, timeout: number, retryFor: number) {
    if (!/^https:\/\/[^/?#]+\/?$/.test(url)) {
      throw new TypeError(`the service's address is ${url}; it must look like https://host:port`);
    }
    this.#base = url.replace(/\/$/, "");
    this.#apiKey = apiKey.trim();
    // Never shown: the rest of it may be the secret.
    if (!/^[!-~]*$/.test(this.#apiKey)) {
      throw new TypeError("the API key is one word of visible ASCII characters, as the service showed it");
    }
    this.#fetch = fetch;
    this.#timeout = timeout;
    this.#retryFor = retryFor;
  }

  /** Until when a call may be repeated that begins now. */
  deadline(): number {
    return performance.now() + this.#retryFor;
  }

  /** The JSON object of a success. */
  async json(outgoing: Outgoing): Promise<Answer> {
    return Answer.parse(`${outgoing.method} ${outgoing.path}`, await this.bytes(outgoing));
  }

  /** What a `DELETE` answers. Undefined where its first answer is lost, and what it names is `unknown` by now. */
  async destroy(path: string, unknown: string): Promise<Answer | undefined> {
    try {
      return await this.json({ method: "DELETE", path });
    } catch (error) {
      if (error instanceof Problem && error.resent && error.code === unknown) return undefined;
      throw error;
    }
  }

  /** The body of a success. A lost answer, some refusals and a connection that cannot be made are followed by the same request. */
  async bytes(outgoing: Outgoing): Promise<Uint8Array> {
    const deadline = this.deadline();
    for (let lost = false, pause = NOT_REACHED_PAUSE; ; ) {
      const outcome = await this.#once(outgoing);
      if (outcome instanceof Uint8Array) return outcome;
      if (outcome instanceof Unreachable && NOT_REACHED.test(outcome.message)) {
        if (!(await waited(pause, deadline))) throw outcome;
        pause = Math.min(2 * pause, 1_000);
        continue;
      }
      if (outcome instanceof Unreachable) {
        // A second time at once, over another connection: the first may have been closing.
        if (lost) throw outcome;
        lost = true;
        continue;
      }
      const problem = new Problem(outcome, lost);
      if (!SAME_AGAIN.includes(problem.code) || !(await this.pause(problem, deadline))) throw problem;
    }
  }

  /** Waits as long as the service says, and up to a quarter longer; false if that is too long. */
  async pause({ retryAfter }: Problem, deadline: number): Promise<boolean> {
    return retryAfter !== undefined && waited(1_000 * retryAfter, deadline);
  }

  async #once(outgoing: Outgoing): Promise<Outcome> {
    const { method, path, body, mediaType, idempotencyKey } = outgoing;
    const headers = new Headers();
    if (this.#apiKey !== "") headers.set("authorization", `Bearer ${this.#apiKey}`);
    if (mediaType !== undefined) headers.set("content-type", mediaType);
    if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
    const init = {
      method,
      headers,
      redirect: "error",
      credentials: "omit",
      cache: "no-store",
      signal: AbortSignal.timeout(this.#timeout),
      ...(body === undefined ? {} : { body: body as BodyInit }),
    } as const;
    const route = `${method} ${path}`;
    let response: Response;
    let answer: Uint8Array | undefined;
    try {
      response = await this.#fetch.call(globalThis, this.#base + path, init);
      answer = await bounded(response);
    } catch (cause) {
      return new Unreachable(`${route} at ${this.#base} got no answer: ${said(cause)}`, { cause });
    }
    if (answer === undefined) throw new UnexpectedAnswer(`${route} answered more than ${ANSWER_BYTES_MAX} bytes`);
    return response.ok ? answer : problemDocument(route, response, answer);
  }
}

/** Waits so many milliseconds, and up to a quarter longer; false if that is after the deadline. */
async function waited(least: number, deadline: number): Promise<boolean> {
  const milliseconds = least * (1 + Math.random() / 4);
  if (performance.now() + milliseconds > deadline) return false;
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  return true;
}

/** The body, or nothing if it is too long. */
async function bounded(response: Response): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    parts.push(part.value);
    length += part.value.length;
    if (length > ANSWER_BYTES_MAX) {
      await reader?.cancel();
      return undefined;
    }
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** What an error of the network says, and what to do about it. */
function said(cause: unknown): string {
  const causes: string[] = [];
  for (let error = cause; error instanceof Error; error = error.cause) {
    const code = "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
    causes.push(error.message + code);
  }
  const text = causes.join(": ");
  if (/CERTIFICATE_REQUIRED|UNKNOWN_CA/.test(text)) {
    return `${text}; the service demands a certificate of its callers; give yours with its key as \`identity\` (fetchWith of trefoil-attest/node)`;
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(text)) {
    return `${text}; give the service's certificate as \`ca\` (fetchWith of trefoil-attest/node; tls-certificate.pem in its data directory)`;
  }
  if (text.includes("ECONNREFUSED")) return `${text}; nothing listens there; start the service, or correct host and port`;
  return text;
}

function problemDocument(route: string, response: Response, body: Uint8Array): ProblemDocument {
  const { status } = response;
  try {
    const document = Answer.parse(route, body);
    const after = response.headers.get("retry-after") ?? "";
    const retryAfter = /^\d+$/.test(after) ? Number(after) : undefined;
    return { ...described(document, status, retryAfter), requestId: document.text("request_id") };
  } catch (cause) {
    const message = `${route} answered ${status} without a problem document: is this a Trefoil service?`;
    throw new UnexpectedAnswer(message, { cause });
  }
}

/** What a problem document says, wherever it stands. */
export function described(document: Answer, status: number, retryAfter: number | undefined): ProblemDocument {
  return {
    status,
    code: document.text("code"),
    title: document.text("title"),
    detail: document.text("detail"),
    cure: document.text("cure"),
    requestId: "",
    errors: document.has("errors")
      ? document.objects("errors").map((error) => ({ pointer: error.text("pointer"), detail: error.text("detail") }))
      : [],
    retryAfter,
  };
}
