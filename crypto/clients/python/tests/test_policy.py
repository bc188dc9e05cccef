"""Requirements: each is checked, and none can be lost by a mistake of the caller."""

import pytest
from trefoil_attest import (
    DANGEROUS_ANY_NONCE,
    DecodeError,
    JsonError,
    Policy,
    Seal,
    TrustRoot,
    VerifyError,
    verify,
    verify_seal,
)
from vectors import AUDIENCE, FULL, NONCE, NOW, data, text

ROOT = TrustRoot.from_json(text("trust-root.json"))
VERIFIED = verify(FULL, Policy(ROOT, AUDIENCE, NONCE), NOW)


def code(nonce: bytes | str = NONCE, audience: str = AUDIENCE, **requirements: object) -> str:
    try:
        verify(FULL, Policy(ROOT, audience, nonce, **requirements), NOW)
    except VerifyError as error:
        return error.code
    return "verified"


def test_what_was_verified_can_be_read() -> None:
    statement = VERIFIED.statement
    assert (statement.decision, statement.probe_mode, statement.audience) == ("match", "plain", AUDIENCE)
    assert (statement.nonce, statement.account, statement.tenant) == (NONCE, bytes([2] * 32), bytes([1] * 16))
    assert (statement.session, statement.place) == (bytes([10] * 32), 4)
    assert (VERIFIED.leaf_index, VERIFIED.seal_number) == (4, 17)
    assert VERIFIED.families == ["ml-dsa-65", "falcon-512-padded-r3", "slh-dsa-sha2-128f"]
    with pytest.raises(AttributeError):
        statement.decision = "no_match"
    for made in (type(VERIFIED), type(statement)):
        with pytest.raises(TypeError):
            made()


def test_every_requirement_is_met_by_what_is_attested_and_missed_by_anything_else() -> None:
    statement = VERIFIED.statement
    wrong = bytes(32)
    table = [
        ("tenant", {"tenant": statement.tenant}, {"tenant": wrong[:16]}),
        ("account", {"account": statement.account}, {"account": wrong}),
        ("request-digest", {"request_digest": statement.request_digest}, {"request_digest": wrong}),
        ("probe-mode", {"probe_mode": "plain"}, {"probe_mode": "shared"}),
        ("proof-level", {"proof_level": 2}, {"proof_level": 3}),
        ("policy-version", {"policy_version": (7, 3)}, {"policy_version": (7, 4)}),
        ("fmr-class", {"fmr_class": 4}, {"fmr_class": 5}),
        ("nonce", {"nonce": DANGEROUS_ANY_NONCE}, {"nonce": wrong}),
        ("audience", {"audience": AUDIENCE}, {"audience": AUDIENCE + "/"}),
    ]
    for name, met, missed in table:
        assert code(**met) == "verified", name
        assert code(**missed) == name


@pytest.mark.parametrize(
    "wrong",
    [
        {"tenant": bytes(15)},
        {"tenant": ""},
        {"account": "00" * 32},
        {"request_digest": bytes(33)},
        {"nonce": bytes(15)},
        {"nonce": bytes(65)},
        {"nonce": None},
        {"nonce": "any"},
        {"decision": "no_match"},
        {"probe_mode": ""},
        {"proof_level": 256},
        {"accept_no_proof": "yes"},
        {"proof_level": 0, "accept_no_proof": True},
        {"policy_version": 1},
        {"fmr_class": -1},
        {"clock_skew": 61},
        {"request_digset": bytes(32)},
    ],
    ids=str,
)
def test_a_requirement_that_is_malformed_or_misspelt_is_refused(wrong: dict) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        code(**wrong)


def test_a_compact_attestation_names_the_seal_to_fetch() -> None:
    with pytest.raises(VerifyError) as refusal:
        verify(data("compact.cbor"), Policy(ROOT, AUDIENCE, NONCE), NOW)
    seal = Seal.decode(data("seal.cbor"))
    assert (refusal.value.code, refusal.value.seal) == ("seal-needed", (seal.seal_number, seal.digest))
    assert seal.vaults == [(7, 0, None), None, (2**53 + 1, 300, (2**53 + 2, bytes([11] * 32)))]
    verify_seal(seal, ROOT)


def test_other_bytes_and_texts_are_refused() -> None:
    with pytest.raises(DecodeError):
        Seal.decode(data("seal.cbor")[:-1])
    with pytest.raises(DecodeError):
        TrustRoot.decode(b"")
    with pytest.raises(JsonError):
        TrustRoot.from_json("{}")
    with pytest.raises(TypeError):
        verify("text", Policy(ROOT, AUDIENCE, NONCE), NOW)
    for now in (-1, 2**64):
        with pytest.raises(ValueError):
            verify(FULL, Policy(ROOT, AUDIENCE, NONCE), now)
