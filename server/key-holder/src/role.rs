//! The key-holder's role as a gateway uses it, wherever it runs.

use crate::quorum::HolderState;
use trefoil_matching::{
    BlindedTemplate, DecisionPolicy, EncryptedTemplate, Handle, KeyHolder, KeyHolderError, KeyHolding, Lane,
    TenantId,
};

/// Everything that a gateway asks of a key-holder. The methods are those of [`KeyHolder`]; all of them may block.
pub trait Role: KeyHolding {
    /// See [`KeyHolder::create_tenant`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn create_tenant(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<[u8; 32], KeyHolderError>;

    /// See [`KeyHolder::enrol`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: BlindedTemplate,
    ) -> Result<EncryptedTemplate, KeyHolderError>;

    /// See [`KeyHolder::shred`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError>;

    /// See [`KeyHolder::lift_freeze`]. A key-holder elsewhere refuses this to gateways: its own operator lifts a freeze.
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError>;

    /// Why nothing can be decided now, or nothing.
    fn unready(&self) -> Option<String>;

    /// How each of three key-holders does, where there are three.
    fn holders(&self) -> Vec<HolderState> {
        Vec::new()
    }
}

impl Role for KeyHolder {
    fn create_tenant(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<[u8; 32], KeyHolderError> {
        KeyHolder::create_tenant(self, tenant, policy)
    }

    fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: BlindedTemplate,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        KeyHolder::enrol(self, tenant, handle, generation, lane, &template)
    }

    fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        KeyHolder::shred(self, tenant, handle, generation)
    }

    fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        KeyHolder::lift_freeze(self, tenant)
    }

    fn unready(&self) -> Option<String> {
        None
    }
}
