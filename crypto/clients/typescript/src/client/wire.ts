/** A request of lines, which is answered with lines while it is sent. */

import { UnexpectedAnswer } from "./errors.js";

/** Longest line of an answer that is read: a full attestation in base64 has 30 KB. */
const LINE_BYTES_MAX = 1 << 18;
/** Lines that are kept until they are taken: as many as may be in flight, and the last one. */
const UNTAKEN_MAX = 33;
/** Milliseconds for which lines may be taken without a pause in which the runtime receives. */
const BUSY_MS_MAX = 20;
const NEWLINE = 10;

/** The body of such a request. It is as long as what its sender does not hold back. */
export class Lines {
  readonly stream: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor() {
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.#controller = undefined),
    });
  }

  /** Sends a line without its end. A connection that broke says so where it is read. */
  send(line: string): void {
    try {
      this.#controller?.enqueue(new TextEncoder().encode(`${line}\n`));
    } catch {
      // It broke before.
      this.#controller = undefined;
    }
  }

  /** No line follows. */
  end(): void {
    const controller = this.#controller;
    this.#controller = undefined;
    try {
      controller?.close();
    } catch {
      // It broke before.
    }
  }
}

/**
 * The way of the lines in both directions. Answers are read as they come, and kept until they are taken: the service disconnects who is
 * slow to read one.
 */
export class Wire {
  readonly #lines: Lines;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #abort: AbortController;
  readonly #timeout: number;
  readonly #change = new Change();
  readonly #received: Uint8Array[] = [];
  /** The received part of the next line. */
  #begun: Uint8Array[] = [];
  #ended: { readonly cause?: unknown } | undefined;
  /** Lines that were sent and have no answer, and when the last one was sent. */
  #unanswered = 0;
  #sentAt = 0;
  #restedAt = 0;

  /** Over a request that was begun; `timeout` in milliseconds is for an answer that is due. */
  constructor(lines: Lines, response: Response, abort: AbortController, timeout: number) {
    this.#lines = lines;
    this.#reader = response.body?.getReader();
    this.#abort = abort;
    this.#timeout = timeout;
    void this.#read();
  }

  /** Sends a line that will have an answer. */
  send(line: string): void {
    this.#unanswered += 1;
    this.#sentAt = performance.now();
    this.#lines.send(line);
  }

  end(): void {
    this.#lines.end();
  }

  /** The next line, or nothing at the end. Rejects if the connection broke, or if an answer did not come in time. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.#received.length === 0 && this.#ended === undefined) await this.#change.next();
    await this.#rest();
    const line = this.#received.shift();
    this.#change.tell();
    if (line === undefined && this.#ended !== undefined && "cause" in this.#ended) throw this.#ended.cause;
    return line;
  }

  /** Lets the runtime receive, now and then, while who takes the lines is busy with them. */
  async #rest(): Promise<void> {
    if (performance.now() - this.#restedAt < BUSY_MS_MAX) return;
    await new Promise((resume) => setTimeout(resume));
    this.#restedAt = performance.now();
  }

  async #read(): Promise<void> {
    const watch = setInterval(() => this.#stopIfLate(), this.#timeout / 4);
    try {
      for (let part = await this.#reader?.read(); part?.done === false; part = await this.#reader?.read()) {
        this.#take(part.value);
        while (this.#received.length > UNTAKEN_MAX) await this.#change.next();
      }
      if (this.#begun.length > 0) throw new TypeError("the last line breaks off");
      this.#ended = {};
    } catch (cause) {
      this.#ended = { cause };
    } finally {
      clearInterval(watch);
      this.#change.tell();
    }
  }

  #stopIfLate(): void {
    if (this.#unanswered === 0 || performance.now() - this.#sentAt < this.#timeout) return;
    this.#abort.abort(new TypeError(`no answer within ${this.#timeout} ms`));
  }

  /** Takes received bytes apart into lines. */
  #take(bytes: Uint8Array): void {
    let rest = bytes;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      this.#received.push(joined([...this.#begun, rest.subarray(0, end)]));
      this.#begun = [];
      this.#unanswered -= 1;
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) this.#begun.push(rest);
    if (lengthOf(this.#begun) > LINE_BYTES_MAX) {
      throw new UnexpectedAnswer(`a line of the answer has more than ${LINE_BYTES_MAX} bytes`);
    }
    this.#change.tell();
  }

  /** Ends the connection. */
  close(): void {
    this.#abort.abort();
    this.#received.length = 0;
    this.#change.tell();
  }
}

/** Something that tasks wait for: they look again whenever it may have come. */
export class Change {
  #waiting: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resume) => this.#waiting.push(resume));
  }

  tell(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((length, part) => length + part.length, 0);
}

/** Parts of bytes in one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
