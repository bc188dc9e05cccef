//! Subjects: their templates, generations and revocations, and the answers to those who enrol them.

use super::StoreError;
use super::fleet::Item;
use super::records::{Idempotency, Present, Revocation, Subject, Template, Tenant, takes};
use super::rows::{Call, Calls, StoreRows, Tables};
use crate::record;
use crate::table::{Column as _, Record as _, Records as _, Value, key};
use trefoil_matching::{Model, TemplateName};
use trefoil_types::{Handle, TenantId};

/// The last generation that a subject was given. Outlives templates, so that none is used twice.
pub(super) struct Generation {
    tenant: TenantId,
    handle: Handle,
    generation: u32,
}
record!("generations", 2, Rows, Generation { tenant, handle, generation });

// A generation that a key-holder is still to forget: a new one until it is stored, then the one before.
record!("leftovers", 3, Rows, TemplateName { tenant, handle, generation });

/// The bytes of a template.
pub(super) struct TemplateBytes {
    tenant: TenantId,
    handle: Handle,
    generation: u32,
    wrapped: Vec<u8>,
}
record!("template_bytes", 2, LargeRows, TemplateBytes { tenant, handle, generation, wrapped });

impl Template {
    /// Its two rows.
    fn rows(self) -> (Subject, TemplateBytes) {
        let Template { subject, wrapped } = self;
        let Subject { tenant, handle, generation, .. } = subject;
        (subject, TemplateBytes { tenant, handle, generation, wrapped })
    }
}

impl Subject {
    fn present(&self) -> Present {
        Present { generation: self.generation, revoked_at: self.revoked_at }
    }
}

/// What a store keeps of subjects. See [`super::Store`].
pub trait Subjects: Tables {
    /// Reserves the next generation of a subject, and notes it as a leftover until it is stored; `Conflict` while it has a template. Numbers never
    /// come back.
    fn reserve_generation(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.change(Call::of(&tenant), move |rows| match enrolled(rows, &tenant, &handle)? {
            Some(_) => Err(StoreError::Conflict),
            None => {
                let generation = next_generation(rows, tenant, handle)?;
                rows.insert(&TemplateName { tenant, handle, generation })?;
                Ok(generation)
            }
        })
    }

    /// Adds a template with its idempotency record, and removes the note of its generation, all or nothing; `Conflict` if the subject has one or the
    /// tenant was deleted, and `OldKeys` if a rotation of the tenant's keys has begun and the template is under the keys before. Returns whether the note
    /// was there: without it the key-holder may have forgotten the generation. After any other error it may be stored.
    fn enrol(&self, template: Template, answer: Idempotency) -> Result<bool, StoreError> {
        self.change(Call::of(&template.subject.tenant), move |rows| {
            check_keys(rows, &template.subject)?;
            let (own, bytes) = template.rows();
            if !forget(rows, &own.tenant, &own.handle, own.generation)? {
                return Ok(false);
            }
            rows.insert(&own)?;
            rows.put(&bytes)?;
            rows.insert(&answer)?;
            Ok(true)
        })
    }

    /// How many templates of a tenant are under an epoch of its keys.
    fn count_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<u64, StoreError> {
        let tenant = *tenant;
        let sql = "SELECT count(*) FROM templates WHERE tenant = $1 AND epoch = $2";
        self.look(Call { tenant: Some(tenant), ..Call::LONG }, move |rows| {
            Ok(rows.number(sql, &key([&tenant, &epoch]))?.unwrap_or(0))
        })
    }

    /// How many templates of a tenant are of a model.
    fn count_model(&self, tenant: &TenantId, model: Model) -> Result<u64, StoreError> {
        let tenant = *tenant;
        let sql = "SELECT count(*) FROM templates WHERE tenant = $1 AND model = $2";
        self.look(Call { tenant: Some(tenant), ..Call::LONG }, move |rows| {
            Ok(rows.number(sql, &key([&tenant, &model]))?.unwrap_or(0))
        })
    }

    /// Subjects, not revoked, whose template is under an epoch of the tenant's keys, at most `count`.
    fn subjects_of_epoch(
        &self,
        tenant: &TenantId,
        epoch: u32,
        count: usize,
    ) -> Result<Vec<Handle>, StoreError> {
        let tenant = *tenant;
        self.look(Call::of(&tenant), move |rows| {
            let values = [tenant.value(), epoch.value(), Value::limit(count)];
            let found: Vec<Subject> =
                rows.select("WHERE tenant = $1 AND epoch = $2 AND revoked_at IS NULL LIMIT $3", &values)?;
            Ok(found.into_iter().map(|found| found.handle).collect())
        })
    }

    /// Reserves the next generation of a subject with a template; `Conflict` without one. Numbers never come back.
    fn reserve_renewal(&self, tenant: &TenantId, handle: &Handle) -> Result<u32, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.change(Call::of(&tenant), move |rows| match enrolled(rows, &tenant, &handle)? {
            Some(_) => next_generation(rows, tenant, handle),
            None => Err(StoreError::Conflict),
        })
    }

    /// Replaces the template of a subject, and its data key, if it has generation `from` and was not revoked, and returns whether that was so.
    /// The consent stays.
    fn renew_template(&self, template: Template, from: u32) -> Result<bool, StoreError> {
        self.change(Call::of(&template.subject.tenant), move |rows| {
            let (new, bytes) = template.rows();
            let found = enrolled(rows, &new.tenant, &new.handle)?;
            let is_it = |found: &Subject| found.present() == Present { generation: from, revoked_at: None };
            let Some(found) = found.filter(is_it) else { return Ok(false) };
            let Subject { consent_ref, created_at, .. } = found;
            rows.update(&Subject { consent_ref, created_at, ..new })?;
            rows.update(&bytes)?;
            rows.tell(bytes.tenant, Item::Subject(bytes.handle))?;
            Ok(true)
        })
    }

    /// Reserves the next generation of a subject with a template, active or revoked, notes it as a leftover until it is stored, and returns
    /// (next, present). `Conflict` without a template.
    fn reserve_replacement(&self, tenant: &TenantId, handle: &Handle) -> Result<(u32, Present), StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.change(Call::of(&tenant), move |rows| {
            let found = enrolled(rows, &tenant, &handle)?.ok_or(StoreError::Conflict)?;
            let generation = next_generation(rows, tenant, handle)?;
            rows.insert(&TemplateName { tenant, handle, generation })?;
            Ok((generation, found.present()))
        })
    }

    /// If the subject's template is still `from`, and the note of the new generation is there, replaces it with its consent, ends the
    /// revocation, adds the idempotency record, and notes the generation of `from` as a leftover instead, all or nothing. Returns whether that was so. The bytes of the old template are overwritten. `OldKeys`
    /// as for [`Subjects::enrol`].
    fn replace_template(
        &self,
        template: Template,
        from: Present,
        answer: Idempotency,
    ) -> Result<bool, StoreError> {
        let Subject { tenant, handle, generation, .. } = template.subject;
        self.change(Call { shreds: true, ..Call::of(&tenant) }, move |rows| {
            if enrolled(rows, &tenant, &handle)?.map(|found| found.present()) != Some(from) {
                return Ok(false);
            }
            // Without the note the key-holder may have forgotten the new generation.
            if !forget(rows, &tenant, &handle, generation)? {
                return Ok(false);
            }
            check_keys(rows, &template.subject)?;
            // From now on the old generation is the leftover. A revocation may have noted it already.
            let left = TemplateName { tenant, handle, generation: from.generation };
            rows.put_row(&TemplateName::TABLE, &left.values(), None)?;
            // `new` has no time of revocation, which ends it.
            let (new, bytes) = template.rows();
            rows.update(&new)?;
            rows.update(&bytes)?;
            rows.tell(tenant, Item::Subject(handle))?;
            rows.insert(&answer)?;
            Ok(true)
        })
    }

    /// Revokes a subject with a template at this time: [`Subjects::template`] finds it no more, until it is replaced. Notes the generation as a
    /// leftover, in the same transaction. A second revocation keeps the time of the first and notes nothing. `None` without a template.
    fn revoke_subject(
        &self,
        tenant: &TenantId,
        handle: &Handle,
        at: u64,
    ) -> Result<Option<Revocation>, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.change(Call::of(&tenant), move |rows| {
            let Some(found) = enrolled(rows, &tenant, &handle)? else { return Ok(None) };
            let generation = found.generation;
            if let Some(revoked_at) = found.revoked_at {
                return Ok(Some(Revocation { generation, revoked_at }));
            }
            rows.update(&Subject { revoked_at: Some(at), ..found })?;
            rows.tell(tenant, Item::Subject(handle))?;
            rows.insert(&TemplateName { tenant, handle, generation })?;
            Ok(Some(Revocation { generation, revoked_at: at }))
        })
    }

    /// Generations that enrolments, replacements and revocations left behind and the key-holder has not confirmed to have forgotten.
    fn leftovers(&self) -> Result<Vec<TemplateName>, StoreError> {
        self.look(Call::LONG, |rows| rows.select("ORDER BY tenant, handle, generation", &[]))
    }

    /// Notes that the key-holder has forgotten one of these generations.
    fn forget_leftover(&self, name: &TemplateName) -> Result<(), StoreError> {
        let TemplateName { tenant, handle, generation } = *name;
        self.change(Call::of(&tenant), move |rows| forget(rows, &tenant, &handle, generation).map(drop))
    }

    /// The active template; none while the subject is revoked.
    fn template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<Template>, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.look(Call::of(&tenant), move |rows| {
            // Between the two reads the template may be replaced, or deleted and enrolled again.
            for _ in 0..8 {
                let found = enrolled(rows, &tenant, &handle)?.filter(|found| found.revoked_at.is_none());
                let Some(found) = found else { return Ok(None) };
                let bytes: Option<TemplateBytes> = rows.get(&key([&tenant, &handle]))?;
                if let Some(bytes) = bytes.filter(|bytes| bytes.generation == found.generation) {
                    return Ok(Some(Template { subject: found, wrapped: bytes.wrapped }));
                }
            }
            Err(rows.foreign(&TemplateBytes::TABLE, "is missing, or another generation's"))
        })
    }

    /// Subjects of a tenant with a template, active or revoked, by handle, starting at one, at most `count`.
    fn subjects(&self, tenant: &TenantId, from: &Handle, count: usize) -> Result<Vec<Subject>, StoreError> {
        let (tenant, from) = (*tenant, *from);
        self.look(Call::of(&tenant), move |rows| {
            let values = [tenant.value(), from.value(), Value::limit(count)];
            rows.select("WHERE tenant = $1 AND handle >= $2 ORDER BY handle LIMIT $3", &values)
        })
    }

    /// Deletes template, data key and revocation, and overwrites their bytes. Returns the template's generation.
    fn delete_template(&self, tenant: &TenantId, handle: &Handle) -> Result<Option<u32>, StoreError> {
        let (tenant, handle) = (*tenant, *handle);
        self.change(Call { shreds: true, ..Call::of(&tenant) }, move |rows| {
            let Some(found) = enrolled(rows, &tenant, &handle)? else { return Ok(None) };
            let of = key([&tenant, &handle]);
            rows.remove::<Subject>(&of)?;
            rows.remove::<TemplateBytes>(&of)?;
            rows.tell(tenant, Item::Subject(handle))?;
            Ok(Some(found.generation))
        })
    }

    /// The answer that was given under an idempotency key.
    fn idempotency(&self, tenant: &TenantId, name: &str) -> Result<Option<Idempotency>, StoreError> {
        let (tenant, name) = (*tenant, name.to_owned());
        self.look(Call::of(&tenant), move |rows| rows.get(&key([&tenant, &name])))
    }
}

impl<T: Tables + ?Sized> Subjects for T {}

fn enrolled(rows: &dyn StoreRows, tenant: &TenantId, handle: &Handle) -> Result<Option<Subject>, StoreError> {
    rows.get(&key([tenant, handle]))
}

/// `OldKeys` unless a template under its epoch may be stored, and `Conflict` without a tenant.
fn check_keys(rows: &dyn StoreRows, template: &Subject) -> Result<(), StoreError> {
    let tenant: Option<Tenant> = rows.get(&key([&template.tenant]))?;
    let Some(Tenant { public_key, next_key, deleted_at: None, .. }) = tenant else {
        return Err(StoreError::Conflict);
    };
    let newest = next_key.unwrap_or(public_key);
    if takes(&newest, template.epoch) { Ok(()) } else { Err(StoreError::OldKeys) }
}

/// Takes the next generation of a subject.
fn next_generation(rows: &dyn StoreRows, tenant: TenantId, handle: Handle) -> Result<u32, StoreError> {
    let last: Option<Generation> = rows.get(&key([&tenant, &handle]))?;
    let generation = last.map_or(0, |last| last.generation) + 1;
    rows.put(&Generation { tenant, handle, generation })?;
    Ok(generation)
}

/// Removes the note of a generation. Returns whether there was one.
fn forget(
    rows: &dyn StoreRows,
    tenant: &TenantId,
    handle: &Handle,
    generation: u32,
) -> Result<bool, StoreError> {
    rows.remove::<TemplateName>(&key([tenant, handle, &generation]))
}
