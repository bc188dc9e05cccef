"""One login of many: what is shown, and why it was refused."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._errors import Problem
from ._json import Answer
from ._login import Embedding, Session, Unproven, named
from ._transport import described


@dataclass(frozen=True)
class Attempt:
    """A face, shown in a session or of an `Unproven` subject, for a relying party's nonce."""

    session: Session | Unproven
    embedding: Embedding
    nonce: bytes
    """16 to 64 bytes, fresh for each login."""
    source: str | None = field(default=None, repr=False)
    """Where your user is, under a name of your choice, such as a keyed hash of the address: 1 to 64 bytes. The service limits failures
    by it."""
    embedder: str | None = None
    """The model of the face: needed where two models of the tenant give as many numbers."""

    def names(self) -> dict[str, str]:
        """What the application says of the login, checked."""
        return named(source=self.source, embedder=self.embedder)


def checked(nonce: bytes) -> bytes:
    if not isinstance(nonce, (bytes, bytearray)):
        raise TypeError(f"nonce is the 16 to 64 bytes that the relying party sent, not {type(nonce).__name__}")
    if not 16 <= len(nonce) <= 64:
        raise ValueError("nonce has 16 to 64 bytes")
    return nonce


def entry_problem(document: Answer) -> Problem:
    """The problem of one entry of a batch."""
    return described(document, document.whole("status"), "", document.whole_or_none("retry_after_s"))
