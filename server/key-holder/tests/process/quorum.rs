//! Three key-holder processes, of which one is killed, stalled or wrong, and then two.

use crate::world::{PATIENCE, Raw, TENANT, face, frame, handle, lenient};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rustls::{ClientConnection, StreamOwned};
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tempfile::TempDir;
use trefoil_key_holder::cli::GATEWAY_IDENTITY;
use trefoil_key_holder::data_dir::DataDir;
use trefoil_key_holder::identity::Identity;
use trefoil_key_holder::{Address, Bounds, HolderState, Quorum, Role as _, job_log, tls};
use trefoil_matching::quorum::{Parts, Pieces, QuorumHolder};
use trefoil_matching::{
    Embedding, KeyHolder, KeyHolderError, KeyHolding as _, KeyStructure, Lane, MatchJob, Matcher,
    MemoryVault, PublicKey, Template, Tier, split, unblind,
};

const PEOPLE: u8 = 30;
/// The accepted lanes of a batch in which lane `i` shows its own face unless `i % 3 == batch % 3`.
fn expected(batch: u8) -> u32 {
    (0..PEOPLE).filter(|lane| lane % 3 != batch % 3).fold(0, |bits, lane| bits | 1 << lane)
}

/// Three data directories and a gateway's.
struct Houses {
    folder: TempDir,
}

/// A running process; killed when dropped.
struct Holder(Child, Address);

impl Houses {
    fn new() -> Houses {
        static HOUSES: AtomicU32 = AtomicU32::new(1);
        // Every address of 127.0.0.0/8 is this machine, so a restart finds its port free. Other tests have other ports.
        let host = std::process::id().wrapping_mul(64) + HOUSES.fetch_add(1, Ordering::Relaxed);
        let [_, a, b, c] = host.to_be_bytes();
        let folder = tempfile::tempdir().unwrap();
        let houses = Houses { folder };
        let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil-key-holder"));
        program.args(["init-quorum", "--dir", houses.dir().to_str().unwrap()]);
        program.args(["--gateway", houses.gateway().to_str().unwrap(), "--listen"]);
        program.args([7451, 7452, 7453].map(|port| format!("127.{a}.{b}.{c}:{port}")));
        let done = program.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let text = String::from_utf8(done.stdout).unwrap();
        assert_eq!(text.matches("--key-holder 'tls://").count(), 3, "{text}");
        for seat in 1..=3 {
            let config = houses.config(seat);
            let mut toml = std::fs::read_to_string(&config).unwrap();
            // Nothing here may depend on how fast the machine is, but what waits for somebody who is stalled.
            toml += "patience_ms = 300\ntimeout_ms = 60000\n[vault]\nattempts_survive = \"kill\"\n[policy]\n\
                     threshold_min = -32768\nconsecutive_max = 4294967295\ndelay_s_min = 0\n\
                     per_day_max = 4294967295\nper_generation_max = 4294967295\n";
            std::fs::write(config, toml).unwrap();
        }
        houses
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("three")
    }

    fn gateway(&self) -> PathBuf {
        self.folder.path().join("gateway")
    }

    fn config(&self, seat: usize) -> PathBuf {
        self.dir().join(format!("{seat}.toml"))
    }

    fn start(&self, seat: usize) -> Holder {
        let log = self.folder.path().join(format!("log-{seat}"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_trefoil-key-holder"))
            .args(["--config", self.config(seat).to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("key-holder  ").unwrap_or_else(|| panic!("{line:?}"));
        Holder(child, address.trim().parse().unwrap())
    }

    fn log(&self, seat: usize) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("log-{seat}"))).unwrap()
    }

    fn identity(&self) -> Identity {
        Identity::open(&DataDir::open(&self.gateway()).unwrap(), GATEWAY_IDENTITY).unwrap()
    }
}

impl Holder {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// A connection byte by byte.
    fn raw(&self, identity: Identity) -> Raw {
        let socket = TcpStream::connect(&self.1.authority).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
        let config = tls::client_config(identity, self.1.fingerprint).unwrap();
        Raw(StreamOwned::new(ClientConnection::new(config, name).unwrap(), socket))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway with people, and the key-holder that the three are compared with.
struct Gateway {
    quorum: Quorum,
    alone: KeyHolder,
    keys: [PublicKey; 2],
    people: Vec<([Template; 2], Embedding)>,
    rng: StdRng,
}

impl Gateway {
    fn new(houses: &Houses, holders: &[Holder; 3]) -> Gateway {
        let at = holders.each_ref().map(|holder| (holder.1.clone(), houses.identity()));
        let bounds = Bounds { timeout: PATIENCE, connections: 8 };
        let quorum = Quorum::start(at, bounds).unwrap();
        quorum.wait_until_ready(Instant::now() + PATIENCE).unwrap();
        let mut rng = StdRng::seed_from_u64(3);
        let alone = KeyHolder::new(Box::<MemoryVault>::default(), &mut rng).unwrap();
        let keys = [&quorum as &dyn trefoil_key_holder::Role, &alone]
            .map(|role| role.create_tenant(TENANT, KeyStructure::PerSubject, lenient(15_000)).unwrap());
        let mut gateway = Gateway { quorum, alone, keys, people: Vec::new(), rng };
        (0..PEOPLE).for_each(|index| gateway.enrol(index).unwrap());
        gateway
    }

    fn enrol(&mut self, index: u8) -> Result<(), KeyHolderError> {
        let face = face(&mut self.rng);
        let lane = Lane::new(index).unwrap();
        let mut enrol = |role: &dyn trefoil_key_holder::Role| {
            let (blinded, blind) = split(&face, &mut self.rng);
            let encrypted = role.enrol(TENANT, handle(index), 0, lane, blinded.into())?;
            Ok::<Template, KeyHolderError>(unblind(encrypted, blind))
        };
        let ours = enrol(&self.quorum)?;
        let theirs = enrol(&self.alone)?;
        self.people.push(([ours, theirs], face));
        Ok(())
    }

    fn jobs(&mut self, batch: u8) -> [MatchJob; 2] {
        let probes: Vec<Embedding> = (0..PEOPLE)
            .map(|lane| match lane % 3 == batch % 3 {
                true => face(&mut self.rng),
                false => self.people[usize::from(lane)].1.clone(),
            })
            .collect();
        [0, 1].map(|which| {
            let lanes: Vec<_> = self.people.iter().map(|person| &person.0[which]).zip(&probes).collect();
            let mut matcher = Matcher::new(Tier::detected(), [batch; 32]);
            matcher.mask([batch; 16], TENANT, &self.keys[which], &lanes).unwrap()
        })
    }

    /// Decides batches and compares every decision with that of the one key-holder.
    fn logins(&mut self, batches: std::ops::Range<u8>) {
        for batch in batches {
            let [job, reference] = self.jobs(batch);
            let alone = self.alone.decide(&reference, 0).unwrap().lanes().bits();
            assert_eq!(alone, expected(batch));
            assert_eq!(self.quorum.decide(&job, 0).unwrap().lanes().bits(), alone, "batch {batch}");
        }
    }

    fn state(&self, seat: usize) -> HolderState {
        self.quorum.holders().remove(seat - 1)
    }

    /// Kills a key-holder and waits until the gateway knows.
    fn kill(&self, holder: &mut Holder, seat: usize) {
        holder.kill();
        self.until(seat, |state| state.away.is_some());
    }

    /// Waits until the third has been heard too, which nobody waits for otherwise.
    fn until(&self, seat: usize, what: impl Fn(&HolderState) -> bool) {
        while !what(&self.state(seat)) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn one_of_three_that_is_killed_stalled_or_wrong_changes_nothing_and_is_named() {
    let houses = Houses::new();
    let mut holders = [1, 2, 3].map(|seat| houses.start(seat));
    let mut gateway = Gateway::new(&houses, &holders);
    gateway.logins(0..4);
    assert!(gateway.quorum.unready().is_none());

    // Killed in the middle of it, and back.
    holders[2].kill();
    gateway.logins(4..8);
    gateway.until(3, |state| state.away.is_some());
    assert!(gateway.quorum.unready().is_none(), "two are enough");
    gateway.logins(8..10);
    let refused = gateway.quorum.shred(TENANT, handle(0), 0);
    assert!(
        matches!(&refused, Err(KeyHolderError::Unavailable(why)) if why.contains("key-holder 3")),
        "{refused:?}"
    );
    holders[2] = houses.start(3);
    gateway.until(3, |state| state.away.is_none());
    gateway.logins(10..12);

    // Stalled, and back: what it says then agrees.
    holders[0].signal("-STOP");
    gateway.logins(12..18);
    holders[0].signal("-CONT");
    gateway.until(1, |state| state.away.is_none());
    gateway.logins(18..20);

    // Wrong: it starts with damaged pieces, and knows it not.
    gateway.kill(&mut holders[1], 2);
    let pieces = houses.dir().join("2/pieces.key");
    let good = std::fs::read(&pieces).unwrap();
    let mut bad = good.clone();
    bad[37..].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&pieces, bad).unwrap();
    holders[1] = houses.start(2);
    gateway.until(2, |state| state.away.is_none());
    let mut batches = (20..30).cycle();
    while gateway.state(2).convicted == 0 {
        let batch = batches.next().unwrap_or(20);
        gateway.logins(batch..batch + 1);
    }
    assert_eq!([1, 3].map(|seat| gateway.state(seat).convicted), [0, 0]);
    for seat in [1, 3] {
        assert!(houses.log(seat).contains("it sent a wrong part: not believed key_holder=\"key-holder-2\""));
    }
    gateway.kill(&mut holders[1], 2);
    std::fs::write(&pieces, good).unwrap();
    holders[1] = houses.start(2);
    gateway.until(2, |state| state.away.is_none());
    gateway.logins(30..34);
    gateway.quorum.shred(TENANT, handle(0), 0).unwrap();
    for (seat, holder) in (1..).zip(&mut holders) {
        holder.kill();
        job_log::check(&houses.dir().join(seat.to_string())).unwrap();
    }
}

#[test]
fn with_two_away_nothing_is_decided_until_one_is_back() {
    let houses = Houses::new();
    let mut holders = [1, 2, 3].map(|seat| houses.start(seat));
    let mut gateway = Gateway::new(&houses, &holders);
    gateway.kill(&mut holders[0], 1);
    gateway.kill(&mut holders[1], 2);
    for batch in 0..5 {
        let [job, _] = gateway.jobs(batch);
        assert!(matches!(gateway.quorum.decide(&job, 0), Err(KeyHolderError::Unavailable(_))));
    }
    let why = gateway.quorum.unready().unwrap();
    assert!(why.contains("key-holder 1") && why.contains("key-holder 2"), "{why}");
    holders[1] = houses.start(2);
    gateway.until(2, |state| state.away.is_none());
    gateway.logins(5..9);
}

#[test]
fn parts_are_for_key_holders_only() {
    let houses = Houses::new();
    let holders = [1, 2, 3].map(|seat| houses.start(seat));
    let mut gateway = Gateway::new(&houses, &holders);
    let [job, _] = gateway.jobs(1);
    let [pieces, ..] = Pieces::deal(&mut rand::rng());
    let keyholder = KeyHolder::new(Box::<MemoryVault>::default(), &mut gateway.rng).unwrap();
    let forger = QuorumHolder::new(keyholder.into(), pieces).unwrap();
    forger.create_tenant(TENANT, lenient(0)).unwrap();
    for (index, (template, _)) in (0u8..).zip(&gateway.people) {
        let (blinded, _) = split(&gateway.people[0].1, &mut gateway.rng);
        let lane = template[0].lane;
        forger.enrol(TENANT, handle(index), 0, lane, &blinded, &[[0; 32]; 3]).unwrap();
    }
    let parts: Parts = forger.begin(&job, 0).unwrap().parts().clone();
    let mut raw = holders[0].raw(houses.identity());
    // Neither can a gateway send parts or a contribution, nor is there a request that asks for any.
    raw.send(&frame(32, &parts.to_bytes()));
    assert_eq!(raw.receive(), (24, vec![]));
    raw.send(&frame(33, &[0; 84]));
    assert_eq!(raw.receive(), (24, vec![]));
    let mut raws = holders.each_ref().map(|holder| holder.raw(houses.identity()));
    raws.iter_mut().for_each(|raw| raw.send(&frame(1, &job.to_bytes())));
    for (seat, raw) in (0u8..).zip(&mut raws) {
        let [a, b, c, d] = expected(1).to_le_bytes();
        let answer = vec![seat, 1, a, b, c, d, 0, 0, 0];
        assert_eq!(raw.receive(), (8, answer), "seat, decided, 32 bits, whom it saw");
    }
    for kind in (10..=31).chain(34..=63) {
        let mut raw = holders[0].raw(houses.identity());
        raw.send(&frame(kind, &[]));
        assert_eq!(raw.receive(), (26, vec![]), "kind {kind}");
    }
}
