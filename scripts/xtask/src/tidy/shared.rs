//! One list of locks and of shared writes for every crate that a request passes through.
//!
//! Clippy reads one `clippy.toml` for a crate, the nearest above it, and such a file can include no other. So each has the list between two marks,
//! `cargo xtask locks` writes it, and this rule compares it. What a file forbids besides stands outside the marks.

use super::Finding;
use crate::repo::Repo;

/// The files of crates that a request passes through. Each holds for the crates below it that have none.
const FILES: [&str; 4] =
    ["cache/clippy.toml", "crypto/clippy.toml", "pipeline/clippy.toml", "server/clippy.toml"];
/// Files of crates that no request passes through: programs of clients and operators, and benchmarks, which lock on purpose.
const EXEMPT: [&str; 6] = [
    "bench/clippy.toml",
    "bench/lab/clippy.toml",
    "server/api/clippy.toml",
    "server/client/clippy.toml",
    "server/issuer/clippy.toml",
    "server/wallet/clippy.toml",
];

const TYPES: [(&str, &str); 9] = [
    ("std::sync::Mutex", "no lock on the path of a request"),
    ("std::sync::RwLock", "no lock on the path of a request; a read lock is a shared write too"),
    ("std::sync::Condvar", "nothing waits on the path of a request"),
    ("parking_lot::Mutex", "no lock on the path of a request"),
    ("parking_lot::RwLock", "no lock on the path of a request"),
    ("tokio::sync::Mutex", "no lock on the path of a request"),
    ("tokio::sync::RwLock", "no lock on the path of a request; a read lock is a shared write too"),
    ("tokio::sync::Semaphore", "a permit is a shared write, and a queue with a lock when requests wait"),
    ("dashmap::DashMap", "the cache's baseline alone"),
];
const INTEGERS: [&str; 10] = ["I8", "I16", "I32", "I64", "Isize", "U8", "U16", "U32", "U64", "Usize"];
/// Reads and writes in one step, of each kind of atomic.
const EVERY: [&str; 6] =
    ["swap", "compare_exchange", "compare_exchange_weak", "fetch_update", "try_update", "update"];
const BITS: [&str; 4] = ["fetch_and", "fetch_nand", "fetch_or", "fetch_xor"];
const NUMBERS: [&str; 4] = ["fetch_add", "fetch_sub", "fetch_max", "fetch_min"];

const BEGIN: &str = "    # The list of scripts/xtask/src/tidy/shared.rs: `cargo xtask locks` writes it.\n";
const END: &str = "    # What this crate forbids besides.\n";

/// The two lists as every file has them.
fn lists() -> [String; 2] {
    let types = TYPES.map(|(path, reason)| {
        format!("    {{ path = \"{path}\", reason = \"{reason}\", allow-invalid = true }},\n")
    });
    let integers = INTEGERS.map(|of| (of, [&EVERY[..], &BITS, &NUMBERS].concat()));
    let others = [
        ("Bool", [&EVERY[..], &BITS, &["fetch_not"]].concat()),
        (
            "Ptr",
            [&EVERY[..], &["fetch_ptr_add", "fetch_ptr_sub", "fetch_byte_add", "fetch_byte_sub"]].concat(),
        ),
    ];
    let methods = integers.into_iter().chain(others).flat_map(|(of, methods)| {
        methods.into_iter().map(move |method| {
            format!(
                "    {{ path = \"core::sync::atomic::Atomic{of}::{method}\", reason = \"a word has one writer; shared ones travel from core to core\" }},\n"
            )
        })
    });
    [types.concat(), methods.collect()]
}

/// `text` with the two lists between their marks; `None` without two pairs of marks.
fn filled(text: &str) -> Option<String> {
    let (mut written, mut rest) = (String::new(), text);
    for list in lists() {
        let (before, behind) = rest.split_once(BEGIN)?;
        let (_, after) = behind.split_once(END)?;
        written += &[before, BEGIN, &list, END].concat();
        rest = after;
    }
    (!rest.contains(BEGIN)).then(|| written + rest)
}

/// Writes the lists anew.
pub(crate) fn write(repo: &Repo) -> Result<(), String> {
    for path in FILES {
        let text = repo.read(path)?;
        let fresh =
            filled(&text).ok_or_else(|| format!("{path} lacks the marks of the two lists: {BEGIN}{END}"))?;
        if fresh != text {
            std::fs::write(repo.root().join(path), fresh).map_err(|cause| format!("{path}: {cause}"))?;
            println!("{path}: lists written");
        }
    }
    Ok(())
}

/// Every `clippy.toml` has the lists, or is known to need none.
pub(super) fn check(repo: &Repo, files: &[String]) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for path in files.iter().filter(|path| path.ends_with("clippy.toml")) {
        let known = FILES.contains(&path.as_str());
        let message = match known {
            true => (filled(&repo.read(path)?) != Some(repo.read(path)?)).then_some(
                "its list of locks and shared writes is not the one of scripts/xtask/src/tidy/shared.rs: run `cargo xtask locks`",
            ),
            false => (!EXEMPT.contains(&path.as_str())).then_some(
                "scripts/xtask/src/tidy/shared.rs does not know it: say there whether requests pass through its crate",
            ),
        };
        findings.extend(message.map(|message| Finding::error(path, 0, message)));
    }
    let missing = FILES.iter().filter(|path| !files.iter().any(|file| file == *path));
    findings.extend(missing.map(|path| Finding::error(path, 0, "it is gone, so its crate may lock")));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> String {
        let [types, methods] = lists();
        format!(
            "disallowed-types = [\n{BEGIN}{types}{END}]\ndisallowed-methods = [\n{BEGIN}{methods}{END}]\n"
        )
    }

    /// Claim V128: The crates that a request passes through forbid locks, semaphores and shared reads-and-writes by one list, so an
    /// exception has a stated reason.
    #[test]
    fn a_list_with_a_line_less_or_another_line_is_written_anew() {
        let sound = sound();
        assert_eq!(filled(&sound).as_deref(), Some(sound.as_str()));
        for lost in [
            "tokio::sync::RwLock",
            "AtomicBool::swap",
            "AtomicU64::compare_exchange_weak",
            "AtomicU32::fetch_max",
        ] {
            let less: String =
                sound.split_inclusive('\n').filter(|line| !line.contains(&format!("{lost}\""))).collect();
            assert_eq!(less.lines().count() + 1, sound.lines().count(), "{lost}");
            assert_eq!(filled(&less).as_deref(), Some(sound.as_str()), "{lost}");
        }
        let more =
            sound.replace("disallowed-methods = [\n", "disallowed-methods = [\n    # Of this crate.\n");
        assert_eq!(filled(&more).as_deref(), Some(more.as_str()), "what stands outside the marks stays");
        assert_eq!(filled(&sound.replacen(BEGIN, "", 1)), None);
    }
}
