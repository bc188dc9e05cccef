"""The service's API, from the tenant's side and the operator's.

:class:`Tenant` enrols, opens and ends sessions, logs in and verifies each attestation before it returns it; :class:`Admin` makes tenants,
their policies, API keys and operators, and verifies each receipt. Written from ``server/API.md``. Standard library only, blocking, safe
to share between threads.
"""

from ._admin import (
    Admin,
    ApiKey,
    ChangedTenant,
    CreatedApiKey,
    CreatedTenant,
    DeletedTenant,
    KeyRotation,
    RevokedApiKey,
    StartedRotation,
    TenantDetail,
    TenantSummary,
)
from ._attempt import Attempt
from ._errors import FieldError, Problem, TrefoilError, UnexpectedAnswer, Unreachable
from ._login import Embedding, Proof, Session, Unproven, probe_digest
from ._nodes import nodes_in_order
from ._operators import AuditEntry, ChangedOperator, CreatedToken, Operator, OperatorToken
from ._policy import Attempts, ChangedPolicy, PolicyVersion, TenantPolicy
from ._receipts import Receipt, SealedEntry
from ._tenant import (
    Counts,
    Decided,
    EndedSession,
    Enrolled,
    Erased,
    LiveSession,
    Login,
    Replaced,
    Revoked,
    Subject,
    Tenant,
)
from ._usage import DayOfUse

__all__ = [
    "Admin",
    "ApiKey",
    "Attempt",
    "Attempts",
    "AuditEntry",
    "ChangedOperator",
    "ChangedPolicy",
    "ChangedTenant",
    "Counts",
    "CreatedApiKey",
    "CreatedTenant",
    "CreatedToken",
    "DayOfUse",
    "Decided",
    "DeletedTenant",
    "Embedding",
    "EndedSession",
    "Enrolled",
    "Erased",
    "FieldError",
    "KeyRotation",
    "LiveSession",
    "Login",
    "Operator",
    "OperatorToken",
    "PolicyVersion",
    "Problem",
    "Proof",
    "Receipt",
    "Replaced",
    "Revoked",
    "RevokedApiKey",
    "SealedEntry",
    "Session",
    "StartedRotation",
    "Subject",
    "Tenant",
    "TenantDetail",
    "TenantPolicy",
    "TenantSummary",
    "TrefoilError",
    "UnexpectedAnswer",
    "Unproven",
    "Unreachable",
    "nodes_in_order",
    "probe_digest",
]
