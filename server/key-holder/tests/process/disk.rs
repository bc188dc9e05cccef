//! A disk without room, as far as a process can tell: no file of a key-holder may grow beyond what its job log has.

use crate::three::{Gateway, KeyHolders};
use crate::world::{self, House, PROGRAM, Running, end_of_log, lenient};
use std::path::Path;
use std::process::Command;
use trefoil_matching::{KeyHolderError, KeyHolding as _};

/// The program with SIGXFSZ ignored: a full disk, which the size limit stands for, only gives an error.
fn survivor() -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", PROGRAM]);
    shell
}

/// Limits the size of the files that the process writes.
fn bound(running: &Running, bytes: &str) {
    let pid = running.pid().to_string();
    let done = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")]).status();
    assert!(done.expect("prlimit is part of util-linux").success());
}

/// Lets the job log grow by half a line.
fn fill(running: &Running, data: &Path) {
    let logs = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap());
    let log = logs.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"));
    let bytes: u64 = log.map(|entry| entry.metadata().unwrap().len()).sum();
    bound(running, &(bytes + 100).to_string());
}

#[test]
fn one_of_three_without_room_is_silent_and_named_and_decides_again_when_it_has_some() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start_by(survivor(), seat));
    let gateway = Gateway::new(&seats, &holders);
    gateway.logins(0..2);
    fill(&holders[2], &seats.data(3));
    gateway.logins(2..8);
    gateway.until(3, |state| state.silent >= 6);
    assert_eq!([1, 2].map(|seat| gateway.state(seat).silent), [0, 0]);
    assert!(seats.logged(3, "the job log cannot be written, so nothing is answered", 1) > 0);
    bound(&holders[2], "unlimited");
    // Without the first, the third is needed.
    gateway.kill(&mut holders[0], 1);
    gateway.logins(8..12);
    holders.iter_mut().for_each(Running::kill);
    for seat in 1..=3 {
        end_of_log(&seats.data(seat));
    }
}

#[test]
fn a_key_holder_without_room_decides_nothing_and_then_again() {
    let house = House::new("kill");
    let mut running = house.start_by(survivor());
    let gateway = world::Gateway::new(&running, house.gateway(), lenient(15_000), 4);
    assert_eq!(gateway.decide(&gateway.honest(1)).unwrap(), 0b1111);
    fill(&running, &house.data());
    for batch in 2..6 {
        let refused = gateway.decide(&gateway.honest(batch));
        assert!(
            matches!(&refused, Err(KeyHolderError::Unavailable(why)) if why.contains("job log")),
            "{refused:?}"
        );
    }
    bound(&running, "unlimited");
    assert_eq!(gateway.decide(&gateway.honest(6)).unwrap(), 0b1111);
    running.kill();
    end_of_log(&house.data());
}

/// Claim V13.
#[test]
fn below_the_low_water_mark_a_key_holder_decides_nothing_and_deletes() {
    let house = House::new("power-cut");
    let mut running = house.start();
    let gateway = world::Gateway::new(&running, house.gateway(), lenient(15_000), 4);
    running.kill();
    // A mark higher than the size of any disk.
    let usual = std::fs::read_to_string(house.config()).unwrap();
    std::fs::write(house.config(), usual.clone() + "[disk]\nlow_water_mib = 4294967296\n").unwrap();
    let mut running = house.start();
    let remote = running.connected(house.gateway());
    let refused = remote.decide(gateway.honest(1));
    assert!(
        matches!(&refused, Err(KeyHolderError::Unavailable(why)) if why.contains("nearly full")),
        "{refused:?}"
    );
    remote.shred(world::named(1, 0)).unwrap();
    drop(remote);
    running.kill();
    std::fs::write(house.config(), usual).unwrap();
    let mut running = house.start();
    let remote = running.connected(house.gateway());
    let refused = remote.decide(gateway.honest(2));
    assert!(matches!(&refused, Err(KeyHolderError::UnknownSubjects(_))), "{refused:?}");
    drop(remote);
    running.kill();
    end_of_log(&house.data());
}
