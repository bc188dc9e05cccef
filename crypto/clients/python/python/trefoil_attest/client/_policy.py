"""What a tenant's logins are decided under, and its versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ._json import Answer
from ._receipts import Receipt

ProbeMode = Literal["plain", "shared"]
ProofNeed = Literal["credential", "none"]


@dataclass(frozen=True)
class Attempts:
    """How often a template may be tried."""

    consecutive: int = 5
    """Failures in a row before a delay."""
    delay_s: int = 30
    failures_per_day: int = 20
    failures_per_generation: int = 100
    attempts_per_day: int = 200
    """Matches included."""
    attempts_per_generation: int = 2_000


@dataclass(frozen=True)
class TenantPolicy:
    """What a tenant's logins are decided under. `embedder`, `probe` and `proof` are for good; a change of the rest is a version."""

    audiences: Sequence[str]
    """Relying parties, exactly as attestations name them."""
    embedder: str = "facenet-128"
    fmr_class: int = 4
    """k of the false-match rate 10^-k: 2 to 4 with the embedder facenet-128, or what `score` was calibrated to. With 2 and 3 fewer people are refused, but a caller
    with an API key can read templates of accounts for which it finds a look-alike."""
    score: int | None = None
    """Smallest inner product that matches, of your own calibration."""
    level_min: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    attestation_lifetime_s: int = 120
    probe: ProbeMode = "plain"
    sessions_in_memory: int | None = None
    proof: ProofNeed = "credential"
    """Whether a login needs a credential proof; with "none" the API key alone vouches for it, and each attestation says so."""

    def __post_init__(self) -> None:
        # A text is a sequence too, of audiences of one character each.
        if isinstance(self.audiences, str):
            raise TypeError(f"audiences is a list of texts; write [{self.audiences!r}]")

    def to_json(self) -> dict[str, object]:
        """As the API takes it."""
        calibrated = {"calibrated": {"score": self.score, "fmr_class": self.fmr_class}}
        policy: dict[str, object] = {
            "embedder": self.embedder,
            "threshold": {"fmr_class": self.fmr_class} if self.score is None else calibrated,
            "audiences": list(self.audiences),
            "level_min": self.level_min,
            "attempts": vars(self.attempts),
            "attestation_lifetime_s": self.attestation_lifetime_s,
            "probe": self.probe,
        }
        if self.sessions_in_memory is not None:
            policy["sessions_in_memory"] = self.sessions_in_memory
        if self.proof != "credential":
            policy["proof"] = self.proof
        return policy

    def digest(self) -> bytes:
        """What receipts call this policy by, and with it whether it asks for proofs: SHA3-256 of its canonical JSON (RFC 8785)."""
        canonical = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha3_256(canonical.encode()).digest()

    @staticmethod
    def of(answer: Answer) -> TenantPolicy:
        threshold, attempts = answer.object("threshold"), answer.object("attempts")
        calibrated = threshold.object("calibrated") if threshold.has("calibrated") else None
        return TenantPolicy(
            audiences=answer.texts("audiences"),
            embedder=answer.text("embedder"),
            fmr_class=(calibrated or threshold).whole("fmr_class"),
            score=calibrated.whole("score") if calibrated else None,
            level_min=answer.whole("level_min"),
            attempts=Attempts(**{name: attempts.whole(name) for name in vars(Attempts())}),
            attestation_lifetime_s=answer.whole("attestation_lifetime_s"),
            probe=answer.one_of("probe", get_args(ProbeMode)),
            sessions_in_memory=answer.whole_or_none("sessions_in_memory"),
            proof=answer.one_of("proof", get_args(ProofNeed)) if answer.has("proof") else "credential",
        )


@dataclass(frozen=True)
class PolicyVersion:
    """A version of a tenant's policy."""

    policy_id: int
    policy_version: int
    """Counts from 1; attestations name it."""
    made_at: int
    policy_digest: bytes
    """SHA3-256 of the policy in canonical JSON, as receipts name it."""
    policy: TenantPolicy


@dataclass(frozen=True)
class ChangedPolicy(PolicyVersion):
    """The version in force."""

    receipt: Receipt | None
    """Also for the policy in force again; `None` where the service could not seal it."""


def policy_version(answer: Answer) -> PolicyVersion:
    return PolicyVersion(
        policy_id=answer.whole("policy_id"),
        policy_version=answer.whole("policy_version"),
        made_at=answer.whole("made_at"),
        policy_digest=answer.hexadecimal("policy_digest", 32),
        policy=TenantPolicy.of(answer.object("policy")),
    )
