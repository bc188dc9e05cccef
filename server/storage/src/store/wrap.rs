//! Encryption at rest: AES-256-GCM under a hierarchy of keys.
//!
//! The master key (a file) wraps one key per tenant. The tenant's key wraps one data key per template, and
//! sessions. Associated data names the kind and owner of the bytes, so a record moved to another row does not open.
//! Deleting a data key shreds its template wherever old pages of the database may survive.
//!
//! Random nonces are safe up to 2^32 messages a key. A data key wraps one message, a tenant's key at most one per
//! subject and session.

pub use crate::wrap::WrapKey;

use crate::store::{SessionId, TenantId};
use crate::wrap::WrapError;
use sha3::{Digest as _, Sha3_256};
use trefoil_matching::{KeyStructure, TemplateName};
use zeroize::Zeroizing;

/// The name to which a wrapped template is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplatePlace {
    /// Its name.
    pub name: TemplateName,
    /// Its lane.
    pub lane: u8,
    /// The tenant's key structure.
    pub keys: KeyStructure,
    /// The epoch of the tenant's keys.
    pub epoch: u32,
}

/// The name to which a wrapped session is bound: all fields that are stored beside it.
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

    /// A secret derived from a tenant's key, a different one for each purpose. It is the same for as long as the tenant has that key,
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

    /// Wraps a template under a fresh data key. Call it on a tenant's key.
    pub fn wrap_template(&self, place: &TemplatePlace, template: &[u8]) -> WrappedTemplate {
        let (data_key, name) = (random_key(), place.encode());
        let bytes = WrapKey::new(&data_key).wrap(&named(b"trefoil/template/2", &name), template);
        WrappedTemplate { key: self.wrap(&named(b"trefoil/data-key/2", &name), &*data_key), bytes }
    }

    /// Opens a template.
    pub fn open_template(
        &self,
        place: &TemplatePlace,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, WrapError> {
        let name = place.encode();
        let data_key = self.open(&named(b"trefoil/data-key/2", &name), key)?;
        let data_key: &[u8; 32] = data_key.as_slice().try_into().map_err(|_| WrapError)?;
        WrapKey::new(data_key).open(&named(b"trefoil/template/2", &name), bytes)
    }

    /// Wraps a session. Call it on a tenant's key.
    pub fn wrap_session(&self, name: &SessionName, session: &[u8]) -> Vec<u8> {
        self.wrap(&named(b"trefoil/session/2", &name.encode()), session)
    }

    /// Opens a session.
    pub fn open_session(&self, name: &SessionName, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, WrapError> {
        self.open(&named(b"trefoil/session/2", &name.encode()), wrapped)
    }
}

impl TemplatePlace {
    fn encode(&self) -> Vec<u8> {
        let TemplatePlace { name: TemplateName { tenant, handle, generation }, lane, keys, epoch } = self;
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
    use crate::store::Handle;

    const NAME: TemplateName =
        TemplateName { tenant: TenantId::new([1; 16]), handle: Handle::new([2; 32]), generation: 3 };
    const PLACE: TemplatePlace =
        TemplatePlace { name: NAME, lane: 4, keys: KeyStructure::PerSubject, epoch: 5 };

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

    /// Claim V43: A stored record opens under its own name and key only.
    #[test]
    fn a_template_opens_under_its_own_name_and_key_only() {
        let master = WrapKey::new(&[7; 32]);
        let (tenant_key, wrapped_key) = master.new_tenant_key(&TenantId::new([1; 16]));
        let wrapped = tenant_key.wrap_template(&PLACE, b"template");
        let reopened = master.open_tenant_key(&TenantId::new([1; 16]), &wrapped_key).unwrap();
        assert_eq!(
            reopened.open_template(&PLACE, &wrapped.key, &wrapped.bytes).unwrap().as_slice(),
            b"template"
        );

        let others = [
            TemplatePlace { name: TemplateName { tenant: TenantId::new([9; 16]), ..NAME }, ..PLACE },
            TemplatePlace { name: TemplateName { handle: Handle::new([9; 32]), ..NAME }, ..PLACE },
            TemplatePlace { name: TemplateName { generation: 9, ..NAME }, ..PLACE },
            TemplatePlace { lane: 9, ..PLACE },
            TemplatePlace { keys: KeyStructure::PerTenant, ..PLACE },
            TemplatePlace { epoch: 9, ..PLACE },
        ];
        for other in others {
            assert_eq!(tenant_key.open_template(&other, &wrapped.key, &wrapped.bytes), Err(WrapError));
        }
        assert!(master.open_tenant_key(&TenantId::new([9; 16]), &wrapped_key).is_err());
        let (foreign, _) = master.new_tenant_key(&TenantId::new([1; 16]));
        assert_eq!(foreign.open_template(&PLACE, &wrapped.key, &wrapped.bytes), Err(WrapError));
    }
}
