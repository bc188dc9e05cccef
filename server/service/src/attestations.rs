//! Attestations that are fetched after their logins: [`crate::recent`] keeps the parts that the store does not have.
//!
//! A node of a fleet that has not kept one asks the others through the database. The question names the tenant and the digest of the statement. The
//! answer is encrypted under the tenant's key and opens for that question alone, so a reader or writer of the database learns and forges nothing.

use crate::log_store;
use crate::recent::{Recent, Unsealed};
use crate::refused::Refused;
use crate::seal_log::Answer;
use crate::service::{Service, blocking};
use crate::tenant::Tenant;
use std::sync::Arc;
use trefoil_attest::{Decision, LogEntry, SealHeader};
use trefoil_storage::store::wrap::WrapKey;
use trefoil_types::{AttestationId, TenantId};

/// A login's attestation, fetched after its answer.
pub struct Attested {
    /// The decision.
    pub decision: Decision,
    /// The attestation with its seal, CBOR.
    pub attestation: Vec<u8>,
    /// The seal's number.
    pub seal_number: u64,
}

impl Service {
    /// The attestation that was kept for a tenant's login, by the digest of its statement.
    pub async fn attestation(
        self: &Arc<Self>,
        tenant: &Tenant,
        id: &AttestationId,
    ) -> Result<Attested, Refused> {
        let kept = match tenant.recent.get(id, self.now()) {
            Some(kept) => Some(kept),
            None => self.kept_elsewhere(tenant, id).await?,
        };
        let kept = kept.ok_or(Refused::AttestationUnknown)?;
        let Unsealed { decision, statement, leaf_index, path, seal_number } = kept;
        let service = Arc::clone(self);
        blocking(move || {
            let entry = log_store::entry(service.store.as_ref(), seal_number);
            match entry.map_err(|cause| service.unlogged(cause))? {
                Some(LogEntry::Signed(seal)) => {
                    let attestation = seal.attestation(&statement, leaf_index, &path);
                    Ok(Attested { decision, attestation, seal_number })
                }
                Some(LogEntry::Pruned(SealHeader { seal_number, .. })) => {
                    Err(Refused::SealPruned { number: seal_number })
                }
                None => Err(service.damaged(format_args!("seal {seal_number} is missing"))),
            }
        })
        .await
    }

    /// What another node of the fleet has kept.
    async fn kept_elsewhere(
        self: &Arc<Self>,
        tenant: &Tenant,
        id: &AttestationId,
    ) -> Result<Option<Unsealed>, Refused> {
        if self.store.fleet().is_none() {
            return Ok(None);
        }
        let _place = self.asking.place().ok_or(Refused::StoreBusy)?;
        let (service, question) = (Arc::clone(self), question(&tenant.id, id));
        let asked = blocking(move || match service.store.fleet() {
            Some(fleet) => Ok(fleet.ask(&question)?),
            None => Ok(None),
        });
        Ok(asked.await?.and_then(|answer| open(&tenant.key, &tenant.id, id, &answer)))
    }

    /// Answers a node that asks for what this one has kept.
    pub(crate) fn kept_for_another_node(&self, question: &[u8]) -> Option<Vec<u8>> {
        let (tenant, id) = question.split_first_chunk::<16>()?;
        let (id, tenant) =
            (AttestationId::try_from(id).ok()?, self.directory.tenant(&TenantId::new(*tenant)).ok()?);
        let kept = tenant.recent.get(&id, self.now())?;
        Some(wrap(&tenant.key, &tenant.id, &id, &kept))
    }
}

fn question(tenant: &TenantId, id: &AttestationId) -> Vec<u8> {
    [tenant.as_bytes().as_slice(), id.as_bytes()].concat()
}

/// Has a fixed length.
fn name(tenant: &TenantId, id: &AttestationId) -> Vec<u8> {
    [b"trefoil/kept-attestation/1".as_slice(), &question(tenant, id)].concat()
}

fn wrap(key: &WrapKey, tenant: &TenantId, id: &AttestationId, kept: &Unsealed) -> Vec<u8> {
    key.wrap(&name(tenant, id), &kept.encode())
}

fn open(key: &WrapKey, tenant: &TenantId, id: &AttestationId, answer: &[u8]) -> Option<Unsealed> {
    Unsealed::decode(&key.open(&name(tenant, id), answer).ok()?)
}

/// Keeps the attestation of an answer at `now`, unix seconds. Changes are not kept here, because they have receipts.
pub(crate) fn keep(recent: &Recent, answer: &Answer, now: u64) {
    let (Some(decision), Some(path)) = (answer.decision, answer.under.tree.path(answer.leaf_index)) else {
        return;
    };
    let unsealed = Unsealed {
        decision,
        statement: answer.statement.clone(),
        leaf_index: answer.leaf_index,
        path,
        seal_number: answer.under.seal.header.seal_number,
    };
    recent.put(AttestationId::new(answer.digest), unsealed, now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_nodes_answer_opens_for_its_question_alone() {
        let (key, tenant) = (WrapKey::new(&[1; 32]), TenantId::new([2; 16]));
        let id = AttestationId::new([3; 32]);
        for path in [vec![], vec![[7; 32]; 5]] {
            let kept = Unsealed {
                decision: Decision::NoMatch,
                statement: vec![8; 900],
                leaf_index: 4,
                path,
                seal_number: u64::MAX,
            };
            let answer = wrap(&key, &tenant, &id, &kept);
            assert!(answer.len() < trefoil_storage::store::fleet::TOLD_MAX);
            assert_eq!(open(&key, &tenant, &id, &answer), Some(kept));
            assert_eq!(open(&WrapKey::new(&[9; 32]), &tenant, &id, &answer), None);
            assert_eq!(open(&key, &TenantId::new([9; 16]), &id, &answer), None);
            assert_eq!(open(&key, &tenant, &AttestationId::new([9; 32]), &answer), None);
            assert_eq!(open(&key, &tenant, &id, &answer[1..]), None);
        }
    }
}
