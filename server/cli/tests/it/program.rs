//! The program `trefoil serve` as a process of its own.

use crate::http::{Endpoint, Reply, tls};
use crate::siblings;
use crate::small_disk::SmallDisk;
use hyper::Method;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trefoil");

/// A running service; killed when dropped.
pub(crate) struct Program {
    child: Child,
    /// Kept to the end, so that standard output has a reader.
    _lines: std::io::Lines<BufReader<ChildStdout>>,
    pub(crate) public: Endpoint,
    pub(crate) admin: Endpoint,
    data: PathBuf,
    /// Its own, unless the test has one.
    _folder: Option<TempDir>,
}

impl Program {
    /// Starts in a folder of its own, with its log in `log` there.
    pub(crate) fn own(variables: &[(&str, &str)]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut program = Program::start(&folder.path().join("data"), log, variables);
        program._folder = Some(folder);
        program
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.data.clone()
    }

    /// A path beside the data directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.data.with_file_name(name)
    }

    /// Starts on free ports with the data directory `data` and these variables.
    pub(crate) fn start(data: &Path, log: impl Into<Stdio>, variables: &[(&str, &str)]) -> Program {
        Program::start_by(Command::new(PROGRAM), data, log, variables)
    }

    /// As [`Program::start`], but on a disk that [`Program::bound`] can fill: the signal that the kernel sends then is
    /// ignored, so that writes fail as they do on a full disk.
    pub(crate) fn start_on_a_disk(data: &Path, log: impl Into<Stdio>, variables: &[(&str, &str)]) -> Program {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", PROGRAM]);
        Program::start_by(shell, data, log, variables)
    }

    /// Starts with a configuration file.
    pub(crate) fn start_configured(settings: &Path, data: &Path, log: impl Into<Stdio>) -> Program {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" --config \"$SETTINGS\"", PROGRAM]).env("SETTINGS", settings);
        Program::start_by(shell, data, log, &[])
    }

    /// Starts on a database that was restored.
    pub(crate) fn start_restored(data: &Path, log: impl Into<Stdio>, variables: &[(&str, &str)]) -> Program {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" --store-restored", PROGRAM]);
        Program::start_by(shell, data, log, variables)
    }

    /// Starts on a small disk, with its data in `data` and its log in `log` there.
    pub(crate) fn start_on(disk: &SmallDisk, variables: &[(&str, &str)]) -> Program {
        let (inside, outside) = (disk.inside("data"), disk.outside("data"));
        Program::start_at(disk.command(PROGRAM), (&inside, &outside), Stdio::null(), variables)
    }

    /// Limits the size of the files that it writes: `unlimited`, or bytes.
    pub(crate) fn bound(&self, bytes: &str) {
        let pid = self.child.id().to_string();
        let limit = format!("--fsize={bytes}:unlimited");
        let done = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
        assert!(done.expect("prlimit is part of util-linux").success());
    }

    fn start_by(command: Command, data: &Path, log: impl Into<Stdio>, variables: &[(&str, &str)]) -> Program {
        Program::start_at(command, (data, data), log, variables)
    }

    /// With its data directory as the program sees it, and as this process does.
    fn start_at(
        mut command: Command,
        (inside, data): (&Path, &Path),
        log: impl Into<Stdio>,
        variables: &[(&str, &str)],
    ) -> Program {
        let store = crate::store::database(data).map(|url| ("TREFOIL_STORE_URL", url));
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"])
            .arg(inside)
            .env("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")
            .env("TREFOIL_KEYS_PRECOMPUTE", "brief")
            .envs(store)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told: Vec<String> = lines.by_ref().map_while(Result::ok).take(5).collect();
        let address = |line: &String| line.split_once("https://").unwrap().1.parse().unwrap();
        let own = data.join("tls-certificate.pem");
        let named = variables.iter().find(|(name, _)| *name == "TREFOIL_TLS_CERTIFICATE");
        let tls = tls(named.map_or(own.as_path(), |(_, path)| Path::new(path)));
        let endpoint = |line| Endpoint { address: address(line), tls: Arc::clone(&tls), bearer: None };
        let token = std::fs::read_to_string(data.join("admin.token")).unwrap();
        let (public, admin) = (endpoint(&told[0]), endpoint(&told[1]).with_bearer(token.trim()));
        // Its ports may have been those of another test's nodes.
        for listener in [&public, &admin] {
            siblings::alone(listener.address);
        }
        Program { child, _lines: lines, public, admin, data: data.to_owned(), _folder: None }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// SIGKILL; it has ended when this returns.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and how the process ends.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.signal("-TERM");
        self.wait()
    }

    /// How it ends; its files remain.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Asserts that requests succeed: `times` that need neither a credential nor a tenant, and some that need the disk.
    pub(crate) async fn serves(&self, times: usize) {
        for _ in 0..times {
            assert_eq!(self.public.get("/v1/fhe/parameters").await.status, 200);
        }
        let ready = self.admin.get("/readyz").await;
        assert!(ready.status == 200 && ready.text().starts_with("ready\n"), "{}", ready.text());
        assert_eq!(self.create_tenant().await.status, 201);
    }

    /// A request that needs the store and the vault.
    pub(crate) async fn create_tenant(&self) -> Reply {
        let policy =
            json!({"embedder": "facenet-128", "threshold": {"fmr_class": 3}, "audiences": ["a.example"]});
        let tenant = json!({"name": "t", "policy": policy}).to_string();
        self.admin.send(Method::POST, "/v1/tenants", &[], tenant).await
    }

    /// The value of a metric.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        self.admin.metric(name).await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
