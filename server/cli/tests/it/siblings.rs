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

/// Addresses of nodes that run. When it is dropped, each is asked itself again, because another test may get their ports.
pub(crate) struct Served(SocketAddr);

impl Drop for Served {
    fn drop(&mut self) {
        alone(self.0);
    }
}

/// From now on any of these is asked where the first one is meant.
pub(crate) fn serve(addresses: Vec<SocketAddr>) -> Served {
    let first = addresses[0];
    ALL.lock().unwrap().insert(first, addresses);
    Served(first)
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

/// A test that ends without a shutdown of its nodes would else send the requests of another one to ports where nobody is.
#[test]
fn an_address_is_asked_itself_again_when_its_nodes_are_gone() {
    // Nothing can listen there, so no other test has them.
    let [first, second] = ["192.0.2.1:1", "192.0.2.2:1"].map(|address| address.parse().unwrap());
    let served = serve(vec![first, second]);
    assert_eq!(all_of(first), [first, second]);
    drop(served);
    assert_eq!(all_of(first), [first]);
}
