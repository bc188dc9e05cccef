//! Calls of operators.

use crate::client::IDEMPOTENCY_KEY;
use crate::error::ClientError;
use crate::outgoing::Outgoing;
use crate::transport::Transport;
use crate::unverified::{Said, Unverified};
use serde::Serialize;
use serde::de::DeserializeOwned;
use trefoil_api::{
    ApiKeyPage, AuditPage, Base64, ChangedOperator, ChangedPolicy, ChangedTenant, CreateApiKey,
    CreateOperator, CreateOperatorToken, CreateTenant, CreatedApiKey, CreatedOperatorToken, CreatedTenant,
    DeletedTenant, Hex, Operator, OperatorPage, Policy, PolicyPage, PolicyVersion, RegisterIssuerKey,
    RegisteredIssuerKey, ResetAttempts, ResetMalformed, RevokedApiKey, RotationStatus, Scope, ServiceStatus,
    SetPolicy, StartedRotation, TenantDetail, TenantPage, UsagePage,
};
use trefoil_attest::{SERVICE, What, policy_digest};
use trefoil_types::{ApiKeyId, OperatorId, TenantId};
use trefoil_wallet::credentials::IssuerPublicKey;

/// The admin listener: tenants, API keys, operators, the audit trail, metrics. Changes answer with an [`Unverified`], whose content is
/// reached through [`Unverified::verified`]; the tenant of the request is checked in any case. Receipts in the audit trail come as they are.
#[derive(Clone)]
pub struct Admin {
    transport: Transport,
    idempotency_key: Option<String>,
}

impl Admin {
    /// A client of the admin listener at `base`, such as `https://127.0.0.1:9443`.
    ///
    /// # Errors
    /// When address, certificate or token cannot be used.
    pub fn new(base: &str, certificate_pem: &[u8], token: &str) -> Result<Admin, ClientError> {
        let transport = Transport::new(base, certificate_pem, None, 1)?.with_bearer(token)?;
        Ok(Admin { transport, idempotency_key: None })
    }

    /// A client without a token, which only [`Admin::unready`] and [`Admin::metrics`] answer.
    ///
    /// # Errors
    /// The address or the certificate cannot be used.
    pub fn without_token(base: &str, certificate_pem: &[u8]) -> Result<Admin, ClientError> {
        let transport = Transport::new(base, certificate_pem, None, 1)?;
        Ok(Admin { transport, idempotency_key: None })
    }

    /// This client with an `Idempotency-Key` for one creation of a tenant, an API key, an operator or a token. If the creation is repeated with the
    /// same key after a lost answer, nothing more is created. A repetition that would show a secret again gets `secret-shown`.
    #[must_use]
    pub fn creating_once(&self, idempotency_key: &str) -> Admin {
        Admin { transport: self.transport.clone(), idempotency_key: Some(idempotency_key.to_owned()) }
    }

    async fn create<T: DeserializeOwned>(
        &self,
        path: impl Into<String>,
        body: &impl Serialize,
        said: impl FnOnce(&T) -> Option<Said>,
    ) -> Result<Unverified<T>, ClientError> {
        let mut outgoing = Outgoing::post_json(path, body);
        if let Some(key) = &self.idempotency_key {
            outgoing = outgoing.header(IDEMPOTENCY_KEY, key)?;
        }
        self.transport.change(outgoing, said).await
    }

    /// Makes a tenant.
    ///
    /// # Errors
    /// `field-invalid` for a policy out of range, and [`ClientError`] in general.
    pub async fn create_tenant(
        &self,
        tenant: &CreateTenant,
    ) -> Result<Unverified<CreatedTenant>, ClientError> {
        let said = |created: &CreatedTenant| {
            of(created.tenant_id, What::TenantCreated { digest: policy_digest(&tenant.policy) })
        };
        self.create("/v1/tenants", tenant, said).await
    }

    /// Makes an API key of a tenant. Only this answer has its secret.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn create_api_key(
        &self,
        tenant: Hex<16>,
        scopes: Vec<Scope>,
    ) -> Result<Unverified<CreatedApiKey>, ClientError> {
        self.create_api_key_with(tenant, &CreateApiKey { scopes, label: None, expires_at: None }).await
    }

    /// Makes an API key with a label and an expiry.
    ///
    /// # Errors
    /// `tenant-unknown`, `field-invalid` for an expiry in the past, and [`ClientError`] in general.
    pub async fn create_api_key_with(
        &self,
        tenant: Hex<16>,
        request: &CreateApiKey,
    ) -> Result<Unverified<CreatedApiKey>, ClientError> {
        let said = |created: &CreatedApiKey| {
            let (key, scopes) = (ApiKeyId::new(created.id.0), bits(&request.scopes));
            of(tenant, What::ApiKeyCreated { key, scopes })
        };
        self.create(of_tenant(tenant, "/api-keys"), request, said).await
    }

    /// A page of a tenant's API keys, starting at an id.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn api_keys(&self, tenant: Hex<16>, from: Hex<8>) -> Result<ApiKeyPage, ClientError> {
        let path = of_tenant(tenant, &format!("/api-keys?from={}", hex::encode(from.0)));
        self.transport.json(Outgoing::get(path)).await
    }

    /// Revokes an API key. A repetition gets the same answer.
    ///
    /// # Errors
    /// `api-key-unknown`, `tenant-unknown`, and [`ClientError`] in general.
    pub async fn revoke_api_key(
        &self,
        tenant: Hex<16>,
        id: Hex<8>,
    ) -> Result<Unverified<RevokedApiKey>, ClientError> {
        let said = |revoked: &RevokedApiKey| {
            of(tenant, What::ApiKeyRevoked { key: ApiKeyId::new(id.0) }).filter(|_| revoked.key.id == id)
        };
        let path = of_tenant(tenant, &format!("/api-keys/{}", hex::encode(id.0)));
        self.transport.change(Outgoing::delete(path), said).await
    }

    /// A page of the tenants, starting at an identifier.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tenants(&self, from: Hex<16>) -> Result<TenantPage, ClientError> {
        self.transport.json(Outgoing::get(format!("/v1/tenants?from={}", hex::encode(from.0)))).await
    }

    /// A tenant and its policy.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn tenant(&self, tenant: Hex<16>) -> Result<TenantDetail, ClientError> {
        self.transport.json(Outgoing::get(of_tenant(tenant, ""))).await
    }

    /// Makes a policy the next version of a tenant's; with `if_version` only if that is the version in force.
    ///
    /// # Errors
    /// `policy-overtaken`, `tenant-unknown`, `field-invalid`, and [`ClientError`] in general.
    pub async fn set_policy(
        &self,
        tenant: Hex<16>,
        policy: &Policy,
        if_version: Option<u32>,
    ) -> Result<Unverified<ChangedPolicy>, ClientError> {
        let said = |changed: &ChangedPolicy| {
            let PolicyVersion { policy_id, policy_version, .. } = changed.version;
            let digest = policy_digest(policy);
            let what = What::PolicyChanged { id: policy_id, version: policy_version, digest };
            of(tenant, what)
                .filter(|_| changed.version.policy_digest.0 == digest && changed.version.policy == *policy)
        };
        let body = SetPolicy { policy: policy.clone() };
        let mut outgoing = Outgoing::put_json(of_tenant(tenant, "/policy"), &body);
        if let Some(version) = if_version {
            outgoing = outgoing.header("if-match", &format!("\"{version}\""))?;
        }
        self.transport.change(outgoing, said).await
    }

    /// A page of the versions of a tenant's policy, starting at one.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn policies(&self, tenant: Hex<16>, from: u32) -> Result<PolicyPage, ClientError> {
        self.transport.json(Outgoing::get(of_tenant(tenant, &format!("/policies?from={from}")))).await
    }

    /// Disables a tenant, so that its API keys are refused, or enables it.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn set_tenant_disabled(
        &self,
        tenant: Hex<16>,
        disabled: bool,
    ) -> Result<Unverified<ChangedTenant>, ClientError> {
        let said = |changed: &ChangedTenant| {
            let summary = &changed.summary;
            let same = (summary.tenant_id, summary.disabled_at.is_some()) == (tenant, disabled);
            of(tenant, if disabled { What::TenantDisabled } else { What::TenantEnabled }).filter(|_| same)
        };
        let path = of_tenant(tenant, if disabled { "/disable" } else { "/enable" });
        self.transport.change(Outgoing::post_empty(path), said).await
    }

    /// Deletes a disabled tenant with all its data except its root log.
    ///
    /// # Errors
    /// `tenant-in-use` while it is enabled or its keys are rotated, `tenant-unknown` once it was deleted, `role-missing`, and
    /// [`ClientError`] in general.
    pub async fn delete_tenant(&self, tenant: Hex<16>) -> Result<Unverified<DeletedTenant>, ClientError> {
        let said = |deleted: &DeletedTenant| {
            let what = What::TenantDeleted { templates: deleted.templates };
            of(tenant, what).filter(|_| deleted.tenant_id == tenant)
        };
        self.transport.change(Outgoing::delete(of_tenant(tenant, "")), said).await
    }

    /// Resets the key-holder's count of a tenant's malformed jobs.
    ///
    /// # Errors
    /// `tenant-unknown`, `key-holder-forbids`, and [`ClientError`] in general.
    pub async fn reset_malformed(&self, tenant: Hex<16>) -> Result<Unverified<ResetMalformed>, ClientError> {
        let outgoing = Outgoing::post_empty(of_tenant(tenant, "/reset-malformed"));
        self.transport.change(outgoing, |_| of(tenant, What::MalformedReset)).await
    }

    /// Ends the delay of a locked-out subject and forgets its failures of the day. The receipt does not say whose.
    ///
    /// # Errors
    /// `subject-unknown`, `tenant-unknown`, `key-holder-forbids` where the key-holder runs apart, and [`ClientError`] in general.
    pub async fn reset_attempts(
        &self,
        tenant: Hex<16>,
        handle: Hex<32>,
    ) -> Result<Unverified<ResetAttempts>, ClientError> {
        let path = of_tenant(tenant, &format!("/subjects/{}/reset-attempts", hex::encode(handle.0)));
        self.transport.change(Outgoing::post_empty(path), |_| of(tenant, What::AttemptsReset)).await
    }

    /// Starts a rotation of the keys of a tenant's templates, or resumes one that stopped.
    ///
    /// # Errors
    /// `tenant-unknown`, `key-holder-forbids`, and [`ClientError`] in general.
    pub async fn rotate_keys(&self, tenant: Hex<16>) -> Result<Unverified<StartedRotation>, ClientError> {
        let said = |started: &StartedRotation| {
            let what = What::KeyRotationBegun { epoch: started.status.epoch };
            of(tenant, what).filter(|_| started.status.tenant == tenant)
        };
        self.transport.change(Outgoing::post_empty(of_tenant(tenant, "/key-rotation")), said).await
    }

    /// The progress of the rotation of a tenant's keys.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn key_rotation(&self, tenant: Hex<16>) -> Result<RotationStatus, ClientError> {
        self.transport.json(Outgoing::get(of_tenant(tenant, "/key-rotation"))).await
    }

    /// Registers the key under which the roots of a tenant verify.
    ///
    /// # Errors
    /// `tenant-unknown`, `field-invalid`, and [`ClientError`] in general.
    pub async fn register_issuer_key(
        &self,
        tenant: Hex<16>,
        key: &IssuerPublicKey,
    ) -> Result<Unverified<RegisteredIssuerKey>, ClientError> {
        let said = |registered: &RegisteredIssuerKey| {
            let what = What::IssuerKeyRegistered { key: key.id() };
            of(tenant, what).filter(|_| registered.key_id.0 == key.id().to_bytes())
        };
        let path = of_tenant(tenant, "/issuer-key");
        let body = RegisterIssuerKey { ml_dsa_65: Base64(key.as_bytes().to_vec()) };
        self.transport.change(Outgoing::put_json(path, &body), said).await
    }

    /// Makes an operator with a token. Only this answer has the token.
    ///
    /// # Errors
    /// `role-missing`, `field-invalid` for an expiry in the past, and [`ClientError`] in general.
    pub async fn create_operator(
        &self,
        operator: &CreateOperator,
    ) -> Result<Unverified<CreatedOperatorToken>, ClientError> {
        let said = |created: &CreatedOperatorToken| {
            let (role, operator) = (operator.role.number(), OperatorId::new(created.operator_id.0));
            of_service(What::OperatorCreated { operator, role })
        };
        self.create("/v1/operators", operator, said).await
    }

    /// A page of the operators, starting at an identifier.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn operators(&self, from: Hex<8>) -> Result<OperatorPage, ClientError> {
        self.transport.json(Outgoing::get(format!("/v1/operators?from={}", hex::encode(from.0)))).await
    }

    /// An operator.
    ///
    /// # Errors
    /// `operator-unknown`, and [`ClientError`] in general.
    pub async fn operator(&self, operator: Hex<8>) -> Result<Operator, ClientError> {
        self.transport.json(Outgoing::get(of_operator(operator, ""))).await
    }

    /// Revokes an operator: all of its tokens are refused.
    ///
    /// # Errors
    /// `operator-unknown`, `last-owner`, `role-missing`, and [`ClientError`] in general.
    pub async fn revoke_operator(
        &self,
        operator: Hex<8>,
    ) -> Result<Unverified<ChangedOperator>, ClientError> {
        let said = |changed: &ChangedOperator| {
            let what = What::OperatorRevoked { operator: OperatorId::new(operator.0) };
            of_service(what).filter(|_| changed.operator.operator_id == operator)
        };
        self.transport.change(Outgoing::delete(of_operator(operator, "")), said).await
    }

    /// Makes another token of an operator, with an expiry if there is one.
    ///
    /// # Errors
    /// `operator-unknown`, `operator-conflict` if it has two valid tokens, `role-missing`, and [`ClientError`] in general.
    pub async fn create_operator_token(
        &self,
        operator: Hex<8>,
        expires_at: Option<u64>,
    ) -> Result<Unverified<CreatedOperatorToken>, ClientError> {
        let said = |created: &CreatedOperatorToken| {
            let (id, token) = (OperatorId::new(operator.0), created.number);
            let what = What::OperatorTokenCreated { operator: id, token };
            of_service(what).filter(|_| created.operator_id == operator)
        };
        let path = of_operator(operator, "/tokens");
        self.create(path, &CreateOperatorToken { expires_at }, said).await
    }

    /// Revokes one token of an operator.
    ///
    /// # Errors
    /// `operator-unknown`, `last-owner` for the last token of the last one, `role-missing`, and [`ClientError`] in general.
    pub async fn revoke_operator_token(
        &self,
        operator: Hex<8>,
        number: u32,
    ) -> Result<Unverified<ChangedOperator>, ClientError> {
        let said = |changed: &ChangedOperator| {
            let what = What::OperatorTokenRevoked { operator: OperatorId::new(operator.0), token: number };
            of_service(what).filter(|_| changed.operator.operator_id == operator)
        };
        let path = of_operator(operator, &format!("/tokens/{number}"));
        self.transport.change(Outgoing::delete(path), said).await
    }

    /// A page of the audit trail of one tenant or of all, starting at an entry.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn audit(&self, from: u64, tenant: Option<Hex<16>>) -> Result<AuditPage, ClientError> {
        let of = tenant.map_or_else(String::new, |tenant| format!("&tenant={}", hex::encode(tenant.0)));
        self.transport.json(Outgoing::get(format!("/v1/audit?from={from}{of}"))).await
    }

    /// Why the service accepts no requests; `None` if it accepts them.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn unready(&self) -> Result<Option<String>, ClientError> {
        self.transport.refusal(Outgoing::get("/readyz")).await
    }

    /// A page of the usage of a tenant's API keys, starting at a key; zeros for the first page.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn usage(&self, tenant: Hex<16>, from: Hex<8>) -> Result<UsagePage, ClientError> {
        let rest = format!("/usage?from={}", hex::encode(from.0));
        self.transport.json(Outgoing::get(of_tenant(tenant, &rest))).await
    }

    /// The service's health, with findings that need attention.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn status(&self) -> Result<ServiceStatus, ClientError> {
        self.transport.json(Outgoing::get("/v1/status")).await
    }

    /// The metrics in Prometheus text format.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let body = self.transport.bytes(Outgoing::get("/metrics")).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

/// What the receipt of a change of a tenant must say.
fn of(tenant: Hex<16>, what: What) -> Option<Said> {
    Some((Some(TenantId::new(tenant.0)), what))
}

/// What the receipt of a change of the service itself must say.
fn of_service(what: What) -> Option<Said> {
    Some((Some(SERVICE), what))
}

/// Scopes as receipts have them: the sum of 1, 2 and 4.
fn bits(scopes: &[Scope]) -> u8 {
    let bit = |(at, scope)| if scopes.contains(scope) { 1_u8 << at } else { 0 };
    Scope::ALL.iter().enumerate().map(bit).sum()
}

/// A path under an operator's.
fn of_operator(operator: Hex<8>, rest: &str) -> String {
    format!("/v1/operators/{}{rest}", hex::encode(operator.0))
}

/// A path under a tenant's.
fn of_tenant(tenant: Hex<16>, rest: &str) -> String {
    format!("/v1/tenants/{}{rest}", hex::encode(tenant.0))
}
