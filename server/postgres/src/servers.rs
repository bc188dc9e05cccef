//! The servers of an address: which of them is tried first, and until when one was the primary.
//!
//! After a failover the old primary may still run, if only the process that would stop it hangs, for example. It takes connections and answers reads. A
//! commit there waits for its synchronous standby, which is the new primary now. But a change of UNLOGGED tables waits for nothing, and a
//! read shows what was. So an answer counts only if the server it came from was the primary at most [`PROVEN_FOR`] before, and the proof of that is
//! a commit that a synchronous standby has confirmed. A server without synchronous standbys proves nothing, and loses writes in a failover.
//!
//! A failover begins a new timeline. Once a connection of this process has seen it, no other one goes back to an older one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

#[cfg(test)]
mod tests;

/// For how long a proof holds, and so for how long answers of a primary may count after another server took its place. The register of nonces
/// begins so much later there.
pub(crate) const PROVEN_FOR: Duration = Duration::from_secs(1);

/// The proof: a commit. It says `waits` if another commit of this role has waited for a standby for long, so that calls do not pile up there.
pub(crate) const PROOF: &str = "
    SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'alone'
        WHEN EXISTS (SELECT FROM pg_stat_activity WHERE usename = current_user AND wait_event = 'SyncRep'
                     AND state_change < clock_timestamp() - interval '1 second') THEN 'waits'
        ELSE pg_logical_emit_message(true, 'trefoil', '')::text END";

/// The timeline, in hexadecimal digits.
pub(crate) const TIMELINE: &str = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";

/// See the module. All connections of a process share it.
pub(crate) struct Servers {
    all: Vec<Server>,
    /// The one that is tried first.
    first: AtomicUsize,
    /// The newest timeline that was proven.
    timeline: AtomicU64,
    begun: Instant,
    path: OnceLock<String>,
}

struct Server {
    config: Config,
    /// When the last proof began, milliseconds after `begun` and one; 0 without a proof.
    proven: AtomicU64,
}

impl Servers {
    /// The servers of an address, with `finish` for what is the same for all.
    pub(crate) fn of(config: &Config, finish: impl Fn(&mut Config)) -> Servers {
        let count = config.get_hosts().len().max(config.get_hostaddrs().len());
        let server = |at| {
            let mut config = alone(config, at);
            finish(&mut config);
            Server { config, proven: AtomicU64::new(0) }
        };
        let (first, timeline, path) = (AtomicUsize::new(0), AtomicU64::new(0), OnceLock::new());
        Servers { all: (0..count).map(server).collect(), first, timeline, begun: Instant::now(), path }
    }

    pub(crate) fn config(&self, at: usize) -> &Config {
        &self.all[at].config
    }

    /// The schemas in which the first session of this process found its tables, if this is not the first.
    pub(crate) fn path<'a>(&'a self, found: &'a str) -> &'a str {
        self.path.get_or_init(|| found.to_owned())
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// In the order in which they are tried, with how many there are from each on.
    pub(crate) fn order(&self) -> impl Iterator<Item = (usize, u32)> {
        let (first, count) = (self.first.load(Ordering::Acquire), self.all.len());
        (0..count).map(move |next| ((first + next) % count, u32::try_from(count - next).unwrap_or(u32::MAX)))
    }

    /// This one writes.
    pub(crate) fn prefer(&self, at: usize) {
        self.first.store(at, Ordering::Release);
    }

    /// This one gave no answer, so that another one is tried first, unless a connection has found one already.
    #[expect(clippy::disallowed_methods, reason = "when a server gave no answer")]
    pub(crate) fn suspect(&self, at: usize) {
        let next = (at + 1) % self.all.len();
        let _ = self.first.compare_exchange(at, next, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Notes a proof that began then.
    #[expect(clippy::disallowed_methods, reason = "a few times a second")]
    pub(crate) fn prove(&self, at: usize, timeline: u64, begun: Instant) {
        let after = begun.saturating_duration_since(self.begun).as_millis();
        self.all[at].proven.fetch_max(u64::try_from(after).unwrap_or(u64::MAX) + 1, Ordering::AcqRel);
        self.timeline.fetch_max(timeline, Ordering::AcqRel);
    }

    /// When the last proof of this one began.
    pub(crate) fn proven_at(&self, at: usize) -> Option<Instant> {
        let after = self.all[at].proven.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.begun + Duration::from_millis(after))
    }

    /// Whether another server has begun a newer timeline.
    pub(crate) fn is_over(&self, timeline: u64) -> bool {
        timeline < self.timeline.load(Ordering::Acquire)
    }
}

/// The settings with one of their hosts.
fn alone(all: &Config, at: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(at) {
        Some(Host::Tcp(name)) => _ = one.host(name),
        Some(Host::Unix(path)) => _ = one.host_path(path),
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    if let Some(port) = all.get_ports().get(at).or(all.get_ports().first()) {
        one.port(*port);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    one.user(all.get_user().unwrap_or_default()).dbname(all.get_dbname().unwrap_or_default());
    one.ssl_mode(all.get_ssl_mode()).channel_binding(all.get_channel_binding());
    one
}
