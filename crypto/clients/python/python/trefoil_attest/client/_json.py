"""Reading answers: a field of the wrong kind is an `UnexpectedAnswer` that names it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from ._errors import UnexpectedAnswer

T = TypeVar("T")


class Answer:
    """A JSON object of an answer to `route`."""

    def __init__(self, route: str, value: object) -> None:
        if not isinstance(value, dict):
            raise UnexpectedAnswer(f"{route} answered something else than a JSON object")
        self._route = route
        self._fields: dict[str, object] = value

    @staticmethod
    def parse(route: str, body: bytes) -> Answer:
        try:
            return Answer(route, json.loads(body))
        except ValueError as cause:
            raise UnexpectedAnswer(f"{route} answered something else than JSON: {cause}") from cause

    def _wrong(self, name: str, expected: str) -> UnexpectedAnswer:
        return UnexpectedAnswer(f"{self._route} answered without {expected} in {name!r}")

    def text(self, name: str) -> str:
        value = self._fields.get(name)
        if isinstance(value, str):
            return value
        raise self._wrong(name, "a text")

    def one_of(self, name: str, known: Sequence[T]) -> T:
        """A text that is one of these."""
        for value in known:
            if value == self._fields.get(name):
                return value
        raise self._wrong(name, f"one of {', '.join(map(str, known))}")

    def whole(self, name: str) -> int:
        value = self._fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self._wrong(name, "a whole number")

    def number_or_none(self, name: str) -> float | None:
        value = self._fields.get(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise self._wrong(name, "a number")

    def whole_or_none(self, name: str) -> int | None:
        return None if self._fields.get(name) is None else self.whole(name)

    def hexadecimal(self, name: str, length: int) -> bytes:
        try:
            value = bytes.fromhex(self.text(name))
        except ValueError:
            value = b""
        if len(value) == length:
            return value
        raise self._wrong(name, f"{2 * length} hexadecimal digits")

    def base64(self, name: str) -> bytes:
        try:
            return base64.b64decode(self.text(name), validate=True)
        except binascii.Error as cause:
            raise self._wrong(name, "base64") from cause

    def objects(self, name: str, read: Callable[[Answer], T]) -> list[T]:
        values = self._fields.get(name)
        if isinstance(values, list):
            return [read(Answer(self._route, value)) for value in values]
        raise self._wrong(name, "an array")

    def object(self, name: str) -> Answer:
        return Answer(f"{self._route}, {name!r},", self._fields.get(name))

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None


def identifier(value: bytes | str, length: int, name: str) -> str:
    """The hexadecimal digits of an identifier, which may come as such."""
    if not isinstance(value, (bytes, bytearray, str)):
        raise TypeError(f"{name} has {length} bytes, or {2 * length} hexadecimal digits; it is {type(value).__name__}")
    try:
        given = bytes.fromhex(value) if isinstance(value, str) else value
    except ValueError:
        given = b""
    if len(given) != length:
        raise ValueError(f"{name} has {length} bytes, or {2 * length} hexadecimal digits")
    return given.hex()
