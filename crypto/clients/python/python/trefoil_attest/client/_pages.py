"""Lists, which come in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from ._json import Answer
from ._transport import Request, Transport

T = TypeVar("T")


def pages(transport: Transport, path: str, name: str, read: Callable[[Answer], T]) -> Iterator[T]:
    """All entries of a list; each page is asked for when it is needed."""
    following = path
    while True:
        page = transport.json(Request("GET", following))
        yield from page.objects(name, read)
        if not page.has("next"):
            return
        following = f"{path}{'&' if '?' in path else '?'}from={page.text_or_whole('next')}"
