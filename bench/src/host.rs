//! The machine and the build, as a record names them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use trefoil_kernels::{Cpu, Tier};

use crate::wiring;

/// CPU, memory, kernel and tier. Values that the system does not report are null.
pub(crate) fn host(label: Option<&str>, tier: Tier) -> Value {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    json!({
        "label": label,
        "cpu_model": field(&cpu, "model name"),
        "logical_cpus": std::thread::available_parallelism().map(usize::from).ok(),
        "physical_cores": trefoil_pipeline::affinity::Placement::new(None, Default::default()).physical_cores,
        "virtual_machine": field(&cpu, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        "caches": caches(),
        "memory_kib": field(&memory, "MemTotal").and_then(|kib| kib.split(' ').next()?.parse::<u64>().ok()),
        "frequency_governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        // Any other load on this machine makes every number worse.
        "load_average_1m": read("/proc/loadavg").and_then(|load| load.split(' ').next()?.parse::<f64>().ok()),
        "kernel": read("/proc/sys/kernel/osrelease"),
        "operating_system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "tier": tier.name(),
        "tier_detected": Tier::detected().name(),
        "asks_memory_ahead": Cpu::detected().asks_ahead(),
    })
}

/// Revision, compiler and features.
pub(crate) fn build() -> Value {
    json!({
        "revision": git(&["rev-parse", "HEAD"]),
        // The runs themselves write records, which change no number.
        "dirty": git(&["status", "--porcelain", "--", ":/", ":(top,exclude)bench/records"]).map(|s| !s.is_empty()),
        "rustc": env!("BENCH_RUSTC"),
        "profile": if cfg!(debug_assertions) { "debug" } else { "release" },
        // The floor that .cargo/config.toml sets; kernels go above it at run time.
        "compiled_for": if cfg!(target_feature = "avx2") { "avx2" } else { "baseline" },
        "features": wiring::FEATURES,
    })
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// A file of the system in one line.
pub(crate) fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Data and unified caches of the first CPU, as "L2 2048K".
fn caches() -> Vec<String> {
    let mut names = BTreeSet::new();
    for index in 0..8 {
        let of = |file| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"));
        if let (Some(level), Some(kind), Some(size)) = (of("level"), of("type"), of("size"))
            && kind != "Instruction"
        {
            names.insert(format!("L{level} {size}"));
        }
    }
    names.into_iter().collect()
}

/// Output of git in the source tree that this binary was built from; none without git or without a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_files_are_found() {
        let text = "processor\t: 0\nmodel name\t: Some CPU: fast\nflags\t\t: a hypervisor b\n";
        assert_eq!(field(text, "model name"), Some("Some CPU: fast"));
        assert_eq!(field(text, "absent"), None);
    }

    #[test]
    fn host_and_build_name_what_a_reader_needs() {
        let host = host(Some("test"), Tier::Portable);
        for key in ["label", "cpu_model", "physical_cores", "tier", "kernel", "caches"] {
            assert!(host.get(key).is_some(), "{key}");
        }
        let build = build();
        for key in ["revision", "dirty", "rustc", "profile", "features"] {
            assert!(build.get(key).is_some(), "{key}");
        }
    }
}
