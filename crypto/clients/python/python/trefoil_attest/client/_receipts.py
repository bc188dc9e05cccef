"""Receipts: what the service says that it changed, verified before an answer is believed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .. import TrustRoot, VerifiedChange, verify_change
from ._errors import UnexpectedAnswer
from ._json import Answer

SERVICE = bytes(16)
"""In place of a tenant, where a change concerns the service itself."""


@dataclass(frozen=True)
class Receipt:
    """That something was changed, verified under the pinned trust root."""

    verified: VerifiedChange
    attestation: bytes = field(repr=False)
    """CBOR: keep it to verify the receipt again."""
    seal_number: int


@dataclass(frozen=True)
class SealedEntry:
    """The receipt of an entry of the audit trail, which names its seal and is not verified here: give it to
    `trefoil_attest.verify_change_with_seal` with the seal that `Tenant.seal` gives."""

    attestation: bytes
    """CBOR."""
    seal_number: int


def pinned(trust_root: TrustRoot) -> TrustRoot:
    """Refuses a path or a text when a client is made, and not when its first answer is verified."""
    if not isinstance(trust_root, TrustRoot):
        raise TypeError("trust_root is a TrustRoot; TrustRoot.from_json reads the text of trust-root.json")
    return trust_root


def receipt(answer: Answer, trust_root: TrustRoot, tenant: bytes | None, **said: object) -> Receipt | None:
    """The receipt of an answer, which must verify, be of this tenant and say what the answer says."""
    if not answer.has("receipt"):
        return None
    shown = answer.object("receipt")
    attestation = shown.base64("attestation")
    verified = verify_change(attestation, trust_root, tenant, time.time())
    for name, value in said.items():
        if getattr(verified.change, name) != value:
            raise UnexpectedAnswer(f"the receipt says something else than the answer in {name!r}; do not believe it")
    return Receipt(verified, attestation, shown.whole("seal_number"))
