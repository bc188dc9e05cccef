//! What operators ask for.

use crate::error::ClientError;
use crate::transport::{Outgoing, Transport};
use trefoil_api::{
    ApiKeyPage, AuditPage, Base64, ChangedOperator, ChangedPolicy, ChangedTenant, CreateApiKey,
    CreateOperator, CreateOperatorToken, CreateTenant, CreatedApiKey, CreatedOperatorToken, CreatedTenant,
    DeletedTenant, Hex, Operator, OperatorPage, Policy, PolicyPage, RegisterIssuerKey, RegisteredIssuerKey,
    ResetAttempts, ResetMalformed, RevokedApiKey, RotationStatus, Scope, ServiceStatus, SetPolicy,
    StartedRotation, TenantDetail, TenantPage, UsagePage,
};
use trefoil_wallet::credentials::IssuerPublicKey;

/// The admin listener: tenants, API keys, operators, the audit trail, metrics.
#[derive(Clone)]
pub struct Admin(Transport);

impl Admin {
    /// A client of the admin listener at `base`, such as `https://127.0.0.1:9443`.
    ///
    /// # Errors
    /// When address, certificate or token cannot be used.
    pub fn new(base: &str, certificate_pem: &[u8], token: &str) -> Result<Admin, ClientError> {
        Ok(Admin(Transport::new(base, certificate_pem, None, 1)?.with_bearer(token)?))
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
    pub async fn revoke_api_key(&self, tenant: Hex<16>, id: Hex<8>) -> Result<RevokedApiKey, ClientError> {
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
    ) -> Result<ChangedTenant, ClientError> {
        let path = of_tenant(tenant, if disabled { "/disable" } else { "/enable" });
        self.0.json(Outgoing::post_empty(path)).await
    }

    /// Deletes a disabled tenant with all that is kept for it, but its root log.
    ///
    /// # Errors
    /// `tenant-in-use` while it is enabled or its keys are rotated, `tenant-unknown` once it was deleted, `role-missing`, and
    /// [`ClientError`] in general.
    pub async fn delete_tenant(&self, tenant: Hex<16>) -> Result<DeletedTenant, ClientError> {
        self.0.json(Outgoing::delete(of_tenant(tenant, ""))).await
    }

    /// Resets the key-holder's count of a tenant's malformed jobs.
    ///
    /// # Errors
    /// `tenant-unknown`, `key-holder-forbids`, and [`ClientError`] in general.
    pub async fn reset_malformed(&self, tenant: Hex<16>) -> Result<ResetMalformed, ClientError> {
        self.0.json(Outgoing::post_empty(of_tenant(tenant, "/reset-malformed"))).await
    }

    /// Ends the delay of a locked-out subject and forgets its failures of the day.
    ///
    /// # Errors
    /// `subject-unknown`, `tenant-unknown`, `key-holder-forbids` where the key-holder runs apart, and [`ClientError`] in general.
    pub async fn reset_attempts(
        &self,
        tenant: Hex<16>,
        handle: Hex<32>,
    ) -> Result<ResetAttempts, ClientError> {
        let path = of_tenant(tenant, &format!("/subjects/{}/reset-attempts", hex::encode(handle.0)));
        self.0.json(Outgoing::post_empty(path)).await
    }

    /// Starts a rotation of the keys of a tenant's templates, or goes on with one that stopped.
    ///
    /// # Errors
    /// `tenant-unknown`, `key-holder-forbids`, and [`ClientError`] in general.
    pub async fn rotate_keys(&self, tenant: Hex<16>) -> Result<StartedRotation, ClientError> {
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

    /// Makes an operator with a token. The answer is the only place where the token appears.
    ///
    /// # Errors
    /// `role-missing`, `field-invalid` for an expiry that is over, and [`ClientError`] in general.
    pub async fn create_operator(
        &self,
        operator: &CreateOperator,
    ) -> Result<CreatedOperatorToken, ClientError> {
        self.0.json(Outgoing::post_json("/v1/operators", operator)).await
    }

    /// A page of the operators, from an identifier on.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn operators(&self, from: Hex<8>) -> Result<OperatorPage, ClientError> {
        self.0.json(Outgoing::get(format!("/v1/operators?from={}", hex::encode(from.0)))).await
    }

    /// An operator.
    ///
    /// # Errors
    /// `operator-unknown`, and [`ClientError`] in general.
    pub async fn operator(&self, operator: Hex<8>) -> Result<Operator, ClientError> {
        self.0.json(Outgoing::get(of_operator(operator, ""))).await
    }

    /// Revokes an operator: all of its tokens are refused.
    ///
    /// # Errors
    /// `operator-unknown`, `operator-conflict` for the last owner, `role-missing`, and [`ClientError`] in general.
    pub async fn revoke_operator(&self, operator: Hex<8>) -> Result<ChangedOperator, ClientError> {
        self.0.json(Outgoing::delete(of_operator(operator, ""))).await
    }

    /// Makes another token of an operator, with an expiry if there is one.
    ///
    /// # Errors
    /// `operator-unknown`, `operator-conflict` where two are taken already, `role-missing`, and [`ClientError`] in general.
    pub async fn create_operator_token(
        &self,
        operator: Hex<8>,
        expires_at: Option<u64>,
    ) -> Result<CreatedOperatorToken, ClientError> {
        let path = of_operator(operator, "/tokens");
        self.0.json(Outgoing::post_json(path, &CreateOperatorToken { expires_at })).await
    }

    /// Revokes one token of an operator.
    ///
    /// # Errors
    /// `operator-unknown`, `operator-conflict` for the last one of the last owner, `role-missing`, and [`ClientError`] in general.
    pub async fn revoke_operator_token(
        &self,
        operator: Hex<8>,
        number: u32,
    ) -> Result<ChangedOperator, ClientError> {
        self.0.json(Outgoing::delete(of_operator(operator, &format!("/tokens/{number}")))).await
    }

    /// A page of the audit trail, from an entry on, of one tenant or of all.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn audit(&self, from: u64, tenant: Option<Hex<16>>) -> Result<AuditPage, ClientError> {
        let of = tenant.map_or_else(String::new, |tenant| format!("&tenant={}", hex::encode(tenant.0)));
        self.0.json(Outgoing::get(format!("/v1/audit?from={from}{of}"))).await
    }

    /// Why the service takes no requests; nothing where it takes them.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn unready(&self) -> Result<Option<String>, ClientError> {
        self.0.refusal(Outgoing::get("/readyz")).await
    }

    /// A page of what a tenant's API keys were used for, from a key on; zeros for the first page.
    ///
    /// # Errors
    /// `tenant-unknown`, and [`ClientError`] in general.
    pub async fn usage(&self, tenant: Hex<16>, from: Hex<8>) -> Result<UsagePage, ClientError> {
        let rest = format!("/usage?from={}", hex::encode(from.0));
        self.0.json(Outgoing::get(of_tenant(tenant, &rest))).await
    }

    /// How the service does, and what wants attention.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn status(&self) -> Result<ServiceStatus, ClientError> {
        self.0.json(Outgoing::get("/v1/status")).await
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

/// A path under an operator's.
fn of_operator(operator: Hex<8>, rest: &str) -> String {
    format!("/v1/operators/{}{rest}", hex::encode(operator.0))
}

/// A path under a tenant's.
fn of_tenant(tenant: Hex<16>, rest: &str) -> String {
    format!("/v1/tenants/{}{rest}", hex::encode(tenant.0))
}
