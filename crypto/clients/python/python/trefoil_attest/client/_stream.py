"""Logins in a stream: one long request, with a line for each login, and a line for each answer as soon as there is one."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from ._attempt import Attempt, checked, entry_problem
from ._errors import Problem, UnexpectedAnswer, Unreachable
from ._json import Answer
from ._login import Form, embedding_bytes, named, signed
from ._transport import Request, Transport, said
from ._wire import Wire

A = TypeVar("A", bound=Attempt)
R = TypeVar("R")

OPENING = Request("POST", "/v1/authentications/stream", media_type="application/jsonl")
IN_FLIGHT_MAX = 32
"""Most logins that were sent and whose answers were not taken. The service reads no further."""
GOES_ON = frozenset({"draining", "body-timeout"})
"""Why the service ends a stream that may go on over another connection: it does so with each after ten minutes."""
FRUITLESS_MAX = 3
"""Connections in a row that may end like that without an answer to a login."""


@dataclass
class Sent(Generic[A]):
    """An attempt that is sent, and sent again if the service says that it did not attempt it."""

    attempt: A
    probe: bytes
    digest: bytes = b""
    """That of the request that was sent last."""


class LoginStream(Generic[A]):
    """A thread reads attempts and sends them. The caller's thread reads the answers, and opens another connection where the stream goes
    on."""

    def __init__(self, transport: Transport, attempts: Iterable[A], form: Form | Literal["none"]) -> None:
        self._transport, self._attempts, self._form = transport, attempts, form
        self._slots = threading.Semaphore(IN_FLIGHT_MAX)
        self._change = threading.Condition()
        # Under the condition's lock, except that the reader takes from `_sent`:
        self._wire: Wire | None = None
        self._line = 0
        self._sent: dict[int, Sent[A]] = {}
        self._failed: list[tuple[A, Problem | Unreachable]] = []
        self._over = self._closed = False
        # Of the reader alone:
        self._fruitless = 0
        self._fault: BaseException | None = None

    def results(self, read: Callable[[Answer, Sent[A]], R]) -> Generator[tuple[A, R | Problem | Unreachable], None, None]:
        """The result of each attempt, in the order of the answers. Raises what the service refuses the stream with, before it takes an
        attempt, and at the end what the iterable raised."""
        self._wire = self._transport.stream(OPENING)
        threading.Thread(target=self._feed, name="trefoil-logins", daemon=True).start()
        try:
            while (turn := self._turn()) is not None:
                wire, failed = turn
                for attempt, cause in failed:
                    self._slots.release()
                    yield attempt, cause
                if wire is not None:
                    yield from self._answers(wire, read)
        finally:
            self._close()
        if self._fault is not None:
            raise self._fault

    def _turn(self) -> tuple[Wire | None, list[tuple[A, Problem | Unreachable]]] | None:
        """The connection to read, and the attempts that failed without an answer; `None` when all have their results."""
        with self._change:
            self._change.wait_for(lambda: self._wire or self._failed or self._over)
            failed, self._failed = self._failed, []
            return (self._wire, failed) if self._wire or failed else None

    def _feed(self) -> None:
        """The thread that reads attempts. What the iterable raises is for the reader of the results."""
        try:
            for attempt in self._attempts:
                login = prepared(attempt)
                self._slots.acquire()
                self._send([login])
                if self._closed:
                    return
        except BaseException as cause:
            self._fault = cause
        with self._change:
            self._over = True
            self._end()
            self._change.notify()

    def _send(self, logins: Sequence[Sent[A]]) -> None:
        """Sends logins, over a new connection if there is none. If there can be none, that is their result."""
        with self._change:
            if self._closed:
                return
            try:
                if self._wire is None:
                    self._wire, self._line = self._transport.stream(OPENING), 0
            except (Problem, Unreachable) as cause:
                self._failed += [(login.attempt, cause) for login in logins]
            else:
                for login in logins:
                    self._write(self._wire, login)
            self._end()
            self._change.notify()

    def _write(self, wire: Wire, login: Sent[A]) -> None:
        attempt = login.attempt
        now = int(time.time())
        body, login.digest = signed(attempt.session, login.probe, attempt.nonce, now, self._form, attempt.source)
        self._line += 1
        self._sent[self._line] = login
        wire.send(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())

    def _end(self) -> None:
        """Ends the body after the last attempt."""
        if self._over and self._wire is not None:
            self._wire.end()

    def _answers(
        self, wire: Wire, read: Callable[[Answer, Sent[A]], R]
    ) -> Iterator[tuple[A, R | Problem | Unreachable]]:
        """The results that come over a connection, until it ends."""
        while (answer := self._next(wire)) is not None:
            line = answer.whole("line")
            problem = entry_problem(answer.object("problem")) if answer.has("problem") else None
            if answer.has("ended"):
                self._ended(line, problem)
                return
            login = self._sent.pop(line, None)
            if login is None:
                raise UnexpectedAnswer(f"{OPENING.route} answered line {line}, which has no login without an answer")
            self._slots.release()
            self._fruitless = 0
            yield login.attempt, self._read(read, answer, login) if problem is None else problem

    def _next(self, wire: Wire) -> Answer | None:
        """The next answer, or `None` when the connection ended and its logins were dealt with."""
        try:
            line = wire.next()
        except (OSError, http.client.HTTPException) as cause:
            self._broke(said(cause))
            return None
        if line is None:
            self._broke("the service ended it")
            return None
        return Answer.parse(OPENING.route, line)

    def _read(self, read: Callable[[Answer, Sent[A]], R], answer: Answer, login: Sent[A]) -> R | Problem | Unreachable:
        try:
            return read(answer, login)
        # The login was decided, but the seal of its compact attestation cannot be fetched.
        except (Problem, Unreachable) as cause:
            return cause

    def _detached(self) -> dict[int, Sent[A]]:
        """Gives the connection up. What was sent over it and has no answer."""
        if self._wire is not None:
            self._wire.close()
        left, self._wire, self._sent = self._sent, None, {}
        return left

    def _broke(self, why: str) -> None:
        with self._change:
            for login in self._detached().values():
                self._failed.append((login.attempt, undecided(why)))

    def _ended(self, line: int, problem: Problem | None) -> None:
        """The service ended the stream: what was sent in this line and after it was not attempted."""
        with self._change:
            left = self._detached()
            if problem is None or any(sent < line for sent in left):
                raise UnexpectedAnswer(f"{OPENING.route} ended at line {line} without all answers before it, or a reason")
            self._fruitless += 1
            logins = list(left.values())
            if not self._goes_on(problem):
                self._failed += [(login.attempt, problem) for login in logins]
            elif logins:
                self._send(logins)

    def _goes_on(self, problem: Problem) -> bool:
        if self._fruitless > FRUITLESS_MAX:
            return False
        # A stream ends with the access token that opened it.
        return problem.code in GOES_ON or (problem.code == "caller-unauthenticated" and self._transport.forget_token())

    def _close(self) -> None:
        with self._change:
            self._closed = True
            self._detached()
        # For the thread that reads attempts, where it waits.
        self._slots.release()


def prepared(attempt: A) -> Sent[A]:
    """An attempt without mistakes."""
    checked(attempt.nonce)
    named(attempt.source)
    return Sent(attempt, embedding_bytes(attempt.embedding))


def undecided(why: str) -> Unreachable:
    """The result of a login whose connection broke."""
    return Unreachable(
        f"{OPENING.route}: the connection broke before the answer: {why}; this login was sent, and it may have been decided and counted. "
        "Send it again with the same nonce: it is attempted at most once, and `nonce-replayed` says that it was"
    )
