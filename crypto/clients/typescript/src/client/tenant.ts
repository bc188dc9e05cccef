/** What an application calls: enrol, open and end sessions, log in. */

import { equal, toHex } from "../bytes.js";
import { DecodeError } from "../decode-error.js";
import { Policy } from "../policy.js";
import { Seal } from "../seal.js";
import type { Decision } from "../statement.js";
import { TrustRoot } from "../trust-root.js";
import { type Verified, verify, verifyWithSeal } from "../verify.js";
import { type Answer, identifier } from "./answer.js";
import { type Attempt, entryProblem, login } from "./attempt.js";
import { Problem, UnexpectedAnswer } from "./errors.js";
import {
  type AttestationForm,
  type Embedding,
  type Names,
  type Proof,
  sentEmbedding,
  type Session,
  type Unproven,
} from "./login.js";
import { type Receipt, receipt, seconds } from "./receipts.js";
import { Transport, withJson } from "./transport.js";

/** Most attempts of one request. */
const BATCH_MAX = 32;
/** Most photographs of one enrolment. */
const PHOTOGRAPHS_MAX = 8;

/** A subject whose template was changed. */
export interface Changed {
  readonly handle: Uint8Array;
  /** Of the template: counts the subject's templates, from 1. */
  readonly generation: number;
  /** That it was done; undefined where the service could not seal it. */
  readonly receipt: Receipt | undefined;
}

/** A template of one or several photographs. */
export interface Enrolled extends Changed {
  /** The smallest cosine of two of the photographs, rounded to two decimals; undefined for one photograph. */
  readonly agreement: number | undefined;
}

/** A template in place of another. */
export interface Replaced extends Enrolled {
  /** The generation that was destroyed. */
  readonly replaced: number;
}

/** A subject whose logins are refused, until its template is replaced. */
export interface Revoked extends Changed {
  /** When it was revoked first, Unix seconds. */
  readonly revokedAt: number;
}

/** A subject whose templates were destroyed. */
export interface Erased extends Changed {
  /** Unix seconds. */
  readonly erasedAt: number;
}

/** A session that was ended before its time. */
export interface EndedSession {
  readonly id: Uint8Array;
  /** That it was ended; undefined where the service could not seal it. */
  readonly receipt: Receipt | undefined;
}

/** A decision whose attestation was verified for this request. */
export interface Login {
  readonly decision: Decision;
  readonly verified: Verified;
  /** CBOR, for a relying party that verifies it again. */
  readonly attestation: Uint8Array;
  readonly sealNumber: number;
}

/** A decision that came without its attestation: for this process to act on, and for nobody else. It is sealed all the same. */
export interface Decided {
  readonly decision: Decision;
  /** Digest of the attested statement. */
  readonly id: Uint8Array;
  readonly sealNumber: number;
}

/** What the service answered to an attempt, and what its attestation must carry. */
interface Answered<A> {
  readonly answer: A;
  readonly requestDigest: Uint8Array;
}

/** What else a login may say. */
export interface LoginOptions extends Names {
  /** `full` by default. */
  readonly attestation?: AttestationForm;
}

/** How to reach the service as a tenant. */
export interface TenantOptions {
  /** Such as `https://auth.example`. */
  readonly url: string;
  readonly apiKey: string;
  /** The pinned one: every attestation and receipt is verified under it. */
  readonly trustRoot: TrustRoot;
  /** Another `fetch`, such as that of `fetchWith` in `trefoil-attest/node`, with certificates of its own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds for one answer; 30,000 by default. */
  readonly timeout?: number;
  /** Milliseconds for which a call may be repeated; 10,000 by default. */
  readonly retryFor?: number;
}

/**
 * A tenant's caller at the public listener.
 *
 * Each login's attestation is verified for its own audience, nonce, tenant, account and request digest before it is returned. A call
 * is repeated for up to `retryFor` where API.md says that this is safe. Rejects with {@link Problem}, {@link Unreachable} and
 * {@link UnexpectedAnswer}, and with `VerifyError` for an attestation that is not to be accepted.
 */
export class Tenant {
  readonly #transport: Transport;
  readonly #trustRoot: TrustRoot;

  constructor(options: TenantOptions) {
    const { url, apiKey, trustRoot, fetch = globalThis.fetch, timeout = 30_000, retryFor = 10_000 } = options;
    if (!(trustRoot instanceof TrustRoot)) throw new TypeError("trustRoot must be a TrustRoot");
    this.#transport = new Transport(url, apiKey, fetch, timeout, retryFor);
    this.#trustRoot = trustRoot;
  }

  /**
   * Enrols a face by 1 to 8 photographs, whose mean is the template. Repetitions carry one `Idempotency-Key`; give your own to repeat the
   * call yourself.
   */
  async enrol(
    handle: Uint8Array | string,
    embeddings: readonly Embedding[],
    consentRef: string,
    idempotencyKey?: string,
  ): Promise<Enrolled> {
    const answer = await this.#template("POST", handle, embeddings, consentRef, idempotencyKey);
    return { ...this.#changed(answer, "enrolled", {}), agreement: answer.numberIfAny("agreement") };
  }

  /** Replaces a subject's template in one step: a login meanwhile is decided with the old or with the new one. A revoked subject is active again. */
  async replace(
    handle: Uint8Array | string,
    embeddings: readonly Embedding[],
    consentRef: string,
    idempotencyKey?: string,
  ): Promise<Replaced> {
    const answer = await this.#template("PUT", handle, embeddings, consentRef, idempotencyKey);
    const replaced = this.#changed(answer, "replaced", { replaced: answer.whole("replaced") });
    return { ...replaced, agreement: answer.numberIfAny("agreement") };
  }

  async #template(
    method: "POST" | "PUT",
    handle: Uint8Array | string,
    embeddings: readonly Embedding[],
    consentRef: string,
    idempotencyKey: string | undefined,
  ): Promise<Answer> {
    // JavaScript may give the numbers of one embedding.
    if (!Array.isArray(embeddings) || embeddings.some((face: unknown) => typeof face !== "object")) {
      throw new TypeError("embeddings is an array of the embeddings of 1 to 8 photographs, such as [embedding]");
    }
    if (embeddings.length < 1 || embeddings.length > PHOTOGRAPHS_MAX) {
      throw new TypeError(`embeddings has those of 1 to ${PHOTOGRAPHS_MAX} photographs, not of ${embeddings.length}`);
    }
    const body = { embeddings: embeddings.map(sentEmbedding), consent_ref: consentRef };
    const key = idempotencyKey ?? toHex(crypto.getRandomValues(new Uint8Array(16)));
    return this.#transport.json({ ...withJson(method, templates(handle), body), idempotencyKey: key });
  }

  /** Revokes a subject: its logins are refused with `subject-unknown` and its sessions end, until {@link replace}. A repetition has the same effect. */
  async revoke(handle: Uint8Array | string): Promise<Revoked> {
    const path = `/v1/subjects/${identifier(handle, 32, "handle")}/revoke`;
    const answer = await this.#transport.json({ method: "POST", path });
    return { ...this.#changed(answer, "revoked", {}), revokedAt: answer.whole("revoked_at") };
  }

  /** Destroys a subject's template and its key. Undefined where an earlier attempt of this call did it and its answer is lost. */
  async delete(handle: Uint8Array | string): Promise<Erased | undefined> {
    const answer = await this.#transport.destroy(templates(handle), "subject-unknown");
    return answer && { ...this.#changed(answer, "erased", {}), erasedAt: answer.whole("erased_at") };
  }

  /** What an answer says of a template, besides `more`, and its receipt must say. */
  #changed<M extends Readonly<Record<string, number>>>(answer: Answer, kind: string, more: M): Changed & M {
    const named = { handle: answer.hex("handle", 32), generation: answer.whole("generation"), ...more };
    return { ...named, receipt: receipt(answer, this.#trustRoot, { kind, ...named }) };
  }

  /** Opens the session of a proof; again while it lasts, with the same end. */
  async openSession(proof: Proof): Promise<Session> {
    const answer = await this.#transport.json({
      method: "POST",
      path: "/v1/proof-sessions",
      body: proof.envelope,
      mediaType: "application/octet-stream",
    });
    if (!equal(answer.hex("session_id", 32), proof.sessionId)) {
      throw new UnexpectedAnswer("the service opened another session than the one that was proven");
    }
    return Object.freeze({ proof, expiresAt: answer.whole("expires_at") });
  }

  /** Ends a session before its time. Undefined where an earlier attempt of this call did it and its answer is lost. */
  async endSession(session: Uint8Array | string): Promise<EndedSession | undefined> {
    const path = `/v1/proof-sessions/${identifier(session, 32, "session")}`;
    const answer = await this.#transport.destroy(path, "session-unknown");
    if (answer === undefined) return undefined;
    const id = answer.hex("session_id", 32);
    return { id, receipt: receipt(answer, this.#trustRoot, { kind: "session_ended", session: id }) };
  }

  /**
   * Shows a face. `nonce` is the relying party's: 16 to 64 bytes, fresh for each login. A denial is a {@link Login} too, with the
   * decision `no_match`. A login in a session has a credential proof, or is refused. One of an {@link Unproven} subject is at a tenant
   * without proofs.
   */
  async authenticate(
    session: Session | Unproven,
    embedding: Embedding,
    nonce: Uint8Array,
    { attestation = "full", ...names }: LoginOptions = {},
  ): Promise<Login> {
    const attempt = { session, embedding, nonce, ...names };
    const { answer, requestDigest } = await this.#answered(attempt, attesting(attestation));
    return this.#login(answer, session, nonce, requestDigest, (number) => this.seal(number));
  }

  /** As {@link authenticate}, without the attestation: nothing is verified, and the answer is believed because it came over TLS. */
  async decide(
    session: Session | Unproven,
    embedding: Embedding,
    nonce: Uint8Array,
    names: Names = {},
  ): Promise<Decided> {
    return decided((await this.#answered({ session, embedding, nonce, ...names }, "none")).answer);
  }

  async #answered(attempt: Attempt, attestation: AttestationForm | "none"): Promise<Answered<Answer>> {
    const deadline = this.#transport.deadline();
    for (;;) {
      const { body, requestDigest } = login(attempt, seconds(), attestation);
      try {
        const answer = await this.#transport.json(withJson("POST", "/v1/authentications", body));
        return { answer, requestDigest };
      } catch (error) {
        // The process before a restart may have attested this one, and not one that is issued later.
        const again = error instanceof Problem && error.code === "before-restart";
        if (!again || !(await this.#transport.pause(error, deadline))) throw error;
      }
    }
  }

  /**
   * Shows 1 to 32 faces in one request. A {@link Login} or the {@link Problem} of each, in their order; a problem refuses no other.
   *
   * Every attestation is verified: one that is not to be accepted rejects, and no login is returned. A problem of one attempt is not
   * repeated here; its `retryAfter` says whether a repetition makes sense.
   */
  async authenticateMany(
    attempts: readonly Attempt[],
    attestation: AttestationForm = "full",
  ): Promise<(Login | Problem)[]> {
    const sealOnce = this.#sealOnce();
    const outcomes: (Login | Problem)[] = [];
    for (const { attempt, answer, requestDigest } of await this.#answeredMany(attempts, attesting(attestation))) {
      const { session, nonce } = attempt;
      outcomes.push(
        answer instanceof Problem ? answer : await this.#login(answer, session, nonce, requestDigest, sealOnce),
      );
    }
    return outcomes;
  }

  /** As {@link authenticateMany}, without attestations: nothing is verified. */
  async decideMany(attempts: readonly Attempt[]): Promise<(Decided | Problem)[]> {
    const answered = await this.#answeredMany(attempts, "none");
    return answered.map(({ answer }) => (answer instanceof Problem ? answer : decided(answer)));
  }

  /** The answer or the problem of each attempt of a batch, in their order. */
  async #answeredMany(
    attempts: readonly Attempt[],
    attestation: AttestationForm | "none",
  ): Promise<(Answered<Answer | Problem> & { readonly attempt: Attempt })[]> {
    if (attempts.length < 1 || attempts.length > BATCH_MAX) {
      throw new TypeError(`a batch has 1 to ${BATCH_MAX} attempts, not ${attempts.length}`);
    }
    const now = seconds();
    const entries = attempts.map((attempt) => ({ attempt, ...login(attempt, now, attestation) }));
    const body = { authentications: entries.map(({ body }) => body) };
    const path = "/v1/authentications/batch";
    const results = (await this.#transport.json(withJson("POST", path, body))).objects("results");
    if (results.length !== entries.length) {
      throw new UnexpectedAnswer(`POST ${path} answered ${results.length} results for ${entries.length} attempts`);
    }
    return entries.map(({ attempt, requestDigest }, at) => {
      const result = results[at];
      if (result === undefined) throw new UnexpectedAnswer(`POST ${path} answered without result ${at}`);
      return { attempt, answer: result.has("problem") ? entryProblem(result.object("problem")) : result, requestDigest };
    });
  }

  /** Fetches each seal once. */
  #sealOnce(): (sealNumber: number) => Promise<Seal> {
    const seals = new Map<number, Promise<Seal>>();
    return (number) => {
      const known = seals.get(number) ?? this.seal(number);
      seals.set(number, known);
      return known;
    };
  }

  async #login(
    answer: Answer,
    session: Session | Unproven,
    nonce: Uint8Array,
    requestDigest: Uint8Array,
    sealOf: (sealNumber: number) => Promise<Seal>,
  ): Promise<Login> {
    const { audience, tenant, account } = "proof" in session ? session.proof : session;
    const policy = new Policy({
      trustRoot: this.#trustRoot,
      audience,
      nonce,
      tenant,
      ...(account === undefined ? {} : { account }),
      requestDigest,
      decision: "any",
      acceptNoProof: !("proof" in session),
    });
    const attestation = answer.base64("attestation");
    const sealNumber = answer.whole("seal_number");
    const verified =
      attestation.length > 4096
        ? verify(attestation, policy, seconds())
        : verifyWithSeal(attestation, await sealOf(sealNumber), policy, seconds());
    const { decision } = verified.statement;
    const isSame =
      answer.text("decision") === decision &&
      equal(answer.hex("id", 32), verified.statementDigest) &&
      BigInt(sealNumber) === verified.seal.sealNumber;
    if (!isSame) throw new UnexpectedAnswer("the answer says something else than its attestation; do not accept it");
    return { decision, verified, attestation, sealNumber };
  }

  /** A seal; not verified by itself. */
  async seal(sealNumber: number | bigint): Promise<Seal> {
    const path = `/v1/seals/${sealNumber}`;
    const body = await this.#transport.bytes({ method: "GET", path });
    try {
      return Seal.decode(body);
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause;
      throw new UnexpectedAnswer(`GET ${path} answered no seal: ${cause.message}`, { cause });
    }
  }
}

function decided(answer: Answer): Decided {
  const decision = answer.oneOf("decision", ["match", "no_match"]);
  return { decision, id: answer.hex("id", 32), sealNumber: answer.whole("seal_number") };
}

function templates(handle: Uint8Array | string): string {
  return `/v1/subjects/${identifier(handle, 32, "handle")}/templates`;
}

/** JavaScript may ask for a form that would leave nothing to verify. */
function attesting(form: AttestationForm): AttestationForm {
  if (form === "full" || form === "compact") return form;
  throw new TypeError(`attestation is "full" or "compact", not ${JSON.stringify(form)}; \`decide\` asks for none`);
}
