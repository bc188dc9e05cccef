"""A tenant without credentials, from its creation to a login that is verified, with nothing but this package."""

import hashlib
import hmac
import secrets
import time
from dataclasses import replace

import numpy as np
import pytest
from calls import refused
from service import ANOTHERS, AUDIENCE, OWN, UNPROVEN, Member, Service
from trefoil_attest import Policy, VerifyError, verify
from trefoil_attest.client import Attempt, Problem, Tenant, Unproven


@pytest.fixture(scope="module")
def shop(service: Service) -> tuple[Tenant, Unproven]:
    tenant_id = service.make_tenant(UNPROVEN)
    tenant = service.tenant(service.make_key(tenant_id, "enrol", "authenticate")["api_key"])
    # The application's own user id, which nobody learns from the handle.
    handle = hmac.digest(b"the application's key", b"ann@shop.example", hashlib.sha3_256)
    assert tenant.enrol(handle, [OWN], "form 7").generation == 1
    return tenant, Unproven(tenant_id, handle, AUDIENCE)


def test_a_login_is_verified_and_says_that_it_has_no_proof(service: Service, shop: tuple[Tenant, Unproven]) -> None:
    tenant, ann = shop
    nonce = secrets.token_bytes(32)
    login = tenant.authenticate(ann, OWN, nonce)
    statement = login.verified.statement
    assert login.is_match and (statement.proof_level, statement.session) == (None, None)
    assert "match without a credential proof" in repr(login)
    # A relying party gets the bytes: it refuses them unless it accepts that there is no proof.
    with pytest.raises(VerifyError) as caught:
        verify(login.attestation, Policy(service.trust_root, AUDIENCE, nonce), time.time())
    assert caught.value.code == "no-proof"
    accepting = Policy(service.trust_root, AUDIENCE, nonce, tenant=ann.tenant, accept_no_proof=True)
    assert verify(login.attestation, accepting, time.time()).statement.account == statement.account
    # The account is the same at every login, and is checked where it was kept.
    known = replace(ann, account=statement.account)
    assert tenant.authenticate(known, ANOTHERS, secrets.token_bytes(32), attestation="compact").decision == "no_match"
    with pytest.raises(VerifyError) as caught:
        tenant.authenticate(replace(ann, account=bytes(32)), OWN, secrets.token_bytes(32))
    assert caught.value.code == "account"
    elsewhere = replace(ann, audience="https://other.example")
    other = tenant.authenticate(elsewhere, OWN, secrets.token_bytes(32)).verified.statement.account
    assert other not in (statement.account, ann.handle)


@pytest.mark.parametrize("numbers", [192, 512])
def test_arrays_of_any_width_are_compared_and_another_length_is_refused_with_both(service: Service, numbers: int) -> None:
    own, anothers = (wave(0.7 * np.arange(numbers, dtype=np.float32)) for wave in (np.sin, np.cos))
    model = {"embedder": f"test-{numbers}", "dimension": numbers}
    tenant_id = service.make_tenant(UNPROVEN | model)
    tenant = service.tenant(service.make_key(tenant_id, "enrol", "authenticate")["api_key"])
    bob = Unproven(tenant_id, secrets.token_bytes(32), AUDIENCE)
    assert tenant.enrol(bob.handle, [own, 2 * own], "form 7").agreement == 1.0
    for face, decision in [(own, "match"), (anothers, "no_match")]:
        login = tenant.authenticate(bob, face, secrets.token_bytes(32))
        assert (login.decision, login.verified.statement.embedder) == (decision, model["embedder"])
    for call in (
        lambda short: tenant.enrol(bytes(32), [own, short], "form 7"),
        lambda short: tenant.authenticate(bob, short, secrets.token_bytes(32)),
    ):
        problem = refused("embedding-invalid", call, own[1:])
        assert f"expected {numbers} numbers, which model test-{numbers} gives, got {numbers - 1}" in problem.detail


def test_a_decision_comes_without_an_attestation(shop: tuple[Tenant, Unproven]) -> None:
    tenant, ann = shop
    assert tenant.decide(ann, OWN, secrets.token_bytes(32)).is_match
    assert tenant.decide(ann, ANOTHERS, secrets.token_bytes(32)).decision == "no_match"


def test_an_attestation_of_another_tenant_or_request_is_refused(shop: tuple[Tenant, Unproven]) -> None:
    tenant, ann = shop
    with pytest.raises(VerifyError) as caught:
        tenant.authenticate(replace(ann, tenant=bytes(16)), OWN, secrets.token_bytes(32))
    assert caught.value.code == "tenant"
    for name in ("tenant", "handle", "account"):
        with pytest.raises(ValueError, match=f"{name} has"):
            replace(ann, **{name: b"short"})


def test_logins_of_a_batch_are_for_themselves_and_a_nonce_is_taken_once(shop: tuple[Tenant, Unproven]) -> None:
    tenant, ann = shop
    used = secrets.token_bytes(32)
    assert tenant.authenticate(ann, OWN, used).is_match
    stranger = replace(ann, handle=bytes(32))
    attempts = [
        Attempt(ann, OWN, secrets.token_bytes(32)),
        Attempt(ann, OWN, used),
        Attempt(stranger, OWN, used),
        Attempt(ann, OWN, secrets.token_bytes(32)),
    ]
    results = tenant.authenticate_many(attempts)
    said = [result.code if isinstance(result, Problem) else result.decision for result in results]
    assert said == ["match", "nonce-replayed", "subject-unknown", "match"]


def test_a_session_and_a_subject_without_one_do_not_pass_for_each_other(
    ann: Member, shop: tuple[Tenant, Unproven]
) -> None:
    tenant, unproven = shop
    proof = ann.proof("unproven.proof")
    with pytest.raises(Problem) as caught:
        tenant.open_session(proof)
    assert caught.value.code == "proof-mode-mismatch"
    with pytest.raises(Problem) as caught:
        ann.tenant().authenticate(replace(unproven, tenant=ann.tenant_id, handle=proof.handle), OWN, secrets.token_bytes(32))
    assert caught.value.code == "field-invalid" and "session_id" in caught.value.detail


def test_a_revoked_subject_is_refused_until_its_template_is_replaced(shop: tuple[Tenant, Unproven]) -> None:
    tenant, ann = shop
    bea = replace(ann, handle=secrets.token_bytes(32))
    assert tenant.enrol(bea.handle, [OWN], "form 7").generation == 1
    revoked = tenant.revoke(bea.handle)
    assert (revoked.handle, revoked.generation) == (bea.handle, 1) and revoked.receipt is not None
    change = revoked.receipt.verified.change
    assert (change.kind, change.handle, change.generation) == ("revoked", bea.handle, 1)
    assert (change.tenant, change.changed_at) == (ann.tenant, revoked.revoked_at)
    assert tenant.revoke(bea.handle.hex()).revoked_at == revoked.revoked_at
    refused("subject-unknown", tenant.authenticate, bea, OWN, secrets.token_bytes(32))
    assert tenant.replace(bea.handle, [OWN], "form 8").replaced == 1
    assert tenant.authenticate(bea, OWN, secrets.token_bytes(32)).is_match
    tenant.revoke(bea.handle)
    erased = tenant.delete(bea.handle)
    assert erased is not None and erased.generation == 2
    refused("subject-unknown", tenant.revoke, bea.handle)
