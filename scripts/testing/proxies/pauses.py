"""Logins on kept connections with pauses between, by the HTTP clients of four languages and through two proxies: none may be lost.

A client gets on its command line where to go and the pauses of each of its connections, in seconds. It makes a login before the first pause and
after each, and prints how many were answered and why others were not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxies import Service, Way

HERE = Path(__file__).resolve().parent
CONNECTIONS = 56
SHORTEST, LONGEST = 4.0, 70.0
ROUNDS = 6
# Through a proxy all callers pause together, so that its connections to the service are idle, from below to beyond the 60 s of its settings.
TOGETHER = [SHORTEST, 30.0, 58.0, 59.5, 61.0, LONGEST]
AXIOS, AIOHTTP = "axios@1.21.1", "aiohttp==3.14.5"


def clients(folder: Path) -> dict[str, list[str]]:
    """The command of each, with what it needs in the folder."""
    npm = ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder), AXIOS]
    subprocess.run(npm, check=True)
    (folder / "axios.mjs").write_text((HERE / "axios.mjs").read_text())
    venv.create(folder / "python", with_pip=True)
    python = str(folder / "python" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", AIOHTTP], check=True)
    go = str(folder / "go-client")
    subprocess.run(["go", "build", "-o", go, str(HERE / "client.go")], check=True)
    return {
        "axios": ["node", str(folder / "axios.mjs")],
        "aiohttp": [python, str(HERE / "with_aiohttp.py")],
        "Go": [go],
        "Java": ["java", str(HERE / "Client.java")],
    }


def run(folder: Path, service: Service, proxies: dict[str, Way]) -> None:
    programs = clients(folder)
    pauses = [SHORTEST + (LONGEST - SHORTEST) * k / (CONNECTIONS - 1) for k in range(CONNECTIONS)]
    ways = [(name, service.direct, [[pause] * ROUNDS for pause in pauses]) for name in programs]
    ways += [(name, way, [TOGETHER] * CONNECTIONS) for name, way in proxies.items()]
    from proxies import FACE, HANDLE, AUDIENCE, LOGINS

    running = []
    for name, way, each in ways:
        about = {"url": way.url + LOGINS, "ca": str(way.ca), "key": service.key, "pauses": each}
        about |= {"handle": HANDLE, "audience": AUDIENCE, "embedding": FACE}
        command = [*programs.get(name, programs["Go"]), json.dumps(about)]
        running.append((name, subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
    total, lost = 0, 0
    for name, process in running:
        said, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{name} ended with {process.returncode}: {said}")
        outcome = json.loads(said)
        total += outcome["answered"]
        lost += len(outcome["lost"])
        print(f"{name}: {outcome['answered']} answered, lost: {outcome['lost'][:5]}", flush=True)
    expected = len(ways) * CONNECTIONS * (ROUNDS + 1)
    print(f"{total} of {expected} logins answered; the service accepted {service.accepted()} connections", flush=True)
    if lost or total != expected:
        sys.exit(f"{expected - total} logins were lost")
