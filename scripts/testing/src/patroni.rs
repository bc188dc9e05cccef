//! A PostgreSQL cluster that fails over: members under Patroni, which agrees on the primary through etcd. Each member is a process of Patroni and
//! a server of its own, on free ports of the loopback address. One standby at a time is synchronous, and a primary without one waits.

use crate::PATRONI;
use crate::postgres::{as_its_user, find, free_port, give_away, said};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long the lease of a primary lasts, seconds. Debian's default is 30.
pub const TTL_S: u64 = 5;
/// How often a member looks, seconds. The default is 10.
pub const LOOP_WAIT_S: u64 = 1;
/// How long a member repeats a call of etcd that failed, seconds. The default is 10.
pub const RETRY_S: u64 = 2;
/// How soon a standby asks the new primary, milliseconds. The default is 5,000, and until one has joined it a primary acknowledges nothing.
pub const RETRIEVE_MS: u64 = 500;
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many servers there are.
pub const MEMBERS: usize = 3;

/// A cluster. Its processes end when this is dropped.
pub struct Cluster {
    /// Removed when this is dropped.
    _folder: TempDir,
    /// The servers, which can also be asked from another thread.
    pub members: Members,
    patronis: Vec<Option<Child>>,
    etcd: Child,
    guardian: Child,
}

/// Where the servers of a cluster listen, and the programs to ask them.
#[derive(Clone)]
pub struct Members {
    folder: PathBuf,
    programs: PathBuf,
    ports: Vec<u16>,
}

/// What ends all processes when this test program does. Patroni comes before its server, which it would start again.
const GUARD: &str = "cat > /dev/null; cd \"$0\" || exit; kill -KILL $(cat pids) 2> /dev/null
for file in data-*/postmaster.pid; do kill -QUIT $(head -n 1 \"$file\") 2> /dev/null; done; sleep 1; rm -rf \"$0\"";

/// Whether its tests are to run: not where [`PATRONI`] says that the programs are absent.
#[must_use]
pub fn is_there() -> bool {
    let is_absent = std::env::var_os(PATRONI).is_some_and(|value| value == "absent");
    if is_absent {
        println!("NOT RUN: {PATRONI} says that Patroni is absent");
    }
    !is_absent
}

impl Cluster {
    /// A running cluster with one primary and its synchronous standby; `None` where its tests may be left out.
    ///
    /// # Panics
    /// When it cannot be made or does not start.
    #[must_use]
    pub fn start() -> Option<Cluster> {
        if !is_there() {
            return None;
        }
        let programs = find().expect("PostgreSQL, such as apt-get install postgresql");
        let folder = tempfile::Builder::new().prefix("ha").tempdir_in("/tmp").expect("a temporary directory");
        give_away(folder.path());
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARD]).arg(folder.path()).stdin(Stdio::piped()).stderr(Stdio::null());
        let guardian = guardian.spawn().expect("sh starts");
        let [client, peer] = [free_port(), free_port()].map(|port| format!("http://127.0.0.1:{port}"));
        let mut etcd = its_user(Path::new("etcd"), folder.path(), "etcd");
        etcd.args([
            "--data-dir",
            "etcd",
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ]);
        etcd.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        // Over version 3, Patroni 3.0.2 takes a lease back without asking whether another member has it now, when it goes on after a pause.
        etcd.args(["--initial-cluster", &format!("default={peer}"), "--unsafe-no-fsync", "--enable-v2"]);
        let etcd = etcd.spawn().expect("etcd, such as apt-get install etcd-server");
        let ports = (0..MEMBERS).map(|_| free_port()).collect();
        let members = Members { folder: folder.path().to_owned(), programs, ports };
        let patronis = (0..MEMBERS).map(|_| None).collect();
        let mut cluster = Cluster { _folder: folder, members, patronis, etcd, guardian };
        for member in 0..MEMBERS {
            let settings = cluster.settings(member, client.trim_start_matches("http://"));
            fs::write(cluster.members.path(&format!("{member}.yml")), settings)
                .expect("the settings are written");
            cluster.begin(member);
        }
        cluster.members.wait("a primary with a synchronous standby", |members| {
            let standing = "SELECT count(*) FROM pg_stat_replication";
            members.primary().is_some_and(|member| {
                members.try_sql(member, "postgres", standing) == Some((MEMBERS - 1).to_string())
            }) && members.synchronous().is_some()
        });
        Some(cluster)
    }

    /// The settings of Patroni at a member.
    fn settings(&self, member: usize, etcd: &str) -> String {
        let (port, rest) = (self.members.ports[member], free_port());
        let (folder, programs) = (self.members.folder.display(), self.members.programs.display());
        format!(
            "scope: trefoil
name: member-{member}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd: {{host: '{etcd}'}}
bootstrap:
  dcs:
    ttl: {TTL_S}
    loop_wait: {LOOP_WAIT_S}
    retry_timeout: {RETRY_S}
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {{wal_log_hints: 'on', fsync: 'off', shared_buffers: 16MB, max_connections: 200, max_wal_size: 128MB, wal_keep_size: 128MB, wal_retrieve_retry_interval: {RETRIEVE_MS}ms}}
  initdb: [{{encoding: SQL_ASCII}}, {{locale: C}}, no-sync]
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{port}
  data_dir: {folder}/data-{member}
  bin_dir: {programs}
  pgpass: {folder}/pgpass-{member}
  authentication: {{superuser: {{username: postgres}}, replication: {{username: replicator}}, rewind: {{username: postgres}}}}
  parameters: {{unix_socket_directories: {folder}}}
"
        )
    }

    /// Tells the guardian which processes it ends.
    fn note(&self) {
        let patronis = self.patronis.iter().flatten();
        let all: String =
            std::iter::once(&self.etcd).chain(patronis).map(|child| format!("{}\n", child.id())).collect();
        fs::write(self.members.path("pids"), all).expect("the guardian's file is written");
    }

    /// The address of a new database of an ordinary role, at all members.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn database(&self, name: &str) -> String {
        let primary = self.members.primary().expect("a primary");
        self.members.sql(primary, "postgres", "CREATE ROLE trefoil LOGIN");
        self.members.sql(primary, "postgres", &format!("CREATE DATABASE {name} OWNER trefoil"));
        let hosts: Vec<String> = self.members.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("postgres://trefoil@{}/{name}?sslmode=disable", hosts.join(","))
    }

    /// Starts Patroni at a member, which starts its server.
    ///
    /// # Panics
    /// When the program is not there.
    pub fn begin(&mut self, member: usize) {
        let mut patroni = its_user(Path::new("patroni"), &self.members.folder, &member.to_string());
        let child = patroni.arg(self.members.path(&format!("{member}.yml"))).spawn();
        let child = child.expect("patroni, such as apt-get install patroni");
        self.patronis[member] = Some(child);
        self.note();
    }

    /// SIGKILL to Patroni at a member and then to its server, as if the machine had gone.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn kill(&mut self, member: usize) {
        let server = self.members.server(member);
        let mut patroni = self.patronis[member].take().expect("it runs");
        patroni.kill().expect("it is killed");
        patroni.wait().expect("it ends");
        signal("-KILL", &server);
        self.note();
    }

    /// Stops Patroni at a member where it is, or lets it go on. Its server is not touched.
    ///
    /// # Panics
    /// When it does not run.
    pub fn freeze(&self, member: usize, is_frozen: bool) {
        let patroni = self.patronis[member].as_ref().expect("it runs");
        signal(if is_frozen { "-STOP" } else { "-CONT" }, &patroni.id().to_string());
    }
}

impl Members {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs statements at a member as an administrator, and returns the rows as lines.
    ///
    /// # Panics
    /// When one of them fails.
    pub fn sql(&self, member: usize, database: &str, statements: &str) -> String {
        said(&mut self.psql(member, database, statements))
    }

    /// The same; `None` if it fails.
    ///
    /// # Panics
    /// When psql is not there.
    #[must_use]
    pub fn try_sql(&self, member: usize, database: &str, statements: &str) -> Option<String> {
        let output = self.psql(member, database, statements).output().expect("psql starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    fn psql(&self, member: usize, database: &str, statements: &str) -> Command {
        let mut psql = as_its_user(&self.programs.join("psql"), &self.folder);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h", "127.0.0.1"]);
        psql.args(["-d", database, "-c", statements, "-p", &self.ports[member].to_string()]);
        psql.env("PGCONNECT_TIMEOUT", "2");
        psql
    }

    /// The member that has the lease, by its own word, and accepts writes. Of two that do, the one with the newer timeline.
    #[must_use]
    pub fn primary(&self) -> Option<usize> {
        let newest = "SELECT pg_walfile_name(pg_current_wal_lsn()) WHERE NOT pg_is_in_recovery()";
        let asked = |member| self.try_sql(member, "postgres", newest).filter(|told| !told.is_empty());
        (0..MEMBERS).filter_map(|member| Some((asked(member)?, member))).max().map(|(_, member)| member)
    }

    /// The synchronous standby, as the primary sees it.
    #[must_use]
    pub fn synchronous(&self) -> Option<usize> {
        let who = "SELECT right(application_name, 1) FROM pg_stat_replication WHERE sync_state = 'sync'";
        self.try_sql(self.primary()?, "postgres", who)?.lines().next()?.parse().ok()
    }

    /// Waits until another member than `old` is the primary.
    ///
    /// # Panics
    /// When none becomes it.
    pub fn next_primary(&self, old: usize) -> usize {
        self.wait("another primary", |members| members.primary().is_some_and(|member| member != old));
        self.primary().expect("it is there")
    }

    /// Waits until a member acknowledges a transaction, which a synchronous standby has then too.
    ///
    /// # Panics
    /// When it is not a primary.
    pub fn commit(&self, member: usize) {
        self.sql(member, "postgres", "SELECT pg_logical_emit_message(true, 'trefoil', '')");
    }

    /// Waits until something holds.
    ///
    /// # Panics
    /// When it does not.
    pub fn wait(&self, what: &str, holds: impl Fn(&Members) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            let log = |member| fs::read_to_string(self.path(&format!("{member}.log"))).unwrap_or_default();
            let logs = || (0..MEMBERS).map(log).collect::<String>();
            assert!(begun.elapsed() < PATIENCE, "no {what}: {}", logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The process id of a member's server.
    fn server(&self, member: usize) -> String {
        let file = self.path(&format!("data-{member}/postmaster.pid"));
        let text = fs::read_to_string(&file).unwrap_or_else(|cause| panic!("{}: {cause}", file.display()));
        text.lines().next().expect("a process id").to_owned()
    }
}

impl Drop for Cluster {
    /// The guardian ends all processes, and removes the files.
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
        for child in self.patronis.iter_mut().flatten() {
            let _ = child.wait();
        }
        let _ = self.etcd.wait();
    }
}

/// A program of the server's user that writes its log there.
fn its_user(program: &Path, folder: &Path, name: &str) -> Command {
    let log = File::options().create(true).append(true).open(folder.join(format!("{name}.log")));
    let log = log.expect("a file for its log");
    let mut command = as_its_user(program, folder);
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdout(log.try_clone().expect("a second handle")).stderr(log);
    command
}

fn signal(name: &str, process: &str) {
    let done = Command::new("kill").args([name, process]).status();
    assert!(done.expect("kill is part of procps").success(), "{name} {process}");
}
