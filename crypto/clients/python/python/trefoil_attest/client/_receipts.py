"""Receipts: what the service says that it changed, verified before an answer is believed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .. import TrustRoot, VerifiedChange, verify_change
from ._errors import UnexpectedAnswer
from ._json import Answer


@dataclass(frozen=True)
class Receipt:
    """That something was changed, verified under the pinned trust root."""

    verified: VerifiedChange
    attestation: bytes = field(repr=False)
    """CBOR: keep it to verify the receipt again."""
    seal_number: int


def receipt(answer: Answer, trust_root: TrustRoot, **said: object) -> Receipt | None:
    """The receipt of an answer, which must verify and say what the answer says. For any tenant: an API key does not tell whose it is."""
    if not answer.has("receipt"):
        return None
    shown = answer.object("receipt")
    attestation = shown.base64("attestation")
    verified = verify_change(attestation, trust_root, None, time.time())
    for name, value in said.items():
        if getattr(verified.change, name) != value:
            raise UnexpectedAnswer(f"the receipt says something else than the answer in {name!r}; do not believe it")
    return Receipt(verified, attestation, shown.whole("seal_number"))
