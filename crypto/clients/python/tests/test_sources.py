"""What the application says of a login: its source, by which the service limits failures, and its model."""

import secrets

import pytest
from calls import nonce, refused
from service import ANOTHERS, AUDIENCE, OWN, UNPROVEN, Service
from trefoil_attest.client import Attempt, Problem, Unproven

FAILURES_MAX = 10
SOURCE = "198.51.100.7, hashed"


def test_a_source_that_failed_for_ten_people_is_refused_by_its_name_in_each_form(service: Service) -> None:
    tenant_id = service.make_tenant(UNPROVEN)
    # Through two keys, neither of which fails for ten people.
    tenants = [service.tenant(service.make_key(tenant_id, "enrol", "authenticate")["api_key"]) for _ in range(2)]
    people = [Unproven(tenant_id, secrets.token_bytes(32), AUDIENCE) for _ in range(FAILURES_MAX + 1)]
    for person in people:
        tenants[0].enrol(person.handle, [OWN], "form 7")
    *tried, last = people
    for at, person in enumerate(tried):
        assert not tenants[at % 2].authenticate(person, ANOTHERS, nonce(), source=SOURCE).is_match
    tenant = tenants[0]
    attempt = Attempt(last, OWN, nonce(), SOURCE)
    assert SOURCE not in repr(attempt)
    problems = [
        refused("distinct-failures", tenant.authenticate, last, OWN, attempt.nonce, source=SOURCE),
        refused("distinct-failures", tenant.decide, last, OWN, attempt.nonce, source=SOURCE),
        *tenant.authenticate_many([attempt]),
        *tenant.decide_many([attempt]),
    ]
    assert len(problems) == 4
    for problem in problems:
        assert isinstance(problem, Problem) and problem.code == "distinct-failures"
        assert problem.errors[0].pointer.endswith("/source"), problem.errors
    # Nothing was attempted, and another source goes on.
    assert tenant.authenticate(last, OWN, attempt.nonce, source="another").is_match


def test_a_source_is_a_short_text(service: Service) -> None:
    tenant = service.tenant("k")
    subject = Unproven(bytes(16), bytes(32), AUDIENCE)
    for wrong in ("", "x" * 65, "\u00e9" * 33, "a\nb", "\x7f"):
        with pytest.raises(ValueError, match="source has 1 to 64 bytes"):
            tenant.authenticate(subject, OWN, nonce(), source=wrong)
        with pytest.raises(ValueError, match="source has 1 to 64 bytes"):
            tenant.authenticate_many([Attempt(subject, OWN, nonce(), wrong)])
    with pytest.raises(TypeError, match="source is a text, .* not bytes"):
        tenant.decide(subject, OWN, nonce(), source=b"x")


def test_the_model_of_a_face_is_named_in_each_form(service: Service) -> None:
    tenant_id = service.make_tenant(UNPROVEN)
    tenant = service.tenant(service.make_key(tenant_id, "enrol", "authenticate")["api_key"])
    person = Unproven(tenant_id, secrets.token_bytes(32), AUDIENCE)
    tenant.enrol(person.handle, [OWN], "form 7")
    own, other = (Attempt(person, OWN, nonce(), embedder=name) for name in (UNPROVEN["embedder"], "another"))
    problems = [
        refused("embedding-invalid", tenant.authenticate, person, OWN, nonce(), embedder="another"),
        refused("embedding-invalid", tenant.decide, person, OWN, nonce(), embedder="another"),
        *tenant.authenticate_many([other]),
        *tenant.decide_many([other]),
    ]
    assert len(problems) == 4
    for problem in problems:
        assert isinstance(problem, Problem) and problem.code == "embedding-invalid"
        assert problem.errors[0].pointer.endswith("/embedder"), problem.errors
    assert tenant.authenticate(person, OWN, nonce(), embedder=own.embedder).is_match
    (login,) = tenant.authenticate_many([own])
    assert not isinstance(login, Problem) and login.is_match
    with pytest.raises(TypeError, match="embedder is a text, .* not int"):
        tenant.decide(person, OWN, nonce(), embedder=7)
