//! Attacks on a service. None needs a credential; a flood of invalid proofs needs an API key.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use trefoil_client::Client;

use super::raw::{Connection, Target, post};
use super::world::World;

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// Connections that never start TLS.
    IdleTcp,
    /// Connections that send nothing after TLS.
    IdleTls,
    /// HTTP/2 whose flow control lets no answer through, and that acknowledges pings.
    ZeroWindow,
    /// HTTP/1.1 with many requests, whose answers are never read.
    NeverReads,
    /// Requests with an unknown API key, each as soon as the previous one is refused.
    Refused,
    /// Well-formed proofs that are wrong in one bit, each as soon as the previous one is refused.
    InvalidProofs,
}

/// Connections of attacks that do more than hold them.
const BUSY: usize = 64;
/// An answer of some kilobytes that needs no credential.
const PAGE: &str = "/verify.js";
/// Receive buffer of a peer that never reads, bytes.
const RECEIVE_BYTES: u32 = 4096;
/// Connections from one address: as many as a service takes of a peer.
const PER_ADDRESS: usize = 1024;

impl Attack {
    pub(super) const HOSTILE: [Attack; 5] =
        [Attack::IdleTcp, Attack::IdleTls, Attack::ZeroWindow, Attack::NeverReads, Attack::Refused];

    pub(super) fn name(self) -> &'static str {
        match self {
            Attack::IdleTcp => "idle_tcp",
            Attack::IdleTls => "idle_tls",
            Attack::ZeroWindow => "zero_window",
            Attack::NeverReads => "never_reads",
            Attack::Refused => "refused",
            Attack::InvalidProofs => "invalid_proofs",
        }
    }

    /// Starts it on this runtime, from addresses of its own; so many connections are held open if it does no more than hold them. It ends
    /// when the set is dropped.
    pub(super) fn begin(self, target: &Target, world: &World, connections: usize) -> JoinSet<()> {
        let mut attacking = JoinSet::new();
        let (tasks, each) = match self {
            // Eight at a time.
            Attack::IdleTcp | Attack::IdleTls => (8, connections.div_ceil(8)),
            Attack::ZeroWindow | Attack::NeverReads | Attack::Refused => (BUSY, 1),
            Attack::InvalidProofs => (connections, 1),
        };
        for task in 0..tasks {
            if self == Attack::InvalidProofs {
                attacking.spawn(invalid_proofs(world.flooder().clone(), world.invalid(task)));
                continue;
            }
            let target = target.numbered(100 + task * each / PER_ADDRESS);
            attacking.spawn(async move {
                loop {
                    // Regardless of how it ended: a connection that the service cuts is reopened.
                    let _ = self.attack(&target, each).await;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            });
        }
        attacking
    }

    async fn attack(self, target: &Target, count: usize) -> io::Result<()> {
        match self {
            Attack::IdleTcp => {
                let mut held = Vec::new();
                for _ in 0..count {
                    // A refusal is what the service may do.
                    held.extend(target.tcp(None).await.ok());
                }
                std::future::pending().await
            }
            Attack::IdleTls => {
                let mut held = Vec::new();
                for _ in 0..count {
                    held.extend(target.connect(None).await.ok());
                }
                std::future::pending().await
            }
            Attack::ZeroWindow => zero_window(target.http2().connect(None).await?).await,
            Attack::NeverReads => never_reads(target.connect(Some(RECEIVE_BYTES)).await?).await,
            Attack::Refused | Attack::InvalidProofs => refused(target.connect(None).await?).await,
        }
    }
}

async fn zero_window(mut connection: Connection) -> io::Result<()> {
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    let stream = &mut connection.stream;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
    // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    stream.write_all(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).await?;
    let head: Vec<u8> =
        [(":method", "GET"), (":path", PAGE), (":scheme", "https"), (":authority", "localhost")]
            .iter()
            .flat_map(|(name, value)| literal(name, value))
            .collect();
    for request in 0..50 {
        // The end of the stream and of its headers.
        stream.write_all(&frame(HEADERS, 5, 1 + 2 * request, &head)).await?;
    }
    stream.flush().await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).await?;
        if (kind == PING || kind == SETTINGS) && flags & 1 == 0 {
            let echoed = if kind == PING { &payload[..] } else { &[] };
            stream.write_all(&frame(kind, 1, 0, echoed)).await?;
            stream.flush().await?;
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header that is not indexed (RFC 7541 section 6.2.2), of less than 127 bytes each.
fn literal(name: &str, value: &str) -> Vec<u8> {
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

async fn never_reads(mut connection: Connection) -> io::Result<()> {
    let request = format!("GET {PAGE} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    for _ in 0..400 {
        connection.stream.write_all(request.as_bytes()).await?;
    }
    std::future::pending().await
}

async fn refused(mut connection: Connection) -> io::Result<()> {
    let request = post("/v1/authentications", "trefoil_0000000000000000_none", b"{}");
    loop {
        connection.ask(&request).await?;
    }
}

/// Whatever the answers are: what honest callers see is measured.
async fn invalid_proofs(flooder: Arc<Client>, envelope: Vec<u8>) {
    loop {
        let _ = flooder.open_session(envelope.clone()).await;
    }
}
