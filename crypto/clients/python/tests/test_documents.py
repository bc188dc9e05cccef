"""The two logins of server/API.md in 40 lines each, run as they stand: Python's standard library, and nothing of this package."""

import json
import re
import secrets
import subprocess
import sys

from service import AUDIENCE, OWN, REPOSITORY, Member, Service

LINES_MAX = 40


def test_a_first_login_without_credentials_in_40_lines_from_the_tenant_on(service: Service) -> None:
    page = (REPOSITORY / "server/API.md").read_text(encoding="utf-8")
    (program, _) = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(program.splitlines()) <= LINES_MAX
    folder = service.folder
    (folder / "first.py").write_text(program)
    (folder / "face.json").write_text(json.dumps(OWN))
    nonce = secrets.token_hex(32)
    arguments = [service.admin_url, service.url, str(service.data), "face.json", nonce, "first.json"]
    command = [sys.executable, "-I", "-S", "first.py", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "match\n"), done.stderr
    pinned = ["first.json", "--trust-root", "trust-root.json", "--audience", AUDIENCE, "--nonce", nonce]
    shown = service.run("verify", *pinned, "--accept-no-proof")
    assert "decision match" in shown and "no credential proof" in shown
    assert "(--accept-no-proof accepts" in service.run("verify", *pinned, code=1)


def test_a_login_in_40_lines_by_the_documents(service: Service) -> None:
    page = (REPOSITORY / "server/API.md").read_text(encoding="utf-8")
    (_, program) = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(program.splitlines()) <= LINES_MAX
    folder, bob = service.folder, Member(service, "bob")
    (folder / "login.py").write_text(program)
    (folder / "face.json").write_text(json.dumps(OWN))
    bob.proof_file("bob.proof")
    nonce = secrets.token_hex(32)
    arguments = [service.url, str(service.ca), "bob.key", "bob.proof", "face.json", nonce, "answer.json"]
    # Isolated, and without what is installed beside the standard library.
    command = [sys.executable, "-I", "-S", "login.py", *arguments]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    done = run()
    assert (done.returncode, done.stdout) == (0, "match\n"), done.stderr
    pinned = ["--trust-root", "trust-root.json", "--audience", AUDIENCE]
    assert "decision match" in service.run("verify", "answer.json", *pinned, "--nonce", nonce)
    again = run()
    assert again.returncode == 1 and again.stderr.startswith("template-exists: "), again.stderr
