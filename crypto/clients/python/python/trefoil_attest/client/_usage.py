"""What API keys were used for."""

from __future__ import annotations

from dataclasses import dataclass

from ._json import Answer


@dataclass(frozen=True)
class DayOfUse:
    """What an API key of a tenant was used for on one day."""

    api_key: bytes
    """Its public part."""
    day: int
    """Unix second at which the day began, in UTC."""
    matched: int
    """Logins decided with a match."""
    not_matched: int
    """Logins decided with none."""
    enrolments: int
    """Replacements among them."""
    refusals: int
    """Requests refused, or failed; of a batch each login."""


def day_of_use(answer: Answer) -> DayOfUse:
    counts = [answer.whole(name) for name in ("matched", "not_matched", "enrolments", "refusals")]
    return DayOfUse(answer.hexadecimal("api_key", 8), answer.whole("day"), *counts)
