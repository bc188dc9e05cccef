//! Logins whose attestation is verified, whatever its source.

use crate::client::Client;
use crate::error::ClientError;
use crate::unverified::Unverified;
use thiserror::Error;
use trefoil_api::{AttestationForm, Authenticated, Authentication, Decision, UnprovenAuthentication};
use trefoil_attest::{ExpectedNonce, Policy, TrustRoot, VerifyError, verify, verify_with_seal};
use trefoil_types::{Account, AttestationId, TenantId};
use trefoil_wallet::{HolderSession, attested_digest};

/// A login whose attestation was verified: for this account, this request, this audience and this nonce.
#[derive(Clone, Debug)]
pub struct Login {
    /// The person's account with the audience, the same value at every login. Keep it.
    pub account: Account,
    /// The decision. A denial is attested too.
    pub decision: Decision,
    /// Names the attestation.
    pub id: AttestationId,
    /// The attestation, for others that verify it again.
    pub attestation: Vec<u8>,
    /// The seal that covers it.
    pub seal_number: u64,
}

/// Why there is no login.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The service refused, or did not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The attestation does not verify: do not accept it.
    #[error("the service's attestation does not verify, do not accept this login: {0}")]
    Attestation(#[from] VerifyError),
    /// The request asks for no attestation, or the answer has none: nothing can be verified.
    #[error(
        "there is no attestation to verify: ask for `full` or `compact`, or take the answer `without_verification`"
    )]
    Unattested,
    /// The answer differs from its attestation.
    #[error("the service answered something else than its attestation says, do not accept this login")]
    Differs,
}

impl Client {
    /// Authenticates with a request of `session`, and verifies the answer at `now` (unix seconds) under `trust_root`, which is the pinned
    /// one and never one that came with the answer. A denial is a login too.
    ///
    /// # Errors
    /// Those of [`Client::authenticate`] and [`Client::seal`]; [`LoginError`] for an attestation that must not be accepted, and for a request
    /// with [`AttestationForm::None`], which is not sent.
    pub async fn login(
        &self,
        session: &HolderSession,
        request: &Authentication,
        trust_root: &TrustRoot,
        now: u64,
    ) -> Result<Login, LoginError> {
        // Check this before anything is spent.
        if request.attestation == AttestationForm::None {
            return Err(LoginError::Unattested);
        }
        let answer = self.authenticate(request).await?;
        self.sealed(answer, request.attestation).await?.verified(session, request, trust_root, now)
    }

    /// Like [`Client::login`], at a tenant whose policy asks for no proof. The attestation is verified for this tenant, request, audience and
    /// nonce, and says that there is no proof. The account is only the service's claim: compare it with the one that you kept.
    ///
    /// # Errors
    /// Those of [`Client::authenticate_unproven`] and [`Client::seal`]; [`LoginError`] for an attestation that must not be accepted.
    pub async fn login_unproven(
        &self,
        tenant: TenantId,
        request: &UnprovenAuthentication,
        trust_root: &TrustRoot,
        now: u64,
    ) -> Result<Login, LoginError> {
        if request.attestation == AttestationForm::None {
            return Err(LoginError::Unattested);
        }
        let answer = self.authenticate_unproven(request).await?;
        self.sealed(answer, request.attestation).await?.verified_unproven(tenant, request, trust_root, now)
    }

    /// The answer to a request for this form, with the seal that it needs.
    async fn sealed(
        &self,
        answer: Unverified<Authenticated>,
        form: AttestationForm,
    ) -> Result<Unverified<Authenticated>, LoginError> {
        Ok(match form {
            AttestationForm::Full | AttestationForm::None => answer,
            AttestationForm::Compact => {
                let seal = self.seal(answer.seal_number()).await?;
                answer.with_seal(seal)
            }
        })
    }
}

impl Unverified<Authenticated> {
    /// The number of the seal that covers the login, which a compact attestation needs.
    #[must_use]
    pub fn seal_number(&self) -> u64 {
        self.answer().seal_number
    }

    /// The login, if its attestation verifies at `now` (unix seconds) under `trust_root`, the pinned one, and is for this request of
    /// `session`, its audience and its nonce. A denial is a login too. A compact attestation needs [`Unverified::with_seal`].
    ///
    /// # Errors
    /// [`LoginError`] for an attestation that must not be accepted, and for an answer without one.
    pub fn verified(
        self,
        session: &HolderSession,
        request: &Authentication,
        trust_root: &TrustRoot,
        now: u64,
    ) -> Result<Login, LoginError> {
        verified(self, &in_session(session, request, trust_root), now)
    }

    /// Like `verified`, at a tenant whose policy asks for no proof. The account is only the service's claim: compare it with the one that
    /// you kept.
    ///
    /// # Errors
    /// [`LoginError`] for an attestation that must not be accepted, and for an answer without one.
    pub fn verified_unproven(
        self,
        tenant: TenantId,
        request: &UnprovenAuthentication,
        trust_root: &TrustRoot,
        now: u64,
    ) -> Result<Login, LoginError> {
        verified(self, &unproven(&tenant, request, trust_root), now)
    }
}

/// The required content of the attestation of a request of `session`.
fn in_session(session: &HolderSession, request: &Authentication, trust_root: &TrustRoot) -> Policy {
    let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
    Policy::new(trust_root.clone(), &request.audience, nonce)
        .account(session.account())
        .request_digest(attested_digest(request))
        .any_decision()
}

/// The required content of the attestation of a request without a proof.
fn unproven(tenant: &TenantId, request: &UnprovenAuthentication, trust_root: &TrustRoot) -> Policy {
    let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
    Policy::new(trust_root.clone(), &request.audience, nonce)
        .tenant(*tenant)
        .request_digest(request.request_digest(tenant))
        .accept_no_proof()
        .any_decision()
}

fn verified(answer: Unverified<Authenticated>, policy: &Policy, now: u64) -> Result<Login, LoginError> {
    let (Authenticated { id, decision, attestation, seal_number }, seal) = answer.into_parts();
    let attestation = attestation.ok_or(LoginError::Unattested)?;
    let verified = match seal {
        None => verify(&attestation.0, policy, now)?,
        Some(seal) => verify_with_seal(&attestation.0, &seal, policy, now)?,
    };
    let account = verified.statement().account;
    let attested = verified.statement().decision;
    if (attested, verified.statement_digest(), verified.seal().seal_number) != (decision, &id.0, seal_number)
    {
        return Err(LoginError::Differs);
    }
    Ok(Login { account, decision, id: AttestationId::new(id.0), attestation: attestation.0, seal_number })
}
