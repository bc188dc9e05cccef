"""Starts nginx, haproxy and Caddy with the settings of server/PROXIES.md before a new service, and logs in through each.

    proxies.py FOLDER PROGRAM            logs in, is refused, sends large bodies, and looks whether connections are kept
    proxies.py FOLDER PROGRAM --pauses   2,000 logins on kept connections with pauses of 4 to 70 s, straight and through
                                         nginx and haproxy, by axios, aiohttp, Go and Java: minutes

FOLDER is a new one.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "server" / "PROXIES.md"
AUDIENCE = "https://shop.example"
HANDLE = "ab" * 32
FACE = base64.b64encode(struct.pack("<128f", *(math.sin(0.7 * i) for i in range(128)))).decode()
ENOUGH = 1 << 31
POLICY = {
    "embedder": "test-128",
    "threshold": {"calibrated": {"score": 18_000, "fmr_class": 3}},
    "audiences": [AUDIENCE],
    "proof": "none",
    "attempts": {
        "consecutive": ENOUGH,
        "delay_s": 0,
        "failures_per_day": ENOUGH,
        "failures_per_generation": ENOUGH,
        "attempts_per_day": ENOUGH,
        "attempts_per_generation": ENOUGH,
    },
}
LOGINS = "/v1/authentications"


class Service:
    """A service with a tenant that asks for no proof, and one person."""

    def __init__(self, folder: Path, program: str) -> None:
        self.program, self.data = program, folder / "data"
        listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir", str(self.data)]
        with (folder / "service.log").open("w") as log:
            self.process = subprocess.Popen(
                [program, "serve", *listen],
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"TREFOIL_KEYS_PRECOMPUTE": "brief"},
                text=True,
            )
        told = [self.process.stdout.readline() for _ in range(2)]
        self.address, self.admin = (line.split("https://")[1].strip() for line in told)
        self.certificate = self.data / "tls-certificate.pem"
        (folder / "policy.json").write_text(json.dumps(POLICY))
        tenant = self.operate("tenant", "create", "shop", "--policy", str(folder / "policy.json"))["tenant_id"]
        scopes = ["--scope", "enrol", "--scope", "authenticate"]
        self.key = self.operate("api-key", "create", "--tenant", tenant, *scopes)["api_key"]
        enrolment = {"embeddings": [FACE], "consent_ref": "form 7"}
        direct = Way(f"https://{self.address.replace('127.0.0.1', 'localhost')}", self.certificate)
        status, _, body = direct.open().ask(
            f"/v1/subjects/{HANDLE}/templates", enrolment, {"Authorization": f"Bearer {self.key}", "Idempotency-Key": "1"}
        )
        assert status == 201, body
        self.direct = direct

    def operate(self, *command: str) -> dict:
        there = ["--data-dir", str(self.data), "--admin", f"https://{self.admin}", "--json"]
        done = subprocess.run([self.program, "admin", *command, *there], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def accepted(self) -> int:
        """Connections that the public listener accepted."""
        tls = ssl.create_default_context(cafile=self.certificate)
        connection = http.client.HTTPSConnection("localhost", int(self.admin.rsplit(":")[-1]), context=tls)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return int(re.search(r'^trefoil_connections_accepted_total{listener="public"} (\d+)', text, re.M)[1])


class Way:
    """An address at which the service answers, itself or behind a proxy, and what vouches for it."""

    def __init__(self, url: str, ca: Path) -> None:
        self.url, self.ca = url, ca

    def open(self) -> Connection:
        return Connection(self)


class Connection:
    def __init__(self, way: Way) -> None:
        host, port = way.url.removeprefix("https://").split(":")
        tls = ssl.create_default_context(cafile=way.ca)
        self.connection = http.client.HTTPSConnection(host, int(port), context=tls, timeout=60)

    def ask(self, path: str, body: object, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request("POST", path, sent, headers | {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def login() -> dict:
    nonce = os.urandom(16).hex()
    about = {"handle": HANDLE, "audience": AUDIENCE, "nonce": nonce, "issued_at": int(time.time())}
    return about | {"embedding": FACE, "attestation": "none"}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Proxy:
    """A proxy with the settings of the page, at another port, before another service, in a folder of its own."""

    ABSENT = {"nginx": "nginx-light", "haproxy": "haproxy", "caddy": "caddy"}

    def __init__(self, name: str, folder: Path, service: Service, certificate: Path) -> None:
        if shutil.which(name) is None:
            sys.exit(f"no {name}: install it, such as apt-get install {self.ABSENT[name]}")
        self.folder = folder / name
        self.folder.mkdir()
        port = free_port()
        self.way = Way(f"https://localhost:{port}", certificate)
        found = re.findall(rf"^```{name}\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        assert len(found) == 1, f"{PAGE} has {len(found)} blocks of {name}"
        text = found[0]
        for here, there in {
            "127.0.0.1:8443": service.address,
            "/var/lib/trefoil/tls-certificate.pem": str(service.certificate),
            "/etc/ssl/auth.example.pem": str(certificate),
            "listen 443": f"listen 127.0.0.1:{port}",
            "bind :443": f"bind 127.0.0.1:{port}",
            "https://auth.example ": f"https://localhost:{port} ",
        }.items():
            text = text.replace(here, there)
        (self.folder / "page.conf").write_text(text)
        command = getattr(self, name)(text)
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"HOME": str(self.folder)})
        self.until_it_listens(port)

    def until_it_listens(self, port: int) -> None:
        for _ in range(300):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.1)
        sys.exit(f"{self.folder.name} does not listen: {(self.folder / 'log').read_text()}")

    def nginx(self, text: str) -> list[str]:
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in kinds)
        user = "user root;\n" if os.geteuid() == 0 else ""
        around = (
            f"{user}daemon off;\npid {self.folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}"
            f"include {self.folder}/page.conf;\n}}\n"
        )
        (self.folder / "nginx.conf").write_text(around)
        return ["nginx", "-p", str(self.folder), "-e", "stderr", "-c", str(self.folder / "nginx.conf")]

    def haproxy(self, text: str) -> list[str]:
        return ["haproxy", "-db", "-f", str(self.folder / "page.conf")]

    def caddy(self, text: str) -> list[str]:
        # Without its API, and without a redirect on port 80.
        (self.folder / "Caddyfile").write_text("{\nadmin off\nauto_https disable_redirects\n}\n" + text)
        return ["caddy", "run", "--config", str(self.folder / "Caddyfile"), "--adapter", "caddyfile"]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def site_certificate(folder: Path) -> Path:
    """A certificate of the proxies for `localhost`, with its key in the same file."""
    whole, key = folder / "site.pem", folder / "site.key"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(whole)]
    subprocess.run([*made, *named], check=True, capture_output=True)
    whole.write_text(whole.read_text() + key.read_text())
    return whole


def check(name: str, way: Way, service: Service) -> None:
    """What callers of the page's proxy may rely on."""
    key = {"Authorization": f"Bearer {service.key}"}
    before = service.accepted()
    for _ in range(30):
        # A connection of a caller each, and the proxy's are kept.
        status, headers, body = way.open().ask(LOGINS, login(), key)
        assert (status, json.loads(body)["decision"]) == (200, "match") and "request-id" in headers, (name, status, body)
    opened = service.accepted() - before
    assert opened <= 4, f"{name} made {opened} connections to the service for 30 logins"
    connection = way.open()
    batch = json.dumps({"authentications": [login() for _ in range(32)]}).encode()
    for bytes_sent, status, code in [(500 << 10, 200, None), (600 << 10, 413, "body-too-large"), (900 << 10, 413, "body-too-large")]:
        # Blanks after the last bracket are JSON too.
        padded = batch + b" " * (bytes_sent - len(batch))
        got, headers, body = way.open().ask(f"{LOGINS}/batch", padded, key)
        assert (got, json.loads(body).get("code")) == (status, code), (name, bytes_sent, got, body[:200])
        batch = json.dumps({"authentications": [login() for _ in range(32)]}).encode()
    for headers, status, code in [
        ({"Authorization": "Bearer nobody"}, 401, "caller-unauthenticated"),
        (key | {"Content-Encoding": "gzip"}, 415, "content-coding-unsupported"),
        (key | {"X-Long": "x" * 20_000}, 431, "head-too-large"),
        (key | {"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1"}, 200, None),
    ]:
        got, said, body = connection.ask(LOGINS, login(), headers)
        document = json.loads(body)
        assert (got, document.get("code")) == (status, code), (name, got, body[:300])
        assert document.get("request_id", said["request-id"]) == said["request-id"], (name, said)
    print(f"{name}: 30 logins over {opened} connections; bodies of 250, 300 and 900 KiB; refusals as they are", flush=True)


def main() -> None:
    folder, program = Path(sys.argv[1]).resolve(), sys.argv[2]
    folder.mkdir(parents=True)
    service, proxies = Service(folder, program), []
    try:
        certificate = site_certificate(folder)
        names = ["nginx", "haproxy"] if "--pauses" in sys.argv else ["nginx", "haproxy", "caddy"]
        for name in names:
            proxies.append(Proxy(name, folder, service, certificate))
        if "--pauses" in sys.argv:
            import pauses

            pauses.run(folder, service, {proxy.folder.name: proxy.way for proxy in proxies})
        else:
            for proxy in proxies:
                check(proxy.folder.name, proxy.way, service)
    finally:
        for proxy in proxies:
            proxy.close()
        service.process.terminate()
        assert service.process.wait(60) == 0, "the service did not end well"


if __name__ == "__main__":
    main()
