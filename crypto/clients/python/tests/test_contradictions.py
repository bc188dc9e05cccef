"""The shared vectors of contradictions: every pair verifies, and is related as by the other verifiers."""

import json

import pytest
from trefoil_attest import DANGEROUS_ANY_NONCE, Policy, Seal, TrustRoot, Verified, compare, verify_with_seal
from vectors import text

VECTORS = json.loads(text("contradictions.json"))
SEALS = [Seal.decode(bytes.fromhex(seal)) for seal in VECTORS["seals"]]
RELATIONS = {
    "unrelated",
    "same",
    "repeated",
    *(f"contradiction-{what}" for what in ("decision", "account", "session", "tenant", "audience", "nonce")),
}


def verified(name: str) -> Verified:
    case = VECTORS["attestations"][name]
    # The one case for another audience; elsewhere the verifier would refuse it.
    audience = "https://mall.example" if name == "another audience" else "https://shop.example"
    root = TrustRoot.from_json(text(case["trust_root"]))
    policy = Policy(root, audience, DANGEROUS_ANY_NONCE, decision="any", accept_no_proof=True)
    return verify_with_seal(bytes.fromhex(case["bytes"]), SEALS[case["seal"]], policy, VECTORS["now"])


def test_every_pair_is_related_as_stated_in_any_order() -> None:
    seen = set()
    for pair in VECTORS["pairs"]:
        one, other = verified(pair["one"]), verified(pair["other"])
        assert compare(one, other) == compare(other, one) == pair["expect"], pair
        seen.add(pair["expect"])
    assert seen == RELATIONS


def test_only_what_was_verified_is_compared() -> None:
    one = verified("match")
    for other in (one.statement, one.statement_digest, None):
        with pytest.raises(TypeError):
            compare(one, other)
