//! Addresses of which each serves what the others do.

use rand::seq::IndexedRandom as _;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// In which every node hears of a change, if no machine is too busy.
pub(crate) const HEARD_WITHIN: Duration = Duration::from_millis(300);

/// By the first.
static ALL: LazyLock<Mutex<HashMap<SocketAddr, Vec<SocketAddr>>>> = LazyLock::new(Mutex::default);

/// Ends with the test, also one that fails: another one may get its port.
pub(crate) struct Siblings(SocketAddr);

impl Drop for Siblings {
    fn drop(&mut self) {
        alone(self.0);
    }
}

/// From now on any of these is asked where the first one is meant.
pub(crate) fn serve(addresses: Vec<SocketAddr>) -> Siblings {
    let first = addresses[0];
    ALL.lock().unwrap().insert(first, addresses);
    Siblings(first)
}

/// From now on it is asked itself.
pub(crate) fn alone(address: SocketAddr) {
    ALL.lock().unwrap().remove(&address);
}

/// The addresses that serve what this one does, itself among them.
pub(crate) fn all_of(address: SocketAddr) -> Vec<SocketAddr> {
    ALL.lock().unwrap().get(&address).cloned().unwrap_or_else(|| vec![address])
}

/// One of the addresses that serve what this one does.
pub(crate) fn any_of(address: SocketAddr) -> SocketAddr {
    *all_of(address).choose(&mut rand::rng()).unwrap()
}
