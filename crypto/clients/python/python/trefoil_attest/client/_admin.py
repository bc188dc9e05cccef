"""The operator's side: tenants, their policies and API keys, operators, the audit trail."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, get_args

from .. import TrustRoot
from ._json import Answer, identifier
from ._operators import (
    ROLES,
    AuditEntry,
    ChangedOperator,
    CreatedToken,
    Operator,
    Role,
    audit_entry,
    operator,
)
from ._pages import pages
from ._policy import ChangedPolicy, PolicyVersion, TenantPolicy, policy_version
from ._receipts import SERVICE, Receipt, pinned, receipt
from ._scopes import SCOPES, Scope, listed
from ._transport import Request, Transport, json_request, once
from ._usage import DayOfUse, day_of_use

State = Literal["active", "expired", "revoked"]
RotationState = Literal["idle", "running", "stopped"]


@dataclass(frozen=True)
class CreatedTenant:
    """A tenant that was made."""

    tenant_id: bytes
    policy_id: int
    receipt: Receipt | None
    """That it was made with this policy; `None`, here and in what follows, where the service could not seal it."""


@dataclass(frozen=True)
class TenantSummary:
    """A tenant in a list."""

    tenant_id: bytes
    name: str
    created_at: int
    """Unix seconds, like all times."""
    disabled_at: int | None


@dataclass(frozen=True)
class ChangedTenant(TenantSummary):
    """A tenant that was disabled or enabled."""

    receipt: Receipt | None
    """`None` also where it was so already."""


@dataclass(frozen=True)
class DeletedTenant:
    """A tenant that was deleted."""

    tenant_id: bytes
    templates: int
    """Those that were destroyed."""
    deleted_at: int
    receipt: Receipt | None


@dataclass(frozen=True)
class TenantDetail(TenantSummary):
    """A tenant with its policy."""

    policy_id: int
    policy_version: int
    policy: TenantPolicy
    root_generation: int | None
    locked_out: int | None
    """Subjects without an attempt now; `None` where the key-holder cannot say."""
    distinct_failures_refused: int
    """Logins refused with `distinct-failures` since the service started."""


@dataclass(frozen=True)
class CreatedApiKey:
    """An API key with its secret, which the service shows once."""

    api_key: str = field(repr=False)
    id: bytes
    expires_at: int | None
    receipt: Receipt | None


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


@dataclass(frozen=True)
class RevokedApiKey(ApiKey):
    """An API key that is refused from now on."""

    receipt: Receipt | None
    """`None` also where it was revoked already."""


@dataclass(frozen=True)
class KeyRotation:
    """Where a rotation of the keys of a tenant's templates stands."""

    state: RotationState
    epoch: int
    """Of the newest keys."""
    renewed: int
    """Templates under them."""
    left: int
    """Templates under the keys before."""
    error: str | None
    """Why it stopped."""


@dataclass(frozen=True)
class StartedRotation(KeyRotation):
    """A rotation that was asked for."""

    receipt: Receipt | None
    """`None` also where it had begun before."""


class Admin:
    """An operator at the admin listener, with a token: `admin.token` of the data directory has the first.

    Every change answers with a receipt, which is verified under the pinned `trust_root` and must say what was asked for. What is created
    is created once: a repetition after a lost answer carries the same `Idempotency-Key`. A secret is shown once, so that the repetition
    raises a `Problem` with the code `secret-shown`, which names what to revoke. Give your own key to repeat a call yourself.
    """

    def __init__(
        self,
        url: str,
        token: str,
        trust_root: TrustRoot,
        *,
        ca: str | PathLike[str] | None = None,
        timeout: float = 30.0,
        retry_for: float = 10.0,
    ) -> None:
        self._trust_root = pinned(trust_root)
        self._transport = Transport(url, token, ca=ca, timeout=timeout, retry_for=retry_for)

    def create_tenant(self, name: str, policy: TenantPolicy, *, idempotency_key: str | None = None) -> CreatedTenant:
        """Makes a tenant."""
        body = {"name": name, "policy": policy.to_json()}
        answer = self._transport.json(json_request("POST", "/v1/tenants", body, headers=once(idempotency_key)))
        tenant = answer.hexadecimal("tenant_id", 16)
        # The digest says whether the policy asks for proofs.
        sealed = self._receipt(answer, tenant, kind="tenant_created", policy_digest=policy.digest())
        return CreatedTenant(tenant, answer.whole("policy_id"), sealed)

    def tenants(self) -> Iterator[TenantSummary]:
        """All tenants, page by page."""
        return pages(self._transport, "/v1/tenants", "tenants", summary)

    def tenant(self, tenant: bytes | str) -> TenantDetail:
        """One tenant."""
        answer = self._transport.json(Request("GET", path(tenant)))
        return TenantDetail(
            **vars(summary(answer)),
            policy_id=answer.whole("policy_id"),
            policy_version=answer.whole("policy_version"),
            policy=TenantPolicy.of(answer.object("policy")),
            root_generation=answer.whole_or_none("root_generation"),
            locked_out=answer.whole_or_none("locked_out"),
            distinct_failures_refused=answer.whole("distinct_failures_refused"),
        )

    def set_policy(
        self, tenant: bytes | str, policy: TenantPolicy, *, if_version: int | None = None
    ) -> ChangedPolicy:
        """Makes a policy the next version; with `if_version` only where that one is in force. The policy in force makes no version."""
        headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
        request = json_request("PUT", path(tenant, "/policy"), {"policy": policy.to_json()}, headers=headers)
        answer = self._transport.json(request)
        made = policy_version(answer)
        said = {"policy_id": made.policy_id, "policy_version": made.policy_version, "policy_digest": policy.digest()}
        return ChangedPolicy(**vars(made), receipt=self._receipt(answer, tenant, kind="policy_changed", **said))

    def policies(self, tenant: bytes | str) -> Iterator[PolicyVersion]:
        """Every version of a tenant's policy, oldest first."""
        return pages(self._transport, path(tenant, "/policies"), "policies", policy_version)

    def disable_tenant(self, tenant: bytes | str) -> ChangedTenant:
        """Refuses all of a tenant's API keys. Nothing is deleted."""
        return self._changed_tenant(tenant, "/disable", "tenant_disabled")

    def enable_tenant(self, tenant: bytes | str) -> ChangedTenant:
        """Takes them again."""
        return self._changed_tenant(tenant, "/enable", "tenant_enabled")

    def _changed_tenant(self, tenant: bytes | str, rest: str, kind: str) -> ChangedTenant:
        answer = self._transport.json(Request("POST", path(tenant, rest)))
        return ChangedTenant(**vars(summary(answer)), receipt=self._receipt(answer, tenant, kind=kind))

    def delete_tenant(self, tenant: bytes | str) -> DeletedTenant | None:
        """Destroys a disabled tenant with its templates and their keys; its root log stays. `None` where an earlier attempt of this call
        did it and its answer is lost."""
        answer = self._transport.destroy(path(tenant), "tenant-unknown")
        if answer is None:
            return None
        templates = answer.whole("templates")
        sealed = self._receipt(answer, tenant, kind="tenant_deleted", templates=templates)
        return DeletedTenant(answer.hexadecimal("tenant_id", 16), templates, answer.whole("deleted_at"), sealed)

    def create_api_key(
        self,
        tenant: bytes | str,
        scopes: Sequence[Scope],
        *,
        label: str | None = None,
        expires_at: int | None = None,
        idempotency_key: str | None = None,
    ) -> CreatedApiKey:
        """Makes an API key. The answer is the only time that its secret is shown."""
        body = {"scopes": listed(scopes), "label": label, "expires_at": expires_at}
        answer = self._transport.json(json_request("POST", path(tenant, "/api-keys"), given(body), headers=once(idempotency_key)))
        public, sum_of = answer.hexadecimal("id", 8), sum(SCOPES[scope] for scope in set(scopes))
        sealed = self._receipt(answer, tenant, kind="api_key_created", api_key=public, scopes=sum_of)
        return CreatedApiKey(answer.text("api_key"), public, answer.whole_or_none("expires_at"), sealed)

    def api_keys(self, tenant: bytes | str) -> Iterator[ApiKey]:
        """All API keys of a tenant, the ended ones too, page by page."""
        return pages(self._transport, path(tenant, "/api-keys"), "api_keys", shown_key)

    def revoke_api_key(self, tenant: bytes | str, id: bytes | str) -> RevokedApiKey:
        """Refuses an API key from now on."""
        public = identifier(id, 8, "id")
        answer = self._transport.json(Request("DELETE", path(tenant, f"/api-keys/{public}")))
        sealed = self._receipt(answer, tenant, kind="api_key_revoked", api_key=bytes.fromhex(public))
        return RevokedApiKey(**vars(shown_key(answer)), receipt=sealed)

    def usage(self, tenant: bytes | str) -> Iterator[DayOfUse]:
        """What a tenant's API keys were used for in the last 31 days, page by page."""
        return pages(self._transport, path(tenant, "/usage"), "usage", day_of_use)

    def register_issuer_key(self, tenant: bytes | str, ml_dsa_65: bytes) -> Receipt | None:
        """Takes a tenant's credential roots under this key from now on, 1,952 bytes; `trefoil issuer register` sends its own."""
        answer = self._transport.json(json_request("PUT", path(tenant, "/issuer-key"), {"ml_dsa_65": base64.b64encode(ml_dsa_65).decode()}))
        return self._receipt(answer, tenant, kind="issuer_key_registered", issuer_key=answer.hexadecimal("key_id", 32))

    def reset_attempts(self, tenant: bytes | str, handle: bytes | str) -> Receipt | None:
        """Ends the delay of a locked-out subject, and forgets its failures of the day."""
        subject = identifier(handle, 32, "handle")
        answer = self._transport.json(Request("POST", path(tenant, f"/subjects/{subject}/reset-attempts")))
        return self._receipt(answer, tenant, kind="attempts_reset")

    def reset_malformed(self, tenant: bytes | str) -> Receipt | None:
        """Has the key-holder decide again for a tenant whose malformed jobs froze it."""
        answer = self._transport.json(Request("POST", path(tenant, "/reset-malformed")))
        return self._receipt(answer, tenant, kind="malformed_reset")

    def rotate_keys(self, tenant: bytes | str) -> StartedRotation:
        """Has a tenant's templates encrypted under new keys, or goes on with a rotation that stopped."""
        answer = self._transport.json(Request("POST", path(tenant, "/key-rotation")))
        rotation = key_rotation(answer)
        sealed = self._receipt(answer, tenant, kind="key_rotation_begun", epoch=rotation.epoch)
        return StartedRotation(**vars(rotation), receipt=sealed)

    def key_rotation(self, tenant: bytes | str) -> KeyRotation:
        """Where the rotation of a tenant's keys stands."""
        return key_rotation(self._transport.json(Request("GET", path(tenant, "/key-rotation"))))

    def create_operator(
        self, name: str, role: Role, *, expires_at: int | None = None, idempotency_key: str | None = None
    ) -> CreatedToken:
        """Makes an operator with a first token, which this answer alone shows; `expires_at` is the token's. Owners may."""
        if role not in ROLES:
            raise ValueError(f"role is one of {', '.join(ROLES)}, not {role!r}")
        body = given({"name": name, "role": role, "expires_at": expires_at})
        said = {"kind": "operator_created", "role": ROLES.index(role) + 1}
        return self._created_token("/v1/operators", body, idempotency_key, said)

    def operators(self) -> Iterator[Operator]:
        """All operators, the revoked ones too, page by page."""
        return pages(self._transport, "/v1/operators", "operators", operator)

    def operator(self, operator_id: bytes | str) -> Operator:
        """One operator."""
        return operator(self._transport.json(Request("GET", operator_path(operator_id))))

    def revoke_operator(self, operator_id: bytes | str) -> ChangedOperator:
        """Refuses all tokens of an operator from now on."""
        return self._revoked(operator_id, "", kind="operator_revoked")

    def create_operator_token(
        self, operator_id: bytes | str, *, expires_at: int | None = None, idempotency_key: str | None = None
    ) -> CreatedToken:
        """Makes another token of an operator, who has at most two at a time."""
        body = given({"expires_at": expires_at})
        said = {"kind": "operator_token_created"}
        return self._created_token(operator_path(operator_id, "/tokens"), body, idempotency_key, said)

    def revoke_operator_token(self, operator_id: bytes | str, number: int) -> ChangedOperator:
        """Refuses one token of an operator from now on."""
        return self._revoked(operator_id, f"/tokens/{number}", kind="operator_token_revoked", token=number)

    def _created_token(
        self, path: str, body: Mapping[str, object], idempotency_key: str | None, said: Mapping[str, object]
    ) -> CreatedToken:
        answer = self._transport.json(json_request("POST", path, body, headers=once(idempotency_key)))
        whose, number = answer.hexadecimal("operator_id", 8), answer.whole("number")
        if "role" not in said:
            said = {"token": number, **said}
        sealed = self._receipt(answer, SERVICE, operator=whose, **said)
        return CreatedToken(whose, answer.text("token"), number, answer.whole_or_none("expires_at"), sealed)

    def _revoked(self, operator_id: bytes | str, rest: str, **said: object) -> ChangedOperator:
        answer = self._transport.json(Request("DELETE", operator_path(operator_id, rest)))
        shown = operator(answer)
        return ChangedOperator(**vars(shown), receipt=self._receipt(answer, SERVICE, operator=shown.id, **said))

    def audit(self, tenant: bytes | str | None = None) -> Iterator[AuditEntry]:
        """What operators changed and were refused for their role, oldest first, page by page: of all tenants, or of one."""
        of_one = "" if tenant is None else f"?tenant={identifier(tenant, 16, 'tenant')}"
        return pages(self._transport, "/v1/audit" + of_one, "entries", audit_entry)

    def close(self) -> None:
        """Closes the calling thread's connection."""
        self._transport.close()

    def _receipt(self, answer: Answer, tenant: bytes | str, **said: object) -> Receipt | None:
        return receipt(answer, self._trust_root, bytes.fromhex(identifier(tenant, 16, "tenant")), **said)


def given(body: Mapping[str, object]) -> dict[str, object]:
    """What is `None` is left out."""
    return {name: value for name, value in body.items() if value is not None}


def path(tenant: bytes | str, rest: str = "") -> str:
    return f"/v1/tenants/{identifier(tenant, 16, 'tenant')}{rest}"


def operator_path(operator_id: bytes | str, rest: str = "") -> str:
    return f"/v1/operators/{identifier(operator_id, 8, 'operator_id')}{rest}"


def summary(answer: Answer) -> TenantSummary:
    return TenantSummary(
        tenant_id=answer.hexadecimal("tenant_id", 16),
        name=answer.text("name"),
        created_at=answer.whole("created_at"),
        disabled_at=answer.whole_or_none("disabled_at"),
    )


def key_rotation(answer: Answer) -> KeyRotation:
    return KeyRotation(
        state=answer.one_of("state", get_args(RotationState)),
        epoch=answer.whole("epoch"),
        renewed=answer.whole("renewed"),
        left=answer.whole("left"),
        error=answer.text("error") if answer.has("error") else None,
    )


def shown_key(answer: Answer) -> ApiKey:
    return ApiKey(
        id=answer.hexadecimal("id", 8),
        label=answer.text("label"),
        scopes=tuple(scope for scope in SCOPES if scope in answer.texts("scopes")),
        state=answer.one_of("state", get_args(State)),
        created_at=answer.whole("created_at"),
        expires_at=answer.whole_or_none("expires_at"),
        revoked_at=answer.whole_or_none("revoked_at"),
        last_used_at=answer.whole_or_none("last_used_at"),
    )
