//! Programs that a step needs beside Rust and a C compiler: which are installed, and what to install. A program that is too
//! old counts as missing.

use crate::repo::Repo;

/// The program that a step found, or what is missing and how to get it.
pub(crate) type Found = Result<String, String>;

/// Go, which exchanges signatures, reads the log and runs h2spec.
pub(crate) fn go(repo: &Repo) -> Found {
    at_least(repo, "go", "version", (1, 26), "Go from https://go.dev/dl")
}

/// Node, for the TypeScript client and signatures.
pub(crate) fn node(repo: &Repo) -> Found {
    at_least(repo, "node", "--version", (20, 19), "Node from https://nodejs.org")
}

/// The package manager of Node.
pub(crate) fn npm(repo: &Repo) -> Found {
    at_least(repo, "npm", "--version", (0, 0), "npm, which comes with Node from https://nodejs.org")
}

/// Python with `venv`.
pub(crate) fn python(repo: &Repo) -> Found {
    const ADVICE: &str = "Python with venv, such as apt-get install python3 python3-venv";
    let version = at_least(repo, "python3", "--version", (3, 11), ADVICE)?;
    repo.said("python3", &["-c", "import ensurepip, venv"])
        .map_err(|_| format!("python3 has no venv: install {ADVICE}"))?;
    Ok(version)
}

/// A browser, under its program name on Debian, on other systems, or from its vendor.
pub(crate) fn chromium(repo: &Repo) -> Found {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| repo.said(name, &["--version"]).is_ok())
        .map(str::to_owned)
        .ok_or_else(|| "no browser: install Chromium, such as apt-get install chromium".to_owned())
}

/// Prometheus' program that checks rules and pages of metrics.
pub(crate) fn promtool(repo: &Repo) -> Found {
    at_least(repo, "promtool", "--version", (2, 0), "promtool, such as apt-get install prometheus")
}

/// Valgrind, which counts instructions.
pub(crate) fn valgrind(repo: &Repo) -> Found {
    at_least(repo, "valgrind", "--version", (3, 19), "valgrind, such as apt-get install valgrind")
}

/// The server of PostgreSQL, which tests start.
pub(crate) fn postgresql() -> Found {
    match trefoil_testing::postgres::find() {
        Some(found) => Ok(found.display().to_string()),
        None => Err("no initdb: install PostgreSQL, such as apt-get install postgresql".to_owned()),
    }
}

/// Patroni, which makes a standby the primary.
pub(crate) fn patroni(repo: &Repo) -> Found {
    at_least(repo, "patroni", "--version", (3, 0), "patroni, such as apt-get install patroni")
}

/// What Patroni agrees through.
pub(crate) fn etcd(repo: &Repo) -> Found {
    at_least(repo, "etcd", "--version", (3, 4), "etcd, such as apt-get install etcd-server")
}

/// The load balancer of a fleet.
pub(crate) fn haproxy(repo: &Repo) -> Found {
    at_least(repo, "haproxy", "-v", (2, 4), "haproxy, such as apt-get install haproxy")
}

/// A proxy. It prints its version where errors go.
pub(crate) fn nginx(repo: &Repo) -> Found {
    let said = repo.said("nginx", &["-v"]);
    said.map(|_| "nginx".to_owned())
        .map_err(|_| "no nginx: install nginx, such as apt-get install nginx-light".to_owned())
}

/// A proxy.
pub(crate) fn caddy(repo: &Repo) -> Found {
    at_least(repo, "caddy", "version", (2, 6), "Caddy, such as apt-get install caddy")
}

/// Java, which runs a source file. A JRE alone has no `javac`.
pub(crate) fn java(repo: &Repo) -> Found {
    at_least(repo, "javac", "--version", (17, 0), "a JDK, such as apt-get install default-jdk-headless")
}

/// Maven, which fetches and compiles Java.
pub(crate) fn maven(repo: &Repo) -> Found {
    at_least(repo, "mvn", "--version", (3, 6), "Maven, such as apt-get install maven")
}

/// The system's HTTP client.
pub(crate) fn curl(repo: &Repo) -> Found {
    at_least(repo, "curl", "--version", (7, 0), "curl, such as apt-get install curl")
}

/// systemd's program that checks units.
pub(crate) fn systemd_analyze(repo: &Repo) -> Found {
    // Its version has one number.
    let said = repo.said("systemd-analyze", &["--version"]);
    let said = said.map_err(|_| "no systemd-analyze: install systemd, such as apt-get install systemd")?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

/// What runs containers. Its storage needs no daemon, and files of another user need root.
pub(crate) fn podman(repo: &Repo) -> Found {
    const ADVICE: &str = "podman, such as apt-get install podman runc catatonit";
    let version = at_least(repo, "podman", "--version", (4, 3), ADVICE)?;
    repo.said("catatonit", &["--version"]).map_err(|_| format!("no catatonit: install {ADVICE}"))?;
    match repo.said("id", &["-u"])?.trim() {
        "0" => Ok(version),
        _ => Err("podman is there, and only root can give directories to the image's user: run this as root"
            .to_owned()),
    }
}

/// A C++ compiler, for libFuzzer itself.
pub(crate) fn cxx(repo: &Repo) -> Found {
    // Only the `cc` crate knows how to read it.
    match std::env::var("CXX") {
        Ok(named) => Ok(named),
        Err(_) => at_least(repo, "c++", "--version", (0, 0), "a C++ compiler, such as apt-get install g++"),
    }
}

/// A C compiler for Linux on Arm. The `cc` crate finds it by this name.
pub(crate) fn aarch64_gcc(repo: &Repo) -> Found {
    const ADVICE: &str = "gcc for Arm, such as apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross";
    at_least(repo, "aarch64-linux-gnu-gcc", "--version", (0, 0), ADVICE)
}

/// The first line that `name` says about its version, which must be `least` or later.
fn at_least(repo: &Repo, name: &str, argument: &str, least: (u32, u32), advice: &str) -> Found {
    let said = repo.said(name, &[argument]).map_err(|_| format!("no {name}: install {advice}"))?;
    let line = said.lines().next().unwrap_or_default();
    if version(line).is_some_and(|version| version >= least) {
        return Ok(line.to_owned());
    }
    let (major, minor) = least;
    Err(format!("{name} is older than {major}.{minor} ({line}): install {advice}"))
}

/// The first `MAJOR.MINOR` in a line.
fn version(line: &str) -> Option<(u32, u32)> {
    line.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
        let mut parts = word.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_each_program_says_them() {
        for (line, expected) in [
            ("v20.19.2", Some((20, 19))),
            ("go version go1.26.0 linux/amd64", Some((1, 26))),
            ("Python 3.11.2", Some((3, 11))),
            ("10.8.1", Some((10, 8))),
            ("c++ (Debian 12.2.0-14) 12.2.0", Some((12, 2))),
            ("no number", None),
        ] {
            assert_eq!(version(line), expected, "{line}");
        }
        assert!((20, 9) < (20, 19) && (3, 9) < (3, 11) && (21, 0) > (20, 19));
    }
}
