//! Whatever happens to a file of the data directory: a key-holder starts with everything that it acknowledged, or says which file is
//! wrong and what cures it.

use crate::world::{Gateway, House, end_of_log, lenient};
use rusqlite::types::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use trefoil_matching::KeyHolding as _;
use trefoil_testing::{copy, damage, rows, volume};

/// A key-holder that was used, stopped as `signal` says, its data directory and its rows.
fn used(signal: &str) -> (House, Vec<Vec<Value>>) {
    let house = House::new("power-cut");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 3);
    let remote = running.connected(house.gateway());
    remote.decide(gateway.honest(1)).unwrap();
    running.signal(signal);
    let code = running.wait();
    assert_eq!(code, if signal == "-TERM" { Some(0) } else { None }, "{signal}");
    let held = rows(&house.data().join("vault.sqlite"));
    assert!(held.len() > 6);
    (house, held)
}

/// Claim V40.
#[test]
fn after_a_clean_stop_a_copy_of_the_vault_alone_is_complete() {
    let (house, held) = used("-TERM");
    let data = house.data();
    let log = data.join("vault.sqlite-wal");
    assert!(fs::metadata(&log).map_or(true, |log| log.len() == 0), "nothing is left in the log");
    let alone = house.folder.path().join("alone.sqlite");
    fs::copy(data.join("vault.sqlite"), &alone).unwrap();
    assert_eq!(rows(&alone), held);
    for beside in ["vault.sqlite-wal", "vault.sqlite-shm"] {
        let _ = fs::remove_file(data.join(beside));
    }
    let running = house.start();
    assert_eq!(running.connected(house.gateway()).status().unwrap().templates, 3);
}

/// Starts the program and says how that goes: nothing if it serves, else why not.
fn start(config: &Path) -> Option<String> {
    let mut child: Child = Command::new(crate::world::PROGRAM)
        .arg("--config")
        .arg(config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut first)
        .unwrap();
    let serves = first.starts_with("key-holder  ");
    if serves {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    (!serves).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Claim V28.
#[test]
fn every_damaged_file_is_refused_with_the_cure_or_loses_nothing() {
    let other = House::new("power-cut");
    let mut running = other.start();
    Gateway::new(&running, other.gateway(), lenient(15_000), 2);
    running.kill();

    let house = House::new("power-cut");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 3);
    running.kill();
    let (older, whole, data) =
        (house.folder.path().join("older"), house.folder.path().join("whole"), house.data());
    copy(&data, &older);
    let mut running = house.start();
    let remote = running.connected(house.gateway());
    remote.decide(gateway.honest(1)).unwrap();
    remote.shred(crate::world::named(1, 0)).unwrap();
    running.kill();
    copy(&data, &whole);
    let held = {
        // Reading makes files beside the vault, which must not be part of what is damaged.
        let look = house.folder.path().join("look");
        copy(&whole, &look);
        rows(&look.join("vault.sqlite"))
    };
    let head = end_of_log(&whole);

    let files: Vec<PathBuf> = fs::read_dir(&whole).unwrap().map(|entry| entry.unwrap().path()).collect();
    let spared = |name: &str| {
        // Made anew by SQLite, by the watch of the disk and at every start; locks; edited by the operator; read by commands of the operator only.
        ["vault.sqlite-shm", "disk.reserve", "jobs.head", "lock", "keys.lock", "clients.toml", ".gitignore"]
            .contains(&name)
            || name.starts_with("operator-")
    };
    let names: Vec<String> = files
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !spared(name))
        .collect();
    assert!(names.len() >= 9 && names.iter().any(|name| name == "vault.sqlite-wal"), "{names:?}");
    for name in &names {
        let (mut refused, mut harmless) = (0, 0);
        for round in 0..volume(300, 24) {
            copy(&whole, &data);
            let kind = damage(&data.join(name), round, &older, &other.data());
            if fs::read(data.join(name)).ok() == fs::read(whole.join(name)).ok() {
                continue;
            }
            match start(house.config()) {
                Some(why) => {
                    refused += 1;
                    assert!(why.contains("backup"), "{name}, {kind}: {why}");
                }
                // The damage hit bytes that are never read, such as frames of the log that were checkpointed before.
                None => {
                    harmless += 1;
                    assert_eq!(rows(&data.join("vault.sqlite")), held, "{name}, {kind}: something is lost");
                    let now = end_of_log(&data);
                    assert!(now.next >= head.next, "{name}, {kind}");
                }
            }
        }
        assert!(refused > 0, "{name}: {harmless} damages were harmless, none was refused");
    }
}
