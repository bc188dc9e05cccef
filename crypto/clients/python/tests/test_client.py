"""The client against a running service."""

import base64
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from calls import altered, answers_lost, nonce, refused
from service import ANOTHERS, AUDIENCE, OWN, Member, Service
from trefoil_attest import VerifyError, consent_digest, verify_same_log, verify_seal
from trefoil_attest.client import (
    Attempt,
    Decided,
    Problem,
    Proof,
    Session,
    Tenant,
    UnexpectedAnswer,
    Unreachable,
)
from trefoil_attest.client import _login, _tenant
from trefoil_attest.client._transport import Request, Transport


@pytest.fixture(scope="module")
def tenant(ann: Member) -> Tenant:
    return ann.tenant()


@pytest.fixture(scope="module")
def session(ann: Member, tenant: Tenant) -> Session:
    proof = ann.proof("client.proof")
    assert tenant.enrol(proof.handle, [OWN], "form 7").generation == 1
    return tenant.open_session(proof)


def test_own_face_matches_and_another_does_not(tenant: Tenant, session: Session) -> None:
    own = tenant.authenticate(session, OWN, nonce())
    assert own.is_match and own.decision == "match"
    statement = own.verified.statement
    assert (statement.account, statement.session, statement.audience) == (session.account, session.id, AUDIENCE)
    another = tenant.authenticate(session, ANOTHERS, nonce())
    assert another.decision == "no_match" == another.verified.statement.decision
    assert "no_match" in repr(another) and "<Verified no_match: account " + session.account.hex() in repr(another)
    # The bytes of float32 are the same face.
    assert tenant.authenticate(session, struct.pack("<128f", *OWN), nonce()).is_match


def test_a_compact_attestation_is_verified_with_its_seal(tenant: Tenant, session: Session) -> None:
    login = tenant.authenticate(session, OWN, nonce(), attestation="compact")
    assert login.is_match and len(login.attestation) < 2_000
    assert tenant.seal(login.seal_number).seal_number == login.verified.seal_number


def test_a_decision_without_its_attestation_is_asked_for_by_another_name(tenant: Tenant, session: Session) -> None:
    own = tenant.decide(session, OWN, nonce())
    assert own.is_match and (own.decision, len(own.id)) == ("match", 32)
    assert isinstance(own, Decided) and not hasattr(own, "verified")
    assert tenant.decide(session, ANOTHERS, nonce()).decision == "no_match"
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        tenant.decide(session, OWN, b"short")
    used = nonce()
    tenant.decide(session, OWN, used)
    refused("nonce-replayed", tenant.decide, session, OWN, used)
    many = tenant.decide_many([Attempt(session, OWN, nonce()), Attempt(session, ANOTHERS, nonce()), Attempt(session, OWN, used)])
    said = [each.code if isinstance(each, Problem) else each.decision for each in many]
    assert said == ["match", "no_match", "nonce-replayed"]


def test_a_template_is_replaced_in_one_step_with_a_receipt(tenant: Tenant, session: Session) -> None:
    replaced = tenant.replace(session.handle, [ANOTHERS], "form 8", idempotency_key="replace-1")
    assert (replaced.generation, replaced.replaced) == (2, 1)
    change = replaced.receipt.verified.change
    assert (change.kind, change.handle, change.consent) == ("replaced", session.handle, consent_digest("form 8"))
    assert (change.generation, change.replaced) == (2, 1)
    again = tenant.replace(session.handle, [ANOTHERS], "form 8", idempotency_key="replace-1")
    assert again.generation == 2
    assert tenant.authenticate(session, ANOTHERS, nonce()).is_match
    assert not tenant.authenticate(session, OWN, nonce()).is_match
    both = tenant.replace(session.handle, [OWN, array("f", [2 * number for number in OWN])], "form 7")
    assert (replaced.agreement, both.agreement) == (None, 1.0)
    refused("subject-unknown", tenant.replace, bytes(32), [OWN], "form 7")


def test_a_nonce_is_taken_once(tenant: Tenant, session: Session) -> None:
    once = nonce()
    assert tenant.authenticate(session, OWN, once).is_match
    problem = refused("nonce-replayed", tenant.authenticate, session, OWN, once)
    assert not problem.resent
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        tenant.authenticate(session, OWN, b"short")


@pytest.mark.parametrize("form", ["full", "compact"])
def test_many_logins_are_verified_each_and_one_that_is_wrong_refuses_only_itself(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    used, fetched = nonce(), []
    assert tenant.authenticate(session, OWN, used).is_match
    seal = Tenant.seal
    monkeypatch.setattr(Tenant, "seal", lambda self, number: fetched.append(number) or seal(self, number))
    attempts = [Attempt(session, ANOTHERS if at == 3 else OWN, nonce()) for at in range(32)]
    attempts[5] = Attempt(session, OWN, used)
    attempts[7] = Attempt(session, [0.0] * 128, nonce())
    logins = tenant.authenticate_many(attempts, attestation=form)
    assert len(fetched) == len(set(fetched)) and bool(fetched) == (form == "compact")
    problems = {at: login for at, login in enumerate(logins) if isinstance(login, Problem)}
    assert {at: problem.code for at, problem in problems.items()} == {5: "nonce-replayed", 7: "embedding-invalid"}
    assert problems[7].errors[0].pointer == "/embedding" and problems[5].cure and problems[5].status == 409
    assert "(request" not in str(problems[5]) and problems[5].retry_after is None
    for at, login in enumerate(logins):
        if not isinstance(login, Problem):
            assert login.decision == ("no_match" if at == 3 else "match")
            assert login.verified.statement.nonce == attempts[at].nonce


def test_a_batch_whose_answers_are_swapped_forged_or_missing_is_refused(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flip(results: list) -> None:
        attestation = bytearray(base64.b64decode(results[2]["attestation"]))
        attestation[300] ^= 1
        results[2]["attestation"] = base64.b64encode(attestation).decode()

    for change, error in [(flip, VerifyError), (list.reverse, VerifyError), (list.pop, UnexpectedAnswer)]:
        with monkeypatch.context() as patch:
            altered(patch, lambda answer: change(answer["results"]), "/v1/authentications/batch")
            with pytest.raises(error):
                tenant.authenticate_many([Attempt(session, OWN, nonce()) for _ in range(4)])
    for count in [0, 33]:
        with pytest.raises(ValueError, match=f"1 to 32 attempts, not {count}"):
            tenant.authenticate_many([Attempt(session, OWN, nonce())] * count)
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        tenant.authenticate_many([Attempt(session, OWN, b"short")])


@pytest.mark.parametrize("at", [60, 300, 1_000, 12_000, -1])
def test_a_tampered_attestation_is_refused(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    def flip(answer: dict) -> None:
        attestation = bytearray(base64.b64decode(answer["attestation"]))
        attestation[at] ^= 1
        answer["attestation"] = base64.b64encode(attestation).decode()

    altered(monkeypatch, flip)
    with pytest.raises(VerifyError):
        tenant.authenticate(session, OWN, nonce())


def test_an_attestation_of_another_login_is_refused(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tenant.authenticate(session, OWN, nonce())
    altered(monkeypatch, lambda answer: answer.update(attestation=base64.b64encode(first.attestation).decode()))
    with pytest.raises(VerifyError) as caught:
        tenant.authenticate(session, ANOTHERS, nonce())
    assert caught.value.code == "nonce"


@pytest.mark.parametrize("name", ["account", "tenant", "request-digest"])
def test_an_attestation_about_somebody_or_something_else_is_refused(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name == "request-digest":
        monkeypatch.setattr(_tenant, "signed", lambda *request: (_login.signed(*request)[0], bytes(32)))
    else:
        session = Session(**vars(session) | {name: bytes(len(getattr(session, name)))})
    with pytest.raises(VerifyError) as caught:
        tenant.authenticate(session, OWN, nonce())
    assert caught.value.code == name


@pytest.mark.parametrize("change", [{"decision": "match"}, {"id": "00" * 32}, {"seal_number": 7_000}])
def test_an_answer_that_contradicts_its_attestation_is_refused(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch, change: dict
) -> None:
    altered(monkeypatch, lambda answer: answer.update(change))
    with pytest.raises(UnexpectedAnswer, match="something else than its attestation"):
        tenant.authenticate(session, ANOTHERS, nonce())


def test_an_answer_that_lacks_a_field_names_it(
    tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered(monkeypatch, lambda answer: answer.pop("seal_number"))
    with pytest.raises(UnexpectedAnswer, match="without a whole number in 'seal_number'"):
        tenant.authenticate(session, OWN, nonce())


def test_a_wrong_api_key_a_missing_scope_and_a_revoked_key_are_refused(
    service: Service, ann: Member, session: Session
) -> None:
    wrong = ann.api_key[:-2] + ("AA" if not ann.api_key.endswith("AA") else "BB")
    refused("caller-unauthenticated", service.tenant(wrong).authenticate, session, OWN, nonce())
    narrow = service.make_key(ann.tenant_id, "enrol")
    kiosk = service.tenant(narrow["api_key"])
    problem = refused("scope-missing", kiosk.authenticate, session, OWN, nonce())
    assert "authenticate" in problem.detail
    service.admin("api-key", "revoke", narrow["id"], "--tenant", ann.tenant_id.hex())
    refused("caller-unauthenticated", kiosk.delete, session.handle)


def test_a_session_is_ended_with_a_receipt(service: Service, ann: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    carl = Member(service, "carl")
    tenant, proof = carl.tenant(), carl.proof("carl.proof")
    tenant.enrol(proof.handle, [OWN], "form 12")
    opened = tenant.open_session(proof)
    refused("session-unknown", ann.tenant().end_session, opened.id)

    swap = bytes(31) + b"\1"
    with monkeypatch.context() as patch:
        altered(patch, lambda answer: answer.update(session_id=swap.hex()), f"/v1/proof-sessions/{opened.id.hex()}")
        with pytest.raises(UnexpectedAnswer, match="says something else"):
            tenant.end_session(opened.id)
    # It was ended all the same.
    refused("session-unknown", tenant.end_session, opened.id)
    refused("session-expired", tenant.authenticate, opened, OWN, nonce())
    again = tenant.open_session(carl.proof("carl-2.proof"))
    ended = tenant.end_session(again.id)
    assert ended is not None and ended.id == again.id and ended.receipt is not None
    change = ended.receipt.verified.change
    assert (change.kind, change.session, change.tenant) == ("session_ended", again.id, carl.tenant_id)
    lost = tenant.open_session(carl.proof("carl-3.proof"))
    with monkeypatch.context() as patch:
        answers_lost(patch)
        assert tenant.end_session(lost.id) is None


def test_proofs_beyond_the_credit_are_refused_and_taken_later(service: Service, ann: Member, session: Session) -> None:
    key = service.make_key(ann.tenant_id, "authenticate")["api_key"]
    proof = ann.proof("quota.proof")
    damaged = bytearray(proof.envelope)
    damaged[-1] ^= 1
    bad = Proof(**vars(proof) | {"envelope": bytes(damaged)})
    at_once, later = service.tenant(key, retry_for=0), service.tenant(key, retry_for=60)
    for _ in range(2):
        refused("proof-rejected", at_once.open_session, bad)
    problem = refused("quota-exceeded", at_once.open_session, proof)
    assert problem.retry_after == 1
    opened = later.open_session(proof)
    assert opened.id == proof.session_id and later.open_session(proof) == opened
    assert later.authenticate(opened, OWN, nonce()).is_match


def test_a_lost_answer_is_asked_for_again_where_that_is_safe(
    service: Service, ann: Member, tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "ab" * 32
    for call, expected in [
        (lambda: tenant.enrol(other, [OWN], "form 8").generation, 1),
        (lambda: tenant.delete(other), None),
        (lambda: tenant.open_session(ann.proof("lost.proof")).audience, AUDIENCE),
    ]:
        with monkeypatch.context() as patch:
            sent = answers_lost(patch)
            assert call() == expected
            assert len(sent) == 2 and sent[0] == sent[1]
    refused("subject-unknown", tenant.delete, other)
    enrolled, erased = tenant.enrol(other, [OWN], "form 9"), tenant.delete(other)
    assert erased is not None and (enrolled.generation, erased.generation) == (2, 2)
    for answer, kind in ((enrolled, "enrolled"), (erased, "erased")):
        assert answer.receipt is not None
        change = answer.receipt.verified.change
        assert (change.kind, change.handle.hex(), change.generation) == (kind, other, 2)
    assert enrolled.receipt.verified.change.consent == consent_digest("form 9")
    assert erased.receipt.verified.change.changed_at == erased.erased_at
    with monkeypatch.context() as patch:
        sent = answers_lost(patch)
        problem = refused("nonce-replayed", tenant.authenticate, session, OWN, nonce())
        assert problem.resent and "fresh nonce" in problem.__notes__[0] and len(sent) == 2


def carry(one: socket.socket, other: socket.socket) -> None:
    for some in iter(lambda: one.recv(1 << 16), b""):
        other.sendall(some)


def relay(listener: socket.socket, to: str) -> None:
    """Ends a connection in its TLS handshake, and carries the next."""
    listener.accept()[0].close()
    near, far = listener.accept()[0], socket.create_connection(tuple(urlsplit(to).netloc.split(":")))
    for ends in ((near, far), (far, near)):
        threading.Thread(target=carry, args=ends, daemon=True).start()


def test_a_service_that_cannot_be_reached_is_waited_for(service: Service, ann: Member) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        there = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(Unreachable, match="nothing was sent.*nothing listens there"):
            Tenant(there, ann.api_key, service.trust_root, ca=service.ca, retry_for=0).seal(1)
        # Its certificate would be as wrong later.
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            Tenant(service.url, ann.api_key, service.trust_root, retry_for=1 << 20).seal(1)
        tenant = Tenant(there, ann.api_key, service.trust_root, ca=service.ca, retry_for=60)

        def comes_back() -> None:
            # Nobody sees a connection that is refused.
            time.sleep(0.3)
            listener.listen()
            relay(listener, service.url)

        threading.Thread(target=comes_back, daemon=True).start()
        refused("seal-unknown", tenant.seal, 1 << 40)


def problem(code: str, retry_after: float | None) -> Problem:
    return Problem(
        status=503, code=code, title="", detail="", cure="", request_id="", errors=(), retry_after=retry_after
    )


def answers_first(monkeypatch: pytest.MonkeyPatch, first: Problem) -> list[bytes | None]:
    """Answers the first request with a problem, and lets the others through."""
    once, bodies = Transport._once, []

    def refuse(self: Transport, request: Request) -> bytes:
        bodies.append(request.body)
        if len(bodies) == 1:
            raise first
        return once(self, request)

    monkeypatch.setattr(Transport, "_once", refuse)
    return bodies


def test_refusals_are_followed_by_what_the_documents_say(
    service: Service, tenant: Tenant, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in ["overloaded", "draining", "disk-low", "quota-exceeded", "key-holder-unavailable", "undecided", "store-unavailable"]:
        with monkeypatch.context() as patch:
            bodies = answers_first(patch, problem(code, 0))
            assert tenant.authenticate(session, OWN, nonce()).is_match
            assert len(bodies) == 2 and bodies[0] == bodies[1], code
    with monkeypatch.context() as patch:
        bodies = answers_first(patch, problem("before-restart", 1))
        assert tenant.authenticate(session, OWN, nonce()).is_match
        issued = [json.loads(body or b"")["issued_at"] for body in bodies]
        assert len(issued) == 2 and issued[0] < issued[1], "signed again with a later time"
    for code, after in [("unsealed", 0), ("timed-out", None), ("internal", None), ("storage-damaged", 0)]:
        with monkeypatch.context() as patch:
            bodies = answers_first(patch, problem(code, after))
            with pytest.raises(Problem):
                tenant.authenticate(session, OWN, nonce())
            assert len(bodies) == 1, code
    # A wait that is longer than the caller allows is no wait.
    with monkeypatch.context() as patch:
        bodies = answers_first(patch, problem("disk-low", 30))
        with pytest.raises(Problem):
            tenant.authenticate(session, OWN, nonce())
        assert len(bodies) == 1


def test_a_connection_that_was_closed_is_replaced(tenant: Tenant, session: Session) -> None:
    assert tenant.authenticate(session, OWN, nonce()).is_match
    tenant._transport._own.connection.sock.close()
    assert tenant.authenticate(session, OWN, nonce()).is_match


def test_mistakes_of_the_caller_say_what_to_do(service: Service, ann: Member, tenant: Tenant, session: Session) -> None:
    problem = refused("embedding-invalid", tenant.authenticate, session, [1.0] * 512, nonce())
    assert "expected 128 numbers, which model test-128 gives, got 512" in problem.detail
    assert problem.errors[0].pointer == "/embedding"
    for count in (1, 513):
        with pytest.raises(ValueError, match=f"2 to 512 numbers, not {count}"):
            tenant.authenticate(session, [1.0] * count, nonce())
    with pytest.raises(ValueError, match="4 bytes .*, and 5 is no multiple"):
        tenant.authenticate(session, b"faces", nonce())
    with pytest.raises(TypeError, match=r"such as \[embedding\]"):
        tenant.enrol(bytes(32), OWN, "form 7")
    with pytest.raises(ValueError, match="1 to 8 photographs, not of 0"):
        tenant.enrol(bytes(32), [], "form 7")
    with pytest.raises(ValueError, match="finite"):
        tenant.authenticate(session, [float("nan")] * 128, nonce())
    refused("embedding-invalid", tenant.authenticate, session, [0.0] * 128, nonce())
    for face in ("face.json", None):
        with pytest.raises(TypeError, match="numbers or bytes of float32, not"):
            tenant.authenticate(session, face, nonce())
    for number in ("1", 1e39):
        with pytest.raises(ValueError, match="numbers that fit 32 bits"):
            tenant.authenticate(session, [number] * 128, nonce())
    with pytest.raises(TypeError, match="that the relying party sent, not str"):
        tenant.authenticate(session, OWN, "ab" * 16)
    with pytest.raises(ValueError, match="`decide` asks for none"):
        tenant.authenticate(session, OWN, nonce(), attestation="none")
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        tenant.enrol("ann", [OWN], "form 7")
    # `bytes(32)` would be a handle of zeros.
    with pytest.raises(TypeError, match="handle has 32 bytes, .* it is int"):
        tenant.enrol(32, [OWN], "form 7")
    with pytest.raises(TypeError, match="TrustRoot.from_json"):
        Tenant(service.url, "k", "trust-root.json", ca=service.ca)
    for secret in ("a key\nof two lines", "schl\u00fcssel"):
        with pytest.raises(ValueError, match="one word of visible ASCII") as caught:
            Tenant(service.url, secret, service.trust_root, ca=service.ca)
        assert secret not in str(caught.value)
    with pytest.raises(ValueError, match="https://host:port"):
        Tenant("127.0.0.1:8443", "k", service.trust_root)
    with pytest.raises(Unreachable, match="tls-certificate.pem"):
        Tenant(service.url, "k", service.trust_root).seal(1)
    with pytest.raises(Unreachable, match="nothing listens there"):
        Tenant("https://127.0.0.1:1", "k", service.trust_root, ca=service.ca, retry_for=0).seal(1)
    with pytest.raises(ValueError, match="cut off"):
        Proof.decode((service.folder / "client.proof").read_bytes()[:-1])
    with pytest.raises(ValueError, match="wallet prove"):
        Proof.decode(b"")
    other = tenant.open_session(Proof.read(ann.proof_file("other.proof", audience="https://other.example")))
    wrong = Session(**vars(session) | {"audience": "https://other.example"})
    refused("request-mac-invalid", tenant.authenticate, Session(**vars(session) | {"key": bytes(32)}), OWN, nonce())
    refused("session-scope", tenant.authenticate, wrong, OWN, nonce())
    assert tenant.authenticate(other, OWN, nonce()).verified.statement.account != session.account
    assert session.key.hex() not in repr(session) and "key" not in repr(other)


def test_two_seals_are_of_one_log_by_the_proofs_that_the_service_gives(tenant: Tenant, session: Session, service: Service) -> None:
    one = tenant.seal(tenant.authenticate(session, OWN, nonce()).seal_number)
    late = tenant.seal(tenant.authenticate(session, OWN, nonce()).seal_number)
    verify_seal(late, service.trust_root)
    between = f"{one.seal_number}/{late.seal_number}"
    consistency, inclusion = (
        json.loads(tenant._transport.send(Request("GET", f"/v1/log/{kind}/{between}"))) for kind in ("consistency", "inclusion")
    )
    verify_same_log(one, late, consistency=consistency["proof"], inclusion=inclusion["path"])
    refused("seal-unknown", tenant.seal, 1 << 40)


def test_sessions_and_clients_are_shared_by_threads(tenant: Tenant, session: Session) -> None:
    with ThreadPoolExecutor(8) as threads:
        logins = list(threads.map(lambda _: tenant.authenticate(session, OWN, nonce()), range(32)))
    assert all(login.is_match for login in logins)


def test_what_the_program_verifies_is_what_the_client_verified(
    tenant: Tenant, session: Session, service: Service
) -> None:
    own = nonce()
    login = tenant.authenticate(session, OWN, own)
    (service.folder / "client.cbor").write_bytes(login.attestation)
    pinned = ["--trust-root", "trust-root.json", "--audience", AUDIENCE]
    assert "decision match" in service.run("verify", "client.cbor", *pinned, "--nonce", own.hex())
    service.run("verify", "client.cbor", *pinned, "--nonce", nonce().hex(), code=1)


def test_mypy_accepts_the_package_in_strict_mode() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "-p", "trefoil_attest"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
