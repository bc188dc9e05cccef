"""The vectors that all verifiers of these formats share."""

import json
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
TESTDATA = PACKAGE.parent.parent / "attest" / "testdata"


def data(name: str) -> bytes:
    return (TESTDATA / name).read_bytes()


def text(name: str) -> str:
    return (TESTDATA / name).read_text(encoding="utf-8")


MANIFEST = json.loads(text("cases.json"))
ROTATION = json.loads(text("rotation.json"))
NOW = MANIFEST["now"]
AUDIENCE = MANIFEST["audience"]
NONCE = bytes.fromhex(MANIFEST["nonce"])
FULL = data("full.cbor")


def edited(case: dict) -> bytes:
    result = data(case["base"])
    for edit in case["edits"]:
        at, end = edit["at"], edit["at"] + edit["remove"]
        result = result[:at] + bytes.fromhex(edit["insert"]) + result[end:]
    return result
