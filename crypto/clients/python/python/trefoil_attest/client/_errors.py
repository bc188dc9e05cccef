"""Why a call failed."""

from __future__ import annotations

from dataclasses import dataclass


class TrefoilError(Exception):
    """Anything that a call of this package raises about the service or the way to it."""


@dataclass(frozen=True)
class FieldError:
    """One offending place in a JSON body."""

    pointer: str
    """JSON pointer (RFC 6901)."""
    detail: str


class Problem(TrefoilError):
    """The service declined or failed, and said why: a problem document (RFC 9457)."""

    def __init__(
        self,
        *,
        status: int,
        code: str,
        title: str,
        detail: str,
        cure: str,
        request_id: str,
        errors: tuple[FieldError, ...],
        retry_after: float | None,
    ) -> None:
        named = f" (request {request_id})" if request_id else ""
        super().__init__(f"{status} {code}: {detail}. {cure}{named}".replace(".. ", ". ").replace("  ", " "))
        self.status = status
        self.code = code
        """The stable name."""
        self.title = title
        self.detail = detail
        self.cure = cure
        self.request_id = request_id
        """Names the request in the service's log; empty for an entry of a batch."""
        self.errors = errors
        self.retry_after = retry_after
        """Seconds after which a repetition makes sense, if one does."""
        self.resent = False
        """Whether the request was sent before in this call, and its connection broke without an answer."""


class Unreachable(TrefoilError):
    """No answer came. The request may have been carried out, unless the message says that nothing was sent."""


class UnexpectedAnswer(TrefoilError):
    """An answer that is not what API.md says: another service, another version, or one that contradicts its attestation."""
