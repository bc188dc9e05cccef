"""A running `trefoil serve`, and a member with a wallet, made with the program's own commands."""

import json
import math
import os
import subprocess
import time
from pathlib import Path

from trefoil_attest import TrustRoot
from trefoil_attest.client import Admin, Attempts, Proof, Tenant, TenantPolicy

REPOSITORY = Path(__file__).resolve().parents[4]
AUDIENCE = "https://shop.example"
OWN = [math.sin(0.7 * i) for i in range(128)]
ANOTHERS = [math.cos(1.3 * i) for i in range(128)]
UNLIMITED = Attempts(1 << 31, 0, 1 << 31, 1 << 31, 1 << 31, 1 << 31)


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

    def admin(self, token: str | None = None) -> Admin:
        token = token or (self.data / "admin.token").read_text()
        return Admin(self.admin_url, token, self.trust_root, ca=self.ca)

    def close(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0


class Member:
    """A tenant with an issuer, and one member with a wallet."""

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name = service, name
        policy = TenantPolicy([AUDIENCE, "https://other.example"], "test-128", 3, 18_000, attempts=UNLIMITED)
        admin = service.admin()
        self.tenant_id = admin.create_tenant(name, policy).tenant_id
        self.key = admin.create_api_key(self.tenant_id, ["enrol", "authenticate", "issue"])
        key_file = service.folder / f"{name}.key"
        key_file.write_text(self.key.api_key)
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

    def tenant(self, *, api_key: str | None = None, retry_for: float = 10.0) -> Tenant:
        service = self.service
        return Tenant(service.url, api_key or self.key.api_key, service.trust_root, ca=service.ca, retry_for=retry_for)


def faces(folder: Path) -> None:
    """The file that the documents call face.json."""
    (folder / "face.json").write_text(json.dumps(OWN))
