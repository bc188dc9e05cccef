//! Calls that list, show and revoke a tenant's subjects, and list and end its sessions.

use crate::client::Client;
use crate::error::ClientError;
use crate::outgoing::Outgoing;
use crate::unverified::Unverified;
use trefoil_api::{EndedSession, Hex, OwnTenant, Revoked, SessionPage, Subject, SubjectPage, UsagePage};
use trefoil_attest::What;
use trefoil_types::{Handle, SessionId};

impl Client {
    /// A page of the subjects with a template, starting at a handle, inclusive; zeros for the first page. Needs
    /// [`Scope::Enrol`](trefoil_api::Scope::Enrol).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn subjects(&self, from: Hex<32>) -> Result<SubjectPage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/subjects?from={}", hex::encode(from.0)))).await
    }

    /// A subject: when and with which consent it was enrolled, and whether it is revoked. Needs [`Scope::Enrol`](trefoil_api::Scope::Enrol).
    ///
    /// # Errors
    /// `subject-unknown`, and [`ClientError`] in general.
    pub async fn subject(&self, handle: Hex<32>) -> Result<Subject, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/subjects/{}", hex::encode(handle.0)))).await
    }

    /// Revokes a subject: its logins are refused with `subject-unknown` and its sessions end, until [`Client::replace`] gives it another
    /// template. Its record stays. A repetition has the same effect. Needs [`Scope::Enrol`](trefoil_api::Scope::Enrol).
    ///
    /// # Errors
    /// `subject-unknown`, `key-holder-unavailable` (repeat it), and [`ClientError`] in general.
    pub async fn revoke(&self, handle: Hex<32>) -> Result<Unverified<Revoked>, ClientError> {
        let said = |revoked: &Revoked| {
            let what = What::Revoked { handle: Handle::new(handle.0), generation: revoked.generation };
            (revoked.handle == handle).then_some((None, what))
        };
        let path = format!("/v1/subjects/{}/revoke", hex::encode(handle.0));
        self.0.change(Outgoing::post_empty(path), said).await
    }

    /// Counts of the tenant that the API key belongs to, such as the subjects that are locked out. Needs
    /// [`Scope::Authenticate`](trefoil_api::Scope::Authenticate).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tenant(&self) -> Result<OwnTenant, ClientError> {
        self.0.json(Outgoing::get("/v1/tenant")).await
    }

    /// A page of the usage of the tenant's API keys, starting at a key; zeros for the first page. Needs any scope.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn usage(&self, from: Hex<8>) -> Result<UsagePage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/usage?from={}", hex::encode(from.0)))).await
    }

    /// A page of the open sessions, like [`Client::subjects`] for subjects. Needs
    /// [`Scope::Authenticate`](trefoil_api::Scope::Authenticate).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn sessions(&self, from: Hex<32>) -> Result<SessionPage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/proof-sessions?from={}", hex::encode(from.0)))).await
    }

    /// Ends a session early. Its proof cannot open it again. The answer has a receipt. Needs
    /// [`Scope::Authenticate`](trefoil_api::Scope::Authenticate).
    ///
    /// # Errors
    /// `session-unknown`, also after it was ended, and [`ClientError`] in general.
    pub async fn end_session(&self, id: Hex<32>) -> Result<Unverified<EndedSession>, ClientError> {
        let said = |ended: &EndedSession| {
            let what = What::SessionEnded { session: SessionId::new(id.0) };
            (ended.session_id == id).then_some((None, what))
        };
        let path = format!("/v1/proof-sessions/{}", hex::encode(id.0));
        self.0.change(Outgoing::delete(path), said).await
    }
}
