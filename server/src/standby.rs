//! A process that waits until the one that uses the database has ended, and then takes over.
//!
//! It listens nowhere and reads nothing before that, so it has nothing in memory that could be old. The start that follows takes the
//! database's lock, which one process gets at a time, however many stand by.

use crate::config::Config;
use crate::server::{Server, StartError, database};
use std::sync::Arc;
use std::time::Duration;
use trefoil_host::systemd;
use trefoil_pipeline::Clock;
use trefoil_postgres::Postgres;
use trefoil_storage::store::StoreError;

/// Between two looks at the database.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits, and starts the service. `None` if `stopped` ended first.
///
/// # Errors
/// The service cannot start, for another reason than that the database is in use or away.
pub(crate) async fn taken_over(
    config: Config,
    clock: &Arc<dyn Clock>,
    stopped: impl Future<Output = ()>,
) -> Result<Option<Server>, String> {
    tokio::pin!(stopped);
    let mut said = None;
    loop {
        let waits_for = match looked(&config).await? {
            None => match Server::start(config.clone(), Arc::clone(clock)).await {
                Ok(server) => return Ok(Some(server)),
                Err(StartError::Database(cause @ (StoreError::InUse(_) | StoreError::Unreachable(_)))) => {
                    cause.to_string()
                }
                Err(cause) => return Err(cause.to_string()),
            },
            Some(why) => why,
        };
        if said.as_ref() != Some(&waits_for) {
            tracing::info!(why = waits_for, "stands by");
            systemd::ready("stands by");
            said = Some(waits_for);
        }
        tokio::select! {
            () = &mut stopped => return Ok(None),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Why the database cannot be taken now, or `None`.
async fn looked(config: &Config) -> Result<Option<String>, String> {
    let address = database(config).map_err(|cause| cause.to_string())?;
    let address = address.ok_or("a standby needs store.url, the database that it waits for")?;
    let (place, patience) = (address.to_string(), config.store.patience());
    let user = tokio::task::spawn_blocking(move || Postgres::user(&address, patience)).await;
    match user.map_err(|cause| cause.to_string())? {
        Ok(user) => Ok(user.map(|user| format!("{place} is in use by another process ({user})"))),
        Err(cause @ StoreError::Unreachable(_)) => Ok(Some(cause.to_string())),
        Err(cause) => Err(cause.to_string()),
    }
}
