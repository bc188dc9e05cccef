/** Logins in a stream: one long request, with a line for each login, and a line for each answer as soon as there is one. */

import { Answer } from "./answer.js";
import { type Attempt, entryProblem, login, type Prepared, prepared } from "./attempt.js";
import { Problem, UnexpectedAnswer, Unreachable } from "./errors.js";
import type { AttestationForm } from "./login.js";
import { seconds } from "./receipts.js";
import { said, type Transport } from "./transport.js";
import { Change, type Wire } from "./wire.js";

const PATH = "/v1/authentications/stream";
const ROUTE = `POST ${PATH}`;
/** Most logins that were sent and whose answers were not taken. The service reads no further. */
const IN_FLIGHT_MAX = 32;
/** Why the service ends a stream that may go on over another connection: it does so with each after ten minutes. */
const GOES_ON: readonly string[] = ["draining", "body-timeout"];
/** Connections in a row that may end like that without an answer to a login. */
const FRUITLESS_MAX = 3;

/** An attempt of a stream, and its result. */
export interface Streamed<A, R> {
  readonly attempt: A;
  readonly result: R | Problem | Unreachable;
}

/** An attempt that is sent, and sent again if the service says that it did not attempt it. */
export interface Sent<A> {
  readonly attempt: A;
  readonly prepared: Prepared;
  /** That of the request that was sent last. */
  requestDigest: Uint8Array;
}

/** What an answer becomes. */
type Read<A, R> = (answer: Answer, sent: Sent<A>) => R | Promise<R>;

/** One task reads attempts and sends them; another one reads the answers, and opens another connection where the stream goes on. */
export class LoginStream<A extends Attempt> {
  readonly #transport: Transport;
  readonly #attempts: AsyncIterator<A> | Iterator<A>;
  readonly #form: AttestationForm | "none";
  readonly #change = new Change();
  #wire: Wire | undefined;
  /** Lines that were sent over it. */
  #line = 0;
  #sent = new Map<number, Sent<A>>();
  #free = IN_FLIGHT_MAX;
  #failed: Streamed<A, never>[] = [];
  #sending: Promise<unknown> = Promise.resolve();
  #fruitless = 0;
  #over = false;
  #closed = false;
  #fault: { readonly cause: unknown } | undefined;

  constructor(transport: Transport, attempts: AsyncIterable<A> | Iterable<A>, form: AttestationForm | "none") {
    this.#transport = transport;
    this.#attempts = Symbol.asyncIterator in attempts ? attempts[Symbol.asyncIterator]() : attempts[Symbol.iterator]();
    this.#form = form;
  }

  /**
   * The result of each attempt, in the order of the answers. Rejects with what the service refuses the stream with, before it takes an
   * attempt, and at the end with what the iterable threw.
   */
  async *results<R>(read: Read<A, R>): AsyncGenerator<Streamed<A, R>, void, undefined> {
    this.#wire = await this.#opened();
    const fed = this.#feed();
    try {
      for (;;) {
        while (this.#wire === undefined && this.#failed.length === 0 && !this.#over) await this.#change.next();
        const failed = this.#failed.splice(0);
        for (const each of failed) {
          this.#release();
          yield each;
        }
        if (this.#wire !== undefined) yield* this.#answers(this.#wire, read);
        else if (failed.length === 0) break;
      }
    } finally {
      this.#close();
    }
    await fed;
    if (this.#fault !== undefined) throw this.#fault.cause;
  }

  /** Over a new connection, whose first line is empty. */
  async #opened(): Promise<Wire> {
    const wire = await this.#transport.stream(PATH, "application/jsonl");
    this.#line = 1;
    return wire;
  }

  /** Reads attempts. What the iterable throws is for the reader of the results. */
  async #feed(): Promise<void> {
    try {
      for (let next = await this.#attempts.next(); next.done !== true; next = await this.#attempts.next()) {
        const sent = { attempt: next.value, prepared: prepared(next.value), requestDigest: new Uint8Array(0) };
        while (this.#free === 0 && !this.#closed) await this.#change.next();
        if (this.#closed) return;
        this.#free -= 1;
        await this.#send([sent]);
      }
    } catch (cause) {
      this.#fault = { cause };
    }
    this.#over = true;
    this.#end();
    this.#change.tell();
  }

  /** Sends logins after those that are being sent. */
  #send(logins: readonly Sent<A>[]): Promise<void> {
    const sending = this.#sending.then(() => this.#sendNow(logins));
    this.#sending = sending.catch(() => undefined);
    return sending;
  }

  /** Over a new connection if there is none. If there can be none, that is the result of these logins. */
  async #sendNow(logins: readonly Sent<A>[]): Promise<void> {
    try {
      this.#wire ??= this.#closed ? undefined : await this.#opened();
      if (this.#closed) this.#detached();
      else logins.forEach((sent) => this.#write(sent));
    } catch (cause) {
      if (!(cause instanceof Problem || cause instanceof Unreachable)) throw cause;
      this.#failed.push(...logins.map(({ attempt }) => ({ attempt, result: cause })));
    }
    this.#end();
    this.#change.tell();
  }

  #write(sent: Sent<A>): void {
    const { body, requestDigest } = login(sent.prepared, seconds(), this.#form);
    sent.requestDigest = requestDigest;
    this.#line += 1;
    this.#sent.set(this.#line, sent);
    this.#wire?.send(JSON.stringify(body));
  }

  /** Ends the body after the last attempt. */
  #end(): void {
    if (this.#over) this.#wire?.end();
  }

  #release(): void {
    this.#free += 1;
    this.#change.tell();
  }

  /** The results that come over a connection, until it ends. */
  async *#answers<R>(wire: Wire, read: Read<A, R>): AsyncGenerator<Streamed<A, R>, void, undefined> {
    for (let answer = await this.#next(wire); answer !== undefined; answer = await this.#next(wire)) {
      const line = answer.whole("line");
      const problem = answer.has("problem") ? entryProblem(answer.object("problem")) : undefined;
      if (answer.has("ended")) return await this.#ended(line, problem);
      const sent = this.#sent.get(line);
      if (sent === undefined) throw new UnexpectedAnswer(`${ROUTE} answered line ${line}, which has no login without an answer`);
      this.#sent.delete(line);
      this.#release();
      this.#fruitless = 0;
      yield { attempt: sent.attempt, result: problem ?? (await decidedBy(read, answer, sent)) };
    }
  }

  /** The next answer, or nothing when the connection ended and its logins were dealt with. */
  async #next(wire: Wire): Promise<Answer | undefined> {
    try {
      const line = await wire.next();
      if (line !== undefined) return Answer.parse(ROUTE, line);
      this.#broke("the service ended it");
    } catch (cause) {
      if (cause instanceof UnexpectedAnswer) throw cause;
      this.#broke(said(cause));
    }
    return undefined;
  }

  /** Gives the connection up. What was sent over it and has no answer. */
  #detached(): Map<number, Sent<A>> {
    const left = this.#sent;
    this.#wire?.close();
    this.#wire = undefined;
    this.#sent = new Map();
    return left;
  }

  #broke(why: string): void {
    for (const { attempt } of this.#detached().values()) this.#failed.push({ attempt, result: undecided(why) });
  }

  /** The service ended the stream: what was sent in this line and after it was not attempted. */
  async #ended(line: number, problem: Problem | undefined): Promise<void> {
    const left = this.#detached();
    if (problem === undefined || [...left.keys()].some((sent) => sent < line)) {
      throw new UnexpectedAnswer(`${ROUTE} ended at line ${line} without all answers before it, or a reason`);
    }
    this.#fruitless += 1;
    const logins = [...left.values()];
    if (!(await this.#goesOn(problem))) this.#failed.push(...logins.map(({ attempt }) => ({ attempt, result: problem })));
    else if (logins.length > 0) await this.#send(logins);
  }

  async #goesOn({ code }: Problem): Promise<boolean> {
    if (this.#fruitless > FRUITLESS_MAX) return false;
    // A stream ends with the access token that opened it.
    return GOES_ON.includes(code) || (code === "caller-unauthenticated" && (await this.#transport.forgetToken()));
  }

  #close(): void {
    this.#closed = true;
    this.#detached();
    this.#change.tell();
    void finish(this.#attempts);
  }
}

async function decidedBy<A, R>(read: Read<A, R>, answer: Answer, sent: Sent<A>): Promise<R | Problem | Unreachable> {
  try {
    return await read(answer, sent);
  } catch (cause) {
    // The login was decided, but the seal of its compact attestation cannot be fetched.
    if (cause instanceof Problem || cause instanceof Unreachable) return cause;
    throw cause;
  }
}

/** Tells who gives the attempts that no more are taken; what they have to say to that is lost. */
async function finish(attempts: AsyncIterator<unknown> | Iterator<unknown>): Promise<void> {
  try {
    await attempts.return?.();
  } catch {}
}

/** The result of a login whose connection broke. */
function undecided(why: string): Unreachable {
  return new Unreachable(
    `${ROUTE}: the connection broke before the answer: ${why}; this login was sent, and it may have been decided and counted. ` +
      "Send it again with the same nonce: it is attempted at most once, and `nonce-replayed` says that it was",
  );
}
