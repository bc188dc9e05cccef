//! What a test measured, as a record of `bench/records`.

use crate::world::*;
use trefoil_testing::Scale;

/// The folder for reports, if they are wanted.
const REPORTS: &str = "TREFOIL_TEST_REPORTS";

/// Adds how and where it was measured, prints the report, and writes it as `NAME.json` if reports are wanted.
pub(crate) fn keep(name: &str, command: &str, mut report: Value) {
    let scale = Scale::of_this_run().name();
    let mut add = |field: &str, value: Value| report[field] = value;
    add("benchmark", json!(name));
    add("format", json!("trefoil-bench/1"));
    add("command", json!(format!("TREFOIL_TEST_SCALE={scale} {REPORTS}=... {command}")));
    add("build", build());
    add("host", host());
    println!("{report:#}");
    if let Some(folder) = std::env::var_os(REPORTS).map(PathBuf::from) {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), format!("{report:#}\n")).unwrap();
    }
}

fn build() -> Value {
    // A machine may have no git.
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.map_or(String::new(), |output| output.out().trim().to_owned())
    };
    json!({
        "dirty": !said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty(),
        "profile": if cfg!(debug_assertions) { "test" } else { "release" },
        "revision": said("git", &["rev-parse", "HEAD"]),
        "rustc": said("rustc", &["--version"]),
    })
}

fn host() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load: f64 =
        read("/proc/loadavg").split(' ').nth(1).and_then(|load| load.parse().ok()).unwrap_or_default();
    json!({
        "cpu_model": model.map(|(_, model)| model),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load_average_5m": load,
        "logical_cpus": std::thread::available_parallelism().map_or(0, usize::from),
    })
}
