"""The login of server/API.md in 40 lines, run as it stands: Python's standard library, and nothing of this package."""

import json
import re
import secrets
import subprocess
import sys

from service import AUDIENCE, OWN, REPOSITORY, Member, Service

LINES_MAX = 40


def test_a_login_in_40_lines_by_the_documents(service: Service) -> None:
    page = (REPOSITORY / "server/API.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.S)
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
