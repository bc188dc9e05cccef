//! `scripts/host` on an invented machine: the settings that it changes and leaves, and that it restores all of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const BALANCING: &str = "proc/sys/kernel/numa_balancing";

fn host(root: &Path, what: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host");
    let mut command = Command::new(script);
    command.arg(what).env("TREFOIL_HOST_ROOT", root).env("TREFOIL_HOST_BEFORE", root.join("before"));
    command.output().expect("bash runs the script")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_is_set_is_said_and_put_back() {
    let root = std::env::temp_dir().join(format!("trefoil-host-{}", std::process::id()));
    let at = |path: &str| root.join(path);
    for (path, value) in [(GOVERNOR, "powersave\n"), (PAGES, "always [madvise] never\n"), (BALANCING, "1\n")]
    {
        fs::create_dir_all(at(path).parent().expect("a folder")).expect("made");
        fs::write(at(path), value).expect("written");
    }
    let shown = said(&host(&root, "show"));
    assert!(shown.contains("ok      /sys/kernel/mm/transparent_hugepage/enabled = madvise"), "{shown}");
    assert!(shown.contains("scaling_governor = powersave, better performance"), "{shown}");

    let prepared = host(&root, "prepare");
    assert!(prepared.status.success());
    assert!(said(&prepared).contains("scaling_governor: powersave -> performance"), "{prepared:?}");
    let read = |path: &str| fs::read_to_string(at(path)).expect("read");
    assert_eq!((read(GOVERNOR).trim(), read(BALANCING).trim()), ("performance", "0"));
    assert_eq!(read(PAGES), "always [madvise] never\n", "as wished before");

    let again = host(&root, "prepare");
    assert!(!again.status.success(), "what it was would be lost");
    assert!(String::from_utf8_lossy(&again.stderr).contains("restore first"));

    assert!(said(&host(&root, "restore")).contains("scaling_governor: back to powersave"));
    assert_eq!((read(GOVERNOR).trim(), read(BALANCING).trim()), ("powersave", "1"));
    assert!(said(&host(&root, "restore")).contains("nothing to put back"));
    assert_eq!(host(&root, "help").status.code(), Some(2));
    fs::remove_dir_all(&root).expect("removed");
}
