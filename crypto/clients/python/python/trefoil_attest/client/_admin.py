"""The operator's side: tenants, their policies and their API keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, cast

from ._errors import UnexpectedAnswer
from ._json import Answer, identifier
from ._pages import pages
from ._transport import Request, Transport, json_request

Scope = Literal["enrol", "authenticate", "issue"]
State = Literal["active", "expired", "revoked"]
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
    fmr_class: int = 3
    """k of the false-match rate 10^-k: 2 to 4 with the embedder facenet-128, or what `score` was calibrated to."""
    score: int | None = None
    """Smallest inner product that matches, of your own calibration."""
    level_min: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    attestation_lifetime_s: int = 120
    probe: ProbeMode = "plain"
    sessions_in_memory: int | None = None
    proof: ProofNeed = "credential"
    """Whether a login needs a credential proof; with "none" the API key alone vouches for it, and each attestation says so."""

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

    @staticmethod
    def of(answer: Answer) -> TenantPolicy:
        threshold, attempts = answer.object("threshold"), answer.object("attempts")
        calibrated = threshold.object("calibrated") if threshold.has("calibrated") else None
        probe = answer.text("probe")
        if probe not in ("plain", "shared"):
            raise UnexpectedAnswer(f"the policy has a probe mode that this client does not know: {probe!r}")
        proof = answer.text("proof") if answer.has("proof") else "credential"
        if proof not in ("credential", "none"):
            raise UnexpectedAnswer(f"the policy has a need of proofs that this client does not know: {proof!r}")
        return TenantPolicy(
            audiences=answer.texts("audiences"),
            embedder=answer.text("embedder"),
            fmr_class=(calibrated or threshold).whole("fmr_class"),
            score=calibrated.whole("score") if calibrated else None,
            level_min=answer.whole("level_min"),
            attempts=Attempts(**{name: attempts.whole(name) for name in vars(Attempts())}),
            attestation_lifetime_s=answer.whole("attestation_lifetime_s"),
            probe=cast(ProbeMode, probe),
            sessions_in_memory=answer.whole_or_none("sessions_in_memory"),
            proof=cast(ProofNeed, proof),
        )


@dataclass(frozen=True)
class CreatedTenant:
    """A tenant that was made."""

    tenant_id: bytes
    policy_id: int


@dataclass(frozen=True)
class TenantSummary:
    """A tenant in a list."""

    tenant_id: bytes
    name: str
    created_at: int
    """Unix seconds, like all times."""
    disabled_at: int | None


@dataclass(frozen=True)
class TenantDetail(TenantSummary):
    """A tenant with its policy."""

    policy_id: int
    policy_version: int
    policy: TenantPolicy
    root_generation: int | None


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

    receipt: bytes | None = field(repr=False)
    """CBOR, not verified here, for `trefoil_attest.verify_change` under the pinned trust root; `None` where it could not be sealed."""


@dataclass(frozen=True)
class CreatedApiKey:
    """An API key with its secret, which the service shows once."""

    api_key: str = field(repr=False)
    id: bytes
    expires_at: int | None


@dataclass(frozen=True)
class ApiKey:
    """An API key in a list."""

    id: bytes
    label: str
    scopes: tuple[Scope, ...]
    state: State
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    """The hour of its last use."""


class Admin:
    """The operator at the admin listener, with the token of the data directory's `admin.token`.

    Tenants and API keys are made at most once: a call whose answer is lost raises `Unreachable`, and is not repeated. List them then.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        ca: str | PathLike[str] | None = None,
        timeout: float = 30.0,
        retry_for: float = 10.0,
    ) -> None:
        self._transport = Transport(url, token, ca=ca, timeout=timeout, retry_for=retry_for)

    def create_tenant(self, name: str, policy: TenantPolicy) -> CreatedTenant:
        """Makes a tenant."""
        body = {"name": name, "policy": policy.to_json()}
        answer = self._json(json_request("POST", "/v1/tenants", body, repeatable=False))
        return CreatedTenant(answer.hexadecimal("tenant_id", 16), answer.whole("policy_id"))

    def tenants(self) -> Iterator[TenantSummary]:
        """All tenants, page by page."""
        return pages(self._transport, "/v1/tenants", "tenants", summary)

    def tenant(self, tenant: bytes | str) -> TenantDetail:
        """One tenant."""
        answer = self._json(Request("GET", path(tenant)))
        return TenantDetail(
            **vars(summary(answer)),
            policy_id=answer.whole("policy_id"),
            policy_version=answer.whole("policy_version"),
            policy=TenantPolicy.of(answer.object("policy")),
            root_generation=answer.whole_or_none("root_generation"),
        )

    def set_policy(
        self, tenant: bytes | str, policy: TenantPolicy, *, if_version: int | None = None
    ) -> ChangedPolicy:
        """Makes a policy the next version; with `if_version` only where that one is in force. The policy in force makes no version."""
        headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
        request = json_request("PUT", path(tenant, "/policy"), {"policy": policy.to_json()}, headers=headers)
        answer = self._json(request)
        receipt = answer.object("receipt").base64("attestation") if answer.has("receipt") else None
        return ChangedPolicy(**vars(policy_version(answer)), receipt=receipt)

    def policies(self, tenant: bytes | str) -> Iterator[PolicyVersion]:
        """Every version of a tenant's policy, oldest first."""
        return pages(self._transport, path(tenant, "/policies"), "policies", policy_version)

    def disable_tenant(self, tenant: bytes | str) -> TenantSummary:
        """Refuses all of a tenant's API keys. Nothing is deleted."""
        return summary(self._json(Request("POST", path(tenant, "/disable"))))

    def enable_tenant(self, tenant: bytes | str) -> TenantSummary:
        """Takes them again."""
        return summary(self._json(Request("POST", path(tenant, "/enable"))))

    def create_api_key(
        self, tenant: bytes | str, scopes: Sequence[Scope], *, label: str | None = None, expires_at: int | None = None
    ) -> CreatedApiKey:
        """Makes an API key. The answer is the only time that its secret is shown."""
        body: dict[str, object] = {"scopes": list(scopes)}
        body |= {name: value for name, value in (("label", label), ("expires_at", expires_at)) if value is not None}
        answer = self._json(json_request("POST", path(tenant, "/api-keys"), body, repeatable=False))
        return CreatedApiKey(answer.text("api_key"), answer.hexadecimal("id", 8), answer.whole_or_none("expires_at"))

    def api_keys(self, tenant: bytes | str) -> Iterator[ApiKey]:
        """All API keys of a tenant, the ended ones too, page by page."""
        return pages(self._transport, path(tenant, "/api-keys"), "api_keys", shown_key)

    def revoke_api_key(self, tenant: bytes | str, id: bytes | str) -> ApiKey:
        """Refuses an API key from now on."""
        return shown_key(self._json(Request("DELETE", path(tenant, f"/api-keys/{identifier(id, 8, 'id')}"))))

    def close(self) -> None:
        """Closes the calling thread's connection."""
        self._transport.close()

    def _json(self, request: Request) -> Answer:
        return Answer.parse(request.route, self._transport.send(request))


def path(tenant: bytes | str, rest: str = "") -> str:
    return f"/v1/tenants/{identifier(tenant, 16, 'tenant')}{rest}"


def summary(answer: Answer) -> TenantSummary:
    return TenantSummary(
        tenant_id=answer.hexadecimal("tenant_id", 16),
        name=answer.text("name"),
        created_at=answer.whole("created_at"),
        disabled_at=answer.whole_or_none("disabled_at"),
    )


def policy_version(answer: Answer) -> PolicyVersion:
    return PolicyVersion(
        policy_id=answer.whole("policy_id"),
        policy_version=answer.whole("policy_version"),
        made_at=answer.whole("made_at"),
        policy_digest=answer.hexadecimal("policy_digest", 32),
        policy=TenantPolicy.of(answer.object("policy")),
    )


def shown_key(answer: Answer) -> ApiKey:
    state = answer.text("state")
    if state not in ("active", "expired", "revoked"):
        raise UnexpectedAnswer(f"an API key has a state that this client does not know: {state!r}")
    return ApiKey(
        id=answer.hexadecimal("id", 8),
        label=answer.text("label"),
        scopes=tuple(cast(Scope, scope) for scope in answer.texts("scopes")),
        state=cast(State, state),
        created_at=answer.whole("created_at"),
        expires_at=answer.whole_or_none("expires_at"),
        revoked_at=answer.whole_or_none("revoked_at"),
        last_used_at=answer.whole_or_none("last_used_at"),
    )
