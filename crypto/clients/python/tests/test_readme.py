"""The first example of the README runs as it stands."""

import re

import pytest
from vectors import FULL, NONCE, NOW, PACKAGE, text


def test_the_example_authenticates_and_refuses(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.S)
    assert example is not None
    (tmp_path / "trust-root.json").write_text(text("trust-root.json"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(example.group(1), "README.md", "exec"), names)
    assert names["authenticate"](FULL, NONCE, NOW) == bytes([2] * 32)
    assert names["authenticate"](FULL, bytes(32), NOW) is None
    assert names["authenticate"](FULL, NONCE) is None, "the vectors are of another day"
