"""The examples of the README run as they stand."""

import json
import re

import pytest
from trefoil_attest import LogError
from service import AUDIENCE, OWN, UNPROVEN, Member, Service
from vectors import CONSISTENCY, FULL, NONCE, NOW, PACKAGE, seal, text


def source(number: int) -> str:
    return re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.S)[number]


def example(number: int, service: Service | None = None) -> dict:
    """What an example defines, with the address of a running service."""
    text = source(number)
    if service is not None:
        text = text.replace("https://127.0.0.1:8443", service.url)
    names: dict = {}
    exec(compile(text, "README.md", "exec"), names)
    return names


def test_the_example_authenticates_and_refuses(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trust-root.json").write_text(text("trust-root.json"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = example(0)
    assert names["authenticate"](FULL, NONCE, NOW) == bytes([2] * 32)
    assert names["authenticate"](FULL, bytes(32), NOW) is None
    assert names["authenticate"](FULL, NONCE) is None, "the vectors are of another day"


def test_two_seals_are_compared_with_what_the_service_gives() -> None:
    compare = example(3)["compare"]
    asked = []
    for pair in CONSISTENCY["pairs"]:

        def get_json(path: str, pair: dict = pair) -> dict:
            asked.append(path)
            return {"path": pair["inclusion"]} if "inclusion" in path else {"proof": pair["consistency"]}

        # What the example does not ask for, or the vectors do not have, is another case.
        if pair["one"] == pair["other"] or "0" in pair["one"] + pair["other"]:
            continue
        try:
            compare(seal(pair["one"]), seal(pair["other"]), get_json)
            outcome = "same-log"
        except LogError as error:
            outcome = error.code
        assert outcome == pair["expect"], pair
    assert {"/v1/log/consistency/2/7", "/v1/log/inclusion/2/7"} <= set(asked)
    compare(seal("a6"), seal("a6"), lambda path: pytest.fail("there is nothing to prove of one seal"))


def test_the_example_logs_in(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(service.folder)
    member = Member(service, "reader")
    (service.folder / "api.key").write_text(member.api_key + "\n")
    (service.folder / "face.json").write_text(json.dumps(OWN))
    member.proof_file("ann.proof")
    login = example(1, service)["login"]
    assert login.is_match and login.verified.statement.audience == AUDIENCE
    assert capsys.readouterr().out == f"match {login.verified.statement.account.hex()}\n"


def test_the_example_without_credentials_logs_in(service: Service) -> None:
    tenant_id = service.make_tenant(UNPROVEN)
    shop = service.tenant(service.make_key(tenant_id, "enrol", "authenticate")["api_key"])
    first_login = example(2)["first_login"]
    accounts = {first_login(shop, tenant_id, OWN) for _ in range(2)}
    assert len(accounts) == 2 and all(len(account) == 32 for account in accounts)
