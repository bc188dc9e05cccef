//! A typed client of the service, and the wallet's side of it.
//!
//! [`Admin`] speaks to the admin listener, [`Client`] to the public one; bodies are the types of `trefoil_api`.
//! [`Holder`] proves a credential and signs requests, [`StandingSession`] keeps its session open. Both listeners present the service's own certificate, which the
//! client pins. [`StandingSession::authenticate`] and [`Client::login`] verify each attestation before there is a [`Login`]; what the other
//! calls answer is believed only as far as TLS goes.

mod error;
mod login;
mod public_log;
mod standing;
mod subjects;
mod transport;

pub use error::{ClientError, ProblemDocument};
pub use login::{Login, LoginError};
pub use public_log::PublicLog;
pub use standing::{Clock, StandingError, StandingSession};
pub use trefoil_wallet::{
    Holder, HolderError, HolderSession, Membership, OpenRequest, SealTo, attested_digest, shares,
};

use hyper::body::Bytes;
use transport::{Outgoing, Transport};
use trefoil_api::trust;
use trefoil_api::{
    ApiKey, ApiKeyPage, Authenticated, AuthenticatedBatch, Authentication, AuthenticationBatch, BATCH_MAX,
    Base64, ChangedPolicy, CreateApiKey, CreateTenant, CreatedApiKey, CreatedTenant, Enrolled, Enrolment,
    Erased, FheKeys, Hex, Outcome, Policy, PolicyPage, ProofSession, PublishRoot, PublishedRoot,
    RegisterIssuerKey, RegisteredIssuerKey, RootLogPage, RotationStatus, Scope, SetPolicy, TenantDetail,
    TenantPage, TenantSummary,
};
use trefoil_attest::{PrunedSeal, Seal, TrustRoot};
use trefoil_split::SealingKey;
use trefoil_wallet::credentials::{IssuerPublicKey, SignedRoot};

/// The admin listener: tenants, API keys, metrics.
#[derive(Clone)]
pub struct Admin(Transport);

/// The public listener, for one API key.
#[derive(Clone)]
pub struct Client(Transport);

impl Admin {
    /// A client of the admin listener at `base`, such as `https://127.0.0.1:9443`.
    ///
    /// # Errors
    /// When address, certificate or token cannot be used.
    pub fn new(base: &str, certificate_pem: &[u8], token: &str) -> Result<Admin, ClientError> {
        Ok(Admin(Transport::new(base, certificate_pem, 1)?.with_bearer(token)?))
    }

    /// Makes a tenant.
    ///
    /// # Errors
    /// `field-invalid` for a policy out of range, and [`ClientError`] in general.
    pub async fn create_tenant(&self, tenant: &CreateTenant) -> Result<CreatedTenant, ClientError> {
        self.0.json(Outgoing::post_json("/v1/tenants", tenant)).await
    }

    /// Makes an API key of a tenant. The answer is the only place where its secret appears.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn create_api_key(
        &self,
        tenant: Hex<16>,
        scopes: Vec<Scope>,
    ) -> Result<CreatedApiKey, ClientError> {
        self.create_api_key_with(tenant, &CreateApiKey { scopes, label: None, expires_at: None }).await
    }

    /// The same with a label and an expiry.
    ///
    /// # Errors
    /// `tenant-unknown`, `field-invalid` for an expiry that is over, and [`ClientError`] in general.
    pub async fn create_api_key_with(
        &self,
        tenant: Hex<16>,
        request: &CreateApiKey,
    ) -> Result<CreatedApiKey, ClientError> {
        self.0.json(Outgoing::post_json(of_tenant(tenant, "/api-keys"), request)).await
    }

    /// A page of a tenant's API keys, from an id on.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn api_keys(&self, tenant: Hex<16>, from: Hex<8>) -> Result<ApiKeyPage, ClientError> {
        let path = of_tenant(tenant, &format!("/api-keys?from={}", hex::encode(from.0)));
        self.0.json(Outgoing::get(path)).await
    }

    /// Revokes an API key; again, the same answer.
    ///
    /// # Errors
    /// `api-key-unknown`, `tenant-unknown`, and [`ClientError`] in general.
    pub async fn revoke_api_key(&self, tenant: Hex<16>, id: Hex<8>) -> Result<ApiKey, ClientError> {
        let path = of_tenant(tenant, &format!("/api-keys/{}", hex::encode(id.0)));
        self.0.json(Outgoing::delete(path)).await
    }

    /// A page of the tenants, from an identifier on.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tenants(&self, from: Hex<16>) -> Result<TenantPage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/tenants?from={}", hex::encode(from.0)))).await
    }

    /// A tenant and its policy.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn tenant(&self, tenant: Hex<16>) -> Result<TenantDetail, ClientError> {
        self.0.json(Outgoing::get(of_tenant(tenant, ""))).await
    }

    /// Makes a policy the next version of a tenant's; with `if_version` only where that is the version in force.
    ///
    /// # Errors
    /// `policy-overtaken`, `tenant-unknown`, `field-invalid`, and [`ClientError`] in general.
    pub async fn set_policy(
        &self,
        tenant: Hex<16>,
        policy: &Policy,
        if_version: Option<u32>,
    ) -> Result<ChangedPolicy, ClientError> {
        let body = SetPolicy { policy: policy.clone() };
        let mut outgoing = Outgoing::put_json(of_tenant(tenant, "/policy"), &body);
        if let Some(version) = if_version {
            outgoing = outgoing.header("if-match", &format!("\"{version}\""))?;
        }
        self.0.json(outgoing).await
    }

    /// A page of the versions of a tenant's policy, from one on.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn policies(&self, tenant: Hex<16>, from: u32) -> Result<PolicyPage, ClientError> {
        self.0.json(Outgoing::get(of_tenant(tenant, &format!("/policies?from={from}")))).await
    }

    /// Disables a tenant, so that its API keys are refused, or enables it.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn set_tenant_disabled(
        &self,
        tenant: Hex<16>,
        disabled: bool,
    ) -> Result<TenantSummary, ClientError> {
        let path = of_tenant(tenant, if disabled { "/disable" } else { "/enable" });
        self.0.json(Outgoing::post_empty(path)).await
    }

    /// Resets the key-holder's count of a tenant's malformed jobs.
    ///
    /// # Errors
    /// `tenant-unknown`, `key-holder-forbids`, and [`ClientError`] in general.
    pub async fn reset_malformed(&self, tenant: Hex<16>) -> Result<(), ClientError> {
        self.0.bytes(Outgoing::post_empty(of_tenant(tenant, "/reset-malformed"))).await.map(drop)
    }

    /// Starts a rotation of the keys of a tenant's templates, or goes on with one that stopped.
    ///
    /// # Errors
    /// `tenant-unknown`, `key-holder-forbids`, and [`ClientError`] in general.
    pub async fn rotate_keys(&self, tenant: Hex<16>) -> Result<RotationStatus, ClientError> {
        self.0.json(Outgoing::post_empty(of_tenant(tenant, "/key-rotation"))).await
    }

    /// Where the rotation of a tenant's keys stands.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn key_rotation(&self, tenant: Hex<16>) -> Result<RotationStatus, ClientError> {
        self.0.json(Outgoing::get(of_tenant(tenant, "/key-rotation"))).await
    }

    /// Registers the key under which the roots of a tenant verify.
    ///
    /// # Errors
    /// `tenant-unknown`, `field-invalid`, and [`ClientError`] in general.
    pub async fn register_issuer_key(
        &self,
        tenant: Hex<16>,
        key: &IssuerPublicKey,
    ) -> Result<RegisteredIssuerKey, ClientError> {
        let path = of_tenant(tenant, "/issuer-key");
        let body = RegisterIssuerKey { ml_dsa_65: Base64(key.as_bytes().to_vec()) };
        self.0.json(Outgoing::put_json(path, &body)).await
    }

    /// Why the service takes no requests; nothing where it takes them.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn unready(&self) -> Result<Option<String>, ClientError> {
        self.0.refusal(Outgoing::get("/readyz")).await
    }

    /// The metrics in Prometheus text format.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let body = self.0.bytes(Outgoing::get("/metrics")).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

impl Client {
    /// A client of the public listener at `base` over `connections` HTTP/2 connections. A service bounds the requests
    /// in flight per connection, so that many in flight need several.
    ///
    /// # Errors
    /// When address, certificate or key cannot be used.
    pub fn new(
        base: &str,
        certificate_pem: &[u8],
        api_key: &str,
        connections: usize,
    ) -> Result<Client, ClientError> {
        Ok(Client(Transport::new(base, certificate_pem, connections)?.with_bearer(api_key)?))
    }

    /// Publishes a signed root of the tenant's credential tree. Needs [`Scope::Issue`].
    ///
    /// # Errors
    /// `root-generation-stale` unless it follows the end of the root log, `root-signature-invalid`,
    /// `issuer-key-missing`, and [`ClientError`] in general.
    pub async fn publish_root(&self, root: &SignedRoot) -> Result<PublishedRoot, ClientError> {
        let SignedRoot { statement, signature } = root.clone();
        let root = PublishRoot { statement: Base64(statement), signature: Base64(signature) };
        self.0.json(Outgoing::post_json("/v1/credentials/roots", &root)).await
    }

    /// A page of a tenant's root log, from a generation on.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn root_log(&self, tenant: Hex<16>, from: u32) -> Result<RootLogPage, ClientError> {
        let path = format!("/v1/credentials/roots/{}?from={from}", hex::encode(tenant.0));
        self.0.json(Outgoing::get(path)).await
    }

    /// Enrols a face for a subject. The same `idempotency_key` gives the same answer. Needs [`Scope::Enrol`].
    ///
    /// # Errors
    /// `template-exists`, `embedding-invalid`, and [`ClientError`] in general.
    pub async fn enrol(
        &self,
        handle: Hex<32>,
        enrolment: &Enrolment,
        idempotency_key: &str,
    ) -> Result<Enrolled, ClientError> {
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle.0));
        let outgoing = Outgoing::post_json(path, enrolment).header(IDEMPOTENCY_KEY, idempotency_key)?;
        self.0.json(outgoing).await
    }

    /// Destroys a subject's template and its key. Needs [`Scope::Enrol`].
    ///
    /// # Errors
    /// `subject-unknown`, also where an earlier call did it, and [`ClientError`] in general.
    pub async fn erase(&self, handle: Hex<32>) -> Result<Erased, ClientError> {
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle.0));
        self.0.json(Outgoing::delete(path)).await
    }

    /// The sealing key of the tenant's key-holder, if it is the one with this fingerprint, which the key-holder's operator
    /// prints.
    ///
    /// # Errors
    /// When the key is another, and [`ClientError`] in general.
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

    /// Opens a proof session with the envelope of [`Holder::open`]. Needs [`Scope::Authenticate`].
    ///
    /// # Errors
    /// `proof-rejected`, `proof-stale`, `quota-exceeded`, `overloaded`, and [`ClientError`] in general.
    pub async fn open_session(&self, envelope: Vec<u8>) -> Result<ProofSession, ClientError> {
        self.0.json(Outgoing::post_bytes("/v1/proof-sessions", envelope)).await
    }

    /// Authenticates, and hands on the attestation unverified: for those who only carry it. [`Client::login`] verifies it. A denial is an
    /// answer, not an error. Needs [`Scope::Authenticate`].
    ///
    /// # Errors
    /// `session-expired`, `subject-unknown`, `overloaded`, and [`ClientError`] in general.
    pub async fn authenticate(&self, request: &Authentication) -> Result<Authenticated, ClientError> {
        self.0.json(Outgoing::post_json("/v1/authentications", request)).await
    }

    /// Authenticates from 1 to [`BATCH_MAX`] requests in one call: an answer or the problem of each, in their order. One that is refused
    /// refuses no other. At most one of a session with a hash chain, because they are decided in no particular order. Needs
    /// [`Scope::Authenticate`].
    ///
    /// # Errors
    /// `quota-exceeded`, and [`ClientError`] in general, for the whole; of one request those of [`Client::authenticate`].
    pub async fn authenticate_many(
        &self,
        requests: &[Authentication],
    ) -> Result<Vec<Result<Authenticated, ClientError>>, ClientError> {
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
            Outcome::Answered(answer) => Ok(answer),
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
        trust::read(&body).map_err(|cause| answer("GET /v1/keys", &cause))
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
    /// `seal-unknown` where there is no later one of the same keys, and [`ClientError`] in general.
    pub async fn pruned_seal(&self, number: u64) -> Result<PrunedSeal, ClientError> {
        let path = format!("/v1/seals/{number}/pruned");
        let body: Bytes = self.0.bytes(Outgoing::get(path.as_str())).await?;
        PrunedSeal::decode(&body).map_err(|cause| answer(&format!("GET {path}"), &cause))
    }
}

/// Header that makes a repeated enrolment harmless.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A path under a tenant's.
fn of_tenant(tenant: Hex<16>, rest: &str) -> String {
    format!("/v1/tenants/{}{rest}", hex::encode(tenant.0))
}

fn answer(route: &str, cause: &dyn std::fmt::Display) -> ClientError {
    ClientError::Answer { route: route.to_owned(), cause: cause.to_string() }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
