"""The shared vectors of receipts that carry their seal, with the same outcomes as the other verifiers."""

import json

import pytest
from trefoil_attest import TrustRoot, VerifiedChange, VerifyError, consent_digest, verify_change
from vectors import data, text

MANIFEST = json.loads(text("changes.json"))
CASES = [case for case in MANIFEST["cases"] if not case["seal"]]
FIELDS = "kind changed_at tenant salt handle generation replaced consent session".split()


def receipt(case: dict) -> bytes:
    compact = MANIFEST["compact"].get(case["base"])
    result = data(case["base"]) if compact is None else bytes.fromhex(compact)
    for edit in case["edits"]:
        at, end = edit["at"], edit["at"] + edit["remove"]
        result = result[:at] + bytes.fromhex(edit["insert"]) + result[end:]
    return result


def decide(case: dict) -> VerifiedChange:
    root = TrustRoot.from_json(text(case["trust_root"]))
    tenant = bytes.fromhex(case.get("tenant", MANIFEST["tenant"])) or None  # the service's own are of no tenant
    now = case.get("now", MANIFEST["now"])
    return verify_change(receipt(case), root, tenant, now)


def told(verified: VerifiedChange) -> dict:
    """As the vectors write it."""
    values = {name: getattr(verified.change, name) for name in FIELDS}
    return {
        name: value.hex() if isinstance(value, bytes) else value for name, value in values.items() if value is not None
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_receipt(case: dict) -> None:
    if case["expect"] == "verified":
        assert told(decide(case)) == case["change"]
        return
    with pytest.raises(VerifyError) as refused:
        decide(case)
    assert refused.value.code == case["expect"]


def test_the_manifest_has_cases_of_every_kind() -> None:
    expected = [case["expect"] for case in CASES]
    assert expected.count("verified") == 1 and len(expected) > 30
    enrolled = next(case for case in MANIFEST["cases"] if case["name"] == "enrolled")
    assert consent_digest("form 7").hex() == enrolled["change"]["consent"]
    with pytest.raises(ValueError, match="16 bytes"):
        verify_change(b"", TrustRoot.from_json(text("trust-root.json")), b"1", 0)
