//! A remote key-holder with the interface of one in this process: each request is a call over the connection pool.

use crate::address::Address;
use crate::connection_pool::{Bounds, ConnectionPool};
use crate::protocol::request_frame;
use crate::tls;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use trefoil_host::identity::Identity;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{KeyHolderError, KeyHolding, Reply, Request};
use trefoil_storage::supervisor::Supervisor;

/// See the module.
pub struct Remote {
    line: Arc<ConnectionPool>,
    monitor: Option<JoinHandle<()>>,
}

impl Remote {
    /// Starts the monitor, under `supervisor`; the key-holder need not run yet. With `place`, one of another seat counts as away.
    ///
    /// # Errors
    /// When the identity is not usable or the thread does not start.
    pub fn start(
        supervisor: &Supervisor,
        address: Address,
        identity: Identity,
        bounds: Bounds,
        place: Option<Seat>,
    ) -> io::Result<Remote> {
        let own = identity.fingerprint();
        let tls = tls::client_config(identity, address.fingerprint).map_err(io::Error::other)?;
        Remote::over(supervisor, ConnectionPool::new(address, (tls, own), bounds, place))
    }

    fn over(supervisor: &Supervisor, line: ConnectionPool) -> io::Result<Remote> {
        let line = Arc::new(line);
        let watched = Arc::clone(&line);
        let monitor = supervisor.spawn("key-holder-monitor", move || watched.monitor())?;
        Ok(Remote { line, monitor: Some(monitor) })
    }

    /// That it stands in another's place, and what to do.
    pub fn misplaced(&self) -> Option<String> {
        self.line.misplaced()
    }

    /// Sends an encoded request and returns its reply.
    pub(crate) fn call_with(&self, frame: &[u8]) -> Result<Reply, KeyHolderError> {
        self.line.call(frame)
    }

    /// Waits until the key-holder answers.
    ///
    /// # Errors
    /// Why it did not answer by `deadline`, or that it stands in another's place.
    pub fn wait_until_ready(&self, deadline: Instant) -> Result<(), String> {
        self.line.wait_until_up(deadline)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.line.stop();
        if let Some(monitor) = self.monitor.take() {
            // A panic of the monitor is already in the log.
            let _ = monitor.join();
        }
    }
}

impl KeyHolding for Remote {
    /// The time is not sent, because a key-holder counts attempts by its own clock.
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        self.call_with(&request_frame(&request))
    }

    fn unready(&self) -> Option<String> {
        self.line.down()
    }
}

#[cfg(test)]
mod tests;
