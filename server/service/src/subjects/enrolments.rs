//! Enrolment, replacement and erasure of templates.
//!
//! Enrolment is blinded wherever the key-holder runs: the embedding is split, the
//! key-holder encrypts one share, the other is taken out of the ciphertext, and neither role ever holds both.

use crate::FRESHNESS_S;
use crate::log::seal_log::Answer;
use crate::node::blocking;
use crate::refused::{NotFresh, Refused};
use crate::subjects::Subjects;
use crate::subjects::face::{Face, Shown};
use crate::tenants::tenant::{Tenant, policy};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use trefoil_attest::{What, consent_digest};
use trefoil_matching::{
    Blind, Enrolment, ForKeyHolder, KeyHolderError, Lane, SealedTemplate, TemplateName, split, unblind,
};
use trefoil_storage::store::{Handle, Idempotency, StoreError, Subject, Template, TenantId, wrap};

/// How long an answer is kept for callers that repeat the request: a day.
pub const IDEMPOTENCY_LIFETIME_S: u64 = 86_400;

/// A caller's request for an enrolment or for the replacement of a template.
pub struct EnrolmentRequest {
    /// The subject.
    pub handle: Handle,
    /// Whether the template replaces one that the subject has.
    pub replaces: bool,
    /// Its face.
    pub face: Face,
    /// Unix second at which the device sealed its share, where there are shares.
    pub issued_at: Option<u64>,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
    /// The idempotency key, which a repetition has too.
    pub idempotency_key: String,
    /// Digest of the whole request, see [`Subjects::digest`].
    pub digest: [u8; 32],
}

/// A template that is stored.
pub struct Enrolled {
    /// Which of the subject's templates it is.
    pub generation: u32,
    /// The generation that it replaced and that was destroyed, if there was one.
    pub replaced: Option<u32>,
    /// How well its photographs agree, see [`trefoil_matching::Average`].
    pub agreement: Option<f64>,
    /// Whether an earlier request with the same key enrolled it.
    pub replayed: bool,
    /// The receipt, if it could be sealed.
    pub receipt: Option<Answer>,
}

/// A template that was destroyed.
pub struct Erased {
    /// The generation of the newest template that was destroyed.
    pub generation: u32,
    /// When, Unix seconds.
    pub erased_at: u64,
    /// The receipt, if it could be sealed.
    pub receipt: Option<Answer>,
}

/// A face for the key-holder, and the part that this service keeps until the ciphertext is back.
type Blinded = (ForKeyHolder, Blind);

/// A template that the key-holder knows but that is not stored yet.
struct Fresh {
    template: trefoil_matching::Template,
    record: Template,
}

impl Subjects {
    /// A keyed digest of an enrolment or of a replacement as it was sent, which discloses nothing about the face.
    pub fn digest(&self, handle: &Handle, replaces: bool, sent: &[u8]) -> [u8; 32] {
        let domain: &[u8] = if replaces { b"trefoil/replacement/1" } else { b"trefoil/enrolment/1" };
        self.tenants.keyed_digest(domain, &[handle.as_bytes(), sent])
    }

    /// Enrols a subject or replaces its template, once for each idempotency key. Waits for the receipt no longer than `patience`.
    ///
    /// A replacement makes a revoked subject active again. Logins meanwhile are decided with the old or with the new template: the store takes the
    /// new template, the answer and the note of the old generation in one transaction, and then the key-holder forgets the old template. A
    /// login in flight with the old template is submitted again with the new one.
    pub async fn enrol(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        request: EnrolmentRequest,
        patience: Duration,
    ) -> Result<Enrolled, Refused> {
        let EnrolmentRequest { handle, replaces, face, issued_at, consent_ref, idempotency_key: key, digest } =
            request;
        let (face, agreement) = self.blinded(tenant, face, issued_at, &key)?;
        let consent = consent_digest(&consent_ref);
        let store = move |subjects: &Subjects, of: &Tenant, key| {
            subjects.store_template(of, (handle, replaces), face, consent_ref, (key, digest))
        };
        let (answer, replayed) = self.once(tenant, (key, digest), store).await?;
        let Idempotency { generation, replaced, created_at, .. } = answer;
        let what = match replaced {
            None => What::Enrolled { handle, generation, consent },
            Some(replaced) => {
                let name = TemplateName { tenant: tenant.id, handle, generation: replaced };
                let subjects = Arc::clone(self);
                // Also where an earlier request did everything else.
                blocking(move || subjects.forget(name)).await?;
                What::Replaced { handle, generation, replaced, consent }
            }
        };
        let receipt = self.log.receipt(tenant.id, created_at, what, patience).await;
        Ok(Enrolled { generation, replaced, agreement, replayed, receipt })
    }

    /// The answer of `store`, or the answer to an earlier request with the same key and digest, and which of the two it is.
    async fn once(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        (key, digest): (String, [u8; 32]),
        store: impl FnOnce(&Subjects, &Tenant, String) -> Result<Idempotency, Refused> + Send + 'static,
    ) -> Result<(Idempotency, bool), Refused> {
        let running = self.idempotency.claim(tenant.id, &key)?;
        let (service, tenant) = (Arc::clone(self), Arc::clone(tenant));
        blocking(move || {
            let _running = running;
            let earlier = || match service.node.store.idempotency(&tenant.id, &key)? {
                Some(answer) if answer.request_digest == digest => Ok(Some((answer, true))),
                Some(_) => Err(Refused::IdempotencyKeyReused),
                None => Ok(None),
            };
            if let Some(answered) = earlier()? {
                return Ok(answered);
            }
            service.node.check_vaults()?;
            match store(&service, &tenant, key.clone()) {
                Ok(answer) => Ok((answer, false)),
                // Another node may have done it with this key meanwhile, or this one did and the database's answer was lost.
                Err(cause) if service.node.store.fleet().is_some() => earlier()?.ok_or(cause),
                Err(cause) => Err(cause),
            }
        })
        .await
    }

    /// Destroys a subject's template. The key-holder forgets the salt first: from then on the template cannot be
    /// decrypted, and repeating the request completes an erasure that stopped. Waits for the receipt no longer than `patience`.
    pub async fn erase(
        self: &Arc<Self>,
        tenant: TenantId,
        handle: Handle,
        patience: Duration,
    ) -> Result<Erased, Refused> {
        let service = Arc::clone(self);
        let (generation, erased_at) = blocking(move || {
            service.node.check_vaults()?;
            let subject = service.subject(&tenant, &handle)?.ok_or(Refused::SubjectUnknown)?;
            let shred = |generation| service.shred(TemplateName { tenant, handle, generation });
            shred(subject.generation)?;
            // A rotation may have renewed it in the meantime.
            let delete = || service.node.store.delete_template(&tenant, &handle);
            let deleted = service.node.disk.with_reserve(delete, StoreError::is_fault)?;
            let deleted = deleted.unwrap_or(subject.generation);
            if deleted != subject.generation {
                shred(deleted)?;
            }
            service.templates.remove(&tenant, &handle);
            Ok((deleted, service.node.now()))
        })
        .await?;
        let what = What::Erased { handle, generation };
        let receipt = self.log.receipt(tenant, erased_at, what, patience).await;
        Ok(Erased { generation, erased_at, receipt })
    }

    /// A subject with a template, active or revoked.
    pub fn subject(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Subject>, Refused> {
        let first = self.node.store.subjects(tenant, handle, 1)?.pop();
        Ok(first.filter(|subject| subject.handle == *handle))
    }

    /// Makes the key-holder forget a template's key, also on a full disk.
    pub(crate) fn shred(&self, name: TemplateName) -> Result<(), Refused> {
        let in_vault = |cause: &KeyHolderError| matches!(cause, KeyHolderError::Vault(_));
        Ok(self.node.disk.with_reserve(|| self.node.key_holder.shred(name), in_vault)?)
    }

    /// A face as the key-holder encrypts it, and how well its photographs agree.
    fn blinded(
        &self,
        tenant: &Tenant,
        face: Face,
        issued_at: Option<u64>,
        key: &str,
    ) -> Result<(Blinded, Option<f64>), Refused> {
        let (shown, agreement) = face.shown(&tenant.policy, None)?;
        let blinded = match shown {
            Shown::Plain(embedding) => {
                let (blinded, blind) = split(&embedding, &mut rand::rng());
                (blinded.into(), blind)
            }
            Shown::Shared { open, sealed } => {
                let blind = Blind::from_bytes(&open).map_err(Refused::OpenShare)?;
                let issued_at = fresh(issued_at, self.node.now())?;
                let idempotency_key = key.to_owned().into_bytes();
                (ForKeyHolder::Sealed(SealedTemplate { sealed, idempotency_key, issued_at }), blind)
            }
        };
        Ok((blinded, agreement))
    }

    /// Encrypts, wraps and stores a template, in place of the present one, which may be revoked, if it replaces one. Returns the answer that
    /// callers read. The generation of the present one remains for [`crate::subjects::leftovers`].
    fn store_template(
        &self,
        tenant: &Tenant,
        (handle, replaces): (Handle, bool),
        face: Blinded,
        consent_ref: String,
        (key, request_digest): (String, [u8; 32]),
    ) -> Result<Idempotency, Refused> {
        let store = &self.node.store;
        let reserved = match replaces {
            false => store.reserve_generation(&tenant.id, &handle).map(|generation| (generation, None)),
            true => store.reserve_replacement(&tenant.id, &handle).map(|(to, from)| (to, Some(from))),
        };
        let (generation, from) = reserved.map_err(|cause| match cause {
            StoreError::Conflict if replaces => Refused::SubjectUnknown,
            StoreError::Conflict => Refused::TemplateExists,
            other => other.into(),
        })?;
        // Until it is stored, no rotation of the tenant's keys begins at this node.
        let _enrolling = self.enrolling.read().unwrap_or_else(PoisonError::into_inner);
        let name = TemplateName { tenant: tenant.id, handle, generation };
        let unused = |why| self.unused(name, why);
        let Fresh { template, record } = self.encrypt(tenant, name, face, consent_ref).map_err(unused)?;
        let (replaced, created_at) = (from.as_ref().map(|from| from.generation), record.subject.created_at);
        let answer = Idempotency { tenant: tenant.id, key, request_digest, generation, replaced, created_at };
        let stored = match from {
            None => store.enrol(record, answer.clone()),
            Some(from) => store.replace_template(record, from, answer.clone()),
        };
        match stored {
            Ok(true) => {}
            Ok(false) if replaces => return Err(unused(Refused::TemplateOvertaken)),
            Ok(false) => return Err(unused(Refused::StoreBusy)),
            Err(StoreError::Conflict) if !replaces => return Err(unused(Refused::TemplateExists)),
            Err(cause @ StoreError::OldKeys) => return Err(unused(cause.into())),
            // It may be stored all the same, and a repetition finds its answer. So no generation is forgotten now: the store's note says which one
            // to forget.
            Err(cause) => return Err(cause.into()),
        }
        self.templates.insert(template);
        Ok(answer)
    }

    /// Forgets a generation that is not stored and never will be. Returns `why`, which says more than a failure to forget it.
    fn unused(&self, name: TemplateName, why: Refused) -> Refused {
        let _ = self.forget(name);
        why
    }

    /// Lets the key-holder encrypt a template, and wraps it.
    fn encrypt(
        &self,
        tenant: &Tenant,
        name: TemplateName,
        (for_key_holder, blind): Blinded,
        consent_ref: String,
    ) -> Result<Fresh, Refused> {
        let TemplateName { handle, generation, .. } = name;
        let lane = Lane::random(&mut rand::rng());
        let model = policy::decision(&tenant.policy).model;
        let encrypted = self.node.key_holder.enrol(Enrolment { name, lane, model, template: for_key_holder });
        let encrypted = encrypted.map_err(|cause| match cause {
            KeyHolderError::SealedShares(_) => Refused::SealedForAnother,
            // The store was restored to a time before it gave this generation for the first time. The caller of this forgets it.
            KeyHolderError::SubjectExists => Refused::GenerationTaken,
            other => other.into(),
        })?;
        let template = unblind(encrypted, blind);
        let (lane, epoch, keys) = (lane.index() as u8, template.epoch, template.structure());
        let place = wrap::TemplatePlace { name, lane, keys, epoch };
        let wrapped = tenant.key.wrap_template(&place, &template.to_bytes());
        let subject = Subject {
            tenant: tenant.id,
            handle,
            generation,
            lane,
            model,
            epoch,
            wrapped_key: wrapped.key,
            consent_ref,
            created_at: self.node.now(),
            revoked_at: None,
        };
        Ok(Fresh { template, record: Template { subject, wrapped: wrapped.bytes } })
    }
}

/// The time at which a device sealed its share of a template.
fn fresh(issued_at: Option<u64>, now: u64) -> Result<u64, Refused> {
    let issued_at = issued_at.ok_or(Refused::NotFresh(NotFresh::SealedShare))?;
    match issued_at.abs_diff(now) <= FRESHNESS_S {
        true => Ok(issued_at),
        false => Err(Refused::NotFresh(NotFresh::OutsideWindow { issued_at, now })),
    }
}
