//! Encryption at rest: AES-256-GCM under a hierarchy of keys.
//!
//! The master key (a file) wraps one key per tenant; the tenant's key wraps one data key per template, and
//! sessions. Associated data names what the bytes are and whose, so a record moved to another row does not open.
//! Deleting a data key shreds its template wherever old pages of the database may survive.
//!
//! Random nonces are sound up to 2^32 messages a key: a data key wraps one message, a tenant's key at most one per
//! subject and session.

use crate::store::{Handle, SessionId, TenantId};
use crate::wrap::WrapError;
use sha3::{Digest as _, Sha3_256};
use trefoil_matching::KeyStructure;
use zeroize::Zeroizing;

/// A key of the hierarchy.
pub struct WrapKey(crate::wrap::WrapKey);

/// What a wrapped template is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateName {
    /// Tenant.
    pub tenant: TenantId,
    /// Names the subject.
    pub handle: Handle,
    /// Which of the subject's templates.
    pub generation: u32,
    /// The template's lane.
    pub lane: u8,
    /// The tenant's key structure.
    pub keys: KeyStructure,
    /// The epoch of the tenant's keys.
    pub epoch: u32,
}

/// What a wrapped session is bound to: all that is stored beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionName {
    /// Tenant.
    pub tenant: TenantId,
    /// Session.
    pub id: SessionId,
    /// When it ends.
    pub expires_at: u64,
}

/// A template at rest.
pub struct WrappedTemplate {
    /// The data key under the tenant's key.
    pub key: Vec<u8>,
    /// The template under the data key.
    pub bytes: Vec<u8>,
}

impl WrapKey {
    /// The key with these bytes.
    pub fn new(bytes: &[u8; 32]) -> WrapKey {
        WrapKey(crate::wrap::WrapKey::new(bytes))
    }

    /// Wraps `plain` so that it opens only under the same `name`.
    pub fn wrap(&self, name: &[u8], plain: &[u8]) -> Vec<u8> {
        self.0.wrap(name, plain)
    }

    /// Opens what [`WrapKey::wrap`] made.
    pub fn open(&self, name: &[u8], wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, WrapError> {
        self.0.open(name, wrapped)
    }

    /// A fresh tenant key and its wrapped form.
    pub fn new_tenant_key(&self, tenant: &TenantId) -> (WrapKey, Vec<u8>) {
        let bytes = random_key();
        (WrapKey::new(&bytes), self.wrap(&named(b"trefoil/tenant-key/1", tenant.as_bytes()), &*bytes))
    }

    /// Opens a tenant key.
    pub fn open_tenant_key(&self, tenant: &TenantId, wrapped: &[u8]) -> Result<WrapKey, WrapError> {
        let bytes = self.open(&named(b"trefoil/tenant-key/1", tenant.as_bytes()), wrapped)?;
        bytes.as_slice().try_into().map(WrapKey::new).map_err(|_| WrapError)
    }

    /// A secret that follows from a tenant's key, another one for each purpose. It is the same for as long as the tenant has that key,
    /// across restarts and in every copy of the store.
    pub fn derive_tenant_secret(
        &self,
        tenant: &TenantId,
        wrapped: &[u8],
        purpose: &[u8],
    ) -> Result<Zeroizing<[u8; 32]>, WrapError> {
        let key = self.open(&named(b"trefoil/tenant-key/1", tenant.as_bytes()), wrapped)?;
        // The key has a fixed length, so purpose and tenant cannot run into it.
        let secret = Sha3_256::new_with_prefix(b"trefoil/tenant-secret/1").chain_update(&*key);
        Ok(Zeroizing::new(secret.chain_update(tenant).chain_update(purpose).finalize().into()))
    }

    /// Wraps a template under a fresh data key; to be called on a tenant's key.
    pub fn wrap_template(&self, name: &TemplateName, template: &[u8]) -> WrappedTemplate {
        let (data_key, name) = (random_key(), name.encode());
        let bytes = WrapKey::new(&data_key).wrap(&named(b"trefoil/template/2", &name), template);
        WrappedTemplate { key: self.wrap(&named(b"trefoil/data-key/2", &name), &*data_key), bytes }
    }

    /// Opens a template.
    pub fn open_template(
        &self,
        name: &TemplateName,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, WrapError> {
        let name = name.encode();
        let data_key = self.open(&named(b"trefoil/data-key/2", &name), key)?;
        let data_key: &[u8; 32] = data_key.as_slice().try_into().map_err(|_| WrapError)?;
        WrapKey::new(data_key).open(&named(b"trefoil/template/2", &name), bytes)
    }

    /// Wraps a session; to be called on a tenant's key.
    pub fn wrap_session(&self, name: &SessionName, session: &[u8]) -> Vec<u8> {
        self.wrap(&named(b"trefoil/session/2", &name.encode()), session)
    }

    /// Opens a session.
    pub fn open_session(&self, name: &SessionName, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, WrapError> {
        self.open(&named(b"trefoil/session/2", &name.encode()), wrapped)
    }
}

impl TemplateName {
    fn encode(&self) -> Vec<u8> {
        let TemplateName { tenant, handle, generation, lane, keys, epoch } = self;
        let (generation, epoch) = (generation.to_le_bytes(), epoch.to_le_bytes());
        [tenant.as_bytes().as_slice(), handle.as_bytes(), &generation, &[*lane, keys.code()], &epoch].concat()
    }
}

impl SessionName {
    fn encode(&self) -> Vec<u8> {
        let SessionName { tenant, id, expires_at } = self;
        [tenant.as_bytes().as_slice(), id.as_bytes(), &expires_at.to_le_bytes()].concat()
    }
}

/// Domain and name; every name under one domain has one length.
fn named(domain: &[u8], name: &[u8]) -> Vec<u8> {
    [domain, name].concat()
}

fn random_key() -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    aws_lc_rs::rand::fill(&mut *bytes).expect("the operating system's random source answers");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: TemplateName = TemplateName {
        tenant: TenantId::new([1; 16]),
        handle: Handle::new([2; 32]),
        generation: 3,
        lane: 4,
        keys: KeyStructure::PerSubject,
        epoch: 5,
    };

    #[test]
    fn a_secret_follows_from_the_tenants_key_and_is_another_for_each_tenant_and_purpose() {
        let master = WrapKey::new(&[7; 32]);
        let [one, two] = [1, 2].map(|id| TenantId::new([id; 16]));
        let (_, wrapped) = master.new_tenant_key(&one);
        let secret = master.derive_tenant_secret(&one, &wrapped, b"a").unwrap();
        assert_eq!(master.derive_tenant_secret(&one, &wrapped, b"a").unwrap(), secret);
        assert_ne!(master.derive_tenant_secret(&one, &wrapped, b"b").unwrap(), secret);
        let (_, other) = master.new_tenant_key(&one);
        assert_ne!(master.derive_tenant_secret(&one, &other, b"a").unwrap(), secret);
        assert_eq!(
            master.derive_tenant_secret(&two, &wrapped, b"a"),
            Err(WrapError),
            "it is another tenant's"
        );
    }

    #[test]
    fn a_template_opens_under_its_own_name_and_key_only() {
        let master = WrapKey::new(&[7; 32]);
        let (tenant_key, wrapped_key) = master.new_tenant_key(&TenantId::new([1; 16]));
        let wrapped = tenant_key.wrap_template(&NAME, b"template");
        let reopened = master.open_tenant_key(&TenantId::new([1; 16]), &wrapped_key).unwrap();
        assert_eq!(
            reopened.open_template(&NAME, &wrapped.key, &wrapped.bytes).unwrap().as_slice(),
            b"template"
        );

        let others = [
            TemplateName { tenant: TenantId::new([9; 16]), ..NAME },
            TemplateName { handle: Handle::new([9; 32]), ..NAME },
            TemplateName { generation: 9, ..NAME },
            TemplateName { lane: 9, ..NAME },
            TemplateName { keys: KeyStructure::PerTenant, ..NAME },
            TemplateName { epoch: 9, ..NAME },
        ];
        for other in others {
            assert_eq!(tenant_key.open_template(&other, &wrapped.key, &wrapped.bytes), Err(WrapError));
        }
        assert!(master.open_tenant_key(&TenantId::new([9; 16]), &wrapped_key).is_err());
        let (foreign, _) = master.new_tenant_key(&TenantId::new([1; 16]));
        assert_eq!(foreign.open_template(&NAME, &wrapped.key, &wrapped.bytes), Err(WrapError));
    }
}
