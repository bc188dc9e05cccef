"""What a login is made of: the embedding, the proof envelope, the session, the MAC."""

from __future__ import annotations

import base64
import hashlib
import math
import struct
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from types import MappingProxyType
from typing import Literal

Embedding = Iterable[float] | bytes
"""As many numbers as the tenant's model gives, 2 to 512, or the bytes that they have as little-endian float32. Those of an array of int8 are
sent in a byte each."""
Form = Literal["full", "compact"]
"""How much of the attestation an answer carries, of those that are verified at once."""

NUMBERS_MIN, NUMBERS_MAX = 2, 512
STATEMENT_BYTES = 191
NAME_BYTES_MAX = 64


def sha3(*parts: bytes) -> bytes:
    return hashlib.sha3_256(b"".join(parts)).digest()


def sized(part: bytes) -> bytes:
    return struct.pack("<I", len(part)) + part


@dataclass(frozen=True)
class Vector:
    """An embedding, checked."""

    packed: bytes = field(repr=False)
    """Little-endian float32, as they are signed."""
    sent: object = field(repr=False)
    """Its form in a body."""

    @staticmethod
    def of(embedding: Embedding) -> Vector:
        int8 = int8_bytes(embedding)
        if int8 is None and isinstance(embedding, (bytes, bytearray, memoryview)):
            packed = bytes(embedding)
            if len(packed) % 4:
                raise ValueError(f"an embedding has 4 bytes (float32) for each number, and {len(packed)} is no multiple")
        elif isinstance(embedding, str) or not isinstance(embedding, Iterable):
            raise TypeError(f"an embedding is numbers or bytes of float32, not {type(embedding).__name__}")
        else:
            numbers = list(embedding)
            try:
                packed = struct.pack(f"<{len(numbers)}f", *numbers)
            except (struct.error, OverflowError) as cause:
                raise ValueError(f"an embedding has numbers that fit 32 bits: {cause}") from cause
        count = len(packed) // 4
        if not NUMBERS_MIN <= count <= NUMBERS_MAX:
            raise ValueError(f"an embedding has {NUMBERS_MIN} to {NUMBERS_MAX} numbers, not {count}")
        if not all(map(math.isfinite, struct.unpack(f"<{count}f", packed))):
            raise ValueError("an embedding has finite numbers only")
        return Vector(packed, in_base64(packed) if int8 is None else {"int8": in_base64(int8)})


def in_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def int8_bytes(array: object) -> bytes | None:
    """The bytes of an array of int8, such as one of numpy; `None` for anything else."""
    try:
        view = memoryview(array)  # type: ignore[arg-type]
    except TypeError:
        return None
    return view.tobytes() if view.format == "b" else None


def probe_digest(embedding: Embedding) -> bytes:
    """SHA3-256 of a plain probe, under its name: what the MAC covers of it."""
    return sha3(b"trefoil/probe/1", Vector.of(embedding).packed)


def named(**names: str | None) -> dict[str, str]:
    """Those that are given, which can be sent."""
    for name, given in names.items():
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{name} is a text, such as API.md describes, not {type(given).__name__}")
        if given is not None and (not 1 <= len(given.encode()) <= NAME_BYTES_MAX or any(map(is_control, given))):
            raise ValueError(f"{name} has 1 to {NAME_BYTES_MAX} bytes of UTF-8 and no control characters")
    return {name: given for name, given in names.items() if given is not None}


def is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"


@dataclass(frozen=True)
class Proof:
    """What ``trefoil wallet prove`` wrote. It holds the session's key: anyone who has it can use the session."""

    tenant: bytes
    handle: bytes
    """The person at this tenant: what enrolment names."""
    account: bytes
    """The person towards this audience, as attestations say it."""
    audience: str
    session_id: bytes
    session_key: bytes = field(repr=False)
    envelope: bytes = field(repr=False)

    @staticmethod
    def read(path: str | PathLike[str]) -> Proof:
        """Reads the file."""
        with open(path, "rb") as file:
            return Proof.decode(file.read())

    @staticmethod
    def decode(envelope: bytes) -> Proof:
        """Reads the layout. The service verifies the proof itself."""
        if envelope[:8] != b"TFP3TFS1":
            raise ValueError("not a proof envelope; `trefoil wallet prove --output FILE` writes one")
        statement = envelope[4 : 4 + STATEMENT_BYTES]
        length = envelope[4 + STATEMENT_BYTES] if len(envelope) > 4 + STATEMENT_BYTES else 0
        audience_at = 5 + STATEMENT_BYTES
        key_at = audience_at + length
        proof_at = key_at + 32 + 32 + 4 + 4
        if len(envelope) < proof_at or len(envelope) - proof_at != int.from_bytes(envelope[proof_at - 4 : proof_at], "little"):
            raise ValueError("the proof envelope is cut off, or something follows it")
        return Proof(
            tenant=statement[6:22],
            account=statement[95:127],
            handle=statement[127:159],
            audience=envelope[audience_at:key_at].decode(),
            session_id=sha3(b"trefoil/statement/1", statement),
            session_key=envelope[key_at : key_at + 32],
            envelope=envelope,
        )


@dataclass(frozen=True)
class Session:
    """An open proof session. Keep it as you keep a password: it signs logins until it ends."""

    id: bytes
    tenant: bytes
    handle: bytes
    account: bytes
    audience: str
    expires_at: int
    """Unix seconds."""
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Unproven:
    """A subject of a tenant whose policy says ``proof: none``, towards one audience: in place of a session.

    Nothing signs such a login. The service takes your API key's word that it is the subject's, and each attestation says so.
    """

    tenant: bytes
    handle: bytes
    """Who the subject is at this tenant: 32 bytes of your choice, such as a keyed digest of your own user id."""
    audience: str
    account: bytes | None = None
    """The account that you kept of an earlier login; an attestation for another one is refused."""

    def __post_init__(self) -> None:
        for name, value, length in (("tenant", self.tenant, 16), ("handle", self.handle, 32), ("account", self.account, 32)):
            if value is not None and len(value) != length:
                raise ValueError(f"{name} has {length} bytes, not {len(value)}")


def signed(
    session: Session | Unproven,
    probe: Vector,
    nonce: bytes,
    issued_at: int,
    attestation: Form | Literal["none"],
    names: Mapping[str, str] = MappingProxyType({}),
) -> tuple[dict[str, object], bytes]:
    """The body of a login with this probe, and its request digest."""
    digest, audience = sha3(b"trefoil/probe/1", probe.packed), session.audience.encode()
    of_all = session.handle + struct.pack("<Q", issued_at) + digest + sized(audience) + sized(nonce)
    body: dict[str, object] = {
        "handle": session.handle.hex(),
        "audience": session.audience,
        "nonce": nonce.hex(),
        "issued_at": issued_at,
        "embedding": probe.sent,
        "attestation": attestation,
    }
    body |= names
    if isinstance(session, Unproven):
        return body, sha3(b"trefoil/unproven-request/1", session.tenant, of_all)
    covered = session.id + of_all
    body |= {"session_id": session.id.hex(), "mac": sha3(b"trefoil/request-mac/1", session.key, covered).hex()}
    return body, sha3(b"trefoil/request/1", covered)
