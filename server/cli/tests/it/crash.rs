//! A writer that is killed loses nothing that it acknowledged.

use crate::world::*;
use std::io::{BufRead as _, BufReader};
use trefoil_storage::store::{Log as _, Sqlite};

/// Names the database to the child; absent in an ordinary run.
const CHILD: &str = "TREFOIL_TEST_CRASH_DATABASE";

/// Not a test of its own: the child of the one below.
#[test]
fn crash_writer() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = Sqlite::open(Path::new(&path), &[7; 32]).unwrap();
    let start = store.last_seal().unwrap().map_or(0, |(number, _)| number + 1);
    for number in start.. {
        store.put_seal(number, bytes(number), vec![]).unwrap();
        println!("acknowledged {number}");
    }
}

/// Claim V3: Acknowledged writes survive a kill.
#[test]
fn a_killed_writer_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let mut acknowledged = 0;
    for round in 0..5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::crash_writer", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while seen < 10 + round {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, number)) = line.split_once("acknowledged ") {
                acknowledged = number.parse().unwrap();
                seen += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Writes that it reported on the pipe before it died were acknowledged too.
        for line in lines.map_while(Result::ok) {
            if let Some((_, number)) = line.split_once("acknowledged ") {
                acknowledged = number.parse().unwrap_or(acknowledged);
            }
        }
        let store = Sqlite::open(&path, &[7; 32]).unwrap();
        for number in 0..=acknowledged {
            assert_eq!(store.seal(number).unwrap(), Some(bytes(number)), "round {round}");
        }
    }
}

fn bytes(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(2600)
}
