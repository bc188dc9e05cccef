//! A path between two programs of a test, which is slow, silent or closed when the test says so.
//!
//! What is sent while a path is silent arrives once it is open again, because TCP would send it again. Until then neither end sees that the other one has
//! closed a connection.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// How a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Everything arrives so much later, in both directions.
    Slow(Duration),
    /// Nothing arrives, and connections stay.
    Silent,
    /// Connections end, and so does each new one.
    Closed,
}

/// Connections to its address go on to a target, as long as the test's runtime lives.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Proxy {
    pub(crate) async fn to(target: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (way, seen) = watch::channel(Way::Open);
        let target = target.to_owned();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, target.clone(), seen.clone()));
            }
        });
        Proxy { address, way }
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

/// Carries one connection until an end closes it, or the path is closed.
async fn carry(near: TcpStream, target: String, mut way: watch::Receiver<Way>) {
    if arrives(&mut way, Instant::now()).await == Way::Closed {
        return;
    }
    let Ok(far) = TcpStream::connect(target).await else { return };
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    let ((near_reads, near_writes), (far_reads, far_writes)) = (near.into_split(), far.into_split());
    tokio::select! {
        () = pump(near_reads, far_writes, way.clone()) => {}
        () = pump(far_reads, near_writes, way.clone()) => {}
        _ = way.wait_for(|way| *way == Way::Closed) => {}
    }
}

/// Carries one direction until its sender closes it.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let (sender, mut queue) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let reading = async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            sender.send((Instant::now(), buffer[..count].to_vec())).unwrap_or_default();
        }
    };
    let writing = async move {
        while let Some((sent, bytes)) = queue.recv().await {
            arrives(&mut way, sent).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        arrives(&mut way, Instant::now()).await;
    };
    tokio::join!(reading, writing);
}

/// Waits until what was sent at this time arrives, and returns how the path is then.
async fn arrives(way: &mut watch::Receiver<Way>, sent: Instant) -> Way {
    loop {
        let Ok(now) = way.wait_for(|way| *way != Way::Silent).await.map(|way| *way) else {
            return Way::Closed;
        };
        if let Way::Slow(delay) = now {
            tokio::time::sleep_until(sent + delay).await;
        }
        if *way.borrow() != Way::Silent {
            return now;
        }
    }
}
