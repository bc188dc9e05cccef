"""What the tests of calls share: refusals, and answers that are lost or changed on their way."""

import json
import secrets

import pytest
from trefoil_attest.client import Problem, Unreachable
from trefoil_attest.client._transport import Request, Transport


def nonce() -> bytes:
    return secrets.token_bytes(32)


def refused(code: str, call, *arguments, **named) -> Problem:
    with pytest.raises(Problem) as caught:
        call(*arguments, **named)
    problem = caught.value
    assert problem.code == code, problem
    assert problem.cure and problem.request_id in str(problem) and problem.status >= 400
    return problem


def altered(monkeypatch: pytest.MonkeyPatch, change, path: str = "/v1/authentications") -> None:
    """Changes the service's answers to logins on their way."""
    send = Transport.send

    def sent(self: Transport, request: Request) -> bytes:
        body = send(self, request)
        if request.path != path:
            return body
        answer = json.loads(body)
        change(answer)
        return json.dumps(answer).encode()

    monkeypatch.setattr(Transport, "send", sent)


def answers_lost(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Loses the first answer; the request was carried out."""
    once, sent = Transport._once, []

    def lose(self: Transport, request: Request) -> bytes:
        sent.append(request.route)
        answer = once(self, request)
        if len(sent) == 1:
            self.close()
            raise Unreachable("the answer was lost")
        return answer

    monkeypatch.setattr(Transport, "_once", lose)
    return sent
