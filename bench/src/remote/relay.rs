//! A relay between a gateway and a key-holder that counts the bytes of each connection, TLS included.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
#[expect(
    clippy::disallowed_types,
    reason = "taken when a connection comes, and read after the measurement"
)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

use crate::Failure;

/// Bytes of one connection: to the key-holder and back.
type Counts = Arc<[AtomicU64; 2]>;

/// See the module. Its threads end with the connections.
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    #[expect(clippy::disallowed_types, reason = "see the import")]
    connections: Arc<Mutex<Vec<Counts>>>,
}

impl Relay {
    /// A relay to `to`.
    pub(super) fn start(to: String) -> Result<Relay, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(Failure::in_step("relay"))?;
        let address = listener.local_addr().map_err(Failure::in_step("relay"))?;
        let relay = Relay { address, connections: Arc::default() };
        let all = Arc::clone(&relay.connections);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&to) else { continue };
                let counts = Counts::default();
                all.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counts));
                let ends = (client.try_clone(), server.try_clone());
                let (Ok(back_to), Ok(back_from)) = ends else { continue };
                let back = Arc::clone(&counts);
                thread::spawn(move || pump(client, server, &counts[0]));
                thread::spawn(move || pump(back_from, back_to, &back[1]));
            }
        });
        Ok(relay)
    }

    /// What every connection has carried so far: to the key-holder and back.
    pub(super) fn carried(&self) -> Vec<[u64; 2]> {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.iter().map(|counts| [0, 1].map(|way| counts[way].load(Ordering::SeqCst))).collect()
    }
}

/// Copies until either end hangs up.
fn pump(mut from: TcpStream, mut to: TcpStream, count: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        // Counted before it is passed on, so that the bytes of every received answer are counted.
        count.fetch_add(read as u64, Ordering::SeqCst);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // The other direction may have hung up already.
    let _ = to.shutdown(Shutdown::Write);
}
