"""Offline verification of Trefoil attestations.

An attestation carries a statement, its place in an RFC 9162 tree, and a seal: the tree's root signed by three
post-quantum families. :func:`verify` needs a :class:`TrustRoot`, a :class:`Policy` and the time; it reads no clock,
uses no network and holds no secret.
"""

from ._native import (
    DANGEROUS_ANY_NONCE,
    Change,
    DecodeError,
    JsonError,
    LogError,
    Policy,
    Seal,
    Statement,
    TrustRoot,
    UpdateError,
    Verified,
    VerifiedChange,
    VerifyError,
    compare,
    consent_digest,
    verify,
    verify_change,
    verify_consistency,
    verify_same_log,
    verify_seal,
    verify_succession,
    verify_with_seal,
)

__all__ = [
    "DANGEROUS_ANY_NONCE",
    "Change",
    "DecodeError",
    "JsonError",
    "LogError",
    "Policy",
    "Seal",
    "Statement",
    "TrustRoot",
    "UpdateError",
    "Verified",
    "VerifiedChange",
    "VerifyError",
    "compare",
    "consent_digest",
    "verify",
    "verify_change",
    "verify_consistency",
    "verify_same_log",
    "verify_seal",
    "verify_succession",
    "verify_with_seal",
]
