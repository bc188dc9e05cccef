//! What a running service does beside its requests, again and again until it stops.

use super::StartError;
use super::stored::tell_store;
use crate::app::App;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use trefoil_key_holder::vault::SqliteVault;
use trefoil_matching::StoreAge;
use trefoil_service::Service;
use trefoil_service::limits::pace;
use trefoil_service::log::retention::{self, Pruner};
use trefoil_service::subjects::enrolments::IDEMPOTENCY_LIFETIME_S;
use trefoil_service::subjects::rotation::Rotations;
use trefoil_storage::Supervisor;
use trefoil_storage::disk;

/// How often the key-holder is asked what it counts.
const KEY_HOLDER_INTERVAL: Duration = Duration::from_secs(1);
/// How often a node looks for rotations at which nobody works.
const ROTATIONS_INTERVAL: Duration = Duration::from_secs(2);
/// How often the uses of API keys are stored.
const USAGE_INTERVAL: Duration = Duration::from_secs(2);
/// How often tenants whose sessions need it get more room in the verdict cache.
const ROOM_INTERVAL: Duration = Duration::from_millis(200);
/// How often open sessions are counted.
const SESSIONS_INTERVAL: Duration = Duration::from_secs(10);
/// How often refusals are counted.
const REFUSALS_INTERVAL: Duration = Duration::from_secs(10);
/// How often expired sessions, verdicts and idempotency records are removed, and uses of API keys noted.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Starts them all.
pub(super) fn spawn_tasks(
    app: &Arc<App>,
    pruner: Option<Pruner>,
    vault: Option<&Arc<SqliteVault>>,
    stopped: &watch::Receiver<bool>,
) -> Vec<JoinHandle<Option<()>>> {
    let supervisor = &app.service.node.supervisor;
    let (service, stopped) = (|| Arc::clone(&app.service), || stopped.clone());
    vec![
        watched(supervisor, "sweeper", sweep(service(), app.limits.answer_timeout(), stopped())),
        watched(supervisor, "usage", keep_usage(service(), stopped())),
        watched(supervisor, "rotations", take_up_rotations(Arc::clone(&app.rotations), stopped())),
        watched(supervisor, "pacer", keep_pace(service(), stopped())),
        watched(supervisor, "session count", count_sessions(service(), stopped())),
        watched(supervisor, "cache room", make_room(service(), stopped())),
        watched(supervisor, "key-holder watch", watch_key_holder(service(), vault.cloned(), stopped())),
        watched(supervisor, "refusals", watch_refusals(Arc::clone(app), stopped())),
        watched(supervisor, "disk watch", watch_disk(service(), stopped())),
        watched(supervisor, "retention", retain(service(), pruner, stopped())),
    ]
}

/// Runs an essential task; `None` if it panicked.
pub(super) fn watched<T: Send + 'static>(
    supervisor: &Supervisor,
    name: &'static str,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    let supervisor = supervisor.clone();
    tokio::spawn(async move {
        match tokio::spawn(task).await {
            Ok(done) => Some(done),
            Err(cause) => {
                if let Ok(panic) = cause.try_into_panic() {
                    supervisor.panicked(name, &*panic);
                }
                None
            }
        }
    })
}

async fn watch_key_holder(
    service: Arc<Service>,
    vault: Option<Arc<SqliteVault>>,
    mut stop: watch::Receiver<bool>,
) {
    let mut told = None;
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(KEY_HOLDER_INTERVAL) => {}
        }
        let (service, vault) = (Arc::clone(&service), vault.clone());
        told = blocking(move || {
            // An older store is then noticed at the next start.
            match vault.map(|vault| vault.note_beside()) {
                Some(Ok(())) => {}
                Some(Err(cause)) => {
                    tracing::warn!(%cause, "the count of the store was not noted in the vault")
                }
                None => told = tell_again(&service, told),
            }
            look_at_key_holder(&service);
            service.logins.look_at_clock();
            told
        })
        .await;
    }
}

/// Tells a key-holder in another process how new the store is. One that was away at the start may show only now that the store is older.
pub(super) fn tell_again(service: &Service, told: Option<StoreAge>) -> Option<StoreAge> {
    match tell_store(service.node.store.as_ref(), &service.node.store_path, &*service.node.key_holder, told) {
        Ok(told) => return told,
        Err(cause @ StartError::OlderStore { .. }) => {
            service.node.supervisor.damaged(&service.node.store_path, &cause.to_string());
        }
        Err(cause) => tracing::warn!(%cause, "the count of the store was not told to the key-holder"),
    }
    told
}

pub(super) fn look_at_key_holder(service: &Service) {
    let now_s = service.node.clock.monotonic_ns() / 1_000_000_000;
    service.node.key_holder_watch.look(&*service.node.key_holder, &service.tenants.registry(), now_s);
}

/// Does `work` where it may block, and propagates its panic.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // Only the end of the runtime cancels it, and that of this task too.
        Err(Err(_)) => std::future::pending().await,
    }
}

async fn keep_pace(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    let (mut measured, mut before) = (pace::Measured::default(), service.node.clock.monotonic_ns());
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(pace::PERIOD) => {}
        }
        let now = service.node.clock.monotonic_ns();
        service.logins.pace.set(
            &mut measured,
            service.node.counters.answered(),
            Duration::from_nanos(now.saturating_sub(before)),
        );
        before = now;
    }
}

/// Seals changes by operators that were not sealed.
pub(super) async fn seal_notes(service: &Arc<Service>, patience: Duration) {
    if let Err(cause) = service.log.seal_notes(patience).await {
        tracing::warn!(%cause, "entries of the audit trail have no receipt yet");
    }
}

async fn sweep(service: Arc<Service>, patience: Duration, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(SWEEP_INTERVAL) => {}
        }
        if service.node.keeps_house() {
            seal_notes(&service, patience).await;
        }
        let now = service.node.now();
        let service = Arc::clone(&service);
        let swept = blocking(move || {
            for tenant in service.tenants.all() {
                tenant.verdicts.sweep(now);
            }
            service.subjects.forget_leftovers();
            let noted = service.tenants.note_uses();
            if !service.node.keeps_house() {
                return noted;
            }
            service.node.store.expire(now, now.saturating_sub(IDEMPOTENCY_LIFETIME_S)).and(noted)
        });
        if let Err(cause) = swept.await {
            tracing::warn!(%cause, "expired records were not removed, or uses of API keys not noted");
        }
    }
}

/// Goes on with rotations of keys that stopped, or whose node is gone.
async fn take_up_rotations(rotations: Arc<Rotations>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(ROTATIONS_INTERVAL) => {}
        }
        let rotations = Arc::clone(&rotations);
        blocking(move || rotations.take_up()).await;
    }
}

/// Makes room in the verdict cache for the sessions that were opened.
async fn make_room(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(ROOM_INTERVAL) => {}
        }
        let service = Arc::clone(&service);
        blocking(move || service.tenants.make_room(service.node.now())).await;
    }
}

/// Stores the uses of API keys, and looks how their logins ended.
async fn keep_usage(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(USAGE_INTERVAL) => {}
        }
        let service = Arc::clone(&service);
        let kept = blocking(move || {
            service.logins.outcomes();
            service.tenants.store_usage(service.node.now())
        });
        if let Err(cause) = kept.await {
            tracing::warn!(%cause, "uses of API keys were not stored, and are kept for the next time");
        }
    }
}

/// Counts the open sessions.
async fn count_sessions(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    loop {
        let counting = Arc::clone(&service);
        if let Err(cause) = blocking(move || counting.sessions.rows.count(counting.node.now())).await {
            tracing::debug!(%cause, "open sessions were not counted");
        }
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(SESSIONS_INTERVAL) => {}
        }
    }
}

/// Looks which refusals come again and again.
async fn watch_refusals(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(REFUSALS_INTERVAL) => drop(app.recurring()),
        }
    }
}

async fn watch_disk(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(disk::INTERVAL) => {}
        }
        let service = Arc::clone(&service);
        blocking(move || service.node.disk.look()).await;
    }
}

/// Prunes old seals step by step, and pauses after each step for as long as it took, because requests come first.
async fn retain(service: Arc<Service>, pruner: Option<Pruner>, mut stop: watch::Receiver<bool>) {
    let Some(mut pruner) = pruner else { return };
    let mut rest = retention::INTERVAL;
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(rest) => {}
        }
        let (begun, service) = (Instant::now(), Arc::clone(&service));
        let stepped;
        (stepped, pruner) = blocking(move || {
            if !service.node.keeps_house() {
                return (Ok(false), pruner);
            }
            (
                pruner.tend(
                    service.node.store.as_ref(),
                    &service.node.disk,
                    service.node.now(),
                    &service.log.retained,
                ),
                pruner,
            )
        })
        .await;
        rest = match stepped {
            Ok(true) => begun.elapsed(),
            Ok(false) => retention::INTERVAL,
            Err(cause) => {
                tracing::warn!(%cause, "old seals were not pruned");
                retention::FAILED_INTERVAL
            }
        };
    }
}
