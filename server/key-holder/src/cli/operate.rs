//! What an operator asks of the running key-holder.

use super::{Place, own_address};
use crate::connection_pool::Bounds;
use crate::remote::Remote;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use trefoil_host::identity::{IDENTITY, Identity, OPERATOR_IDENTITY};
use trefoil_matching::{KeyHolderError, KeyHolding, Status};
use trefoil_storage::supervisor::Supervisor;

/// How long an operator's command waits for the key-holder.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(10);

/// Connects to the running key-holder as its operator.
pub(super) fn operate(
    place: &Place,
    command: impl Fn(&dyn KeyHolding) -> Result<(), KeyHolderError>,
) -> Result<(), (String, u8)> {
    let config = place.load()?;
    let failed = |cause: String| (cause, 1);
    // The running process holds the directory's lock, so the files are read without it.
    let read =
        |name: &str| Identity::look(&config.server.data_dir, name).map_err(|cause| failed(cause.to_string()));
    let address = own_address(config.server.listen, read(IDENTITY)?.fingerprint());
    let place = address.authority.clone();
    if TcpStream::connect_timeout(&config.server.listen, COMMAND_TIME_MAX).is_err() {
        return Err(failed(format!(
            "nothing listens at {place}; start the key-holder, or name its configuration with --config"
        )));
    }
    let bounds = Bounds { timeout: COMMAND_TIME_MAX, connections: 1 };
    let remote = Remote::start(&Supervisor::default(), address, read(OPERATOR_IDENTITY)?, bounds, None)
        .map_err(|cause| failed(cause.to_string()))?;
    remote
        .wait_until_ready(Instant::now() + COMMAND_TIME_MAX)
        .map_err(|why| failed(format!("{place}: {why}")))?;
    command(&remote).map_err(|cause| {
        failed(match cause {
            KeyHolderError::UnknownSubjects(_) => format!(
                "{place}: it does not know this subject with a template of that generation; `trefoil admin subject show`, at the service, prints the newest"
            ),
            cause => cause.to_string(),
        })
    })
}

/// Shows what it counts.
pub(super) fn print_status(status: &Status) {
    let Status {
        attempts,
        failures,
        enrolments,
        malformed,
        frozen,
        trips,
        tenants,
        templates,
        vaults,
        jobs,
        ..
    } = status;
    println!("{tenants} tenants, {templates} templates");
    println!("since the start: {attempts} attempts, of which {failures} failed, and {enrolments} enrolments");
    for (tenant, trips) in trips.iter().filter(|(_, trips)| *trips > 0) {
        println!("  refused because a budget was spent: {trips} of tenant {}", hex::encode(tenant));
    }
    println!("malformed jobs since the last reset: {}", status.malformed_jobs());
    for (tenant, count) in malformed {
        println!("  {count} of tenant {}", hex::encode(tenant));
    }
    for tenant in frozen {
        println!("  frozen: {}", hex::encode(tenant));
    }
    for state in vaults.iter().flatten() {
        let (generation, restored) = (state.generation, state.restored);
        println!("vault: generation {generation}, {restored} times an older copy was taken for it");
    }
    for (lines, digest) in jobs.iter().flatten() {
        println!("job log: {lines} lines signed, head {}", hex::encode(digest));
    }
}
