//! Enrolment and erasure of templates.
//!
//! Enrolment is blinded wherever the key-holder runs: the embedding is split, the
//! key-holder encrypts one share, the other is taken out of the ciphertext, and neither role ever holds both.

use crate::face::{Face, Shown};
use crate::refused::{NotFresh, Refused};
use crate::replay::FRESHNESS_S;
use crate::seal_log::Answer;
use crate::service::{Service, blocking};
use crate::tenant::Tenant;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use trefoil_attest::{What, consent_digest};
use trefoil_matching::{
    Blind, Enrolment, ForKeyHolder, KeyHolderError, Lane, SealedTemplate, TemplateName, split, unblind,
};
use trefoil_storage::store::{Handle, Idempotency, StoreError, Template, TenantId, wrap};

/// How long an answer is kept for callers that ask again: a day.
pub const IDEMPOTENCY_LIFETIME_S: u64 = 86_400;

/// An enrolment as its caller asks for it.
pub struct EnrolmentRequest {
    /// The subject.
    pub handle: Handle,
    /// Its face.
    pub face: Face,
    /// Unix second at which the device sealed its share, where there are shares.
    pub issued_at: Option<u64>,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
    /// The same for the same enrolment.
    pub idempotency_key: String,
    /// Of all that was sent, see [`Service::enrolment_digest`].
    pub digest: [u8; 32],
}

/// A template that is stored.
pub struct Enrolled {
    /// Which of the subject's templates it is.
    pub generation: u32,
    /// Whether an earlier request with the same key enrolled it.
    pub replayed: bool,
    /// That it was enrolled, if that could be sealed.
    pub receipt: Option<Answer>,
}

/// A template that was destroyed.
pub struct Erased {
    /// The newest of the subject's templates that was destroyed.
    pub generation: u32,
    /// When, Unix seconds.
    pub erased_at: u64,
    /// That it was destroyed, if that could be sealed.
    pub receipt: Option<Answer>,
}

/// How the answer to an enrolment is written in the store. It is not for this layer to choose: stores have what callers read.
#[derive(Clone, Copy)]
pub struct EnrolledForm {
    /// The generation that an answer names.
    pub read: fn(&str) -> Result<u32, String>,
    /// The answer for a subject and a generation, without a receipt.
    pub write: fn(&Handle, u32) -> Result<String, String>,
}

/// A face on its way to the key-holder, and what this service keeps of it until it is back.
type Blinded = (ForKeyHolder, Blind);

impl Service {
    /// A keyed digest of an enrolment as it was sent, which says nothing of the face in it.
    pub fn enrolment_digest(&self, handle: &Handle, sent: &[u8]) -> [u8; 32] {
        self.directory.keyed_digest(b"trefoil/enrolment/1", &[handle.as_bytes(), sent])
    }

    /// Enrols a subject, once for each idempotency key. The receipt is waited for no longer than `patience`.
    pub async fn enrol(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        request: EnrolmentRequest,
        patience: Duration,
    ) -> Result<Enrolled, Refused> {
        let EnrolmentRequest { handle, face, issued_at, consent_ref, idempotency_key: key, digest } = request;
        let face = self.blinded(tenant, face, issued_at, &key)?;
        let running = self.idempotency.claim(tenant.id, &key)?;
        let (consent, service, of) = (consent_digest(&consent_ref), Arc::clone(self), Arc::clone(tenant));
        let (answer, replayed) = blocking(move || {
            let _running = running;
            match service.store.idempotency(&of.id, &key)? {
                Some(answer) if answer.request_digest == digest => Ok((answer, true)),
                Some(_) => Err(Refused::IdempotencyKeyReused),
                None => {
                    service.check_vaults()?;
                    service
                        .store_template(&of, handle, face, consent_ref, (key, digest))
                        .map(|answer| (answer, false))
                }
            }
        })
        .await?;
        let generation = (self.enrolled_form.read)(&answer.body).map_err(Refused::fault)?;
        let what = What::Enrolled { handle, generation, consent };
        let receipt = self.receipt(tenant.id, answer.created_at, what, patience).await;
        Ok(Enrolled { generation, replayed, receipt })
    }

    /// Destroys a subject's template. The key-holder forgets the salt first: whatever happens then, the template can no longer be
    /// decrypted, and asking again finishes the rest. The receipt is waited for no longer than `patience`.
    pub async fn erase(
        self: &Arc<Self>,
        tenant: TenantId,
        handle: Handle,
        patience: Duration,
    ) -> Result<Erased, Refused> {
        let service = Arc::clone(self);
        let (generation, erased_at) = blocking(move || {
            service.check_vaults()?;
            let template = service.store.template(&tenant, &handle)?.ok_or(Refused::SubjectUnknown)?;
            let name = |generation| TemplateName { tenant, handle, generation };
            let shred = |generation| {
                let in_vault = |cause: &KeyHolderError| matches!(cause, KeyHolderError::Vault(_));
                service.disk.with_reserve(|| service.key_holder.shred(name(generation)), in_vault)
            };
            shred(template.generation)?;
            // A rotation may have renewed it in the meantime.
            let delete = || service.store.delete_template(&tenant, &handle);
            let deleted = service.disk.with_reserve(delete, StoreError::is_fault)?;
            let deleted = deleted.unwrap_or(template.generation);
            if deleted != template.generation {
                shred(deleted)?;
            }
            service.templates.remove(&tenant, &handle);
            Ok((deleted, service.now()))
        })
        .await?;
        let what = What::Erased { handle, generation };
        let receipt = self.receipt(tenant, erased_at, what, patience).await;
        Ok(Erased { generation, erased_at, receipt })
    }

    /// A face as the key-holder encrypts it.
    fn blinded(
        &self,
        tenant: &Tenant,
        face: Face,
        issued_at: Option<u64>,
        key: &str,
    ) -> Result<Blinded, Refused> {
        match face.shown(tenant.policy.probe)? {
            Shown::Plain(embedding) => {
                let (blinded, blind) = split(&embedding, &mut rand::rng());
                Ok((blinded.into(), blind))
            }
            Shown::Shared { open, sealed } => {
                let blind = Blind::from_bytes(&open).map_err(Refused::OpenShare)?;
                let issued_at = fresh(issued_at, self.now())?;
                let idempotency_key = key.to_owned().into_bytes();
                Ok((ForKeyHolder::Sealed(SealedTemplate { sealed, idempotency_key, issued_at }), blind))
            }
        }
    }

    /// Encrypts, wraps and stores a template; the answer that callers read.
    fn store_template(
        &self,
        tenant: &Tenant,
        handle: Handle,
        (for_key_holder, blind): Blinded,
        consent_ref: String,
        (key, request_digest): (String, [u8; 32]),
    ) -> Result<Idempotency, Refused> {
        let exists = |cause: StoreError| match cause {
            StoreError::Conflict => Refused::TemplateExists,
            other => other.into(),
        };
        let mut rng = rand::rng();
        let generation = self.store.reserve_generation(&tenant.id, &handle).map_err(exists)?;
        let lane = Lane::random(&mut rng);
        // Until it is stored no rotation of the tenant's keys takes stock.
        let _enrolling = self.enrolling.read().unwrap_or_else(PoisonError::into_inner);
        let name = TemplateName { tenant: tenant.id, handle, generation };
        let encrypted = self.key_holder.enrol(Enrolment { name, lane, template: for_key_holder });
        let encrypted = encrypted.map_err(|cause| match cause {
            KeyHolderError::SealedShares(_) => Refused::SealedForAnother,
            other => other.into(),
        })?;
        let template = unblind(encrypted, blind);
        let (lane, epoch, keys) = (lane.index() as u8, template.epoch, template.structure());
        let place = wrap::TemplateName { tenant: tenant.id, handle, generation, lane, keys, epoch };
        let wrapped = tenant.key.wrap_template(&place, &template.to_bytes());
        let now = self.now();
        let record = Template {
            tenant: tenant.id,
            handle,
            generation,
            lane,
            epoch,
            wrapped_key: wrapped.key,
            wrapped: wrapped.bytes,
            consent_ref,
            created_at: now,
        };
        let body = (self.enrolled_form.write)(&handle, generation).map_err(Refused::fault)?;
        let answer = Idempotency { tenant: tenant.id, key, request_digest, body, created_at: now };
        if let Err(cause) = self.store.enrol(record, answer.clone()) {
            // Nobody will ever name this generation; what the key-holder holds for it is of no use to anyone.
            self.key_holder.shred(name)?;
            return Err(exists(cause));
        }
        self.templates.insert(template);
        Ok(answer)
    }
}

/// When a device sealed its share of a template.
fn fresh(issued_at: Option<u64>, now: u64) -> Result<u64, Refused> {
    issued_at.filter(|at| at.abs_diff(now) <= FRESHNESS_S).ok_or(Refused::NotFresh(NotFresh::SealedShare))
}
