//! The service of a test: one node, or with `TREFOIL_TEST_STORE=fleet` three that share a database and a key-holder. Then each request goes to one of
//! them at random, and one that changes something is followed by the time in which every node hears of it.

use crate::key_holder_process::{KeyHolder, lax, listen};
use crate::service::TestClock;
use crate::siblings::{self, Served};
use crate::store;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use trefoil_pipeline::Clock;
use trefoil_server::config::{Config, Place};
use trefoil_server::server::Server;

const NODES: usize = 3;

/// The key-holders of data directories.
static KEY_HOLDERS: LazyLock<Mutex<HashMap<PathBuf, KeyHolder>>> = LazyLock::new(Mutex::default);

/// Nodes that run. They are the first one to those who ask for one. When they are dropped at the end of a test, they shut down, which has to be clean.
pub(crate) struct Nodes {
    served: Vec<Served>,
    nodes: Vec<Server>,
}

impl Deref for Nodes {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.nodes[0]
    }
}

impl Nodes {
    pub(crate) async fn start(mut config: Config, clock: &Arc<TestClock>) -> Nodes {
        let start = async |config| Server::start(config, Arc::clone(clock) as Arc<dyn Clock>).await.unwrap();
        // A store in a file is that of one node.
        if !store::is_fleet() || config.store.url.0.is_empty() {
            return Nodes { served: Vec::new(), nodes: vec![start(config).await] };
        }
        let data = config.server.data_dir.clone();
        clock.rule(&config.store.url.0);
        config.store.fleet = true;
        if config.key_holder.place().unwrap() == Place::Here {
            config.key_holder.url = key_holder(&data);
            config.key_holder.timeout_ms = 60_000;
        }
        let mut nodes = vec![start(config.clone()).await];
        for number in 1..NODES {
            config.server.data_dir = data.with_extension(format!("node-{number}"));
            if !config.server.data_dir.exists() {
                copied(&data, &config.server.data_dir);
            }
            nodes.push(start(config.clone()).await);
        }
        let of = |address: fn(&Server) -> SocketAddr| siblings::serve(nodes.iter().map(address).collect());
        let served = [Server::public_address, Server::admin_address].map(of).into();
        Nodes { served, nodes }
    }

    /// From now on each request goes to the first one. For tests of what each node has for itself.
    pub(crate) fn ask_the_first(&self) {
        siblings::alone(self.public_address());
        siblings::alone(self.admin_address());
    }

    pub(crate) async fn shutdown(mut self) -> bool {
        self.end().await
    }

    async fn end(&mut self) -> bool {
        // First, so that nobody is sent to a node that is about to end.
        self.served.clear();
        let mut is_clean = true;
        for node in std::mem::take(&mut self.nodes) {
            is_clean &= node.shutdown().await;
        }
        is_clean
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if !self.nodes.is_empty() && !std::thread::panicking() {
            let is_clean = block_in_place(|| Handle::current().block_on(self.end()));
            assert!(is_clean, "the shutdown at the end of the test is not clean");
        }
    }
}

/// A directory as another machine gets it.
pub(crate) fn copied(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// The vault of the key-holder of a service.
pub(crate) fn vault(data: &Path) -> PathBuf {
    let folder = if store::is_fleet() { data.with_extension("vault") } else { data.to_owned() };
    folder.join("vault.sqlite")
}

/// The key-holder of a data directory, which ends with the thread of the test.
fn key_holder(data: &Path) -> String {
    let mut all = KEY_HOLDERS.lock().unwrap();
    let made = all.entry(data.to_owned()).or_insert_with(|| {
        let (vault, address) = (data.with_extension("vault"), listen());
        KeyHolder::init(&vault, data, &address);
        let mut program = Command::new("setpriv");
        program.args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_trefoil"), "key-holder", "--data-dir"]);
        // As the key-holder that a service has in its own process.
        let program = lax(&mut program);
        KeyHolder::run(program.arg(&vault).args(["--listen", &address]))
    });
    made.url().to_owned()
}
