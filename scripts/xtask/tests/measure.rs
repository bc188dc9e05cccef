//! `scripts/measure` with a benchmark that only notes its arguments: after one failure the others still run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
}

/// Claim B17: A failing benchmark does not stop the others of a measurement.
#[test]
fn every_benchmark_is_called_though_one_fails_and_a_try_keeps_nothing() {
    let root = std::env::temp_dir().join(format!("trefoil-measure-{}", std::process::id()));
    let log = root.join("log");
    let bench =
        format!("#!/bin/sh\necho \"$*\" >> {}\ncase \"$1\" in ladder) exit 1;; esac\n", log.display());
    program(&root.join("release/trefoil-bench"), &bench);
    program(&root.join("bin/cargo"), "#!/bin/sh\n");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../measure");
    let run = |arguments: &[&str]| {
        let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new(&script);
        command.args(arguments).env("PATH", path).env("CARGO_TARGET_DIR", &root);
        command.output().expect("bash runs the script")
    };
    let output = run(&["--try", "nobody"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("a step that failed in: ladder"), "{said}");
    let calls = fs::read_to_string(&log).expect("calls");
    for part in [
        "run --canonical --popularity zipf --cache dashmap --short --record try-nobody/run-dashmap --label nobody",
        "run --canonical --popularity zipf --cadence per-batch",
        "run --canonical --popularity zipf --target reference",
        "scaling --users 256",
        "registry --repeats 2",
        "load --batch 32",
    ] {
        assert!(calls.contains(part), "{part}:\n{calls}");
    }
    assert!(!script.with_file_name("../bench/records/try-nobody").exists());
    assert_eq!(run(&["No Such Name"]).status.code(), Some(2));
    fs::remove_dir_all(&root).expect("removed");
}
