"""The shared vectors, with the same outcomes as the other verifiers."""

import pytest
from trefoil_attest import (
    Policy,
    Seal,
    TrustRoot,
    UpdateError,
    VerifyError,
    verify,
    verify_succession,
    verify_with_seal,
)
from vectors import AUDIENCE, DEVICE, MANIFEST, NONCE, NOW, ROTATION, applied, data, edited, text

SEAL = Seal.decode(data("seal.cbor"))


def decide(case: dict) -> str:
    nonce = bytes.fromhex(case["nonce"]) if "nonce" in case else NONCE
    tenant = bytes.fromhex(case["tenant"]) if "tenant" in case else None
    root = TrustRoot.from_json(text(case["trust_root"]))
    accept_no_proof = case.get("accept_no_proof", False)
    key = bytes.fromhex(case["account_key"]) if "account_key" in case else None
    audience = case.get("audience", AUDIENCE)
    policy = Policy(root, audience, nonce, tenant=tenant, account_key=key, accept_no_proof=accept_no_proof)
    now = case.get("now", NOW)
    try:
        if case["seal"]:
            verified = verify_with_seal(edited(case), SEAL, policy, now)
        else:
            verified = verify(edited(case), policy, now)
    except VerifyError as error:
        return error.code
    assert (verified.account_key and verified.account_key.hex()) == case.get("device")
    return "verified"


@pytest.mark.parametrize("case", MANIFEST["cases"], ids=lambda case: case["name"])
def test_attestation(case: dict) -> None:
    assert decide(case) == case["expect"]


def test_the_manifest_has_cases_of_every_kind() -> None:
    expected = [case["expect"] for case in MANIFEST["cases"]]
    verified = expected.count("verified")
    assert verified >= 26 and len(expected) - verified >= 443


@pytest.mark.parametrize("case", DEVICE["successions"], ids=lambda case: case["name"])
def test_succession(case: dict) -> None:
    succession = applied(bytes.fromhex(DEVICE["succession"]["bytes"]), case["edits"])
    try:
        kept = verify_succession(succession, bytes.fromhex(case["account"]), bytes.fromhex(case["account_key"]))
    except VerifyError as error:
        assert error.code == case["expect"]
        return
    assert case["expect"] == "verified"
    assert [part.hex() for part in kept] == [DEVICE["succession"][field] for field in ("new_account", "new_account_key")]


@pytest.mark.parametrize("case", ROTATION["cases"], ids=lambda case: case["name"])
def test_rotation(case: dict) -> None:
    pinned, following = (TrustRoot.decode(data(case[field])) for field in ("pinned", "next"))
    try:
        pinned.accept(following)
        outcome = "accepted"
    except UpdateError as error:
        outcome = error.code
    assert outcome == case["expect"]


def test_a_later_version_reads_alike_from_both_forms() -> None:
    root = TrustRoot.from_json(text("trust-root-2.json"))
    assert root.version == 2
    assert root.to_json() == TrustRoot.decode(data(ROTATION["cases"][0]["next"])).to_json()


def test_now_is_the_clock_as_python_gives_it_and_not_milliseconds() -> None:
    policy = Policy(TrustRoot.from_json(text("trust-root.json")), AUDIENCE, NONCE)
    full = data("full.cbor")
    assert verify(full, policy, NOW + 0.9).statement_digest == verify(full, policy, NOW).statement_digest
    for wrong in (NOW * 1000, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="Unix seconds, not milliseconds"):
            verify(full, policy, wrong)
    with pytest.raises(TypeError, match="number of Unix seconds"):
        verify(full, policy, "now")


def test_what_was_verified_is_shown() -> None:
    policy = Policy(TrustRoot.from_json(text("trust-root.json")), AUDIENCE, NONCE)
    verified = verify(data("full.cbor"), policy, NOW)
    shown = repr(verified)
    for part in ("match", verified.statement.account.hex(), AUDIENCE, verified.statement.issuer, *verified.families):
        assert part in shown, part
    assert NONCE.hex() not in shown and "without a credential proof" not in shown
    without = Policy(TrustRoot.from_json(text("trust-root.json")), AUDIENCE, NONCE, accept_no_proof=True)
    assert "match without a credential proof" in repr(verify(data("without-proof.cbor"), without, NOW))
