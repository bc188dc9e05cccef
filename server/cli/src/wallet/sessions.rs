//! Opening sessions, and logging in with them.

use super::super::exit::text;
use super::super::remote::{self, Reached};
use super::place::Open;
use std::path::Path;
use std::process::ExitCode;
use trefoil_api::{AttestationForm, Authenticated, Base64, Decision, Nonce, ProofSession, Vector};
use trefoil_attest::{DecodeError, join};
use trefoil_client::{ClientError, OpenRequest, Unverified};
use trefoil_pipeline::Clock as _;
use trefoil_service::login::clock::SystemClock;
use trefoil_types::TenantId;
use trefoil_wallet::wallet::Session;

/// Exit code of an attested denial.
const NO_MATCH: u8 = 4;

/// Opens a proven session and keeps it.
pub(super) fn upload(
    open: &mut Open,
    tenant: TenantId,
    request: OpenRequest,
    client: &Reached,
) -> Result<ProofSession, String> {
    // The receipt concerns auditors: the session must be the proven one, and its key is the wallet's.
    let opened = client.block_on(client.open_session(request.envelope))?.without_verification();
    if opened.session_id != request.session.id() {
        return Err("the service opened another session than the one that was proven".to_owned());
    }
    let (level, opened_at, holder) = (request.level, now(), request.session);
    let session = Session { tenant, level, opened_at, expires_at: opened.expires_at, holder };
    open.wallet.opened(session, opened_at);
    open.save()?;
    Ok(opened)
}

/// One login.
pub(super) struct Login<'a> {
    pub(super) audience: &'a str,
    pub(super) face: &'a Vector,
    pub(super) nonce: &'a Nonce,
    pub(super) client: &'a Reached,
}

impl Login<'_> {
    /// Logs in and writes the answer. Opens a new session if the last one has ended or soon will.
    pub(super) fn run(&self, open: &mut Open, output: Option<&Path>) -> Result<ExitCode, String> {
        let (last, now) = (open.wallet.session(self.audience).map_err(text)?, now());
        if last.is_due(now) {
            let over = last.expires_at <= now;
            match self.renew(open) {
                Err(cause) if over => return Err(cause),
                Err(cause) => eprintln!("{cause}; the session goes on until it ends"),
                Ok(()) => {}
            }
        }
        let answer = match self.attempt(open)? {
            Err(cause) if cause.is_session_over() => {
                self.renew(open)?;
                self.attempt(open)?
            }
            answered => answered,
        };
        let answer = answer.map_err(|cause| self.client.told(&cause))?;
        remote::write(output, &serde_json::to_vec(&answer).map_err(text)?)?;
        let (decision, code) = match answer.decision {
            Decision::Match => ("match", ExitCode::SUCCESS),
            Decision::NoMatch => ("no_match", ExitCode::from(NO_MATCH)),
        };
        eprintln!("decision {decision}, seal {}", answer.seal_number);
        Ok(code)
    }

    /// Opens a session in place of the last one: for the same tenant, at the same level.
    fn renew(&self, open: &mut Open) -> Result<(), String> {
        let Login { audience, client, .. } = self;
        let last = open.wallet.session(audience).map_err(text)?;
        let (tenant, level) = (last.tenant, last.level);
        let proven = open.wallet.prove(&tenant, audience, Some(level), now(), &mut rand::rng());
        let opened = proven.map_err(text).and_then(|proven| upload(open, tenant, proven, client));
        opened.map_err(|cause| {
            format!("the session for {audience} has ended, or nearly, and no other could be opened: {cause}")
        })?;
        eprintln!("opened a new session for {audience}: the last one has ended, or nearly");
        Ok(())
    }

    /// Makes one request in the newest session, and joins the device's signature to the attestation. The inner error is the service's.
    fn attempt(&self, open: &Open) -> Result<Result<Authenticated, ClientError>, String> {
        let Login { audience, face, nonce, client } = *self;
        let session = open.wallet.session(audience).map_err(text)?;
        let request =
            session.holder.authentication(face.clone(), nonce.clone(), now(), AttestationForm::Full);
        // The relying party verifies it: `trefoil verify` with the file that is written.
        let answered = client.block_on(async { Ok(client.authenticate(&request).await) })?;
        let answered = answered.map(Unverified::without_verification);
        let key = open.wallet.account_key(&session.tenant, audience);
        let signature = session.holder.sign(&request, &key, &mut rand::rng());
        let joined = |answer: Authenticated| -> Result<Authenticated, DecodeError> {
            let attestation = answer.attestation.map(|bytes| join(&bytes.0, &signature)).transpose()?;
            Ok(Authenticated { attestation: attestation.map(Base64), ..answer })
        };
        match answered {
            Ok(answer) => Ok(Ok(joined(answer).map_err(text)?)),
            Err(cause) => Ok(Err(cause)),
        }
    }
}

pub(super) fn now() -> u64 {
    SystemClock::default().unix_s()
}
