"""The examples of the README run as they stand."""

import re

import pytest
from trefoil_attest import LogError
from vectors import CONSISTENCY, FULL, NONCE, NOW, PACKAGE, seal, text


def example(number: int) -> dict:
    examples = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.S)
    names: dict = {}
    exec(compile(examples[number], "README.md", "exec"), names)
    return names


def test_the_example_authenticates_and_refuses(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trust-root.json").write_text(text("trust-root.json"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = example(0)
    assert names["authenticate"](FULL, NONCE, NOW) == bytes([2] * 32)
    assert names["authenticate"](FULL, bytes(32), NOW) is None
    assert names["authenticate"](FULL, NONCE) is None, "the vectors are of another day"


def test_two_seals_are_compared_with_what_the_service_gives() -> None:
    compare = example(1)["compare"]
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
