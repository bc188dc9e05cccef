"""The dlib example of server/MODELS.md, from photographs to verified logins: model.py FOLDER, with the program in TREFOIL.

FOLDER keeps the packages with the photographs: two public figures, two photographs each, in packages under the MIT licence.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
from trefoil_attest import Policy, verify
from trefoil_attest.client import Tenant, Unproven

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "crypto/clients/python/tests"))
from service import AUDIENCE, Service

PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps", "--no-binary=:all:"]
PACKAGES = {
    "face_recognition-1.3.0.tar.gz": (
        [*PIP, "face-recognition==1.3.0"],
        "5e5efdd1686aa566af0d3cc1313b131e4b197657a8ffd03669e6d3fad92705ec",
        {f"face_recognition-1.3.0/tests/test_images/{name}.jpg": f"obama/{name}.jpg" for name in ("obama", "obama2")},
    ),
    "project-oxford-2.0.0.tgz": (
        ["npm", "pack", "--silent", "project-oxford@2.0.0"],
        "7ca41da018d753321f2a3928d6305222512dfd1c3d9a434d96cb00492170b62f",
        {f"package/test/images/{name}.jpg": f"gates/{name}.jpg" for name in ("face1", "face2")},
    ),
}
"""By their files: how to fetch one, its SHA-256, and which photographs of whom are in it."""
PAGE = (REPOSITORY / "server/MODELS.md").read_text(encoding="utf-8")
SCALE = 175


def take_photographs(kept: Path, to: Path) -> None:
    for name, (fetch, digest, photographs) in PACKAGES.items():
        file = kept / name
        if not file.is_file():
            subprocess.run(fetch, cwd=kept, check=True)
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest, f"{file} is another file: delete it"
        with tarfile.open(file) as archive:
            for inside, photograph in photographs.items():
                (to / photograph).parent.mkdir(parents=True, exist_ok=True)
                (to / photograph).write_bytes(archive.extractfile(inside).read())


def run_blocks(folder: Path, *marks: str) -> None:
    """Runs the page's blocks that have these texts, in `folder`."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict = {}
    before = os.getcwd()
    os.chdir(folder)
    for mark in marks:
        [block] = [block for block in blocks if mark in block]
        exec(compile(block, "MODELS.md", "exec"), names)
    os.chdir(before)


def scores(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """As the service has them."""
    x, y = (np.round(SCALE * v / np.linalg.norm(v, axis=-1, keepdims=True)) for v in (x, y))
    return x @ y.T


def calibrate(service: Service, x: str, fmr_class: int) -> dict:
    """The policy by the page's command. Ten people are too few, which the command says."""
    [command] = [line for line in PAGE.splitlines() if line.startswith("trefoil calibrate ")]
    arguments = shlex.split(command.replace("x.npy", x).replace("--class 4", f"--class {fmr_class}"))[1:]
    service.run(*arguments, "--proof", "none", "--accept-indicated")
    return json.loads((service.folder / "policy.json").read_text())


def calibrated(service: Service) -> tuple[np.ndarray, dict]:
    """The mean of the public dlib set, and the policy for its vectors without it."""
    for name in ("x.npy", "y.npy"):
        shutil.copy(REPOSITORY / "bench/data/lfw_dlib128" / name, service.folder)
    run_blocks(service.folder, '"mean.npy"')
    mean, x = np.load(service.folder / "mean.npy"), np.load(service.folder / "x.npy")
    accepted = np.mean(scores(mean[None], x) >= calibrate(service, "x.npy", 3)["threshold"]["calibrated"]["score"])
    assert 0.35 < accepted < 0.46, f"the page says that four in ten accept the mean face, and {accepted} do"
    return mean, calibrate(service, "x-centred.npy", 4)


def login(shop: Tenant, who: Unproven, face: np.ndarray, service: Service, model: str) -> str:
    """The decision, from the attestation as a relying party verifies it."""
    nonce = secrets.token_bytes(32)
    answer = shop.authenticate(who, face.tolist(), nonce)
    policy = Policy(service.trust_root, AUDIENCE, nonce, tenant=who.tenant, decision="any", accept_no_proof=True)
    verified = verify(answer.attestation, policy, time.time()).statement
    assert (verified.decision, verified.embedder.split("/")[0]) == (answer.decision, model), (verified, answer)
    return verified.decision


def main(kept: Path, folder: Path) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    take_photographs(kept, folder / "people" / "pictures")
    run_blocks(folder / "people", "import dlib", '"y.npy"')
    x, y = np.load(folder / "people/x.npy"), np.load(folder / "people/y.npy")
    assert x.shape == (4, 128) and x.dtype == np.float32 and y.tolist() == [0, 0, 1, 1], (x, y)

    service = Service(folder, {})
    try:
        mean, policy = calibrated(service)
        faces = x - mean
        tenant = service.make_tenant(policy)
        shop = service.tenant(service.make_key(tenant, "enrol", "authenticate")["api_key"])
        people = [Unproven(tenant, secrets.token_bytes(32), AUDIENCE) for _ in range(2)]
        for person, face in zip(people, faces[::2]):
            shop.enrol(person.handle, [face.tolist()], "form 7")
        for number, person in enumerate(people):
            asked = {"own photograph": faces[1::2][number], "another's": faces[1::2][1 - number], "own with the mean": x[1::2][number]}
            said = {what: login(shop, person, face, service, policy["embedder"]) for what, face in asked.items()}
            assert said == {"own photograph": "match", "another's": "no_match", "own with the mean": "no_match"}, (number, said, policy)
    finally:
        service.close()
    print(f"two people, four photographs, {policy['threshold']}: own photographs match, and others do not")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(sys.argv[1]).resolve(), Path(folder))
