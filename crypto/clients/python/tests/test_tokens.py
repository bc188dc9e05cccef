"""Access tokens in place of an API key."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from service import AUDIENCE, Service
from trefoil_attest.client import Problem, Tenant, TenantPolicy
from trefoil_attest.client import _tokens
from trefoil_attest.client._transport import Request, Transport

Key = tuple[bytes, bytes, str]


@pytest.fixture
def key(service: Service) -> Key:
    """A tenant, and the id and the text of its API key."""
    admin = service.admin()
    tenant_id = admin.create_tenant("tokens", TenantPolicy([AUDIENCE])).tenant_id
    created = admin.create_api_key(tenant_id, ["enrol", "authenticate"])
    return tenant_id, created.id, created.api_key


def caller(service: Service, text: str, **options) -> Tenant:
    return Tenant(service.url, text, service.trust_root, ca=service.ca, **options)


def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Path and credential of each request from now on."""
    once, requests = Transport._once, []

    def note(self: Transport, request: Request) -> bytes:
        requests.append((request.path, request.authorization))
        return once(self, request)

    monkeypatch.setattr(Transport, "_once", note)
    return requests


def refusal(call, *arguments, **named) -> Problem:
    with pytest.raises(Problem) as caught:
        call(*arguments, **named)
    return caught.value


def test_a_token_is_given_to_a_process_that_is_not_to_have_the_key(service: Service, key: Key) -> None:
    token = caller(service, key[2]).access_token(["authenticate"])
    assert token.scopes == ("authenticate",) and abs(token.expires_at - time.time() - 600) < 5
    assert token.text not in repr(token)
    kiosk = caller(service, token.text)
    assert kiosk.counts().tenant_id == key[0]
    assert refusal(lambda: list(kiosk.subjects())).code == "scope-missing"
    assert caller(service, key[2]).access_token().scopes == ("enrol", "authenticate")
    with pytest.raises(ValueError, match="only an API key"):
        kiosk.access_token()


def test_the_key_is_sent_only_to_exchange_it(service: Service, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = shown(monkeypatch)
    tenant = caller(service, key[2], token=True)
    assert requests == []
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: tenant.counts(), range(16)))
    (first, *others) = requests
    assert first[0] == "/oauth2/token" and first[1].startswith("Basic ")
    assert {path for path, _ in others} == {"/v1/tenant"} and len(others) == 16
    (bearer,) = {credential for _, credential in others}
    assert bearer.startswith("Bearer trefoil_access_") and key[2] not in bearer
    # Only some scopes.
    narrow = caller(service, key[2], token=["enrol"])
    assert list(narrow.subjects()) == []
    assert refusal(narrow.counts).code == "scope-missing"


def test_a_token_is_renewed_before_it_ends_and_after_the_service_refused_it(
    service: Service, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, requests = caller(service, key[2], token=True), shown(monkeypatch)
    tenant.counts()
    tokens = tenant._transport._tokens
    assert 400 < tokens._due - time.time() < 500
    tokens._due = time.time()
    tenant.counts()
    assert [path for path, _ in requests] == ["/oauth2/token", "/v1/tenant"] * 2
    # As after a restart.
    tokens._token = replace(tokens._token, text="trefoil_access_of_another_process")
    del requests[:]
    tenant.counts()
    assert [path for path, _ in requests] == ["/v1/tenant", "/oauth2/token", "/v1/tenant"]
    # Once, and not for ever.
    other = replace(tokens._token, text="trefoil_access_of_another_process")
    monkeypatch.setattr(_tokens, "granted", lambda *of: other)
    tokens.forget()
    del requests[:]
    assert refusal(tenant.counts).code == "caller-unauthenticated"
    assert [path for path, _ in requests] == ["/oauth2/token", "/v1/tenant"] * 2


def test_a_refused_exchange_says_why_and_what_to_do(service: Service, key: Key) -> None:
    tenant_id, id, text = key
    tenant, admin = caller(service, text, token=True), service.admin()
    problem = refusal(tenant.access_token, ["issue"])
    assert (problem.status, problem.code) == (400, "invalid_scope") and "`enrol authenticate`" in problem.detail
    assert problem.request_id and problem.request_id in str(problem)
    admin.disable_tenant(tenant_id)
    assert refusal(tenant.counts).code == "unauthorized_client"
    admin.enable_tenant(tenant_id)
    tenant.counts()
    admin.revoke_api_key(tenant_id, id)
    problem = refusal(tenant.counts)
    assert (problem.status, problem.code) == (401, "invalid_client") and "revoked" in problem.detail
    assert text not in str(problem)


def test_mistakes_are_named_before_anything_is_sent(service: Service, key: Key) -> None:
    with pytest.raises(ValueError, match="scopes is a list of enrol, authenticate, issue"):
        caller(service, key[2], token="authenticate")
    with pytest.raises(ValueError, match="scopes is a list"):
        caller(service, key[2]).access_token(["admin"])
    for other in ("0123456789", "trefoil_access_x", "trefoil_0123456789abcdef_"):
        with pytest.raises(ValueError, match="only an API key, as the service showed it") as caught:
            caller(service, other, token=True)
        assert other not in str(caught.value)
