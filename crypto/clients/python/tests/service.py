"""A running `trefoil serve`, and a member with a wallet, made with the program's own commands."""

import json
import math
import os
import subprocess
import time
from pathlib import Path

from trefoil_attest import TrustRoot
from trefoil_attest.client import Proof, Tenant

REPOSITORY = Path(__file__).resolve().parents[4]
AUDIENCE = "https://shop.example"
OWN = [math.sin(0.7 * i) for i in range(128)]
ANOTHERS = [math.cos(1.3 * i) for i in range(128)]
POLICY = {
    "embedder": "test-128",
    "threshold": {"calibrated": {"score": 18_000, "fmr_class": 3}},
    "audiences": [AUDIENCE, "https://other.example"],
    "attempts": {
        "consecutive": 1 << 31,
        "delay_s": 0,
        "failures_per_day": 1 << 31,
        "failures_per_generation": 1 << 31,
        "attempts_per_day": 1 << 31,
        "attempts_per_generation": 1 << 31,
    },
}
"""What the tests' tenants decide under: a score that only the same face reaches, and any number of attempts."""
UNPROVEN = POLICY | {"proof": "none"}


def program() -> str:
    path = os.environ.get("TREFOIL", str(REPOSITORY / "target" / "debug" / "trefoil"))
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: run `cargo build -p trefoil-cli`, or set TREFOIL to the built program")
    return path


class Service:
    """A service on free ports, whose data is in `folder`."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        self.data = folder / "trefoil-data"
        listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir", str(self.data)]
        small = {"TREFOIL_PROOFS_CACHE_CAPACITY": "1000", "TREFOIL_KEYS_PRECOMPUTE": "brief"}
        self.process = subprocess.Popen(
            [program(), "serve", *listen], stdout=subprocess.PIPE, env=os.environ | small | variables, text=True
        )
        assert self.process.stdout is not None
        told = [self.process.stdout.readline() for _ in range(5)]
        addresses = ["https://" + line.split("https://")[1].strip() for line in told[:2]]
        self.url, self.admin_url = addresses
        self.ca = self.data / "tls-certificate.pem"
        self.run("keys", "export-trust-root", "--data-dir", str(self.data), "--output", "trust-root.json")
        self.trust_root = TrustRoot.from_json((folder / "trust-root.json").read_text())
        (folder / "passphrase").write_text("a passphrase for this test\n")
        (folder / "passphrase").chmod(0o600)

    def run(self, *arguments: str, code: int = 0) -> str:
        """Standard output of a command of the program, in the folder."""
        done = subprocess.run([program(), *arguments], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def admin(self, *command: str) -> dict:
        """What `trefoil admin` answers to a command."""
        there = ["--data-dir", str(self.data), "--admin", self.admin_url, "--json"]
        return json.loads(self.run("admin", *command, *there))

    def make_tenant(self, policy: dict) -> bytes:
        (self.folder / "policy.json").write_text(json.dumps(policy))
        return bytes.fromhex(self.admin("tenant", "create", "shop", "--policy", "policy.json")["tenant_id"])

    def make_key(self, tenant_id: bytes, *scopes: str) -> dict:
        """An API key: `id` and `api_key`."""
        asked = [word for scope in scopes for word in ("--scope", scope)]
        return self.admin("api-key", "create", "--tenant", tenant_id.hex(), *asked)

    def tenant(self, api_key: str, *, retry_for: float = 10.0) -> Tenant:
        return Tenant(self.url, api_key, self.trust_root, ca=self.ca, retry_for=retry_for)

    def close(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0


class Member:
    """A tenant with an issuer, and one member with a wallet."""

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name = service, name
        self.tenant_id = service.make_tenant(POLICY)
        self.api_key = service.make_key(self.tenant_id, "enrol", "authenticate", "issue")["api_key"]
        key_file = service.folder / f"{name}.key"
        key_file.write_text(self.api_key)
        directory, wallet, passphrase = f"{name}-issuer", f"{name}.wallet", ["--passphrase-file", "passphrase"]
        there = ["--service", service.url, "--ca", str(service.ca), "--api-key-file", str(key_file)]
        operator = ["--admin", service.admin_url, "--ca", str(service.ca), "--admin-token-file", str(service.data / "admin.token")]
        run = service.run
        run("issuer", "init", "--directory", directory, "--tenant", self.tenant_id.hex(), *passphrase)
        run("issuer", "register", "--directory", directory, *operator)
        commitment = run("wallet", "create", "--wallet", wallet, *passphrase).split()[-1]
        tomorrow = str(int(time.time()) + 86_400)
        run("issuer", "add", "ann", "--directory", directory, "--commitment", commitment, "--level", "2", "--expires", tomorrow)
        run("issuer", "publish", "--directory", directory, *passphrase, *there)
        run("issuer", "export", "ann", "--directory", directory, "--output", f"{name}.credential")
        run("wallet", "receive", f"{name}.credential", "--wallet", wallet, *passphrase)

    def proof_file(self, name: str, *more: str, audience: str = AUDIENCE) -> Path:
        """What `trefoil wallet prove` writes."""
        wallet = ["--wallet", f"{self.name}.wallet", "--passphrase-file", "passphrase"]
        self.service.run("wallet", "prove", *wallet, "--audience", audience, "--output", name, *more)
        return self.service.folder / name

    def proof(self, name: str, *more: str) -> Proof:
        return Proof.read(self.proof_file(name, *more))

    def tenant(self) -> Tenant:
        return self.service.tenant(self.api_key)


def faces(folder: Path) -> None:
    """The file that the documents call face.json."""
    (folder / "face.json").write_text(json.dumps(OWN))
