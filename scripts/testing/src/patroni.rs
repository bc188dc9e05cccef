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
/// Within this time after the death of a primary another member is it.
pub const FAILOVER: Duration = Duration::from_secs(TTL_S + LOOP_WAIT_S + RETRY_S);
/// Longest wait for anything else.
const PATIENCE: Duration = Duration::from_secs(60);
const MEMBERS: usize = 3;

/// A cluster. Its processes end when this is dropped.
pub struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    members: Vec<Member>,
    etcd: Child,
    guardian: Child,
}

struct Member {
    port: u16,
    patroni: Option<Child>,
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
        let members = (0..MEMBERS).map(|_| Member { port: free_port(), patroni: None }).collect();
        let mut cluster = Cluster { folder, programs, members, etcd, guardian };
        for member in 0..MEMBERS {
            let settings = cluster.settings(member, client.trim_start_matches("http://"));
            fs::write(cluster.path(&format!("{member}.yml")), settings).expect("the settings are written");
            cluster.begin(member);
        }
        cluster.wait("a primary with a synchronous standby", |cluster| {
            let standing = "SELECT count(*) FROM pg_stat_replication";
            cluster.primary().is_some_and(|member| {
                cluster.try_sql(member, "postgres", standing) == Some((MEMBERS - 1).to_string())
            }) && cluster.synchronous().is_some()
        });
        Some(cluster)
    }

    /// The settings of Patroni at a member.
    fn settings(&self, member: usize, etcd: &str) -> String {
        let (port, rest, folder) = (self.members[member].port, free_port(), self.folder.path().display());
        let programs = self.programs.display();
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
      parameters: {{wal_log_hints: 'on', fsync: 'off', shared_buffers: 16MB, max_connections: 200, max_wal_size: 128MB, wal_keep_size: 128MB}}
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

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Tells the guardian which processes it ends.
    fn note(&self) {
        let patronis = self.members.iter().filter_map(|member| member.patroni.as_ref());
        let all: String =
            std::iter::once(&self.etcd).chain(patronis).map(|child| format!("{}\n", child.id())).collect();
        fs::write(self.path("pids"), all).expect("the guardian's file is written");
    }

    /// The address of a new database of an ordinary role, at all members.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn database(&self, name: &str) -> String {
        let primary = self.primary().expect("a primary");
        self.sql(primary, "postgres", "CREATE ROLE trefoil LOGIN");
        self.sql(primary, "postgres", &format!("CREATE DATABASE {name} OWNER trefoil"));
        let hosts: Vec<String> =
            self.members.iter().map(|member| format!("127.0.0.1:{}", member.port)).collect();
        format!("postgres://trefoil@{}/{name}?sslmode=disable", hosts.join(","))
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
        let mut psql = as_its_user(&self.programs.join("psql"), self.folder.path());
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h", "127.0.0.1"]);
        psql.args(["-d", database, "-c", statements, "-p", &self.members[member].port.to_string()]);
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
        self.wait("another primary", |cluster| cluster.primary().is_some_and(|member| member != old));
        self.primary().expect("it is there")
    }

    /// Waits until something holds.
    ///
    /// # Panics
    /// When it does not.
    pub fn wait(&self, what: &str, holds: impl Fn(&Cluster) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            let log = |member| fs::read_to_string(self.path(&format!("{member}.log"))).unwrap_or_default();
            let logs = || (0..MEMBERS).map(log).collect::<String>();
            assert!(begun.elapsed() < PATIENCE, "no {what}: {}", logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Starts Patroni at a member, which starts its server.
    ///
    /// # Panics
    /// When the program is not there.
    pub fn begin(&mut self, member: usize) {
        let mut patroni = its_user(Path::new("patroni"), self.folder.path(), &member.to_string());
        let child = patroni.arg(self.path(&format!("{member}.yml"))).spawn();
        let child = child.expect("patroni, such as apt-get install patroni");
        self.members[member].patroni = Some(child);
        self.note();
    }

    /// SIGKILL to Patroni at a member and then to its server, as if the machine had gone.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn kill(&mut self, member: usize) {
        let server = self.server(member);
        let mut patroni = self.members[member].patroni.take().expect("it runs");
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
        let patroni = self.members[member].patroni.as_ref().expect("it runs");
        signal(if is_frozen { "-STOP" } else { "-CONT" }, &patroni.id().to_string());
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
        for child in self.members.iter_mut().filter_map(|member| member.patroni.as_mut()) {
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
