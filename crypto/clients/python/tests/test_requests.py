"""Probe digests, MACs and envelopes over the vectors that the service's own code made."""

import base64
import json
from array import array

import pytest
from service import REPOSITORY
from trefoil_attest.client import Proof, Session, Unproven, probe_digest
from trefoil_attest.client._login import Vector, signed

VECTORS = json.loads((REPOSITORY / "server/api/testdata/requests.json").read_text(encoding="utf-8"))
PLAIN = [vector for vector in VECTORS["requests"] if "shares" not in vector["body"]]


@pytest.mark.parametrize("vector", VECTORS["probes"], ids=lambda vector: vector["name"])
def test_probe_digest(vector: dict) -> None:
    if "int8" in vector:
        sent_as_bytes = Vector.of(array("b", vector["embedding"]))
        assert (sent_as_bytes.packed.hex(), sent_as_bytes.sent) == (base64.b64decode(vector["base64"]).hex(), {"int8": vector["int8"]})
    made = Vector.of(vector["embedding"])
    assert (made.packed, made.sent) == (base64.b64decode(vector["base64"]), vector["base64"])
    assert probe_digest(vector["embedding"]).hex() == vector["digest"]
    assert probe_digest(base64.b64decode(vector["base64"])).hex() == vector["digest"]


@pytest.mark.parametrize("vector", PLAIN, ids=lambda vector: vector["name"])
def test_request(vector: dict) -> None:
    body = vector["body"]
    handle, session_id = bytes.fromhex(body["handle"]), bytes.fromhex(body["session_id"])
    key = bytes.fromhex(vector["session_key"])
    session = Session(session_id, bytes(16), handle, bytes(32), body["audience"], 0, key)
    probe, nonce = Vector.of(base64.b64decode(body["embedding"])), bytes.fromhex(body["nonce"])
    made, digest = signed(session, probe, nonce, body["issued_at"], body["attestation"])
    assert made == body
    assert digest.hex() == vector["request_digest"]


@pytest.mark.parametrize("vector", VECTORS["unproven_requests"], ids=lambda vector: vector["name"])
def test_unproven_request(vector: dict) -> None:
    body = vector["body"]
    subject = Unproven(bytes.fromhex(vector["tenant"]), bytes.fromhex(body["handle"]), body["audience"])
    probe, nonce = Vector.of(base64.b64decode(body["embedding"])), bytes.fromhex(body["nonce"])
    made, digest = signed(subject, probe, nonce, body["issued_at"], body["attestation"])
    assert made == body
    assert digest.hex() == vector["request_digest"]


def test_the_vectors_have_every_kind_of_request() -> None:
    assert any("int8" in vector for vector in VECTORS["probes"])
    assert len(VECTORS["unproven_requests"]) >= 2 and 3 <= len(PLAIN) < len(VECTORS["requests"])


def test_envelope() -> None:
    plain = VECTORS["envelope"]
    proof = Proof.decode(bytes.fromhex(plain["head"]) + bytes(plain["zeros"]))
    for name in ("tenant", "handle", "account", "session_id", "session_key"):
        assert getattr(proof, name).hex() == plain[name], name
    assert proof.audience == plain["audience"]


def test_other_bytes_are_refused_and_nothing_else_is_raised() -> None:
    plain = VECTORS["envelope"]
    head, zeros = bytes.fromhex(plain["head"]), plain["zeros"]
    for length in range(len(head) + 1):
        with pytest.raises(ValueError):
            Proof.decode(head[:length])
    read = 0
    for at in range(len(head)):
        for bit in range(8):
            other = bytearray(head)
            other[at] ^= 1 << bit
            try:
                Proof.decode(bytes(other) + bytes(zeros))
                read += 1
            except ValueError:
                pass
    assert 0 < read < 8 * len(head), "what the service judges is read, and what has another layout is not"
