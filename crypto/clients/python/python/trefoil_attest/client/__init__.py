"""The service's API, from the tenant's side and the operator's.

:class:`Tenant` enrols, opens sessions, logs in and verifies each attestation before it returns it; :class:`Admin` makes tenants and
API keys. Written from ``server/API.md``. Standard library only, blocking, safe to share between threads.
"""

from ._admin import Admin, ApiKey, Attempts, CreatedApiKey, CreatedTenant, TenantDetail, TenantPolicy, TenantSummary
from ._errors import FieldError, Problem, TrefoilError, UnexpectedAnswer, Unreachable
from ._login import Embedding, Proof, Session, probe_digest
from ._tenant import Attempt, Enrolled, Erased, Login, Receipt, Tenant

__all__ = [
    "Admin",
    "ApiKey",
    "Attempt",
    "Attempts",
    "CreatedApiKey",
    "CreatedTenant",
    "Embedding",
    "Enrolled",
    "Erased",
    "FieldError",
    "Login",
    "Problem",
    "Proof",
    "Receipt",
    "Session",
    "TenantDetail",
    "Tenant",
    "TenantPolicy",
    "TenantSummary",
    "TrefoilError",
    "UnexpectedAnswer",
    "Unreachable",
    "probe_digest",
]
