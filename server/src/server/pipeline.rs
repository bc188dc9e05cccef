//! Starts the pipeline, and what it writes to and reads from.

use super::StartError;
use crate::config::{self, Config};
use std::sync::Arc;
use std::time::Duration;
use trefoil_attest::Restoration;
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{Cadence, ChainHead, Clock, Delay, Floor, Pipeline, SeenVaults, SharedLog};
use trefoil_service::counters::Counters;
use trefoil_service::log::asker::Asker;
use trefoil_service::log::log_store;
use trefoil_service::log::seal_log::{self, SealLog};
use trefoil_service::login::door::FrontDoor;
use trefoil_service::sessions::proofs::{PoolConfig, ProofPool};
use trefoil_sign::SigningKeys;
use trefoil_storage::Supervisor;
use trefoil_storage::store::Store;
use trefoil_storage::supervisor::no_thread;

/// How many durations of a seal apart seals begin under load. A seal costs a processor the same milliseconds for one login as for thousands, so
/// at 2 and not at 1 a login pays half as much of that, and waits half a seal longer on average.
const SEAL_SPACING: u64 = 2;
/// Starts to keep seals in the store.
pub(super) fn start_seal_log(
    store: &Arc<dyn Store>,
    counters: &Arc<Counters>,
    standing: &Arc<seal_log::Standing>,
    supervisor: &Supervisor,
) -> Result<(SealLog, std::thread::JoinHandle<()>), StartError> {
    let store = Arc::clone(store);
    let put = move |number, bytes, completed| log_store::put_seal(store.as_ref(), number, bytes, completed);
    SealLog::start(put, Arc::clone(counters), Arc::clone(standing), supervisor)
        .map_err(|cause| StartError::Thread(no_thread(cause).to_string()))
}

pub(super) fn start_pipeline(
    config: &Config,
    pipeline: Pipeline<trefoil_service::tenants::wiring::VerdictCache>,
    keys: SigningKeys,
    head: ChainHead,
    clock: Arc<dyn Clock>,
    (door, release): (Arc<FrontDoor>, SealLog),
    (vaults, restored, shared): (Arc<SeenVaults>, Option<Restoration>, Option<Arc<dyn SharedLog>>),
) -> Result<trefoil_pipeline::Service<Asker>, StartError> {
    let config::Pipeline {
        workers,
        cadence,
        sealers,
        seal_floor_ms,
        seal_floor_logins,
        batch_delay_us,
        queue,
        nonces: _,
    } = config.pipeline;
    let placement = Placement::new((workers > 0).then_some(workers), Pin::Auto);
    for warning in &placement.warnings {
        tracing::warn!("{warning}");
    }
    let config = trefoil_pipeline::Config {
        placement,
        delay: Delay { idle_us_max: batch_delay_us, busy_us_max: batch_delay_us.saturating_mul(4) },
        cadence: match cadence {
            config::Cadence::Group => Cadence::Group,
            config::Cadence::PerBatch => Cadence::PerBatch,
        },
        floor: Floor {
            distance: Duration::from_millis(seal_floor_ms),
            lanes: seal_floor_logins,
            spacing: SEAL_SPACING,
        },
        // Seals of a shared log are made one at a time.
        sealers: if shared.is_some() { Some(1) } else { (sealers > 0).then_some(sealers) },
        shared,
        intake: queue,
        vaults,
        restored,
    };
    let release = Arc::new(release);
    trefoil_pipeline::Service::start(Arc::new(pipeline), keys, head, config, clock, door, release)
        .map_err(|cause| StartError::Thread(cause.to_string()))
}

pub(super) fn proof_pool(
    proofs: &config::Proofs,
    clock: &Arc<dyn Clock>,
    counters: &Counters,
    supervisor: &Supervisor,
) -> Result<ProofPool, StartError> {
    let workers = match proofs.workers {
        0 => std::thread::available_parallelism().map_or(1, |all| all.get().div_ceil(2)),
        workers => workers,
    };
    let deadline = Duration::from_millis(proofs.deadline_ms);
    let config = PoolConfig { workers, queue: proofs.queue, deadline };
    ProofPool::start(config, Arc::clone(clock), Arc::clone(&counters.proofs), supervisor)
        .map_err(|cause| StartError::Thread(cause.to_string()))
}
