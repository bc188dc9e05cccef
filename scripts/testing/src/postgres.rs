//! A PostgreSQL server of a test's own, on a unix socket in a temporary directory or on a free port of the loopback address.
//!
//! It is a real server, made by `initdb`. PostgreSQL refuses to run as root, so under root it runs as the user `postgres`, or `nobody`. A test
//! that needs it fails where the programs are missing, unless [`crate::POSTGRES`] says that it may be left out; the test then prints that.

use crate::POSTGRES;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The settings of a server that archives its write-ahead log, for [`Server::back_up`].
pub const ARCHIVING: [&str; 2] =
    ["archive_mode = on", "archive_command = 'mkdir -p ../archive && cp %p ../archive/%f'"];
/// Where Debian, Fedora and a build from source put the programs.
const PLACES: [&str; 3] = ["/usr/lib/postgresql", "/usr/pgsql", "/usr/local/pgsql"];
/// Longest wait for a server to begin or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server. It ends when this is dropped.
pub struct Server {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    process: Option<Child>,
    guardian: Option<Child>,
    made: AtomicU32,
}

/// The directory of `initdb` and `postgres`, of the newest version.
#[must_use]
pub fn find() -> Option<PathBuf> {
    let versions = PLACES.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let mut places: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    places.sort();
    places.reverse();
    places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    places.into_iter().find(|place| place.join("initdb").exists() && place.join("postgres").exists())
}

/// The directory of the programs; `None` if there is none, and tests may be left out.
///
/// # Panics
/// When there is none, and [`crate::POSTGRES`] does not say that this is known.
#[must_use]
pub fn programs() -> Option<PathBuf> {
    let is_known = std::env::var_os(POSTGRES).is_some_and(|value| value == "absent");
    match find() {
        Some(found) => Some(found),
        None if is_known => {
            println!("NOT RUN: PostgreSQL is not installed");
            None
        }
        None => panic!(
            "no initdb: install PostgreSQL, such as apt-get install postgresql, or set {POSTGRES}=absent to leave its tests out"
        ),
    }
}

impl Server {
    /// A server that the tests of this program share, each with a database of its own.
    #[must_use]
    pub fn shared() -> Option<&'static Server> {
        static SHARED: LazyLock<Option<Server>> = LazyLock::new(|| Server::start(&[]));
        SHARED.as_ref()
    }

    /// A running server with these settings, such as `ssl = on`; `None` where tests may be left out.
    ///
    /// # Panics
    /// When it cannot be made or does not start.
    #[must_use]
    pub fn start(settings: &[&str]) -> Option<Server> {
        let programs = programs()?;
        // A unix socket's path has at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a temporary directory");
        let port = free_port();
        let mut server =
            Server { folder, programs, port, process: None, guardian: None, made: AtomicU32::new(0) };
        server.give_away(server.folder.path());
        let data = server.data();
        let mut initdb = server.command("initdb");
        initdb.args([
            "--username=trefoil",
            "--auth=trust",
            "--encoding=SQL_ASCII",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        said(initdb.arg(&data));
        let socket = server.folder.path().display().to_string();
        let own = format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{socket}'\nfsync = off\n\
             shared_buffers = 16MB\nmax_connections = 200\nmax_wal_size = 128MB\n"
        );
        let path = data.join("postgresql.conf");
        let before = std::fs::read_to_string(&path).expect("initdb wrote it");
        std::fs::write(&path, before + &own + &settings.join("\n")).expect("the settings are written");
        server.go();
        Some(server)
    }

    /// The directory of its sockets, and of files for it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The port of the loopback address.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of its first process.
    ///
    /// # Panics
    /// When it does not run.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    /// The directory of its data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Gives a file or directory to the server's user, for its eyes only.
    ///
    /// # Panics
    /// When the file cannot be given away.
    pub fn give_away(&self, path: &Path) {
        give_away(path);
    }

    /// The address of a new, empty database over the unix socket.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn database(&self) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let name = format!("d{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.address(&name)
    }

    /// The addresses of a new, empty database for its owner and for another role, neither of which may do more than a role of its own.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn roles(&self) -> [String; 2] {
        let name = format!("d{}", self.made.fetch_add(1, Ordering::Relaxed));
        let [owner, serving] = ["owner", "serving"].map(|role| format!("{role}_{name}"));
        let rights = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS";
        self.sql("postgres", &format!("CREATE ROLE {owner} {rights}; CREATE ROLE {serving} {rights}"));
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER {owner}"));
        self.sql("postgres", &format!("REVOKE ALL ON DATABASE {name} FROM PUBLIC"));
        [owner, serving].map(|role| self.address(&name).replace("user=trefoil", &format!("user={role}")))
    }

    /// The address of a database over the unix socket.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        let Server { port, .. } = self;
        format!("postgres:///{database}?user=trefoil&host={}&port={port}", self.folder.path().display())
    }

    /// Runs statements as an administrator, and returns the rows as lines.
    ///
    /// # Panics
    /// When one of them fails.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let mut psql = self.command("psql");
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "trefoil",
            "-d",
            database,
            "-c",
            statements,
        ]);
        let port = self.port.to_string();
        said(psql.arg("-h").arg(self.folder.path()).args(["-p", port.as_str()]))
    }

    /// Ends it: `fast` ends all sessions first, `immediate` is a crash.
    ///
    /// # Panics
    /// When it does not end.
    pub fn stop(&mut self, how: &str) {
        if self.process.is_some() {
            // A frozen process gets no other signal.
            self.freeze(false);
        }
        let Some(mut process) = self.process.take() else { return };
        let signal = if how == "fast" { "-INT" } else { "-QUIT" };
        signal_to(&process, signal);
        process.wait().expect("it ends");
        if let Some(mut guardian) = self.guardian.take() {
            // It may have ended already.
            let _ = guardian.kill();
            let _ = guardian.wait();
        }
    }

    /// Starts it again.
    ///
    /// # Panics
    /// When it does not start.
    pub fn go(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("log"));
        let log = log.expect("a file for its log");
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).stdout(Stdio::null()).stderr(log);
        let process = command.spawn().expect("postgres starts");
        // If this process ends without dropping the server, as test programs do, its end of this pipe closes.
        let mut guardian = Command::new("sh");
        let script = "cat > /dev/null; kill -QUIT \"$0\" 2> /dev/null; sleep 1; rm -rf \"$1\"";
        guardian.args(["-c", script, &process.id().to_string()]).arg(self.folder.path());
        guardian.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.guardian = Some(guardian.spawn().expect("sh starts"));
        self.process = Some(process);
        let begun = Instant::now();
        loop {
            let mut ready = self.command("pg_isready");
            let port = self.port.to_string();
            ready.arg("-h").arg(self.folder.path()).args(["-p", port.as_str(), "-q", "-d", "postgres"]);
            if ready.status().is_ok_and(|status| status.success()) {
                return;
            }
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "postgres does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Copies its data while it runs, as the base of [`Server::restore`].
    ///
    /// # Panics
    /// When that fails.
    pub fn back_up(&self) {
        let mut copy = self.command("pg_basebackup");
        copy.args(["-U", "trefoil", "--checkpoint=fast", "--no-sync", "-X", "none", "-D", "base"]);
        said(copy.arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string()]));
    }

    /// Names this moment, up to which it can be restored.
    ///
    /// # Panics
    /// When the log is not archived.
    pub fn name_moment(&self, name: &str) {
        self.sql("postgres", &format!("SELECT pg_create_restore_point('{name}')"));
        let segment = self.sql("postgres", "SELECT pg_walfile_name(pg_switch_wal())");
        let begun = Instant::now();
        while !self.folder.path().join("archive").join(&segment).exists() {
            assert!(begun.elapsed() < PATIENCE, "the log is not archived");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Replaces its data by the copy, and replays the archive up to the moment of this name.
    ///
    /// # Panics
    /// When that fails.
    pub fn restore(&mut self, to: &str) {
        self.stop("fast");
        let [data, base] = ["data", "base"].map(|name| self.folder.path().join(name));
        std::fs::rename(&data, self.folder.path().join("lost")).expect("the old data goes");
        std::fs::rename(base, &data).expect("the copy comes");
        std::fs::write(data.join("recovery.signal"), "").expect("it is written");
        let path = data.join("postgresql.conf");
        let before = std::fs::read_to_string(&path).expect("it was copied");
        let own = format!(
            "\nrestore_command = 'cp ../archive/%f %p'\nrecovery_target_name = '{to}'\nrecovery_target_action = promote\n"
        );
        std::fs::write(&path, before + &own).expect("the settings are written");
        self.go();
        let begun = Instant::now();
        while self.sql("postgres", "SELECT pg_is_in_recovery()") != "f" {
            assert!(begun.elapsed() < PATIENCE, "the archive is not replayed");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops all of its processes where they are, so that it takes connections and gives no answers, or lets them go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn freeze(&self, is_frozen: bool) {
        let process = self.process.as_ref().expect("it runs");
        let signal = if is_frozen { "-STOP" } else { "-CONT" };
        let id = process.id().to_string();
        let children = Command::new("pgrep").args(["-P", &id]).output().expect("pgrep is part of procps");
        let children = String::from_utf8_lossy(&children.stdout).into_owned();
        for id in children.lines().chain([id.as_str()]) {
            // A child may end meanwhile.
            let _ = Command::new("kill").args([signal, id]).stderr(Stdio::null()).status();
        }
    }

    /// A program that is found in the path, as the server's user, in the directory of its sockets.
    #[must_use]
    pub fn command_of(&self, name: &str) -> Command {
        as_its_user(Path::new(name), self.folder.path())
    }

    /// A program of the server, as its user.
    fn command(&self, name: &str) -> Command {
        as_its_user(&self.programs.join(name), self.folder.path())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("immediate");
    }
}

/// A program as the server's user, in this directory.
pub(crate) fn as_its_user(program: &Path, folder: &Path) -> Command {
    let mut command = match user() {
        None => Command::new(program),
        Some((user, group)) => {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
            command.arg(program);
            command
        }
    };
    command.current_dir(folder).env_remove("PGPASSFILE").stdin(Stdio::null());
    command
}

pub(crate) fn give_away(path: &Path) {
    if let Some((user, group)) = user() {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("root may give files away");
    }
}

/// A port of the loopback address that nobody has now.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.expect("a free port").port()
}

/// Whom to run it as, where this process is root's.
fn user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(|field| field.parse().ok());
        Some((fields.next()??, fields.next()??))
    };
    Some(of("postgres").or_else(|| of("nobody")).unwrap_or((65534, 65534)))
}

fn signal_to(process: &Child, signal: &str) {
    let done = Command::new("kill").args([signal, &process.id().to_string()]).status();
    assert!(done.expect("kill is part of procps").success());
}

/// What a command prints, once it has succeeded.
pub(crate) fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let told = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {told}");
    String::from_utf8_lossy(&stdout).trim_end().to_owned()
}
