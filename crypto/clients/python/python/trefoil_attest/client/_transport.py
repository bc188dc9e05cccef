"""HTTPS to the service: TLS 1.3, one connection for each thread, bounded answers, and the retries that API.md allows."""

from __future__ import annotations

import errno
import http.client
import json
import random
import ssl
import threading
import time
import urllib.parse
from dataclasses import dataclass
from os import PathLike

from ._errors import FieldError, Problem, UnexpectedAnswer, Unreachable
from ._json import Answer

ANSWER_BYTES_MAX = 1 << 21
"""Longest answer that is read: 32 logins with full attestations have 1.2 MB."""
IDLE_S_MAX = 30.0
"""A connection that was idle for longer is not used again. The service keeps one for two minutes, a proxy for less."""
UNREACHED_PAUSE_S = 0.05
"""Pause before a connection is tried again, doubled with each up to a second."""

SAME_AGAIN = {
    "overloaded",
    "draining",
    "disk-low",
    "quota-exceeded",
    "key-holder-unavailable",
    "undecided",
    "idempotency-in-flight",
    "store-unavailable",
}
"""Refusals after which the same request is sent again."""


@dataclass(frozen=True)
class Request:
    """A request. Sent twice, each takes effect at most once."""

    method: str
    path: str
    body: bytes | None = None
    media_type: str | None = None
    idempotency_key: str | None = None

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"


def json_request(method: str, path: str, body: object, idempotency_key: str | None = None) -> Request:
    """A request with a JSON body."""
    encoded = json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return Request(method, path, encoded, "application/json", idempotency_key)


class Transport:
    """The way to the public listener, with an API key."""

    def __init__(
        self,
        base: str,
        api_key: str,
        *,
        ca: str | PathLike[str] | None,
        identity: str | PathLike[str] | None,
        timeout: float,
        retry_for: float,
    ) -> None:
        parts = urllib.parse.urlsplit(base)
        if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError(f"the service's address is {base!r}; it must look like https://host:port")
        self._host, self._port = parts.hostname, parts.port or 443
        self._api_key = api_key.strip()
        # Never shown: the rest of it may be the secret.
        if not all("!" <= character <= "~" for character in self._api_key):
            raise ValueError("the API key is one word of visible ASCII characters, as the service showed it")
        self._timeout, self._retry_for = timeout, retry_for
        self._tls = tls_context(ca, identity)
        self._own = threading.local()

    def json(self, request: Request) -> Answer:
        """The JSON object of a success."""
        return Answer.parse(request.route, self.send(request))

    def destroy(self, path: str, unknown: str) -> Answer | None:
        """What a `DELETE` answers. `None` where its first answer is lost, and what it names is `unknown` by now."""
        try:
            return self.json(Request("DELETE", path))
        except Problem as problem:
            if problem.resent and problem.code == unknown:
                return None
            raise

    def send(self, request: Request) -> bytes:
        """The body of a success. A lost answer, some refusals and a connection that cannot be made are followed by the same request."""
        deadline = self.deadline()
        lost = False
        pause = UNREACHED_PAUSE_S
        while True:
            try:
                return self._once(request)
            except Problem as problem:
                problem.resent = lost
                if problem.code not in SAME_AGAIN or not self.pause(problem, deadline):
                    raise
            except NothingSent as cause:
                if not cause.may_pass or time.monotonic() + pause > deadline:
                    raise
                time.sleep(pause * random.uniform(1.0, 1.25))
                pause = min(2 * pause, 1.0)
            except Unreachable:
                # A second time at once, over another connection: the first may have been closing.
                if lost:
                    raise
                lost = True

    def deadline(self) -> float:
        """Until when a call may be repeated that begins now."""
        return time.monotonic() + self._retry_for

    def pause(self, problem: Problem, deadline: float) -> bool:
        """Waits as long as the service says, and up to a quarter longer; false if that is too long."""
        if problem.retry_after is None:
            return False
        seconds = problem.retry_after * random.uniform(1.0, 1.25)
        if time.monotonic() + seconds > deadline:
            return False
        time.sleep(seconds)
        return True

    def _once(self, request: Request) -> bytes:
        connection = self._connection(request)
        fields = {
            "Authorization": f"Bearer {self._api_key}" if self._api_key else None,
            "Content-Type": request.media_type,
            "Idempotency-Key": request.idempotency_key,
        }
        headers = {name: value for name, value in fields.items() if value is not None}
        try:
            connection.request(request.method, request.path, request.body, headers)
            response = connection.getresponse()
            body = response.read(ANSWER_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as cause:
            self.close()
            raise Unreachable(f"{request.route} at {self._host}:{self._port} got no answer: {said(cause)}") from cause
        if response.will_close or len(body) > ANSWER_BYTES_MAX:
            self.close()
        self._own.used = time.monotonic()
        if len(body) > ANSWER_BYTES_MAX:
            raise UnexpectedAnswer(f"{request.route} answered more than {ANSWER_BYTES_MAX} bytes")
        if 200 <= response.status < 300:
            return body
        raise problem(request.route, response, body)

    def _connection(self, request: Request) -> http.client.HTTPSConnection:
        connection: http.client.HTTPSConnection | None = getattr(self._own, "connection", None)
        fresh = time.monotonic() - getattr(self._own, "used", 0.0) < IDLE_S_MAX
        if connection is not None and fresh:
            return connection
        self.close()
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)
        try:
            connection.connect()
        except OSError as cause:
            connection.close()
            where = f"{self._host}:{self._port}"
            raise NothingSent(f"{request.route}: {where} cannot be reached, nothing was sent: {said(cause)}", cause) from cause
        self._own.connection = connection
        return connection

    def close(self) -> None:
        """Closes this thread's connection."""
        connection: http.client.HTTPSConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
        self._own.connection = None


def tls_context(ca: str | PathLike[str] | None, identity: str | PathLike[str] | None) -> ssl.SSLContext:
    """TLS 1.3, with the authorities of `ca` or the machine's, and a certificate with its key to show where there is one."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as cause:
        raise ValueError(f"ca: {ca} must be a PEM file with certificates: {cause}") from cause
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if identity is not None:
        try:
            context.load_cert_chain(identity)
        except OSError as cause:
            raise ValueError(f"identity: {identity} must be a PEM file with a certificate and its key: {cause}") from cause
    return context


class NothingSent(Unreachable):
    """There was no connection."""

    def __init__(self, message: str, cause: OSError) -> None:
        super().__init__(message)
        away = (errno.EHOSTUNREACH, errno.ENETUNREACH)
        self.may_pass = isinstance(cause, (ConnectionError, TimeoutError, ssl.SSLEOFError)) or cause.errno in away
        """Whether the service may be back in a moment. A wrong name or certificate stays wrong."""


def said(cause: BaseException) -> str:
    """What an error of the network says, and what to do about it."""
    text = str(cause) or type(cause).__name__
    advice = {
        "CERTIFICATE_VERIFY_FAILED": "give the service's certificate as `ca` (tls-certificate.pem in its data directory)",
        "CERTIFICATE_REQUIRED": "the service demands a certificate of its callers; give yours with its key as `identity`",
        "UNKNOWN_CA": "the service takes no certificate of those who signed your `identity`; ask its operator (tls.client_ca)",
        "WRONG_VERSION_NUMBER": "this port does not speak TLS; check the port",
        "Connection refused": "nothing listens there; start the service, or correct host and port",
    }
    return next((f"{text}; {todo}" for word, todo in advice.items() if word in text), text)


def problem(route: str, response: http.client.HTTPResponse, body: bytes) -> Problem:
    """The error of an answer that is no success."""
    after = response.getheader("Retry-After") or ""
    retry_after = float(after) if after.isdigit() else None
    try:
        document = Answer.parse(route, body)
        return described(document, response.status, document.text("request_id"), retry_after)
    except UnexpectedAnswer as cause:
        message = f"{route} answered {response.status} without a problem document: is this a Trefoil service?"
        raise UnexpectedAnswer(message) from cause


def described(document: Answer, status: int, request_id: str, retry_after: float | None) -> Problem:
    """A problem document, wherever it stands."""

    def field_error(error: Answer) -> FieldError:
        return FieldError(error.text("pointer"), error.text("detail"))

    return Problem(
        status=status,
        code=document.text("code"),
        title=document.text("title"),
        detail=document.text("detail"),
        cure=document.text("cure"),
        request_id=request_id,
        errors=tuple(document.objects("errors", field_error)) if document.has("errors") else (),
        retry_after=retry_after,
    )
