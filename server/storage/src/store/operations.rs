//! The operations of a store.

use super::fleet::Fleet;
use super::records::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Operator, OperatorToken, PolicyVersion,
    Present, Registry, Revocation, Root, Session, Subject, Template, Tenant, Usage, UsageWrite,
};
use crate::database::{Count, StoreError};
use trefoil_attest::Restoration;
use trefoil_attest::tree::Hash;
use trefoil_matching::TemplateName;
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

/// The gateway's durable state. Implementations are compared by one test suite.
///
/// A method with a [`Note`] makes the change and adds the note to the audit trail, both or neither, and returns the entry's number; `Conflict` if
/// the note's request was made before.
pub trait Store: Send + Sync + 'static {
    /// Why every call would fail now, or `None`. Does not block.
    fn unready(&self) -> Option<String> {
        None
    }
    /// What it has if several nodes use it at a time.
    fn fleet(&self) -> Option<&dyn Fleet> {
        None
    }
    /// How many transactions are durable, for the vault beside it.
    fn count(&self) -> Count;
    /// The count of the vault beside it as of its last transaction when it was opened, and from now on notes it. 0 if it never had one.
    fn follow(&self, _vault: Count) -> u64 {
        0
    }
    /// Makes the file complete without its write-ahead log.
    fn checkpoint(&self) -> Result<(), StoreError>;
    /// Tenants, API keys, accepted roots and operators.
    fn registry(&self) -> Result<Registry, StoreError>;
    /// Adds a tenant with the version of its policy; `Conflict` if it exists.
    fn create_tenant(&self, tenant: Tenant, note: Note) -> Result<u64, StoreError>;
    /// Adds a version of a policy and makes it the tenant's, both or neither; `Conflict` if the version exists.
    fn put_policy(&self, version: PolicyVersion, note: Note) -> Result<u64, StoreError>;
    /// Versions of a tenant's policy in order, starting at one, at most `count`.
    fn policies(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<PolicyVersion>, StoreError>;
    /// Adds an API key; `Conflict` if its id exists.
    fn add_api_key(&self, key: ApiKey, note: Note) -> Result<u64, StoreError>;
    /// Revokes an API key. A second revocation keeps the time of the first.
    fn revoke_api_key(&self, id: &ApiKeyId, at: u64, note: Note) -> Result<u64, StoreError>;
    /// Notes when API keys were last used. The later time wins.
    fn note_api_key_uses(&self, uses: Vec<(ApiKeyId, u64)>) -> Result<(), StoreError>;
    /// Adds counts to their days, and deletes days before `oldest_day`. Where a write may have been stored although it failed, the next one of the process
    /// with the same number adds nothing then.
    fn add_usage(&self, write: UsageWrite, more: Vec<Usage>, oldest_day: u64) -> Result<(), StoreError>;
    /// The usage since a day of at most `keys` of a tenant's API keys, starting at one; by key, then by day.
    fn usage(
        &self,
        tenant: &TenantId,
        from: ApiKeyId,
        since_day: u64,
        keys: usize,
    ) -> Result<Vec<Usage>, StoreError>;
    /// Disables a tenant at this time, or enables it.
    fn set_tenant_disabled(&self, tenant: &TenantId, at: Option<u64>, note: Note) -> Result<u64, StoreError>;
    /// Deletes all data of a tenant and overwrites the bytes, except its issuer's keys and its root log. From then on its
    /// enrolments are refused.
    fn delete_tenant(&self, tenant: &TenantId, at: u64, note: Note) -> Result<u64, StoreError>;
    /// Adds an operator, with a token if one is given, or replaces the time of its revocation.
    fn put_operator(
        &self,
        operator: Operator,
        token: Option<OperatorToken>,
        note: Note,
    ) -> Result<u64, StoreError>;
    /// Adds a token of an operator, or replaces the time of its revocation.
    fn put_operator_token(&self, token: OperatorToken, note: Note) -> Result<u64, StoreError>;
    /// Adds an entry to the audit trail, without another change.
    fn note(&self, note: Note) -> Result<u64, StoreError>;
    /// The digest of the request that an operator made with a key, and its entry in the audit trail.
    fn created(&self, operator: &OperatorId, key: &str)
    -> Result<Option<([u8; 32], AuditEntry)>, StoreError>;
    /// Adds its receipt to an entry.
    fn seal_note(&self, number: u64, receipt: Vec<u8>) -> Result<(), StoreError>;
    /// Entries of the audit trail in order, starting at a number, of one tenant or of all, at most `count`.
    fn audit(
        &self,
        from: u64,
        tenant: Option<&TenantId>,
        count: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;
    /// Entries without a receipt, oldest first, at most `count`.
    fn unsealed_notes(&self, count: usize) -> Result<Vec<AuditEntry>, StoreError>;
    /// Adds a root; `Conflict` unless its generation is above all earlier ones of the tenant.
    fn publish_root(&self, root: Root) -> Result<(), StoreError>;
    /// Roots of a tenant in order, starting at a generation, at most `count`, including withdrawn ones.
    fn roots(&self, tenant: &TenantId, from: u32, count: usize) -> Result<Vec<Root>, StoreError>;
    /// Adds an issuer key; `Conflict` if the number exists.
    fn add_issuer_key(&self, key: IssuerKey, note: Note) -> Result<u64, StoreError>;
    /// Reserves the next generation of a subject, and notes it as a leftover until it is stored; `Conflict` while it has a template. Numbers never
    /// come back.
    fn reserve_generation(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError>;
    /// Adds a template with its idempotency record, and removes the note of its generation, all or nothing; `Conflict` if the subject has one or the
    /// tenant was deleted, and `OldKeys` if a rotation of the tenant's keys has begun and the template is under the keys before. Returns whether the note
    /// was there: without it the key-holder may have forgotten the generation. After any other error it may be stored.
    fn enrol(&self, template: Template, answer: Idempotency) -> Result<bool, StoreError>;
    /// Replaces a tenant's public keys.
    fn set_tenant_keys(
        &self,
        tenant: &TenantId,
        public_key: Vec<u8>,
        next_key: Option<Vec<u8>>,
        note: Note,
    ) -> Result<u64, StoreError>;
    /// How many templates of a tenant are under an epoch of its keys.
    fn count_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<u64, StoreError>;
    /// Subjects, not revoked, whose template is under an epoch of the tenant's keys, at most `count`.
    fn subjects_of_epoch(
        &self,
        tenant: &TenantId,
        epoch: u32,
        count: usize,
    ) -> Result<Vec<Handle>, StoreError>;
    /// Reserves the next generation of a subject with a template; `Conflict` without one. Numbers never come back.
    fn reserve_renewal(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError>;
    /// Replaces the template of a subject, and its data key, if it has generation `from` and was not revoked, and returns whether that was so.
    /// The consent stays.
    fn renew_template(&self, template: Template, from: u32) -> Result<bool, StoreError>;
    /// Reserves the next generation of a subject with a template, active or revoked, notes it as a leftover until it is stored, and returns
    /// (next, present). `Conflict` without a template.
    fn reserve_replacement(&self, tenant: &TenantId, handle: &Handle) -> Result<(u32, Present), StoreError>;
    /// If the subject's template is still `from`, and the note of the new generation is there, replaces it with its consent, ends the
    /// revocation, adds the idempotency record, and notes the generation of `from` as a leftover instead, all or nothing. Returns whether that was so. The bytes of the old template are overwritten. `OldKeys`
    /// as for [`Store::enrol`].
    fn replace_template(
        &self,
        template: Template,
        from: Present,
        answer: Idempotency,
    ) -> Result<bool, StoreError>;
    /// Revokes a subject with a template at this time: [`Store::template`] finds it no more, until it is replaced. Notes the generation as a
    /// leftover, in the same transaction. A second revocation keeps the time of the first and notes nothing. `None` without a template.
    fn revoke_subject(
        &self,
        tenant: &TenantId,
        handle: &Handle,
        at: u64,
    ) -> Result<Option<Revocation>, StoreError>;
    /// Generations that enrolments, replacements and revocations left behind and the key-holder has not confirmed to have forgotten.
    fn leftovers(&self) -> Result<Vec<TemplateName>, StoreError>;
    /// Notes that the key-holder has forgotten one of these generations.
    fn forget_leftover(&self, name: &TemplateName) -> Result<(), StoreError>;
    /// The active template; none while the subject is revoked.
    fn template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Template>, StoreError>;
    /// Subjects of a tenant with a template, active or revoked, by handle, starting at one, at most `count`.
    fn subjects(&self, tenant: &TenantId, from: &Handle, count: usize) -> Result<Vec<Subject>, StoreError>;
    /// Deletes template, data key and revocation, and overwrites their bytes. Returns the template's generation.
    fn delete_template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<u32>, StoreError>;
    /// Adds or replaces proof sessions. One that has ended, whose row is empty, stays so. Returns whether there was none.
    fn put_sessions(&self, sessions: Vec<Session>) -> Result<bool, StoreError>;
    /// How many proof sessions of all tenants end after `now` and have not been ended.
    fn count_sessions(&self, now: u64) -> Result<u64, StoreError>;
    /// At most `limit` proof sessions of a tenant that end after `now`, by identifier, starting behind `after`.
    fn live_sessions(
        &self,
        tenant: &TenantId,
        after: Option<&SessionId>,
        now: u64,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError>;
    /// A proof session, even if it has expired.
    fn session(&self, tenant: &TenantId, id: &SessionId) -> Result<Option<Session>, StoreError>;
    /// The answer that was given under an idempotency key.
    fn idempotency(&self, tenant: &TenantId, key: &str) -> Result<Option<Idempotency>, StoreError>;
    /// Removes sessions that expired before `now`, and idempotency records and requests of operators made before `idempotency_before`.
    fn expire(&self, now: u64, idempotency_before: u64) -> Result<(), StoreError>;
    /// Removes all sessions, whenever they expire, as after a restoration.
    fn remove_sessions(&self) -> Result<(), StoreError>;
    /// Appends a seal with the nodes that it completes in the log's tree, both or neither: node `l` of `completed` is
    /// number `number >> l` of level `l`. `Conflict` if the number exists.
    fn put_seal(&self, number: u64, bytes: Vec<u8>, completed: Vec<Hash>) -> Result<(), StoreError>;
    /// A seal, or its header if [`Store::prune_seals`] pruned it.
    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// The newest seal.
    fn last_seal(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError>;
    /// Replaces seals by their headers, all or none.
    fn prune_seals(&self, headers: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError>;
    /// The number of the newest seal that was pruned.
    fn last_pruned(&self) -> Result<Option<u64>, StoreError>;
    /// The first seal above this number that was not pruned.
    fn unpruned_after(&self, number: u64) -> Result<Option<u64>, StoreError>;
    /// Returns space of deleted rows to the file system in a bounded step, except this many bytes. Returns whether there is more.
    fn shrink(&self, kept: u64) -> Result<bool, StoreError>;
    /// Appends a witness's cosignature of the log of `size` seals, a line of a note. `Conflict` if there is one of this
    /// witness at this size: the first one stays.
    fn put_cosignature(&self, size: u64, witness: String, line: String) -> Result<(), StoreError>;
    /// The cosignatures at a size, by the names of the witnesses.
    fn cosignatures(&self, size: u64) -> Result<Vec<String>, StoreError>;
    /// The largest size that any witness has cosigned.
    fn last_cosigned(&self) -> Result<Option<u64>, StoreError>;
    /// Notes that the store was restored from a backup. `Conflict` if a restoration at that time is noted already.
    fn put_restoration(&self, restoration: Restoration) -> Result<(), StoreError>;
    /// The newest restoration.
    fn last_restoration(&self) -> Result<Option<Restoration>, StoreError>;
    /// Notes that an operator accepted the clock. `Conflict` if there is one with this number.
    fn put_accepted_clock(&self, accepted: AcceptedClock) -> Result<(), StoreError>;
    /// Each clock that was accepted, the oldest first.
    fn accepted_clocks(&self) -> Result<Vec<AcceptedClock>, StoreError>;
    /// A complete node of the log's tree, see [`trefoil_attest::log`].
    fn log_node(&self, level: u8, number: u64) -> Result<Option<Hash>, StoreError>;
}
