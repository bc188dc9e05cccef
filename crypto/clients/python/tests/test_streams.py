"""Streams of logins: each attempt has one result, whatever happens on the way."""

import json
import queue
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from calls import nonce
from proxy import Proxy
from service import ANOTHERS, AUDIENCE, OWN, UNLIMITED, Member, Service
from trefoil_attest import VerifyError
from trefoil_attest.client import Attempt, Decided, Login, Problem, Tenant, TenantPolicy, UnexpectedAnswer, Unproven, Unreachable
from trefoil_attest.client._stream import FRUITLESS_MAX, IN_FLIGHT_MAX
from trefoil_attest.client._transport import Transport
from trefoil_attest.client._wire import Wire

POLICY = TenantPolicy([AUDIENCE], "test-128", 3, 18_000, proof="none", attempts=UNLIMITED)


@dataclass(frozen=True)
class Shop:
    """A tenant without proofs, and one subject."""

    tenant: Tenant
    ann: Unproven
    key: str

    def attempt(self, face: list[float] = OWN) -> Attempt:
        return Attempt(self.ann, face, nonce())


def open_shop(service: Service) -> Shop:
    admin = service.admin()
    tenant_id = admin.create_tenant("streams", POLICY).tenant_id
    key = admin.create_api_key(tenant_id, ["enrol", "authenticate"]).api_key
    tenant = Tenant(service.url, key, service.trust_root, ca=service.ca)
    ann = Unproven(tenant_id, secrets.token_bytes(32), AUDIENCE)
    tenant.enrol(ann.handle, OWN, "form 7")
    return Shop(tenant, ann, key)


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    return open_shop(service)


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that soon ends a stream."""
    limits = {"TREFOIL_LIMITS_REFUSALS_IN_A_ROW": "5", "TREFOIL_LIMITS_IDLE_TIMEOUT_S": "1"}
    service = Service(tmp_path_factory.mktemp("brief"), limits)
    yield service
    service.close()


def opened(monkeypatch: pytest.MonkeyPatch) -> list[Wire]:
    """The connections of streams from now on."""
    wires, stream = [], Transport.stream

    def note(self: Transport, *of) -> Wire:
        wires.append(stream(self, *of))
        return wires[-1]

    monkeypatch.setattr(Transport, "stream", note)
    return wires


def said(result: object) -> str:
    if isinstance(result, (Login, Decided)):
        return result.decision
    return result.code if isinstance(result, Problem) else type(result).__name__


@pytest.mark.parametrize("form", ["full", "compact"])
def test_each_attempt_has_its_own_result_and_each_login_is_verified(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    fetched, seal = [], Tenant.seal
    monkeypatch.setattr(Tenant, "seal", lambda self, number: fetched.append(number) or seal(self, number))
    used = nonce()
    assert shop.tenant.authenticate(shop.ann, OWN, used).is_match
    attempts = [shop.attempt(ANOTHERS if at % 10 == 3 else OWN) for at in range(100)]
    attempts[5], attempts[70] = Attempt(shop.ann, OWN, used), shop.attempt([0.0] * 128)
    results = {id(attempt): result for attempt, result in shop.tenant.authenticate_stream(iter(attempts), attestation=form)}
    assert len(results) == len(attempts)
    for at, attempt in enumerate(attempts):
        result = results[id(attempt)]
        expected = {5: "nonce-replayed", 70: "embedding-invalid"}.get(at, "no_match" if at % 10 == 3 else "match")
        assert said(result) == expected, at
        if isinstance(result, Login):
            assert result.verified.statement.nonce == attempt.nonce
    refusal = results[id(attempts[70])]
    assert isinstance(refusal, Problem) and refusal.errors[0].pointer == "/embedding" and refusal.request_id == ""
    assert len(fetched) == len(set(fetched)) and bool(fetched) == (form == "compact")


def test_a_login_in_a_session_is_verified_for_its_account(ann: Member) -> None:
    tenant, proof = ann.tenant(), ann.proof("stream.proof")
    if not any(subject.handle == proof.handle for subject in tenant.subjects()):
        tenant.enrol(proof.handle, OWN, "form 7")
    session = tenant.open_session(proof)
    ((_, login),) = tenant.authenticate_stream([Attempt(session, OWN, nonce())])
    assert isinstance(login, Login) and login.verified.statement.account == session.account
    assert login.verified.statement.session == session.id


def test_decisions_come_without_attestations_which_are_fetched_later(shop: Shop) -> None:
    attempts = [shop.attempt(), shop.attempt(ANOTHERS)]
    results = dict((attempt.nonce, result) for attempt, result in shop.tenant.decide_stream(attempts))
    own, another = (results[attempt.nonce] for attempt in attempts)
    assert (said(own), said(another)) == ("match", "no_match")
    assert isinstance(own, Decided) and shop.tenant.attested(own).is_match


def test_a_result_comes_while_the_iterable_waits_for_it(shop: Shop) -> None:
    decided: queue.Queue[object] = queue.Queue()

    def attempts() -> Iterator[Attempt]:
        for _ in range(3):
            yield shop.attempt()
            assert said(decided.get(timeout=20)) == "match"

    count = 0
    for _, result in shop.tenant.authenticate_stream(attempts()):
        decided.put(result)
        count += 1
    assert count == 3
    assert list(shop.tenant.authenticate_stream([])) == []


def test_attempts_are_taken_no_further_than_results_are(shop: Shop) -> None:
    taken = 0

    def endless() -> Iterator[Attempt]:
        nonlocal taken
        while True:
            taken += 1
            yield shop.attempt()

    with closing(shop.tenant.decide_stream(endless())) as results:
        for at in range(1, 41):
            assert said(next(results)[1]) == "match"
            # Those in flight, and one that waits.
            assert taken <= at + IN_FLIGHT_MAX + 1
        time.sleep(0.5)
        assert taken <= 40 + IN_FLIGHT_MAX + 1
    time.sleep(0.2)
    ended = taken
    time.sleep(0.2)
    assert taken == ended, "a stream that was left takes nothing more"


def test_answers_are_read_though_they_are_not_taken(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service disconnects a peer that does not read answers."""
    wires = opened(monkeypatch)
    attempts = [shop.attempt() for _ in range(60)]
    with closing(shop.tenant.authenticate_stream(attempts)) as results:
        assert said(next(results)[1]) == "match"
        deadline = time.monotonic() + 20
        while wires[0]._received < 1 + IN_FLIGHT_MAX:
            assert time.monotonic() < deadline, f"{wires[0]._received} were read"
            time.sleep(0.05)
        assert [said(result) for _, result in results] == ["match"] * 59


def flip(answer: dict) -> None:
    answer["attestation"] = answer["attestation"][:400] + ("A" if answer["attestation"][400] != "A" else "B") + answer["attestation"][401:]


def swap(answer: dict) -> None:
    answer["line"] = 3 - answer["line"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (flip, VerifyError),
        (swap, VerifyError),
        (lambda answer: answer.update(line=7), UnexpectedAnswer),
        (lambda answer: answer.update(decision="no_match"), UnexpectedAnswer),
        (lambda answer: answer.pop("seal_number"), UnexpectedAnswer),
    ],
)
def test_an_answer_that_is_forged_or_of_another_login_is_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, change, error: type[Exception]
) -> None:
    following = Wire.next

    def altered(self: Wire) -> bytes | None:
        line = following(self)
        if line is None:
            return None
        answer = json.loads(line)
        change(answer)
        return json.dumps(answer).encode()

    monkeypatch.setattr(Wire, "next", altered)
    with pytest.raises(error):
        list(shop.tenant.authenticate_stream([shop.attempt(), shop.attempt()]))


def test_a_login_whose_connection_broke_is_undecided_and_not_sent_again(service: Service, shop: Shop) -> None:
    proxy = Proxy(service.url)
    tenant = Tenant(proxy.url, shop.key, service.trust_root, ca=service.ca)
    before, undecided, after = ([shop.attempt() for _ in range(count)] for count in (2, 3, 2))
    seen: list[tuple[Attempt, object]] = []
    first = threading.Event()

    def attempts() -> Iterator[Attempt]:
        yield from before
        assert first.wait(20)
        proxy.answers.clear()
        yield from undecided
        # Until the service has decided them.
        while said(shop.tenant.decide_many([undecided[-1]])[0]) != "nonce-replayed":
            time.sleep(0.05)
        proxy.cut()
        yield from after

    for attempt, result in tenant.authenticate_stream(attempts()):
        seen.append((attempt, result))
        if len(seen) == len(before):
            first.set()
    results = {attempt.nonce: result for attempt, result in seen}
    assert len(seen) == len(results) == 7
    assert [said(results[attempt.nonce]) for attempt in before] == ["match"] * 2
    for attempt in undecided:
        result = results[attempt.nonce]
        assert isinstance(result, Unreachable) and "may have been decided" in str(result) and "same nonce" in str(result)
    # What came with the break is either way: over the old connection, or over a new one.
    assert {said(results[attempt.nonce]) for attempt in after} <= {"match", "Unreachable"}
    again = dict((attempt.nonce, said(result)) for attempt, result in shop.tenant.authenticate_stream(undecided))
    assert again == {attempt.nonce: "nonce-replayed" for attempt in undecided}
    # Where nobody answers any more, that is the result.
    proxy.close()
    with pytest.raises(Unreachable, match="nothing was sent"):
        list(tenant.authenticate_stream(after))


def test_a_service_that_goes_away_is_the_result_of_each_later_attempt(service: Service, shop: Shop) -> None:
    proxy = Proxy(service.url)
    tenant = Tenant(proxy.url, shop.key, service.trust_root, ca=service.ca)
    done = threading.Event()

    def attempts() -> Iterator[Attempt]:
        yield shop.attempt()
        assert done.wait(20)
        proxy.close()
        for _ in range(50):
            time.sleep(0.02)
            yield shop.attempt()

    results = []
    for _, result in tenant.decide_stream(attempts()):
        results.append(said(result))
        done.set()
    assert results[0] == "match" and len(results) == 51
    assert set(results[1:]) <= {"Unreachable", "NothingSent"} and results[-1] == "NothingSent"


def test_a_stream_that_the_service_ends_goes_on_over_another_connection(
    brief: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(brief)
    used = nonce()
    assert shop.tenant.authenticate(shop.ann, OWN, used).is_match
    # The service ends a connection after five refusals in a row.
    attempts = [Attempt(shop.ann, OWN, used) if 10 <= at < 30 else shop.attempt() for at in range(60)]
    wires = opened(monkeypatch)
    results = list(shop.tenant.authenticate_stream(attempts))
    assert len(results) == 60 and {id(attempt) for attempt, _ in results} == {id(attempt) for attempt in attempts}
    for attempt, result in results:
        assert said(result) == ("nonce-replayed" if attempt.nonce == used else "match")
    assert len(wires) > 1


def test_a_stream_without_a_login_for_a_while_goes_on_with_the_next_one(
    brief: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(brief)
    wires = opened(monkeypatch)

    def attempts() -> Iterator[Attempt]:
        for pause in (0, 2, 2):
            time.sleep(pause)
            yield shop.attempt()

    assert [said(result) for _, result in shop.tenant.authenticate_stream(attempts())] == ["match"] * 3
    assert len(wires) == 3


def ending(code: str, monkeypatch: pytest.MonkeyPatch, times: int) -> list[Wire]:
    """The first connections end at their first login, which does not reach the service."""
    wires, send, following = opened(monkeypatch), Wire.send, Wire.next
    problem = {"status": 503, "code": code, "title": "", "detail": "made up", "cure": "Wait."}
    was_sent = threading.Event()

    def sent(self: Wire, line: bytes) -> None:
        if len(wires) > times:
            send(self, line)
        was_sent.set()

    def answered(self: Wire) -> bytes | None:
        if len(wires) > times:
            return following(self)
        assert was_sent.wait(20)
        return json.dumps({"line": 1, "ended": True, "problem": problem}).encode()

    monkeypatch.setattr(Wire, "send", sent)
    monkeypatch.setattr(Wire, "next", answered)
    return wires


def test_what_was_not_attempted_is_sent_again_where_the_stream_may_go_on(
    service: Service, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        wires = ending("draining", patch, 2)
        assert [said(result) for _, result in shop.tenant.authenticate_stream([shop.attempt()])] == ["match"]
        assert len(wires) == 3
    with monkeypatch.context() as patch:
        wires = ending("draining", patch, 1_000)
        assert [said(result) for _, result in shop.tenant.authenticate_stream([shop.attempt()])] == ["draining"]
        assert len(wires) == FRUITLESS_MAX + 1, "not for ever"
    with monkeypatch.context() as patch:
        wires = ending("tenant-disabled", patch, 1_000)
        assert [said(result) for _, result in shop.tenant.authenticate_stream([shop.attempt()])] == ["tenant-disabled"]
        assert len(wires) == 1
    # An access token ends after ten minutes, and with it the stream that it opened; an API key does not.
    for token, expected in ((True, "match"), (False, "caller-unauthenticated")):
        tenant = Tenant(service.url, shop.key, service.trust_root, ca=service.ca, token=token)
        with monkeypatch.context() as patch:
            ending("caller-unauthenticated", patch, 1)
            assert [said(result) for _, result in tenant.authenticate_stream([shop.attempt()])] == [expected]


def test_a_key_that_is_revoked_meanwhile_ends_it_for_what_comes_later(service: Service) -> None:
    shop, admin = open_shop(service), service.admin()
    (key,) = admin.api_keys(shop.ann.tenant)
    first = threading.Event()

    def attempts() -> Iterator[Attempt]:
        yield shop.attempt()
        assert first.wait(20)
        admin.revoke_api_key(shop.ann.tenant, key.id)
        yield shop.attempt()
        yield shop.attempt()

    results = []
    for _, result in shop.tenant.authenticate_stream(attempts()):
        results.append(said(result))
        first.set()
    assert results == ["match", "caller-unauthenticated", "caller-unauthenticated"]


def test_what_refuses_the_whole_stream_is_raised_before_an_attempt_is_taken(service: Service, shop: Shop) -> None:
    def untouched() -> Iterator[Attempt]:
        pytest.fail("nothing is taken")
        yield shop.attempt()

    narrow = service.admin().create_api_key(shop.ann.tenant, ["enrol"]).api_key
    with pytest.raises(Problem) as caught:
        list(Tenant(service.url, narrow, service.trust_root, ca=service.ca).authenticate_stream(untouched()))
    assert caught.value.code == "scope-missing" and caught.value.request_id
    with pytest.raises(Unreachable, match="tls-certificate.pem"):
        list(Tenant(service.url, narrow, service.trust_root).authenticate_stream(untouched()))
    with pytest.raises(ValueError, match="`decide` asks for none"):
        shop.tenant.authenticate_stream(untouched(), attestation="none")


def test_what_the_iterable_raises_comes_after_the_results_of_what_it_gave(shop: Shop) -> None:
    def broken() -> Iterator[Attempt]:
        yield shop.attempt()
        yield shop.attempt()
        raise LookupError("the camera is gone")

    results = shop.tenant.authenticate_stream(broken())
    assert [said(next(results)[1]) for _ in range(2)] == ["match", "match"]
    with pytest.raises(LookupError, match="the camera is gone"):
        next(results)
    for mistaken, why in [
        (Attempt(shop.ann, OWN, b"short"), "16 to 64 bytes"),
        (Attempt(shop.ann, [1.0], nonce()), "128 numbers, not 1"),
        (Attempt(shop.ann, OWN, nonce(), source=""), "source has 1 to 64 bytes"),
    ]:
        results = shop.tenant.authenticate_stream([shop.attempt(), mistaken])
        assert said(next(results)[1]) == "match"
        with pytest.raises(ValueError, match=why):
            next(results)
