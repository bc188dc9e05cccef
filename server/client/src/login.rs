//! Logins that are believed for their attestation, not for where it came from.

use crate::client::Client;
use crate::error::ClientError;
use thiserror::Error;
use trefoil_api::{AttestationForm, Authenticated, Authentication, Decision, Hex};
use trefoil_attest::{self as attest, Nonce, Policy, Seal, TrustRoot, VerifyError, verify, verify_with_seal};
use trefoil_types::Account;
use trefoil_wallet::{HolderSession, attested_digest};

/// A login whose attestation was verified: for this account, this request, this audience and this nonce.
#[derive(Clone, Debug)]
pub struct Login {
    /// Who, towards the audience. The same value at every login; to keep.
    pub account: Account,
    /// What was decided. A denial is attested too.
    pub decision: Decision,
    /// Digest of the attested statement.
    pub id: [u8; 32],
    /// The attestation, for whoever is to verify it once more.
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
    #[error("there is no attestation to verify: ask for `full` or `compact`, or call Client::authenticate")]
    Unattested,
    /// The answer is not what its attestation says.
    #[error("the service answered something else than its attestation says, do not accept this login")]
    Differs,
}

impl Client {
    /// Authenticates with a request of `session`, and verifies what comes back at `now` (unix seconds) under `trust_root`, which is the one
    /// that was pinned and never one that came with the answer. A denial is a login too.
    ///
    /// # Errors
    /// Those of [`Client::authenticate`] and [`Client::seal`]; [`LoginError`] for an attestation that is not to be accepted, and without
    /// asking the service for a request with [`AttestationForm::None`].
    pub async fn login(
        &self,
        session: &HolderSession,
        request: &Authentication,
        trust_root: &TrustRoot,
        now: u64,
    ) -> Result<Login, LoginError> {
        // Before anything is spent.
        if request.attestation == AttestationForm::None {
            return Err(LoginError::Unattested);
        }
        let answer = self.authenticate(request).await?;
        let seal = match request.attestation {
            AttestationForm::Full | AttestationForm::None => None,
            AttestationForm::Compact => Some(self.seal(answer.seal_number).await?),
        };
        verified(session, request, answer, seal.as_ref(), trust_root, now)
    }

    /// The login of a request that asked for no attestation, with the attestation, verified as [`Client::login`] does; `id` is that of
    /// the answer. The service keeps it for two minutes.
    ///
    /// # Errors
    /// Those of [`Client::attestation`]; [`LoginError`] for an attestation that is not to be accepted.
    pub async fn attested(
        &self,
        session: &HolderSession,
        request: &Authentication,
        id: Hex<32>,
        trust_root: &TrustRoot,
        now: u64,
    ) -> Result<Login, LoginError> {
        verified(session, request, self.attestation(id).await?, None, trust_root, now)
    }
}

fn verified(
    session: &HolderSession,
    request: &Authentication,
    answer: Authenticated,
    seal: Option<&Seal>,
    trust_root: &TrustRoot,
    now: u64,
) -> Result<Login, LoginError> {
    let Authenticated { id, decision, attestation, seal_number } = answer;
    let attestation = attestation.ok_or(LoginError::Unattested)?;
    let account = session.account();
    let nonce = Nonce::Exactly(request.nonce.as_bytes().to_vec());
    let policy = Policy::new(trust_root.clone(), &request.audience, nonce)
        .account(account)
        .request_digest(attested_digest(request))
        .any_decision();
    let verified = match seal {
        None => verify(&attestation.0, &policy, now)?,
        Some(seal) => verify_with_seal(&attestation.0, seal, &policy, now)?,
    };
    let attested = match verified.statement().decision {
        attest::Decision::Match => Decision::Match,
        attest::Decision::NoMatch => Decision::NoMatch,
    };
    if (attested, verified.statement_digest(), verified.seal().seal_number) != (decision, &id.0, seal_number)
    {
        return Err(LoginError::Differs);
    }
    Ok(Login { account, decision, id: id.0, attestation: attestation.0, seal_number })
}
