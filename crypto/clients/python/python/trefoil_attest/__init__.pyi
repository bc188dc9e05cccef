from collections.abc import Sequence
from typing import Final, Literal

DANGEROUS_ANY_NONCE: Final[str]

class DecodeError(ValueError): ...
class JsonError(ValueError): ...

class LogError(Exception):
    code: Literal["issuer", "forked", "restored", "consistency", "inclusion"]

class UpdateError(Exception):
    code: str

class VerifyError(Exception):
    code: str
    seal: tuple[int, bytes] | None

class TrustRoot:
    issuer: str
    version: int
    @staticmethod
    def from_json(text: str) -> TrustRoot: ...
    @staticmethod
    def decode(data: bytes) -> TrustRoot: ...
    def to_json(self) -> str: ...
    def accept(self, next: TrustRoot) -> None: ...

class Seal:
    seal_number: int
    log_root: bytes
    vaults: list[tuple[int, int, tuple[int, bytes] | None] | None]
    time: int
    digest: bytes
    @staticmethod
    def decode(data: bytes) -> Seal: ...

class Policy:
    def __new__(
        cls,
        trust_root: TrustRoot,
        audience: str,
        nonce: bytes | str,
        *,
        tenant: bytes | None = None,
        account: bytes | None = None,
        account_key: bytes | None = None,
        request_digest: bytes | None = None,
        decision: Literal["match", "any"] = "match",
        probe_mode: Literal["plain", "shared"] | None = None,
        proof_level: int | None = None,
        accept_no_proof: bool = False,
        policy_version: tuple[int, int] | None = None,
        fmr_class: int = 0,
        clock_skew: int = 10,
    ) -> Policy: ...

class Statement:
    issuer: str
    tenant: bytes
    audience: str
    account: bytes
    nonce: bytes
    request_digest: bytes
    decision: Literal["match", "no_match"]
    probe_mode: Literal["plain", "shared"]
    policy_id: int
    policy_version: int
    fmr_class: int
    embedder: str
    quantiser: str
    template_generation: int
    proof_level: int | None
    session: bytes | None
    batch_id: bytes
    place: int
    issued_at: int
    expires_at: int

class Verified:
    statement: Statement
    statement_digest: bytes
    account_key: bytes | None
    leaf_index: int
    seal_number: int
    sealed_at: int
    key_set_id: bytes
    families: list[str]

class Change:
    kind: str
    issuer: str
    tenant: bytes
    changed_at: int
    salt: bytes
    handle: bytes | None
    generation: int | None
    replaced: int | None
    consent: bytes | None
    session: bytes | None

class VerifiedChange:
    change: Change
    digest: bytes
    leaf_index: int
    seal_number: int
    sealed_at: int

def verify_change(receipt: bytes, trust_root: TrustRoot, tenant: bytes | None, now: float) -> VerifiedChange: ...
def consent_digest(reference: str) -> bytes: ...
def verify(attestation: bytes, policy: Policy, now: float) -> Verified: ...
def verify_with_seal(attestation: bytes, seal: Seal, policy: Policy, now: float) -> Verified: ...
def verify_succession(succession: bytes, account: bytes, account_key: bytes) -> tuple[bytes, bytes]: ...
def verify_seal(seal: Seal, trust_root: TrustRoot) -> None: ...
def compare(
    one: Verified, other: Verified
) -> Literal[
    "unrelated",
    "same",
    "repeated",
    "contradiction-decision",
    "contradiction-account",
    "contradiction-session",
    "contradiction-tenant",
    "contradiction-audience",
    "contradiction-nonce",
]: ...
def verify_consistency(
    old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes | str]
) -> bool: ...
def verify_same_log(
    one: Seal, other: Seal, *, consistency: Sequence[bytes | str], inclusion: Sequence[bytes | str]
) -> None: ...
