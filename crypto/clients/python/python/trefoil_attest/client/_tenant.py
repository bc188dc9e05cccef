"""What an application calls: enrol, open and end sessions, log in."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike
from typing import Literal, get_args

from .. import DecodeError, Policy, Seal, TrustRoot, Verified, verify, verify_with_seal
from ._attempt import Attempt, checked, entry_problem
from ._errors import Problem, UnexpectedAnswer
from ._json import Answer, identifier
from ._login import Embedding, Form, Proof, Session, Unproven, Vector, signed
from ._receipts import Receipt, receipt
from ._transport import Request, Transport, json_request

BATCH_MAX = 32
"""Most attempts of one request."""
PHOTOGRAPHS_MAX = 8
"""Most photographs of one enrolment."""
Decision = Literal["match", "no_match"]
NONCE_LOST = "the login was sent twice and attempted at most once; its answer is lost. Make a new one with a fresh nonce"


@dataclass(frozen=True)
class Changed:
    """A subject whose template was changed."""

    handle: bytes
    generation: int
    """Of the template: counts the subject's templates, from 1."""
    receipt: Receipt | None
    """That it was done; `None` where the service could not seal it."""


@dataclass(frozen=True)
class Enrolled(Changed):
    """A template of one or several photographs."""

    agreement: float | None
    """The smallest cosine of two of the photographs, rounded to two decimals; `None` for one photograph."""


@dataclass(frozen=True)
class Replaced(Enrolled):
    """A template in place of another."""

    replaced: int
    """The generation that was destroyed."""


@dataclass(frozen=True)
class Revoked(Changed):
    """A subject whose logins are refused, until its template is replaced."""

    revoked_at: int
    """When it was revoked first, Unix seconds."""


@dataclass(frozen=True)
class Erased(Changed):
    """A subject whose templates were destroyed."""

    erased_at: int
    """Unix seconds."""


@dataclass(frozen=True)
class EndedSession:
    """A session that was ended before its time."""

    id: bytes
    receipt: Receipt | None
    """That it was ended; `None` where the service could not seal it."""


@dataclass(frozen=True)
class Login:
    """A decision whose attestation was verified for this request."""

    decision: Decision
    verified: Verified
    attestation: bytes
    """CBOR, for a relying party that verifies it again."""
    seal_number: int

    @property
    def is_match(self) -> bool:
        return self.decision == "match"


@dataclass(frozen=True)
class Decided:
    """A decision that came without its attestation: for this process to act on, and for nobody else. It is sealed all the same."""

    decision: Decision
    id: bytes
    """Digest of the attested statement."""
    seal_number: int

    @property
    def is_match(self) -> bool:
        return self.decision == "match"


class Tenant:
    """A tenant's caller at the public listener.

    `trust_root` is the pinned one: every attestation is verified under it, for the audience, nonce, account and digest of its own
    request, before a login is returned. `ca` is a PEM file; without it the certificates that the machine trusts count. `identity` is a
    PEM file with a certificate and its key, for a service that demands one of its callers. A call is repeated for up to
    `retry_for` seconds where API.md says that this is safe. Raises `Problem`, `Unreachable` and `UnexpectedAnswer`, and `VerifyError`
    for an attestation that is not to be accepted.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        trust_root: TrustRoot,
        *,
        ca: str | PathLike[str] | None = None,
        identity: str | PathLike[str] | None = None,
        timeout: float = 30.0,
        retry_for: float = 10.0,
    ) -> None:
        # A path or a text would be refused only when the first answer is verified.
        if not isinstance(trust_root, TrustRoot):
            raise TypeError("trust_root is a TrustRoot; TrustRoot.from_json reads the text of trust-root.json")
        self._trust_root = trust_root
        self._transport = Transport(url, api_key, ca=ca, identity=identity, timeout=timeout, retry_for=retry_for)

    def enrol(
        self, handle: bytes | str, embeddings: Iterable[Embedding], consent_ref: str, *, idempotency_key: str | None = None
    ) -> Enrolled:
        """Enrols a face by 1 to 8 photographs, whose mean is the template. Repetitions carry one `Idempotency-Key`; give your own to repeat
        the call yourself."""
        answer = self._template("POST", handle, embeddings, consent_ref, idempotency_key)
        return Enrolled(*self._changed(answer, kind="enrolled"), answer.number_or_none("agreement"))

    def replace(
        self, handle: bytes | str, embeddings: Iterable[Embedding], consent_ref: str, *, idempotency_key: str | None = None
    ) -> Replaced:
        """Replaces a subject's template in one step: a login meanwhile is decided with the old or with the new one. A revoked subject is
        active again."""
        answer = self._template("PUT", handle, embeddings, consent_ref, idempotency_key)
        replaced = answer.whole("replaced")
        changed = self._changed(answer, kind="replaced", replaced=replaced)
        return Replaced(*changed, answer.number_or_none("agreement"), replaced)

    def _template(
        self, method: str, handle: bytes | str, embeddings: Iterable[Embedding], consent_ref: str, idempotency_key: str | None
    ) -> Answer:
        path = f"/v1/subjects/{identifier(handle, 32, 'handle')}/templates"
        faces = list(embeddings)
        if not all(isinstance(face, Iterable) for face in faces):
            raise TypeError("embeddings is a list of the embeddings of 1 to 8 photographs, such as [embedding]")
        if not 1 <= len(faces) <= PHOTOGRAPHS_MAX:
            raise ValueError(f"embeddings has those of 1 to {PHOTOGRAPHS_MAX} photographs, not of {len(faces)}")
        body = {"embeddings": [Vector.of(face).sent for face in faces], "consent_ref": consent_ref}
        return self._transport.json(json_request(method, path, body, idempotency_key or secrets.token_hex(16)))

    def revoke(self, handle: bytes | str) -> Revoked:
        """Revokes a subject: its logins are refused with `subject-unknown` and its sessions end, until `replace`. A repetition has the same
        effect."""
        path = f"/v1/subjects/{identifier(handle, 32, 'handle')}/revoke"
        answer = self._transport.json(Request("POST", path))
        return Revoked(*self._changed(answer, kind="revoked"), answer.whole("revoked_at"))

    def delete(self, handle: bytes | str) -> Erased | None:
        """Destroys a subject's template and its key. `None` where an earlier attempt of this call did it and its answer is lost."""
        answer = self._transport.destroy(f"/v1/subjects/{identifier(handle, 32, 'handle')}/templates", "subject-unknown")
        return None if answer is None else Erased(*self._changed(answer, kind="erased"), answer.whole("erased_at"))

    def _changed(self, answer: Answer, **said: object) -> tuple[bytes, int, Receipt | None]:
        """What an answer says of a template, and its receipt, which must say it too, and `said`."""
        handle, generation = answer.hexadecimal("handle", 32), answer.whole("generation")
        return handle, generation, receipt(answer, self._trust_root, handle=handle, generation=generation, **said)

    def open_session(self, proof: Proof) -> Session:
        """Opens the session of a proof; again while it lasts, with the same end."""
        request = Request("POST", "/v1/proof-sessions", proof.envelope, "application/octet-stream")
        answer = self._transport.json(request)
        if answer.hexadecimal("session_id", 32) != proof.session_id:
            raise UnexpectedAnswer("the service opened another session than the one that was proven")
        return Session(
            id=proof.session_id,
            tenant=proof.tenant,
            handle=proof.handle,
            account=proof.account,
            audience=proof.audience,
            expires_at=answer.whole("expires_at"),
            key=proof.session_key,
        )

    def end_session(self, session: bytes | str) -> EndedSession | None:
        """Ends a session before its time. `None` where an earlier attempt of this call did it and its answer is lost."""
        answer = self._transport.destroy(f"/v1/proof-sessions/{identifier(session, 32, 'session')}", "session-unknown")
        if answer is None:
            return None
        named = answer.hexadecimal("session_id", 32)
        return EndedSession(named, receipt(answer, self._trust_root, kind="session_ended", session=named))

    def authenticate(
        self,
        session: Session | Unproven,
        embedding: Embedding,
        nonce: bytes,
        *,
        attestation: Form = "full",
        source: str | None = None,
        embedder: str | None = None,
    ) -> Login:
        """Shows a face. `nonce` is the relying party's: 16 to 64 bytes, fresh for each login. A denial is a `Login` too. `source` and
        `embedder` are those of an `Attempt`.

        A login in a session has a credential proof, or is refused. One of an `Unproven` subject is at a tenant without proofs.
        """
        answer, digest = self._answered(Attempt(session, embedding, nonce, source, embedder), attesting(attestation))
        return self._login(answer, session, nonce, digest, self.seal)

    def decide(
        self,
        session: Session | Unproven,
        embedding: Embedding,
        nonce: bytes,
        *,
        source: str | None = None,
        embedder: str | None = None,
    ) -> Decided:
        """As `authenticate`, without the attestation: nothing is verified, and the answer is believed because it came over TLS."""
        return decided(self._answered(Attempt(session, embedding, nonce, source, embedder), "none")[0])

    def _answered(self, attempt: Attempt, attestation: Form | Literal["none"]) -> tuple[Answer, bytes]:
        """The answer to a login, and its request digest."""
        session, nonce, names = attempt.session, checked(attempt.nonce), attempt.names()
        probe = Vector.of(attempt.embedding)
        deadline = self._transport.deadline()
        while True:
            body, digest = signed(session, probe, nonce, int(time.time()), attestation, names)
            request = json_request("POST", "/v1/authentications", body)
            try:
                return self._transport.json(request), digest
            except Problem as problem:
                # The process before a restart may have attested this one, and not one that is issued later.
                if problem.code == "before-restart" and self._transport.pause(problem, deadline):
                    continue
                if problem.code == "nonce-replayed" and problem.resent:
                    problem.add_note(NONCE_LOST)
                raise

    def authenticate_many(self, attempts: Sequence[Attempt], *, attestation: Form = "full") -> list[Login | Problem]:
        """Shows 1 to 32 faces in one request. A `Login` or the `Problem` of each, in their order; a problem refuses no other.

        Every attestation is verified: one that is not to be accepted raises, and no login is returned. A problem of one attempt is not
        repeated here; its `retry_after` says whether a repetition makes sense.
        """
        seal = cache(self.seal)
        return [
            result
            if isinstance(result, Problem)
            else self._login(result, attempt.session, attempt.nonce, digest, seal)
            for attempt, result, digest in self._answered_many(attempts, attesting(attestation))
        ]

    def decide_many(self, attempts: Sequence[Attempt]) -> list[Decided | Problem]:
        """As `authenticate_many`, without attestations: nothing is verified."""
        return [
            result if isinstance(result, Problem) else decided(result)
            for _, result, _ in self._answered_many(attempts, "none")
        ]

    def _answered_many(
        self, attempts: Sequence[Attempt], attestation: Form | Literal["none"]
    ) -> list[tuple[Attempt, Answer | Problem, bytes]]:
        """The answer or the problem of each attempt of a batch, with its request digest."""
        if not 1 <= len(attempts) <= BATCH_MAX:
            raise ValueError(f"a batch has 1 to {BATCH_MAX} attempts, not {len(attempts)}")
        now = int(time.time())
        entries = [
            signed(
                attempt.session,
                Vector.of(attempt.embedding),
                checked(attempt.nonce),
                now,
                attestation,
                attempt.names(),
            )
            for attempt in attempts
        ]
        body = {"authentications": [body for body, _ in entries]}
        request = json_request("POST", "/v1/authentications/batch", body)
        answer = self._transport.json(request)
        results = answer.objects("results", lambda result: result)
        if len(results) != len(attempts):
            raise UnexpectedAnswer(f"{request.route} answered {len(results)} results for {len(attempts)} attempts")
        return [
            (attempt, entry_problem(result.object("problem")) if result.has("problem") else result, digest)
            for result, attempt, (_, digest) in zip(results, attempts, entries)
        ]

    def _login(
        self, answer: Answer, session: Session | Unproven, nonce: bytes, request_digest: bytes, seal: Callable[[int], Seal]
    ) -> Login:
        policy = Policy(
            self._trust_root,
            session.audience,
            nonce,
            tenant=session.tenant,
            account=session.account,
            request_digest=request_digest,
            decision="any",
            accept_no_proof=isinstance(session, Unproven),
        )
        attestation, number = answer.base64("attestation"), answer.whole("seal_number")
        now = int(time.time())
        if len(attestation) > 4096:
            verified = verify(attestation, policy, now)
        else:
            verified = verify_with_seal(attestation, seal(number), policy, now)
        decision = verified.statement.decision
        said = (answer.text("decision"), answer.hexadecimal("id", 32), number)
        if said != (decision, verified.statement_digest, verified.seal_number):
            raise UnexpectedAnswer("the answer says something else than its attestation; do not accept it")
        return Login(decision, verified, attestation, number)

    def seal(self, number: int) -> Seal:
        """A seal; not verified by itself."""
        request = Request("GET", f"/v1/seals/{number}")
        try:
            return Seal.decode(self._transport.send(request))
        except DecodeError as cause:
            raise UnexpectedAnswer(f"{request.route} answered no seal: {cause}") from cause

    def close(self) -> None:
        """Closes the calling thread's connection."""
        self._transport.close()


def decided(answer: Answer) -> Decided:
    decision = answer.one_of("decision", get_args(Decision))
    return Decided(decision, answer.hexadecimal("id", 32), answer.whole("seal_number"))


def attesting(attestation: Form) -> Form:
    if attestation not in get_args(Form):
        raise ValueError(f'attestation is "full" or "compact", not {attestation!r}; `decide` asks for none')
    return attestation
