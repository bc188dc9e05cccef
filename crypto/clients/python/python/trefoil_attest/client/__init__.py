"""The service's API for an application.

:class:`Tenant` enrols, opens and ends sessions, logs in, and verifies each attestation and receipt before it returns it. Written from
``server/API.md``. Standard library only, blocking, safe to share between threads.
"""

from ._attempt import Attempt
from ._errors import FieldError, Problem, TrefoilError, UnexpectedAnswer, Unreachable
from ._login import Embedding, Proof, Session, Unproven, probe_digest
from ._nodes import nodes_in_order
from ._receipts import Receipt
from ._tenant import Changed, Decided, EndedSession, Enrolled, Erased, Login, Replaced, Revoked, Tenant

__all__ = [
    "Attempt",
    "Changed",
    "Decided",
    "Embedding",
    "EndedSession",
    "Enrolled",
    "Erased",
    "FieldError",
    "Login",
    "Problem",
    "Proof",
    "Receipt",
    "Replaced",
    "Revoked",
    "Session",
    "Tenant",
    "TrefoilError",
    "UnexpectedAnswer",
    "Unproven",
    "Unreachable",
    "nodes_in_order",
    "probe_digest",
]
