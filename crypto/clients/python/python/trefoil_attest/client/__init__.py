"""The service's API, from the tenant's side and the operator's.

:class:`Tenant` enrols, opens and ends sessions, logs in and verifies each attestation before it returns it; :class:`Admin` makes tenants,
their policies and API keys. Written from ``server/API.md``. Standard library only, blocking, safe to share between threads.
"""

from ._admin import (
    Admin,
    ApiKey,
    Attempts,
    ChangedPolicy,
    CreatedApiKey,
    CreatedTenant,
    PolicyVersion,
    TenantDetail,
    TenantPolicy,
    TenantSummary,
)
from ._errors import FieldError, Problem, TrefoilError, UnexpectedAnswer, Unreachable
from ._login import Embedding, Proof, Session, Unproven, probe_digest
from ._tenant import (
    Attempt, Counts, DayOfUse, Decided, EndedSession, Enrolled, Erased, LiveSession, Login, Receipt, Replaced, Subject, Tenant,
)

__all__ = [
    "Admin",
    "ApiKey",
    "Attempt",
    "Attempts",
    "ChangedPolicy",
    "Counts",
    "CreatedApiKey",
    "CreatedTenant",
    "DayOfUse",
    "Decided",
    "Embedding",
    "EndedSession",
    "Enrolled",
    "Erased",
    "FieldError",
    "LiveSession",
    "Login",
    "PolicyVersion",
    "Problem",
    "Proof",
    "Receipt",
    "Replaced",
    "Session",
    "Subject",
    "TenantDetail",
    "Tenant",
    "TenantPolicy",
    "TenantSummary",
    "TrefoilError",
    "UnexpectedAnswer",
    "Unproven",
    "Unreachable",
    "probe_digest",
]
