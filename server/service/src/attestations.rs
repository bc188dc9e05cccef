//! Attestations that are fetched after their logins: [`crate::recent`] keeps the parts that the store does not have.

use crate::log_store;
use crate::recent::{Id, Recent, Unsealed};
use crate::refused::Refused;
use crate::seal_log::Answer;
use crate::service::{Service, blocking};
use crate::tenant::Tenant;
use std::sync::Arc;
use trefoil_attest::{Decision, LogEntry, SealHeader};

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
    pub async fn attestation(self: &Arc<Self>, tenant: &Tenant, id: &Id) -> Result<Attested, Refused> {
        let kept = tenant.recent.get(id, self.now()).ok_or(Refused::AttestationUnknown)?;
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
    recent.put(answer.digest, unsealed, now);
}
