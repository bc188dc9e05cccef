//! The relying party's side, offline: every attestation is verified with public inputs only and every decision
//! compared with plaintext arithmetic.

use super::load::{AUDIENCE, Clients, Login};
use super::plan::Plan;
use super::population::LEVEL;
use crate::progress::Stage;
use rayon::prelude::*;
use trefoil_api::Decision;
use trefoil_attest::{ExpectedNonce, Policy, ProbeMode, TrustRoot, VerifyError, verify};
use trefoil_client::attested_digest;
use trefoil_types::TenantId;
use trefoil_wallet::AccountKey;

/// Most findings that are printed in full.
const FINDINGS_MAX: usize = 5;

/// The result of the audit.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Attestations that verified and agree with the answer.
    pub(super) verified: usize,
    /// Decisions compared with the plaintext reference.
    pub(super) decisions: usize,
    /// Decisions that differ from it.
    pub(super) differing: usize,
    /// Logins with a photograph of oneself.
    pub(super) genuine: Tally,
    /// Logins with a photograph of another person.
    pub(super) impostor: Tally,
    /// The first faults found.
    pub(super) findings: Vec<String>,
}

/// Decisions of one kind of login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Decided `match`.
    pub(super) matches: usize,
    /// Decided `no_match`.
    pub(super) denials: usize,
    /// `match` by plaintext arithmetic.
    pub(super) expected_matches: usize,
    /// `no_match` by plaintext arithmetic.
    pub(super) expected_denials: usize,
}

/// Joins the device's signature to every login, verifies it and compares, on all processors.
pub(super) fn audit(
    logins: &mut [Login],
    clients: &Clients,
    plan: &Plan,
    tenant: TenantId,
    trust_root: &TrustRoot,
    stage: &Stage,
) -> Audit {
    let checked: Vec<Result<(), String>> = logins
        .par_iter_mut()
        .map(|login| {
            let outcome = check(login, clients, tenant, trust_root);
            stage.step();
            outcome
        })
        .collect();
    let mut audit = Audit { decisions: logins.len(), ..Audit::default() };
    for (login, checked) in logins.iter().zip(checked) {
        let attempt = &plan.attempts[login.attempt];
        let tally = if attempt.genuine { &mut audit.genuine } else { &mut audit.impostor };
        tally.add(login.decision, attempt.expected);
        if login.decision != attempt.expected {
            audit.differing += 1;
            audit.note(login, format!("decided {:?}, plaintext says {:?}", login.decision, attempt.expected));
        }
        match checked {
            Ok(()) => audit.verified += 1,
            Err(cause) => audit.note(login, cause),
        }
    }
    audit
}

impl Tally {
    fn add(&mut self, decided: Decision, expected: Decision) {
        match decided {
            Decision::Match => self.matches += 1,
            Decision::NoMatch => self.denials += 1,
        }
        match expected {
            Decision::Match => self.expected_matches += 1,
            Decision::NoMatch => self.expected_denials += 1,
        }
    }

    /// Number of logins.
    pub(super) fn total(&self) -> usize {
        self.matches + self.denials
    }
}

impl Audit {
    fn note(&mut self, login: &Login, what: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(format!("login {}: {what}", login.attempt));
        }
    }
}

fn check(
    login: &mut Login,
    clients: &Clients,
    tenant: TenantId,
    trust_root: &TrustRoot,
) -> Result<(), String> {
    let key = clients.account_key(login.attempt);
    let attested = login.join(&key).map_err(VerifyError::from);
    let attested = attested.and_then(|()| verify_login(login, &key, tenant, trust_root));
    let attested = attested.map_err(|cause| cause.to_string())?;
    if attested == login.decision {
        Ok(())
    } else {
        Err(format!("answered {:?}, attested {attested:?}", login.decision))
    }
}

/// Verifies an answer like a relying party that keeps the account key. Denials are attested as well, so any decision passes here.
fn verify_login(
    login: &Login,
    key: &AccountKey,
    tenant: TenantId,
    trust_root: &TrustRoot,
) -> Result<Decision, VerifyError> {
    let nonce = ExpectedNonce::Exactly(login.request.nonce.as_bytes().to_vec());
    let policy = Policy::new(trust_root.clone(), AUDIENCE, nonce)
        .tenant(tenant)
        .account(login.session.account())
        .account_key(key.id())
        .request_digest(attested_digest(&login.request))
        .probe_mode(ProbeMode::Plain)
        .proof_level(LEVEL)
        .any_decision();
    Ok(verify(&login.attestation, &policy, login.received_at)?.statement().decision)
}
