//! A key-holder process, its operator, and a gateway with people.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trefoil_host::identity::Identity;
use trefoil_key_holder::cli::GATEWAY_IDENTITY;
use trefoil_key_holder::job_log::{Head, read};
use trefoil_key_holder::{Address, Bounds, Remote, tls};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Enrolment, Handle, KeyHolderError, KeyHolding as _,
    KeyStructure, Lane, MatchJob, Matcher, Model, PublicKey, Reply, Request, SealedFor, Share, SharedProbe,
    Template, TemplateName, TenantId, Tier, Width, split, unblind,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::supervisor::Supervisor;
use trefoil_types::{BatchId, SessionId};

pub(crate) const TENANT: TenantId = TenantId::new([7; 16]);
/// Long enough for the busiest machine: no test measures time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_trefoil-key-holder");
/// A configuration that lets tenants have any policy.
pub(crate) const LENIENT_LIMITS: &str = "[policy]\nthreshold_min = -32768\nconsecutive_max = 4294967295\ndelay_s_min = 0\n\
     failures_per_day_max = 4294967295\nfailures_per_generation_max = 4294967295\n\
     attempts_per_day_max = 4294967295\nattempts_per_generation_max = 4294967295\n";

/// An address that no other test and no other process uses: every one of 127.0.0.0/8 is this machine, so a restart finds its ports
/// free.
pub(crate) fn host() -> String {
    static HOSTS: AtomicU32 = AtomicU32::new(1);
    let [_, a, b, c] =
        (std::process::id().wrapping_mul(64) + HOSTS.fetch_add(1, Ordering::Relaxed)).to_be_bytes();
    format!("127.{a}.{b}.{c}")
}

/// A data directory for each side, and an address that no other test and no other process uses.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    config: PathBuf,
}

/// A running key-holder; killed when dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) address: Address,
}

impl House {
    /// With clients authorised by `init`. `attempts` is the setting of the same meaning: the event that counted failures survive.
    pub(crate) fn new(attempts: &str) -> House {
        let host = host();
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("key-holder.toml");
        let data = folder.path().join("keys");
        let text = format!(
            "[server]\ndata_dir = {data:?}\nlisten = \"{host}:7443\"\n[vault]\nattempts_survive = \"{attempts}\"\n\
             {LENIENT_LIMITS}[log]\nfilter = \"debug\"\n"
        );
        std::fs::write(&config, text).unwrap();
        let house = House { folder, config };
        let gateway = house.folder.path().join("gateway");
        let done = house.command(&["init"], &["--gateway", gateway.to_str().unwrap()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        house
    }

    /// The program with this command and the house's configuration. One that should end and serves instead fails its test.
    pub(crate) fn command(&self, command: &[&str], rest: &[&str]) -> Output {
        let config = ["--config", self.config.to_str().unwrap()];
        let mut program = Command::new("timeout");
        program.args(["120", PROGRAM]).args(command).args(config).args(rest).output().unwrap()
    }

    /// Starts the process and waits until it listens. Its log goes to the file `log`.
    pub(crate) fn start(&self) -> Running {
        self.start_by(Command::new(PROGRAM))
    }

    pub(crate) fn start_by(&self, program: Command) -> Running {
        Running::start(program, &self.config, &self.log_path())
    }

    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    /// The identity that `init` made for the gateway.
    pub(crate) fn gateway(&self) -> Identity {
        Identity::open(&DataDir::open(&self.folder.path().join("gateway")).unwrap(), GATEWAY_IDENTITY)
            .unwrap()
    }

    /// An identity of this name, which is not authorised unless the test authorises it.
    pub(crate) fn identity(&self, name: &str) -> Identity {
        Identity::open(&DataDir::open(&self.folder.path().join(name)).unwrap(), name).unwrap()
    }

    pub(crate) fn operator(&self) -> Identity {
        let file = |what: &str| self.data().join(format!("operator-{what}.pem"));
        Identity::read(&file("certificate"), &file("private-key")).unwrap()
    }
}

/// The end of a job log, all of whose lines follow on.
pub(crate) fn end_of_log(data: &Path) -> Head {
    read(data, &mut |_, _| ()).unwrap().0
}

impl Running {
    /// Starts a key-holder by `program` and waits until it listens. Its log is appended to a file.
    pub(crate) fn start(mut program: Command, config: &Path, log: &Path) -> Running {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let config = ["--config", config.to_str().unwrap()];
        let mut child = program.args(config).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("key-holder  ").unwrap_or_else(|| panic!("{line:?}")).trim();
        Running { child, address: address.parse().unwrap() }
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap();
        assert!(done.success());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended by itself; its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// `kill -9`, and waits until the process is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A connection under `identity`, which may turn out to be refused.
    pub(crate) fn connect(&self, identity: Identity) -> Remote {
        let bounds = Bounds { timeout: PATIENCE, connections: 8 };
        Remote::start(&Supervisor::default(), self.address.clone(), identity, bounds, None).unwrap()
    }

    /// A connection that succeeded.
    pub(crate) fn connected(&self, identity: Identity) -> Remote {
        let remote = self.connect(identity);
        remote.wait_until_ready(Instant::now() + PATIENCE).unwrap();
        remote
    }

    /// A connection byte by byte.
    pub(crate) fn raw(&self, identity: Identity) -> Raw {
        self.raw_with(tls::client_config(identity, self.address.fingerprint).unwrap())
    }

    pub(crate) fn raw_with(&self, config: Arc<ClientConfig>) -> Raw {
        let socket = TcpStream::connect(&self.address.authority).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
        Raw(StreamOwned::new(ClientConnection::new(config, name).unwrap(), socket))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// See [`Running::raw`].
pub(crate) struct Raw(pub(crate) StreamOwned<ClientConnection, TcpStream>);

impl Raw {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
        self.0.flush().unwrap();
    }

    /// The body of the next reply.
    pub(crate) fn receive_bytes(&mut self) -> Vec<u8> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut body).unwrap();
        body
    }

    /// The next reply.
    pub(crate) fn receive(&mut self) -> Result<Reply, KeyHolderError> {
        postcard::from_bytes(&self.receive_bytes()).unwrap()
    }

    /// Sends a request and returns the answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply, KeyHolderError> {
        self.send(&frame(request));
        self.receive()
    }

    /// Says that nothing more will come.
    pub(crate) fn hang_up(&mut self) {
        self.0.conn.send_close_notify();
        self.0.flush().unwrap();
    }

    /// Whether the peer has hung up.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.0.read(&mut byte) {
            Ok(read) => read == 0,
            Err(cause) => {
                !matches!(cause.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            }
        }
    }
}

/// A frame with this body.
pub(crate) fn frame_of(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], body].concat()
}

/// The frame of a request, as the protocol writes it.
pub(crate) fn frame(request: &Request) -> Vec<u8> {
    frame_of(&postcard::to_allocvec(request).unwrap())
}

/// The frame of a request that holds one value, of these bytes: of the kind that comes at this place.
pub(crate) fn frame_with(kind: u8, bytes: &[u8]) -> Vec<u8> {
    frame_of(&[&[kind], &postcard::to_allocvec(bytes).unwrap()[..]].concat())
}

/// The kinds of request that tests write byte by byte.
pub(crate) const DECIDE: u8 = 1;
pub(crate) const DECIDE_SEAT: u8 = 14;

/// A probe mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    Shared,
}

impl Mode {
    pub(crate) const ALL: [Mode; 2] = [Mode::Plain, Mode::Shared];

    fn keys(self) -> KeyStructure {
        match self {
            Mode::Plain => KeyStructure::PerSubject,
            Mode::Shared => KeyStructure::PerTenant,
        }
    }
}

/// A gateway with one tenant and its people, lane `i` for person `i`.
pub(crate) struct Gateway {
    pub(crate) remote: Remote,
    pub(crate) key: PublicKey,
    pub(crate) people: Vec<(Template, Embedding)>,
    /// Those of the policy that the tenant was made with, which each job names.
    pub(crate) model: Model,
    threshold: i32,
    mode: Mode,
}

impl Gateway {
    pub(crate) fn new(running: &Running, identity: Identity, policy: DecisionPolicy, people: u8) -> Gateway {
        Gateway::in_mode(Mode::Plain, running, identity, policy, people)
    }

    pub(crate) fn in_mode(
        mode: Mode,
        running: &Running,
        identity: Identity,
        policy: DecisionPolicy,
        people: u8,
    ) -> Gateway {
        let remote = running.connected(identity);
        let key = remote.create_tenant(TENANT, mode.keys(), policy).unwrap();
        let DecisionPolicy { model, threshold, .. } = policy;
        let mut rng = StdRng::seed_from_u64(3);
        let people = (0..people)
            .map(|index| {
                let face = face_of(&mut rng, model.width());
                let (blinded, blind) = split(&face, &mut rng);
                let (name, lane) = (named(index, 0), Lane::new(index).unwrap());
                let template = blinded.into();
                let encrypted = remote.enrol(Enrolment { name, lane, model, template }).unwrap();
                (unblind(encrypted, blind), face)
            })
            .collect();
        Gateway { remote, key, people, model, threshold, mode }
    }

    /// A batch in which everybody shows what `show` says.
    pub(crate) fn job(&self, batch: u8, show: impl Fn(usize) -> Embedding) -> MatchJob {
        let probes: Vec<Embedding> = (0..self.people.len()).map(show).collect();
        let mut matcher = matcher(u64::from(batch));
        if self.mode == Mode::Shared {
            return self.shared(&mut matcher, batch, &probes);
        }
        let lanes: Vec<_> = self.people.iter().map(|(template, _)| template).zip(&probes).collect();
        matcher.mask(BatchId::new([batch; 16]), TENANT, self.threshold, &self.key, &lanes).unwrap()
    }

    /// The same with probes that devices split, of which this side has one share each.
    fn shared(&self, matcher: &mut Matcher, batch: u8, probes: &[Embedding]) -> MatchJob {
        let sealing = self.remote.sealing_key().unwrap();
        // A share opens once, so each has randomness of its own.
        let mut rng = StdRng::from_rng(&mut rand::rng());
        let mut device = |template: &Template, probe: &Embedding| {
            let sealed_for =
                SealedFor { session: SessionId::new([1; 32]), nonce: vec![batch; 16], issued_at: now() };
            let context = sealed_for.context(&TENANT, &template.handle);
            let (share, other) = Share::of(probe).split(&mut rng);
            SharedProbe { share, sealed: sealing.seal(&context, &other), sealed_for }
        };
        let probes: Vec<SharedProbe> =
            self.people.iter().zip(probes).map(|((template, _), probe)| device(template, probe)).collect();
        let lanes: Vec<_> = self.people.iter().map(|(template, _)| template).zip(&probes).collect();
        let job = matcher.gather(BatchId::new([batch; 16]), TENANT, &self.key, &lanes).unwrap();
        let encrypted = self.remote.encrypt_probes(job).unwrap();
        let (batch, key) = (BatchId::new([batch; 16]), &self.key);
        matcher.mask_shared(batch, TENANT, self.threshold, key, &lanes, &encrypted).unwrap()
    }

    /// A batch in which everybody shows their own face.
    pub(crate) fn honest(&self, batch: u8) -> MatchJob {
        self.job(batch, |index| self.people[index].1.clone())
    }

    /// The public key as it is now.
    pub(crate) fn refetch(&mut self) {
        self.key = self.remote.public_keys(TENANT).unwrap().pop().unwrap();
    }

    /// The lanes that a job is answered with.
    pub(crate) fn decide(&self, job: &MatchJob) -> Result<u32, KeyHolderError> {
        self.remote.decide(job.clone()).map(|decisions| decisions.lanes().bits())
    }
}

/// The same job, to be decided under another threshold.
pub(crate) fn under(threshold: i32, mut job: MatchJob) -> MatchJob {
    job.threshold = threshold;
    job
}

pub(crate) fn handle(index: u8) -> Handle {
    Handle::new([100 + index; 32])
}

pub(crate) fn face(rng: &mut StdRng) -> Embedding {
    face_of(rng, Width::W128)
}

pub(crate) fn face_of(rng: &mut StdRng, width: Width) -> Embedding {
    let uniform = |rng: &mut StdRng| (rng.next_u32() >> 8) as f32 / (1u32 << 24) as f32;
    let vector: Vec<f32> =
        (0..width.numbers()).map(|_| (0..12).map(|_| uniform(rng)).sum::<f32>() - 6.0).collect();
    Embedding::quantise(&vector).unwrap()
}

pub(crate) fn named(index: u8, generation: u32) -> TemplateName {
    TemplateName { tenant: TENANT, handle: handle(index), generation }
}

pub(crate) fn matcher(seed: u64) -> Matcher {
    let mut rng = StdRng::seed_from_u64(seed);
    Matcher::new(Tier::detected(), Box::new(move |fresh| rng.fill_bytes(fresh)))
}

pub(crate) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// The name of every test's model.
pub(crate) const EMBEDDER: &str = "embedder";

pub(crate) fn model() -> Model {
    Model::of(EMBEDDER, 128).unwrap()
}

/// Budgets that never bind.
pub(crate) fn lenient(threshold: i32) -> DecisionPolicy {
    DecisionPolicy::new(model(), threshold, AttemptPolicy::UNLIMITED)
}
