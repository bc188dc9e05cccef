"""What API keys may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Scope = Literal["enrol", "authenticate", "issue"]
SCOPES: Mapping[Scope, int] = {"enrol": 1, "authenticate": 2, "issue": 4}
"""Receipts have the sum of these."""


def listed(scopes: Sequence[Scope]) -> list[Scope]:
    """The scopes of a list; a text in its place is a mistake."""
    if isinstance(scopes, str) or not set(scopes) <= set(SCOPES):
        raise ValueError(f"scopes is a list of {', '.join(SCOPES)}, not {scopes!r}")
    return list(scopes)
