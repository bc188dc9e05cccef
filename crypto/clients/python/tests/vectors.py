"""The vectors that all verifiers of these formats share."""

import json
from pathlib import Path

from trefoil_attest import Seal

PACKAGE = Path(__file__).resolve().parent.parent
TESTDATA = PACKAGE.parent.parent / "attest" / "testdata"


def data(name: str) -> bytes:
    return (TESTDATA / name).read_bytes()


def text(name: str) -> str:
    return (TESTDATA / name).read_text(encoding="utf-8")


MANIFEST = json.loads(text("cases.json"))
CONSISTENCY = json.loads(text("consistency.json"))
DEVICE = json.loads(text("device.json"))
ROTATION = json.loads(text("rotation.json"))
NOW = MANIFEST["now"]
AUDIENCE = MANIFEST["audience"]
NONCE = bytes.fromhex(MANIFEST["nonce"])
FULL = data("full.cbor")


def edited(case: dict) -> bytes:
    return applied(data(case["base"]), case["edits"])


def applied(result: bytes, edits: list) -> bytes:
    for edit in edits:
        at, end = edit["at"], edit["at"] + edit["remove"]
        result = result[:at] + bytes.fromhex(edit["insert"]) + result[end:]
    return result


def seal(name: str) -> Seal:
    """A seal of the vectors of consistency: well formed, its signatures are zeros."""
    pieces = CONSISTENCY["seals"][name]
    return Seal.decode(b"".join(bytes(piece) if isinstance(piece, int) else bytes.fromhex(piece) for piece in pieces))
