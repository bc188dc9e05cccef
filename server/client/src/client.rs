//! Calls of a tenant's backend.

use crate::error::{ClientError, ProblemDocument, answer};
use crate::outgoing::Outgoing;
use crate::transport::Transport;
use crate::unverified::Unverified;
use hyper::body::Bytes;
use serde::Serialize;
use std::time::Duration;
use trefoil_api::{
    Authenticated, AuthenticatedBatch, Authentication, AuthenticationBatch, BATCH_MAX, Base64, Enrolled,
    Enrolment, Erased, FheKeys, Hex, Outcome, ProofSession, PublishRoot, PublishedRoot, Replaced,
    RootLogPage, UnprovenAuthentication,
};
use trefoil_attest::{PrunedSeal, Seal, TrustRoot, What, consent_digest};
use trefoil_split::SealingKey;
use trefoil_types::{Handle, SessionId};
use trefoil_wallet::credentials::{RootStatement, SignedRoot};

/// For how long a call waits for a connection.
const RETRY_FOR: Duration = Duration::from_secs(10);

/// The public listener, for one API key. Clones share its connections. Changes and logins answer with an [`Unverified`], whose content is
/// reached through `verified`; [`Client::login`] and its like verify by themselves.
#[derive(Clone)]
pub struct Client(pub(crate) Transport);

impl Client {
    /// A client of the public listener at `base` over `connections` HTTP/2 connections. A service bounds the requests
    /// in flight per connection, so many requests in flight need several.
    ///
    /// # Errors
    /// When address, certificate or key cannot be used.
    pub fn new(
        base: &str,
        certificate_pem: &[u8],
        api_key: &str,
        connections: usize,
    ) -> Result<Client, ClientError> {
        Client::with_identity(base, certificate_pem, None, api_key, connections)
    }

    /// Like [`Client::new`], with a certificate and its key, PEM, for a service that demands one.
    ///
    /// # Errors
    /// When address, certificates or keys cannot be used.
    pub fn with_identity(
        base: &str,
        certificate_pem: &[u8],
        identity_pem: Option<&[u8]>,
        api_key: &str,
        connections: usize,
    ) -> Result<Client, ClientError> {
        let transport = Transport::new(base, certificate_pem, identity_pem, connections)?;
        Ok(Client(transport.with_bearer(api_key)?.retrying_for(RETRY_FOR)))
    }

    /// This client, whose calls wait for so long for a service that cannot be reached, such as one that restarts; 10 s unless this says
    /// otherwise. Nothing is sent meanwhile. A wrong name or certificate is an error at once.
    #[must_use]
    pub fn retrying_for(&self, retry_for: Duration) -> Client {
        Client(self.0.retrying_for(retry_for))
    }

    /// Publishes a signed root of the tenant's credential tree. Needs [`trefoil_api::Scope::Issue`].
    ///
    /// # Errors
    /// `root-generation-stale` unless it follows the end of the root log, `root-signature-invalid`,
    /// `issuer-key-missing`, and [`ClientError`] in general.
    pub async fn publish_root(&self, root: &SignedRoot) -> Result<Unverified<PublishedRoot>, ClientError> {
        let SignedRoot { statement, signature } = root.clone();
        let body = PublishRoot { statement: Base64(statement), signature: Base64(signature) };
        let outgoing = Outgoing::post_json("/v1/credentials/roots", &body);
        let said = |published: &PublishedRoot| {
            let statement = RootStatement::decode(&root.statement).ok()?;
            let RootStatement { generation, generation_min, root, .. } = &statement;
            let (generation, generation_min, head) = (*generation, *generation_min, statement.digest());
            let same = (published.generation, published.generation_min, published.head.0)
                == (generation, generation_min, head);
            let what = What::RootPublished { generation, generation_min, root: root.to_bytes(), head };
            same.then_some((None, what))
        };
        self.0.change(outgoing, said).await
    }

    /// A page of a tenant's root log, starting at a generation.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn root_log(&self, tenant: Hex<16>, from: u32) -> Result<RootLogPage, ClientError> {
        let path = format!("/v1/credentials/roots/{}?from={from}", hex::encode(tenant.0));
        self.0.json(Outgoing::get(path)).await
    }

    /// Enrols a face for a subject. The same `idempotency_key` gives the same answer. Needs [`trefoil_api::Scope::Enrol`].
    ///
    /// # Errors
    /// `template-exists`, `embedding-invalid`, and [`ClientError`] in general.
    pub async fn enrol(
        &self,
        handle: Hex<32>,
        enrolment: &Enrolment,
        idempotency_key: &str,
    ) -> Result<Unverified<Enrolled>, ClientError> {
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle.0));
        let outgoing = Outgoing::post_json(path, enrolment).header(IDEMPOTENCY_KEY, idempotency_key)?;
        let said = |enrolled: &Enrolled| {
            let consent = consent_digest(&enrolment.consent_ref);
            let (handle, generation) = (Handle::new(handle.0), enrolled.generation);
            let what = What::Enrolled { handle, generation, consent };
            (enrolled.handle.0 == handle.to_bytes()).then_some((None, what))
        };
        self.0.change(outgoing, said).await
    }

    /// Replaces a subject's template in one step, destroys the old one, and makes a revoked subject active again. The same `idempotency_key` gives the same answer. Needs
    /// [`trefoil_api::Scope::Enrol`].
    ///
    /// # Errors
    /// `subject-unknown`, `embedding-invalid`, and [`ClientError`] in general.
    pub async fn replace(
        &self,
        handle: Hex<32>,
        enrolment: &Enrolment,
        idempotency_key: &str,
    ) -> Result<Unverified<Replaced>, ClientError> {
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle.0));
        let outgoing = Outgoing::put_json(path, enrolment).header(IDEMPOTENCY_KEY, idempotency_key)?;
        let said = |answer: &Replaced| {
            let consent = consent_digest(&enrolment.consent_ref);
            let (handle, generation, replaced) = (Handle::new(handle.0), answer.generation, answer.replaced);
            let what = What::Replaced { handle, generation, replaced, consent };
            (answer.handle.0 == handle.to_bytes()).then_some((None, what))
        };
        self.0.change(outgoing, said).await
    }

    /// Destroys a subject's template and its key. Needs [`trefoil_api::Scope::Enrol`].
    ///
    /// # Errors
    /// `subject-unknown`, also if an earlier call destroyed it, and [`ClientError`] in general.
    pub async fn erase(&self, handle: Hex<32>) -> Result<Unverified<Erased>, ClientError> {
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle.0));
        let said = |erased: &Erased| {
            let what = What::Erased { handle: Handle::new(handle.0), generation: erased.generation };
            (erased.handle == handle).then_some((None, what))
        };
        self.0.change(Outgoing::delete(path), said).await
    }

    /// The sealing key of the tenant's key-holder, if it is the one with this fingerprint, which the key-holder's operator
    /// prints.
    ///
    /// # Errors
    /// When the key has another fingerprint, and [`ClientError`] in general.
    pub async fn sealing_key(
        &self,
        tenant: Hex<16>,
        pinned: &trefoil_split::Fingerprint,
    ) -> Result<SealingKey, ClientError> {
        let path = format!("/v1/fhe/keys/{}", hex::encode(tenant.0));
        let keys: FheKeys = self.0.json(Outgoing::get(path.as_str())).await?;
        SealingKey::from_bytes(&keys.sealing_key.0)
            .and_then(|key| key.pinned(pinned))
            .map_err(|cause| answer(&format!("GET {path}"), &cause))
    }

    /// Opens a proof session with the envelope of [`Holder::open`](crate::Holder::open). Compare the answer's session with the
    /// proven one. Its receipt is compact, so it needs [`Unverified::with_seal`]; a session that was open already has none. Needs [`trefoil_api::Scope::Authenticate`].
    ///
    /// # Errors
    /// `proof-rejected`, `proof-stale`, `quota-exceeded`, `overloaded`, and [`ClientError`] in general.
    pub async fn open_session(&self, envelope: Vec<u8>) -> Result<Unverified<ProofSession>, ClientError> {
        let said = |opened: &ProofSession| {
            let (session, expires_at) = (SessionId::new(opened.session_id.0), opened.expires_at);
            Some((None, What::SessionOpened { session, expires_at }))
        };
        self.0.change(Outgoing::post_bytes("/v1/proof-sessions", envelope), said).await
    }

    /// Authenticates, for programs that pass the attestation on, ask for none, or verify it later. [`Client::login`] verifies it at once.
    /// A denial is an answer, not an error. Needs [`trefoil_api::Scope::Authenticate`].
    ///
    /// # Errors
    /// `session-expired`, `subject-unknown`, `overloaded`, and [`ClientError`] in general.
    pub async fn authenticate(
        &self,
        request: &Authentication,
    ) -> Result<Unverified<Authenticated>, ClientError> {
        self.0.json(Outgoing::post_json("/v1/authentications", request)).await.map(Unverified::login)
    }

    /// Like [`Client::authenticate`], at a tenant whose policy asks for no proof. [`Client::login_unproven`] verifies the answer at once.
    ///
    /// # Errors
    /// `proof-mode-mismatch` where the policy asks for proofs, `subject-unknown`, `overloaded`, and [`ClientError`] in general.
    pub async fn authenticate_unproven(
        &self,
        request: &UnprovenAuthentication,
    ) -> Result<Unverified<Authenticated>, ClientError> {
        self.0.json(Outgoing::post_json("/v1/authentications", request)).await.map(Unverified::login)
    }

    /// Authenticates from 1 to [`BATCH_MAX`] requests in one call: an answer or the problem of each, in their order. A refused request
    /// affects no other. Call
    /// `verified` of each answer with its own request. Needs [`trefoil_api::Scope::Authenticate`].
    ///
    /// # Errors
    /// `quota-exceeded`, and [`ClientError`] in general, for the whole batch; for one request those of [`Client::authenticate`].
    pub async fn authenticate_many(
        &self,
        requests: &[Authentication],
    ) -> Result<Vec<Result<Unverified<Authenticated>, ClientError>>, ClientError> {
        self.batch(requests).await
    }

    /// Like [`Client::authenticate_many`], at a tenant whose policy asks for no proof.
    ///
    /// # Errors
    /// Those of [`Client::authenticate_many`] for the whole batch; for one request those of [`Client::authenticate_unproven`].
    pub async fn authenticate_many_unproven(
        &self,
        requests: &[UnprovenAuthentication],
    ) -> Result<Vec<Result<Unverified<Authenticated>, ClientError>>, ClientError> {
        self.batch(requests).await
    }

    async fn batch<A: Serialize>(
        &self,
        requests: &[A],
    ) -> Result<Vec<Result<Unverified<Authenticated>, ClientError>>, ClientError> {
        if !(1..=BATCH_MAX).contains(&requests.len()) {
            return Err(ClientError::Argument("a batch has from 1 to 32 requests"));
        }
        let batch = AuthenticationBatch { authentications: requests };
        let answers: AuthenticatedBatch<ProblemDocument> =
            self.0.json(Outgoing::post_json("/v1/authentications/batch", &batch)).await?;
        if answers.results.len() != requests.len() {
            let cause = format!("{} results for {} requests", answers.results.len(), requests.len());
            return Err(answer("POST /v1/authentications/batch", &cause));
        }
        let each = answers.results.into_iter().map(|outcome| match outcome {
            Outcome::Answered(answer) => Ok(Unverified::login(answer)),
            Outcome::Refused { problem } => Err(ClientError::Problem(Box::new(problem))),
        });
        Ok(each.collect())
    }

    /// The service's trust root. It is as authentic as the pinned certificate; relying parties keep a copy.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn keys(&self) -> Result<TrustRoot, ClientError> {
        let body = self.0.bytes(Outgoing::get("/v1/keys")).await?;
        TrustRoot::from_file(&body).map_err(|cause| answer("GET /v1/keys", &cause))
    }

    /// The seal with this number, for compact attestations.
    ///
    /// # Errors
    /// `seal-unknown`, `seal-pruned` once the seal is old ([`Client::pruned_seal`]), and [`ClientError`] in general.
    pub async fn seal(&self, number: u64) -> Result<Seal, ClientError> {
        let path = format!("/v1/seals/{number}");
        let body: Bytes = self.0.bytes(Outgoing::get(path.as_str())).await?;
        Seal::decode(&body).map_err(|cause| answer(&format!("GET {path}"), &cause))
    }

    /// The header of an old seal, and a later seal that signs it.
    ///
    /// # Errors
    /// `seal-unknown` if there is no later seal of the same keys, and [`ClientError`] in general.
    pub async fn pruned_seal(&self, number: u64) -> Result<PrunedSeal, ClientError> {
        let path = format!("/v1/seals/{number}/pruned");
        let body: Bytes = self.0.bytes(Outgoing::get(path.as_str())).await?;
        PrunedSeal::decode(&body).map_err(|cause| answer(&format!("GET {path}"), &cause))
    }
}

/// Header that makes a repeated creation harmless.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
