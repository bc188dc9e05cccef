//! Nodes that share a PostgreSQL server and a key-holder, and the generator of their logins.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trefoil_attest::TrustRoot;
use trefoil_service::keys::signing_keys::{self, Source, TRUST_ROOT_FILE};
use trefoil_storage::data_dir::DataDir;
use trefoil_testing::postgres::{self, Server};

use super::super::generator::Generator;
use super::super::plan::Load;
use super::super::raw::Target;
use super::super::service::{Service, runtime};
use super::super::world::World;
use super::counts::Database;
use super::spent::{Spent, of_family, of_process};
use crate::Failure;
use crate::remote::KeyHolders;

/// Settings of the server that differ from those of tests.
pub(super) const SETTINGS: [&str; 5] = [
    "fsync = on",
    "shared_buffers = 128MB",
    "max_wal_size = 4GB",
    "shared_preload_libraries = 'pg_stat_statements'",
    "pg_stat_statements.max = 10000",
];
/// A new register refuses requests for so long.
const REGISTER: Duration = Duration::from_secs(5);
/// After a start a thread of lowest priority computes a part of the signing key.
const SETTLED: Duration = Duration::from_secs(300);
/// Processor time of a second that is no work of a start.
const QUIET_S: f64 = 0.1;

/// See the module. Nodes end before what they use.
pub(super) struct Installation {
    nodes: Vec<Service>,
    pub(super) generator: Generator,
    key_holders: KeyHolders,
    database: String,
    server: Server,
    _folder: tempfile::TempDir,
}

impl Installation {
    /// With so many nodes, and people with sessions, which were opened at the first one.
    pub(super) fn start(nodes: usize, load: &Load) -> Result<Installation, Failure> {
        if postgres::find().is_none() {
            return Err(Failure::usage("no initdb: install PostgreSQL, such as apt-get install postgresql"));
        }
        let server = Server::start(&SETTINGS).ok_or_else(|| Failure::fault("PostgreSQL did not start"))?;
        let database = server.database();
        let key_holders = KeyHolders::start_at(nodes as u32, false)?;
        let (key_holder, _, first) = key_holders.one();
        let folder = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
        let start = |data: &Path| {
            Service::start(data, &["--on-all", "--store", &database, "--key-holder", &key_holder])
        };
        let (service, reached) = start(&first)?;
        let (mut services, mut targets) = (vec![service], vec![Target::of(&reached)?]);
        for data in &others(&first, folder.path(), nodes)? {
            let (service, reached) = start(data)?;
            services.push(service);
            targets.push(Target::of(&reached)?);
        }
        let root = std::fs::read(first.join(TRUST_ROOT_FILE)).map_err(Failure::in_step("trust root"))?;
        let trust_root = TrustRoot::from_file(&root).map_err(Failure::in_step("trust root"))?;
        let runtime = runtime(1, 0)?;
        let world = runtime.block_on(World::at(&reached, "fleet", load.people, load.numbers))?;
        let generator = Generator::new(runtime, targets, world, trust_root, load);
        Database::of(&server, &database)?;
        Ok(Installation { nodes: services, generator, key_holders, database, server, _folder: folder })
    }

    /// Waits until the register takes requests, and the nodes have made what they make at a start.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        std::thread::sleep(REGISTER);
        loop {
            let before = self.nodes_s()?;
            std::thread::sleep(Duration::from_secs(1));
            if self.nodes_s()? - before < QUIET_S * self.nodes.len() as f64 {
                return Ok(());
            }
            if begun.elapsed() > SETTLED {
                return Err(Failure::fault("the nodes are still busy five minutes after their start"));
            }
        }
    }

    fn nodes_s(&self) -> Result<f64, Failure> {
        self.nodes.iter().map(|node| of_process(node.process())).sum()
    }

    /// All that was spent until now, at the beginning of a phase: the questions to the database come before the times.
    pub(super) fn begin(&self) -> Result<Spent, Failure> {
        let (counts, seals) = self.counted()?;
        Ok(Spent { cpu_s: self.cpu_s()?, counts, seals })
    }

    /// What was spent since then, at the end of the phase: they come after the times.
    pub(super) fn end(&self, before: &Spent) -> Result<Spent, Failure> {
        let cpu_s = self.cpu_s()?;
        let (counts, seals) = self.counted()?;
        Ok(Spent { cpu_s, counts, seals }.since(before))
    }

    fn cpu_s(&self) -> Result<[f64; 4], Failure> {
        let key_holder = of_process(self.key_holders.one().1)?;
        Ok([self.nodes_s()?, key_holder, of_family(self.server.process())?, of_process(std::process::id())?])
    }

    fn counted(&self) -> Result<([f64; 4], f64), Failure> {
        let database = Database::of(&self.server, &self.database)?;
        Ok((database.counts(), database.newest_seal()))
    }

    pub(super) fn version(&self) -> String {
        self.server.sql("postgres", "SHOW server_version")
    }

    pub(super) fn stop(self) -> Result<(), Failure> {
        self.nodes.into_iter().try_for_each(Service::stop)
    }
}

/// The data directories of the nodes after the first, which has served, with keys of their own.
fn others(first: &Path, folder: &Path, nodes: usize) -> Result<Vec<PathBuf>, Failure> {
    let made: Vec<PathBuf> = (1..nodes).map(|number| folder.join(format!("node-{number}"))).collect();
    let directory = DataDir::open_for_keys(first).map_err(Failure::in_step("keys of a node"))?;
    let issuer = signing_keys::kept_issuer(&directory).ok_or_else(|| Failure::fault("no trust root"))?;
    for (number, data) in made.iter().enumerate() {
        let source = Source { file: PathBuf::new(), credentials: None };
        let now = trefoil_host::unix_s();
        let root = signing_keys::add_node(&directory, &issuer, &source, data, now)
            .map_err(Failure::in_step("keys of a node"))?;
        // Those that were made before need the version too.
        for before in &made[..number] {
            let version = format!("trust-roots/{}.json", root.version());
            std::fs::copy(first.join(&version), before.join(&version))
                .map_err(Failure::in_step("keys of a node"))?;
        }
    }
    Ok(made)
}
