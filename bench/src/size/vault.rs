//! A vault with many subjects, and a key-holder that reads all of them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use trefoil_key_holder::unix_s;
use trefoil_key_holder::vault::SqliteVault;
use trefoil_matching::{
    AttemptPolicy, AttemptRecord, DecisionPolicy, EpochRecord, Handle, KeyHolder, KeyStructure, LANES, Lane,
    SubjectRecord, TenantId, TenantRecord, Vault as _,
};

use crate::Failure;
use crate::apart::resident_bytes;
use crate::distribution::rounded;

/// Threads that write: the vault stores what waits together.
const WRITERS: u32 = 32;
const TENANT: TenantId = TenantId::new([3; 16]);
/// Subjects before the file counts.
const BEFORE: u32 = 64;

/// Fills a vault in `folder` and starts a key-holder on it.
pub(super) fn measured(folder: &Path, subjects: usize) -> Result<Value, Failure> {
    let path = folder.join("many.sqlite");
    let open = || SqliteVault::open(&path, &[8; 32]).map_err(Failure::in_step("vault"));
    let vault = Arc::new(open()?);
    let epoch = EpochRecord { epoch: 0, master: [1; 32], seed: [2; 32], tags: [[3; 32], [4; 32]] };
    let policy = DecisionPolicy { threshold: 0, attempts: AttemptPolicy::default() };
    let (keys, epochs) = (KeyStructure::PerSubject, vec![epoch]);
    let tenant = TenantRecord { tenant: TENANT, keys, epochs, policy, malformed: 0, forgiven: 0 };
    vault.put_tenant(&tenant).map_err(Failure::in_step("vault"))?;
    let subjects = u32::try_from(subjects).map_err(|_| Failure::usage("too many subjects"))?;
    fill(&vault, 0..BEFORE)?;
    drop(vault);
    let length = || std::fs::metadata(&path).map(|file| file.len()).map_err(Failure::in_step("vault"));
    let empty = length()?;
    let vault = Arc::new(open()?);
    fill(&vault, BEFORE..BEFORE + subjects)?;
    drop(vault);
    let bytes = length()? - empty;
    let (before, began) = (resident_bytes(std::process::id())?, Instant::now());
    let key_holder = KeyHolder::new(Box::new(open()?), &mut rand::rng(), unix_s());
    let key_holder = key_holder.map_err(Failure::in_step("key-holder"))?;
    let (start_s, after) = (began.elapsed().as_secs_f64(), resident_bytes(std::process::id())?);
    drop(key_holder);
    let each = |of: f64| rounded(of / f64::from(subjects));
    Ok(json!({
        "subjects": subjects, "bytes_per_subject": each(bytes as f64),
        "memory_bytes_per_subject": each(after.saturating_sub(before) as f64), "start_s": rounded(start_s),
        "start_us_per_subject": each(start_s * 1e6),
    }))
}

fn fill(vault: &Arc<SqliteVault>, subjects: std::ops::Range<u32>) -> Result<(), Failure> {
    let next = AtomicU32::new(subjects.start);
    let write = || loop {
        let number = next.fetch_add(1, Relaxed);
        if number >= subjects.end {
            return Ok(());
        }
        vault.put_subject(&TENANT, &subject(number)).map_err(Failure::in_step("vault"))?;
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        writers.into_iter().try_for_each(|writer| match writer.join() {
            Ok(written) => written,
            Err(_) => Err(Failure::fault("a writer of the vault panicked")),
        })
    })
}

fn subject(number: u32) -> SubjectRecord {
    let mut rng = StdRng::seed_from_u64(u64::from(number));
    SubjectRecord {
        handle: Handle::new(rng.random()),
        generation: 1,
        lane: Lane::new((number % LANES as u32) as u8).expect("below the number of lanes"),
        epoch: 0,
        renewed_from: None,
        salt: rng.random(),
        attempts: AttemptRecord::default(),
    }
}
