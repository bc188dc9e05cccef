//! What a tenant lists, shows and ends: its subjects and their sessions.

use crate::client::Client;
use crate::error::ClientError;
use crate::transport::Outgoing;
use trefoil_api::{EndedSession, Hex, OwnTenant, SessionPage, Subject, SubjectPage, UsagePage};

impl Client {
    /// A page of the subjects with a template, from a handle on, which is included; zeros for the first page. Needs
    /// [`Scope::Enrol`](trefoil_api::Scope::Enrol).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn subjects(&self, from: Hex<32>) -> Result<SubjectPage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/subjects?from={}", hex::encode(from.0)))).await
    }

    /// A subject: when and with which consent it was enrolled. Needs [`Scope::Enrol`](trefoil_api::Scope::Enrol).
    ///
    /// # Errors
    /// `subject-unknown`, and [`ClientError`] in general.
    pub async fn subject(&self, handle: Hex<32>) -> Result<Subject, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/subjects/{}", hex::encode(handle.0)))).await
    }

    /// Counts of the tenant whose API key this is, such as the subjects that are locked out. Needs
    /// [`Scope::Authenticate`](trefoil_api::Scope::Authenticate).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tenant(&self) -> Result<OwnTenant, ClientError> {
        self.0.json(Outgoing::get("/v1/tenant")).await
    }

    /// A page of what the tenant's API keys were used for, from a key on; zeros for the first page. Any scope will do.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn usage(&self, from: Hex<8>) -> Result<UsagePage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/usage?from={}", hex::encode(from.0)))).await
    }

    /// A page of the sessions that go on, as [`Client::subjects`] of subjects. Needs
    /// [`Scope::Authenticate`](trefoil_api::Scope::Authenticate).
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn sessions(&self, from: Hex<32>) -> Result<SessionPage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/proof-sessions?from={}", hex::encode(from.0)))).await
    }

    /// Ends a session before its time; its proof opens it no more. The answer has a receipt. Needs
    /// [`Scope::Authenticate`](trefoil_api::Scope::Authenticate).
    ///
    /// # Errors
    /// `session-unknown`, after it was done too, and [`ClientError`] in general.
    pub async fn end_session(&self, id: Hex<32>) -> Result<EndedSession, ClientError> {
        self.0.json(Outgoing::delete(format!("/v1/proof-sessions/{}", hex::encode(id.0)))).await
    }
}
