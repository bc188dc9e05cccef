"""The operator's side against a running service: each change answers with a receipt that was verified."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from calls import altered, answers_lost, nonce, refused
from service import ANOTHERS, AUDIENCE, OWN, Service
from trefoil_attest import TrustRoot, VerifyError, verify_change_with_seal
from trefoil_attest.client import (
    Admin,
    Attempts,
    ChangedPolicy,
    PolicyVersion,
    Receipt,
    Tenant,
    TenantPolicy,
    UnexpectedAnswer,
    Unproven,
)

POLICY = TenantPolicy([AUDIENCE], "test-128", 3, 18_000, proof="none")


@pytest.fixture
def admin(service: Service) -> Admin:
    return service.admin()


def caller(service: Service, api_key: str) -> Tenant:
    return Tenant(service.url, api_key, service.trust_root, ca=service.ca)


def said(receipt: Receipt | None, kind: str, **fields: object) -> None:
    assert receipt is not None
    change = receipt.verified.change
    assert change.kind == kind
    assert {name: getattr(change, name) for name in fields} == fields


def test_a_tenant_is_made_shown_disabled_enabled_and_deleted(service: Service, admin: Admin) -> None:
    policy = TenantPolicy(["a.example"], fmr_class=2, level_min=1, sessions_in_memory=10)
    made = admin.create_tenant("shown", policy)
    said(made.receipt, "tenant_created", tenant=made.tenant_id, policy_digest=policy.digest(), by_operator=bytes(8))
    shown = admin.tenant(made.tenant_id.hex())
    assert (shown.tenant_id, shown.name, shown.policy, shown.root_generation) == (made.tenant_id, "shown", policy, None)
    assert f"<VerifiedChange tenant_created: tenant {made.tenant_id.hex()}, by" in repr(made)
    assert (shown.locked_out, shown.distinct_failures_refused) == (0, 0)
    assert "shown" in {tenant.name for tenant in admin.tenants()}

    tenant_id = admin.create_tenant("busy", POLICY).tenant_id
    assert admin.tenant(tenant_id).policy.score == 18_000
    app = caller(service, admin.create_api_key(tenant_id, ["enrol", "authenticate"]).api_key)
    ann = Unproven(tenant_id, bytes(32), AUDIENCE)
    app.enrol(ann.handle, OWN, "form 7")
    refused("tenant-in-use", admin.delete_tenant, tenant_id)
    disabled = admin.disable_tenant(tenant_id)
    assert disabled.disabled_at is not None
    said(disabled.receipt, "tenant_disabled", tenant=tenant_id)
    assert admin.disable_tenant(tenant_id).receipt is None, "nothing was changed again"
    refused("tenant-disabled", app.authenticate, ann, OWN, nonce())
    said(admin.enable_tenant(tenant_id).receipt, "tenant_enabled")
    assert app.authenticate(ann, OWN, nonce()).is_match
    admin.disable_tenant(tenant_id)
    deleted = admin.delete_tenant(tenant_id)
    assert deleted is not None and (deleted.tenant_id, deleted.templates) == (tenant_id, 1)
    said(deleted.receipt, "tenant_deleted", templates=1, changed_at=deleted.deleted_at)
    refused("tenant-unknown", admin.delete_tenant, tenant_id)

    problem = refused("field-invalid", admin.create_tenant, "t", TenantPolicy(["a.example"], fmr_class=9))
    assert [error.pointer for error in problem.errors] == ["/policy/threshold"]
    refused("caller-unauthenticated", service.admin("no-token").create_tenant, "t", policy)
    public = Admin(service.url, "no-token", service.trust_root, ca=service.ca)
    refused("route-unknown", public.tenant, made.tenant_id)


def test_a_receipt_names_whether_the_policy_asks_for_proofs(admin: Admin) -> None:
    digest = admin.create_tenant("unproven", POLICY).receipt.verified.change.policy_digest
    assert digest == POLICY.digest() != replace(POLICY, proof="credential").digest()


def test_a_lost_answer_creates_nothing_twice(service: Service, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        sent = answers_lost(patch)
        made = admin.create_tenant("once", POLICY)
        assert len(sent) == 2
    said(made.receipt, "tenant_created", tenant=made.tenant_id)
    assert [tenant.name for tenant in admin.tenants()].count("once") == 1
    again = admin.create_tenant("own key", POLICY, idempotency_key="mine")
    assert admin.create_tenant("own key", POLICY, idempotency_key="mine").tenant_id == again.tenant_id
    refused("idempotency-key-reused", admin.create_tenant, "other", POLICY, idempotency_key="mine")
    # A secret is shown once: the repetition names what to revoke.
    with monkeypatch.context() as patch:
        sent = answers_lost(patch)
        problem = refused("secret-shown", admin.create_api_key, made.tenant_id, ["enrol"])
        assert problem.resent and len(sent) == 2
    (key,) = admin.api_keys(made.tenant_id)
    assert key.id.hex() in problem.detail
    lost = admin.disable_tenant(made.tenant_id).tenant_id
    with monkeypatch.context() as patch:
        answers_lost(patch)
        assert admin.delete_tenant(lost) is None


def test_an_api_key_is_rotated(service: Service, admin: Admin) -> None:
    tenant_id = admin.create_tenant("rotating", POLICY).tenant_id
    old = admin.create_api_key(tenant_id, ["enrol"], label="kiosk", expires_at=int(time.time()) + 3_600)
    said(old.receipt, "api_key_created", tenant=tenant_id, api_key=old.id, scopes=1)
    new = admin.create_api_key(tenant_id, ["authenticate", "enrol"])
    said(new.receipt, "api_key_created", scopes=3)
    for key in (old, new):
        assert list(caller(service, key.api_key).subjects()) == []
        assert key.api_key not in repr(key)
    revoked = admin.revoke_api_key(tenant_id, old.id)
    assert (revoked.state, revoked.label, revoked.scopes, revoked.expires_at) == ("revoked", "kiosk", ("enrol",), old.expires_at)
    said(revoked.receipt, "api_key_revoked", api_key=old.id)
    assert admin.revoke_api_key(tenant_id, old.id.hex()).receipt is None
    assert {key.id: key.state for key in admin.api_keys(tenant_id)} == {old.id: "revoked", new.id: "active"}
    refused("caller-unauthenticated", lambda: list(caller(service, old.api_key).subjects()))


def test_a_changed_policy_is_a_version_with_a_receipt(admin: Admin) -> None:
    before, first = time.time(), TenantPolicy(["a.example"], fmr_class=3, level_min=1)
    assert TenantPolicy(["a.example"]).to_json()["threshold"] == {"fmr_class": 4}, "unless the operator asks for another"
    tenant_id = admin.create_tenant("changing", first).tenant_id
    stricter = replace(first, audiences=["a.example", "b.example"], fmr_class=4)
    changed = admin.set_policy(tenant_id, stricter, if_version=1)
    assert (changed.policy_version, changed.policy.fmr_class, admin.tenant(tenant_id).policy_version) == (2, 4, 2)
    assert before - 1 <= changed.made_at and changed.policy_digest == stricter.digest()
    named = {"policy_id": changed.policy_id, "policy_version": 2, "policy_digest": stricter.digest()}
    said(changed.receipt, "policy_changed", **named, changed_at=changed.made_at)
    refused("policy-overtaken", admin.set_policy, tenant_id, first, if_version=1)
    assert admin.set_policy(tenant_id, stricter).policy_version == 2, "the policy in force makes no version"
    # More than a page.
    for lifetime in range(6, 14):
        admin.set_policy(tenant_id, replace(first, attestation_lifetime_s=lifetime))
    versions = list(admin.policies(tenant_id))
    assert [version.policy_version for version in versions] == list(range(1, 11))
    assert versions[1] == version_of(changed) and versions[0].policy.level_min == 1


def version_of(changed: ChangedPolicy) -> PolicyVersion:
    return PolicyVersion(**{name: value for name, value in vars(changed).items() if name != "receipt"})


def test_a_locked_out_subject_is_counted_and_let_in_again(service: Service, admin: Admin) -> None:
    policy = replace(POLICY, attempts=Attempts(consecutive=2, delay_s=86_400))
    tenant_id = admin.create_tenant("locking", policy).tenant_id
    app = caller(service, admin.create_api_key(tenant_id, ["enrol", "authenticate"]).api_key)
    ann = Unproven(tenant_id, bytes(32), AUDIENCE)
    app.enrol(ann.handle, OWN, "form 7")
    for _ in range(2):
        assert not app.authenticate(ann, ANOTHERS, nonce()).is_match
    until(lambda: app.counts().locked_out == 1 == admin.tenant(tenant_id).locked_out)
    said(admin.reset_attempts(tenant_id, ann.handle), "attempts_reset", tenant=tenant_id, handle=None)
    until(lambda: app.counts().locked_out == 0)
    # A worker remembers for a second who had no attempt left.
    until(lambda: app.authenticate(ann, OWN, nonce()).is_match)
    refused("subject-unknown", admin.reset_attempts, tenant_id, bytes([1]) * 32)
    until(lambda: bool(list(admin.usage(tenant_id))))
    (day,) = admin.usage(tenant_id)
    assert (day.enrolments, day.day % 86_400) == (1, 0)
    said(admin.reset_malformed(tenant_id), "malformed_reset")


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_keys_of_templates_are_rotated_and_an_issuers_key_is_registered(admin: Admin) -> None:
    tenant_id = admin.create_tenant("renewing", replace(POLICY, proof="credential")).tenant_id
    started = admin.rotate_keys(tenant_id)
    assert (started.epoch, started.error) == (1, None)
    said(started.receipt, "key_rotation_begun", epoch=1)
    until(lambda: admin.key_rotation(tenant_id).state == "idle")
    assert admin.key_rotation(tenant_id).left == 0
    refused("field-invalid", admin.register_issuer_key, tenant_id, b"short")


def test_operators_have_roles_and_tokens_and_leave_a_trail(service: Service, admin: Admin) -> None:
    hour = int(time.time()) + 3_600
    made = admin.create_operator("Vic", "viewer", expires_at=hour)
    assert (made.number, made.expires_at) == (1, hour) and made.token not in repr(made)
    said(made.receipt, "operator_created", tenant=bytes(16), operator=made.operator_id, role=1, by_operator=bytes(8))
    vic = service.admin(made.token)
    tenant_id = admin.create_tenant("watched", POLICY).tenant_id
    assert vic.tenant(tenant_id).name == "watched"
    refused("role-missing", vic.disable_tenant, tenant_id)
    second = admin.create_operator_token(made.operator_id)
    said(second.receipt, "operator_token_created", operator=made.operator_id, token=2)
    refused("operator-conflict", admin.create_operator_token, made.operator_id)
    fewer = admin.revoke_operator_token(made.operator_id, 1)
    said(fewer.receipt, "operator_token_revoked", operator=made.operator_id, token=1)
    assert [token.revoked_at is None for token in fewer.tokens] == [False, True]
    refused("caller-unauthenticated", vic.tenant, tenant_id)
    vic = service.admin(second.token)
    listed = {operator.id: operator for operator in vic.operators()}
    assert listed[made.operator_id] == vic.operator(made.operator_id.hex())
    assert (listed[made.operator_id].name, listed[made.operator_id].role) == ("Vic", "viewer")
    assert listed[bytes(8)].role == "owner" and listed[bytes(8)].created_at is None
    revoked = admin.revoke_operator(made.operator_id)
    assert revoked.revoked_at is not None
    said(revoked.receipt, "operator_revoked", operator=made.operator_id)
    refused("operator-unknown", admin.operator, bytes([1]) * 8)

    trail = list(admin.audit(tenant_id))
    assert [(entry.action, entry.outcome) for entry in trail] == [("tenant_created", "done"), ("tenant_disabled", "refused")]
    assert (trail[1].operator_id, trail[1].operator_name, trail[1].tenant) == (made.operator_id, "Vic", tenant_id)
    numbers = [entry.number for entry in admin.audit()]
    assert numbers == sorted(numbers) and {entry.number for entry in trail} < set(numbers)
    # An entry names its seal, which anybody may fetch.
    sealed = trail[0].receipt
    assert sealed is not None
    seal = caller(service, "").seal(sealed.seal_number)
    verified = verify_change_with_seal(sealed.attestation, seal, service.trust_root, tenant_id, time.time())
    assert verified.change.policy_digest == POLICY.digest()


def test_a_trail_of_more_than_a_page_is_read_to_its_end(admin: Admin) -> None:
    tenant_id = admin.create_tenant("restless", POLICY).tenant_id
    for _ in range(130):
        admin.disable_tenant(tenant_id)
        admin.enable_tenant(tenant_id)
    entries = list(admin.audit(tenant_id))
    assert len(entries) == 261 and {entry.tenant for entry in entries} == {tenant_id}


def test_mistakes_of_operators_say_what_to_do(admin: Admin) -> None:
    with pytest.raises(TypeError, match=r"write \['https://shop.example'\]"):
        TenantPolicy("https://shop.example")
    for scopes in ("enrol", ["all"]):
        with pytest.raises(ValueError, match="scopes is a list of enrol, authenticate, issue, not"):
            admin.create_api_key(bytes(16), scopes)
    with pytest.raises(ValueError, match="role is one of viewer, operator, owner, not 'admin'"):
        admin.create_operator("bob", "admin")


def test_an_answer_that_its_receipt_does_not_bear_out_is_refused(
    service: Service, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (admin.create_tenant(name, POLICY).tenant_id for name in ("one", "other"))
    with monkeypatch.context() as patch:
        altered(patch, lambda answer: answer.update(tenant_id=other.hex()), "/v1/tenants")
        with pytest.raises(VerifyError) as caught:
            admin.create_tenant("third", POLICY)
        assert caught.value.code == "tenant"
    with monkeypatch.context() as patch:
        altered(patch, lambda answer: answer.update(id="00" * 8), f"/v1/tenants/{one.hex()}/api-keys")
        with pytest.raises(UnexpectedAnswer, match="something else than the answer in 'api_key'"):
            admin.create_api_key(one, ["enrol"])
    with monkeypatch.context() as patch:
        patch.setattr(TenantPolicy, "digest", lambda _: bytes(32))
        with pytest.raises(UnexpectedAnswer, match="policy_digest"):
            admin.set_policy(one, replace(POLICY, fmr_class=2))
    forged = TrustRoot.from_json(service.trust_root.to_json().replace(service.trust_root.issuer, "https://other.example"))
    with pytest.raises(VerifyError):
        Admin(service.admin_url, (service.data / "admin.token").read_text(), forged, ca=service.ca).disable_tenant(one)
