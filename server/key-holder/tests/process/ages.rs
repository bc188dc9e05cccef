//! An older job log with its own mark beside a newer vault.

use crate::world::{Gateway, House, lenient, named};
use std::path::PathBuf;
use trefoil_matching::KeyHolding as _;

fn log_files(house: &House) -> [PathBuf; 2] {
    ["jobs-0000000000000000.log", "jobs.mark"].map(|name| house.data().join(name))
}

/// Claim V41.
#[test]
fn an_older_job_log_with_its_mark_is_refused_until_the_newest_is_back() {
    let house = House::new("power-cut");
    let mut running = house.start();
    Gateway::new(&running, house.gateway(), lenient(15_000), 5);
    running.kill();
    let erase = |subject| {
        let mut running = house.start();
        running.connected(house.gateway()).shred(named(subject, 0)).unwrap();
        running.kill();
    };
    erase(1);
    let older = log_files(&house).map(|path| std::fs::read(path).unwrap());
    erase(2);
    // The vault notes the lines that the disk has, with its next transaction.
    erase(3);
    let newest = log_files(&house).map(|path| std::fs::read(path).unwrap());
    let put = |content: &[Vec<u8>; 2]| {
        for (path, bytes) in log_files(&house).iter().zip(content) {
            std::fs::write(path, bytes).unwrap();
        }
    };
    put(&older);
    // Nor does it start as an older vault.
    for flags in [&[][..], &["--accept-older-vault"]] {
        let refused = house.command(flags, &[]);
        let why = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{why}");
        assert!(why.contains("lines of the job log") && why.contains("as vault.sqlite says"), "{why}");
        assert!(
            why.contains("directory from one backup") && why.contains(house.data().to_str().unwrap()),
            "{why}"
        );
    }
    put(&newest);
    erase(4);
    // A signal: the end of the log is noted, although nothing changed in the vault.
    let cut = log_files(&house).map(|path| std::fs::read(path).unwrap());
    let mut running = house.start();
    running.connected(house.gateway()).status().unwrap();
    running.signal("-TERM");
    running.wait();
    put(&cut);
    let refused = house.command(&[], &[]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("as vault.sqlite says"));
}
