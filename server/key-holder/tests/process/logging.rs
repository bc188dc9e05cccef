//! A log that cannot be written costs lines and nothing else.

use crate::world::{Gateway, House, PROGRAM, Running, lenient};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Claim V10.
#[test]
fn a_key_holder_whose_log_cannot_be_written_decides() {
    let house = House::new("kill");
    let running = Running::start(Command::new(PROGRAM), house.config(), Path::new("/dev/full"));
    decides(&house, &running);
}

#[test]
fn a_key_holder_whose_log_has_lost_its_reader_decides() {
    let house = House::new("kill");
    let pipe = house.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opened for reading and writing: otherwise opening would wait for the other side.
    let reader = File::options().read(true).write(true).open(&pipe).unwrap();
    let running = Running::start(Command::new(PROGRAM), house.config(), &pipe);
    drop(reader);
    decides(&house, &running);
}

/// Connections that begin and end, which is logged, and decisions.
fn decides(house: &House, running: &Running) {
    let stranger = running.connect(house.identity("stranger"));
    let gateway = Gateway::new(running, house.gateway(), lenient(15_000), 2);
    for batch in 0..20 {
        drop(running.connected(house.gateway()));
        assert_eq!(gateway.decide(&gateway.honest(batch)).unwrap(), 0b11);
    }
    drop(stranger);
}
