"""Operators of the service, their tokens, and the audit trail of what they changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from ._json import Answer
from ._receipts import Receipt, SealedEntry

Role = Literal["viewer", "operator", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
"""In the order of their numbers in receipts, which count from 1; each may do what the one before it may."""
Outcome = Literal["done", "refused"]


@dataclass(frozen=True)
class OperatorToken:
    """A token of an operator, without its secret. Times are Unix seconds."""

    number: int
    """Counts the operator's tokens from 1."""
    created_at: int
    expires_at: int | None
    revoked_at: int | None


@dataclass(frozen=True)
class Operator:
    """An operator of the service."""

    id: bytes
    """Zeros are the operator of the file `admin.token`."""
    name: str
    role: Role
    created_at: int | None
    """`None` for the operator of the file `admin.token`."""
    revoked_at: int | None
    tokens: tuple[OperatorToken, ...]
    """Oldest first, the ended ones too."""


@dataclass(frozen=True)
class ChangedOperator(Operator):
    """An operator who was revoked, or whose token was."""

    receipt: Receipt | None
    """`None` where it was revoked already, or where the service could not seal it."""


@dataclass(frozen=True)
class CreatedToken:
    """A token with its secret, which the service shows once."""

    operator_id: bytes
    token: str = field(repr=False)
    number: int
    expires_at: int | None
    receipt: Receipt | None


@dataclass(frozen=True)
class AuditEntry:
    """What an operator changed, or was refused for the role."""

    number: int
    at: int
    """Unix seconds."""
    operator_id: bytes | None
    """`None` where the service did it on its own, as the end of a key rotation."""
    operator_name: str | None
    tenant: bytes | None
    """`None` where it concerns the service itself."""
    action: str
    """A kind of change, such as `policy_changed`."""
    outcome: Outcome
    object: str | None
    """What it was done to."""
    receipt: SealedEntry | None
    """`None` until it is sealed."""


def operator(answer: Answer) -> Operator:
    return Operator(
        id=answer.hexadecimal("operator_id", 8),
        name=answer.text("name"),
        role=answer.one_of("role", ROLES),
        created_at=answer.whole_or_none("created_at"),
        revoked_at=answer.whole_or_none("revoked_at"),
        tokens=tuple(answer.objects("tokens", operator_token)),
    )


def operator_token(answer: Answer) -> OperatorToken:
    return OperatorToken(
        number=answer.whole("number"),
        created_at=answer.whole("created_at"),
        expires_at=answer.whole_or_none("expires_at"),
        revoked_at=answer.whole_or_none("revoked_at"),
    )


def audit_entry(answer: Answer) -> AuditEntry:
    receipt = answer.object("receipt") if answer.has("receipt") else None
    return AuditEntry(
        number=answer.whole("number"),
        at=answer.whole("at"),
        operator_id=answer.hexadecimal("operator_id", 8) if answer.has("operator_id") else None,
        operator_name=answer.text("operator_name") if answer.has("operator_name") else None,
        tenant=answer.hexadecimal("tenant", 16) if answer.has("tenant") else None,
        action=answer.text("action"),
        outcome=answer.one_of("outcome", get_args(Outcome)),
        object=answer.text("object") if answer.has("object") else None,
        receipt=None if receipt is None else SealedEntry(receipt.base64("attestation"), receipt.whole("seal_number")),
    )
