"""Bodies in CBOR (RFC 8949) for schemathesis, which has no serialiser for them: the values that it makes for JSON, in CBOR."""

import struct
from typing import Any

import schemathesis


def _head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([major << 5 | argument])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * size:
            return bytes([major << 5 | code]) + argument.to_bytes(size, "big")
    raise OverflowError


def _number(value: int) -> bytes:
    if -(1 << 64) <= value < 1 << 64:
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    # As a JSON parser reads it.
    return _float(float(value)) if abs(value) < 1 << 1023 else _float(1.7e308)


def _float(value: float) -> bytes:
    return b"\xfb" + struct.pack(">d", value)


def _text(value: str) -> bytes:
    # A lone surrogate, which JSON can escape, is no UTF-8 here: the service refuses it.
    data = value.encode("utf-8", "surrogatepass")
    return _head(3, len(data)) + data


def encoded(value: Any) -> bytes:
    """The CBOR of a value of JSON."""
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        members = (_text(str(key)) + encoded(member) for key, member in value.items())
        return _head(5, len(value)) + b"".join(members)
    return _head(4, len(value)) + b"".join(encoded(item) for item in value)


@schemathesis.serializer("application/cbor")
def serialize(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else encoded(value)
