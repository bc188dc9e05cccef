//! The key-holder's role as a gateway uses it, wherever it runs.

use crate::quorum::HolderState;
use trefoil_matching::{
    BlindedCiphertext, DecisionPolicy, EncryptedTemplate, ForKeyHolder, Handle, KeyHolder, KeyHolderError,
    KeyHolding, KeyStructure, Lane, PublicKey, SealingKey, TenantId,
};

/// Everything that a gateway asks of a key-holder. The methods are those of [`KeyHolder`]; all of them may block.
pub trait Role: KeyHolding {
    /// See [`KeyHolder::create_tenant`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError>;

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
        template: ForKeyHolder,
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

    /// See [`KeyHolder::begin_rotation`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError>;

    /// See [`KeyHolder::renew`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn renew(
        &self,
        tenant: TenantId,
        handle: Handle,
        from: u32,
        to: u32,
        blinded: BlindedCiphertext,
        now: u64,
    ) -> Result<EncryptedTemplate, KeyHolderError>;

    /// See [`KeyHolder::finish_rotation`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError>;

    /// See [`KeyHolder::sealing_key`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError>;

    /// Why nothing can be decided now, or nothing.
    fn unready(&self) -> Option<String>;

    /// How each of three key-holders does, where there are three.
    fn holders(&self) -> Vec<HolderState> {
        Vec::new()
    }
}

impl Role for KeyHolder {
    fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        KeyHolder::create_tenant(self, tenant, keys, policy)
    }

    fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: ForKeyHolder,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        KeyHolder::enrol(self, tenant, handle, generation, lane, &template)
    }

    fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        KeyHolder::shred(self, tenant, handle, generation)
    }

    fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        KeyHolder::lift_freeze(self, tenant)
    }

    fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        KeyHolder::begin_rotation(self, tenant)
    }

    fn renew(
        &self,
        tenant: TenantId,
        handle: Handle,
        from: u32,
        to: u32,
        blinded: BlindedCiphertext,
        now: u64,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        KeyHolder::renew(self, tenant, handle, from, to, &blinded, now)
    }

    fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError> {
        KeyHolder::finish_rotation(self, tenant, epoch)
    }

    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError> {
        Ok(KeyHolder::sealing_key(self))
    }

    fn unready(&self) -> Option<String> {
        None
    }
}
