//! Three key-holder processes, and a gateway with people that compares them with one key-holder.

use crate::world::{
    LENIENT_LIMITS, PATIENCE, PROGRAM, Running, TENANT, face, host, lenient, matcher, model, named,
};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trefoil_host::identity::Identity;
use trefoil_key_holder::cli::GATEWAY_IDENTITY;
use trefoil_key_holder::{Bounds, Quorum};
use trefoil_matching::{
    Embedding, Enrolment, KeyHolder, KeyHolderError, KeyHolding, KeyStructure, Lane, Local, MatchJob,
    MemoryVault, PublicKey, SeatState, Template, split, unblind,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::supervisor::Supervisor;
use trefoil_types::BatchId;

pub(crate) const PEOPLE: u8 = 30;

/// The accepted lanes of a batch in which lane `i` shows its own face unless `i % 3 == batch % 3`.
pub(crate) fn expected(batch: u32) -> u32 {
    (0..u32::from(PEOPLE)).filter(|lane| lane % 3 != batch % 3).fold(0, |bits, lane| bits | 1 << lane)
}

/// Three data directories and a gateway's.
pub(crate) struct KeyHolders {
    folder: TempDir,
}

impl KeyHolders {
    pub(crate) fn new() -> KeyHolders {
        let (host, folder) = (host(), tempfile::tempdir().unwrap());
        let seats = KeyHolders { folder };
        let mut program = Command::new(PROGRAM);
        program.args(["init-quorum", "--dir", seats.dir().to_str().unwrap()]);
        program.args(["--gateway", seats.gateway().to_str().unwrap(), "--listen"]);
        program.args([7451, 7452, 7453].map(|port| format!("{host}:{port}")));
        let done = program.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let text = String::from_utf8(done.stdout).unwrap();
        assert_eq!(text.matches("--key-holder 'tls://").count(), 3, "{text}");
        for seat in 1..=3 {
            let config = seats.config(seat);
            let mut toml = std::fs::read_to_string(&config).unwrap();
            // Only the wait for a stalled key-holder may depend on how fast the machine is.
            toml += &format!(
                "patience_ms = 300\ntimeout_ms = 60000\n[vault]\nattempts_survive = \"kill\"\n{LENIENT_LIMITS}"
            );
            std::fs::write(config, toml).unwrap();
        }
        seats
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("three")
    }

    /// The data directory of a seat.
    pub(crate) fn data(&self, seat: usize) -> PathBuf {
        self.dir().join(seat.to_string())
    }

    fn gateway(&self) -> PathBuf {
        self.folder.path().join("gateway")
    }

    pub(crate) fn config(&self, seat: usize) -> PathBuf {
        self.dir().join(format!("{seat}.toml"))
    }

    pub(crate) fn start(&self, seat: usize) -> Running {
        self.start_by(Command::new(PROGRAM), seat)
    }

    pub(crate) fn start_by(&self, program: Command, seat: usize) -> Running {
        Running::start(program, &self.config(seat), &self.folder.path().join(format!("log-{seat}")))
    }

    pub(crate) fn log(&self, seat: usize) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("log-{seat}"))).unwrap()
    }

    /// How often a key-holder's log says this, once it does `times` times: a thread of its own writes the log.
    pub(crate) fn logged(&self, seat: usize, what: &str, times: usize) -> usize {
        loop {
            let found = self.log(seat).matches(what).count();
            if found >= times {
                return found;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::open(&DataDir::open(&self.gateway()).unwrap(), GATEWAY_IDENTITY).unwrap()
    }
}

/// A gateway with people, and the key-holder that the three are compared with.
pub(crate) struct Gateway {
    pub(crate) quorum: Quorum,
    alone: Local,
    pub(crate) keys: [PublicKey; 2],
    pub(crate) people: Vec<([Template; 2], Embedding)>,
    pub(crate) rng: StdRng,
}

impl Gateway {
    pub(crate) fn new(seats: &KeyHolders, holders: &[Running; 3]) -> Gateway {
        let at = holders.each_ref().map(|holder| (holder.address.clone(), seats.identity()));
        let bounds = Bounds { timeout: PATIENCE, connections: 8 };
        let quorum = Quorum::start(&Supervisor::default(), at, bounds).unwrap();
        quorum.wait_until_ready(Instant::now() + PATIENCE).unwrap();
        let mut rng = StdRng::seed_from_u64(3);
        let alone = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, 0).unwrap();
        let alone = Local::new(alone.into(), || 0);
        let keys = [&quorum as &dyn KeyHolding, &alone]
            .map(|role| role.create_tenant(TENANT, KeyStructure::PerSubject, lenient(15_000)).unwrap());
        let mut gateway = Gateway { quorum, alone, keys, people: Vec::new(), rng };
        (0..PEOPLE).for_each(|index| gateway.enrol(index).unwrap());
        gateway
    }

    fn enrol(&mut self, index: u8) -> Result<(), KeyHolderError> {
        let face = face(&mut self.rng);
        let lane = Lane::new(index).unwrap();
        let mut enrol = |role: &dyn KeyHolding| {
            let (blinded, blind) = split(&face, &mut self.rng);
            let name = named(index, 0);
            let encrypted = role.enrol(Enrolment { name, lane, model: model(), template: blinded.into() })?;
            Ok::<Template, KeyHolderError>(unblind(encrypted, blind))
        };
        let ours = enrol(&self.quorum)?;
        let theirs = enrol(&self.alone)?;
        self.people.push(([ours, theirs], face));
        Ok(())
    }

    /// For the three and for the one. All of them differ.
    pub(crate) fn jobs(&self, batch: u32) -> [MatchJob; 2] {
        let mut rng = StdRng::seed_from_u64(u64::from(batch));
        let probes: Vec<Embedding> = (0..PEOPLE)
            .map(|lane| match u32::from(lane) % 3 == batch % 3 {
                true => face(&mut rng),
                false => self.people[usize::from(lane)].1.clone(),
            })
            .collect();
        let mut id = [0; 16];
        id[..4].copy_from_slice(&batch.to_le_bytes());
        [0, 1].map(|which| {
            let lanes: Vec<_> = self.people.iter().map(|person| &person.0[which]).zip(&probes).collect();
            matcher(batch.into()).mask(BatchId::new(id), TENANT, 15_000, &self.keys[which], &lanes).unwrap()
        })
    }

    /// Decides batches and compares every decision with that of the one key-holder.
    pub(crate) fn logins(&self, batches: std::ops::Range<u32>) {
        for batch in batches {
            let [job, reference] = self.jobs(batch);
            let alone = self.alone.decide(reference).unwrap().lanes().bits();
            assert_eq!(alone, expected(batch));
            self.decides(batch, &job);
        }
    }

    /// Decides a job of this batch and checks the decisions.
    pub(crate) fn decides(&self, batch: u32, job: &MatchJob) {
        let decided = self.quorum.decide(job.clone()).map(|decisions| decisions.lanes().bits());
        assert!(matches!(decided, Ok(lanes) if lanes == expected(batch)), "batch {batch}: {decided:?}");
    }

    pub(crate) fn state(&self, seat: usize) -> SeatState {
        self.quorum.seats().remove(seat - 1)
    }

    /// Kills a key-holder and waits until the gateway knows.
    pub(crate) fn kill(&self, holder: &mut Running, seat: usize) {
        holder.kill();
        self.until(seat, |state| state.away.is_some());
    }

    /// Waits until this key-holder's state is as `what` says; nothing else waits for a third answer.
    pub(crate) fn until(&self, seat: usize, what: impl Fn(&SeatState) -> bool) {
        while !what(&self.state(seat)) {
            std::thread::yield_now();
        }
    }
}
