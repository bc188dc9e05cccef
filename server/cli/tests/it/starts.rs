//! What a start does before it serves: it makes no installation by mistake, ends or serves under any limit, and a signal ends it.

use crate::siblings;
use crate::world::*;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;

/// Longer than the program gives itself, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn serve(folder: &Path, limit: &str, rest: &[&str]) -> Child {
    Command::new("sh")
        .args([
            "-c",
            &format!("{limit}; exec \"$0\" serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 \"$@\""),
        ])
        .arg(env!("CARGO_BIN_EXE_trefoil"))
        .args(rest)
        .env("TREFOIL_KEYS_PRECOMPUTE", "brief")
        .env("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")
        .current_dir(folder)
        .stdout(File::create(folder.join("out")).unwrap())
        .stderr(File::create(folder.join("log")).unwrap())
        .spawn()
        .unwrap()
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until it is so, or ends the test.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a start has ended with an error and says why, or serves and a signal ends it; whether it served.
fn ends_or_serves(what: &str, folder: &Path, mut child: Child) -> bool {
    let mut ended = None;
    until(&format!("{what}: neither ended nor serves"), || {
        ended = child.try_wait().unwrap();
        ended.is_some() || text(folder, "out").contains("trust root")
    });
    if ended.is_none() {
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{what}: {}", text(folder, "log"));
    }
    let log = text(folder, "log");
    assert!(ended.is_none_or(|ended| !ended.success() && !log.is_empty()), "{what}: {ended:?} {log}");
    let of_threads = log.contains("gives no further thread");
    assert!(!of_threads || log.contains("TasksMax=") && log.contains("ulimit -v"), "{log}");
    ended.is_none()
}

#[test]
fn a_start_ends_or_serves_whatever_memory_it_gets_and_a_signal_ends_it() {
    for kib in [131_072, 420_000, 532_000, 548_000, 700_000] {
        let folder = tempfile::tempdir().unwrap();
        let child = serve(folder.path(), &format!("ulimit -v {kib}"), &["--data-dir", "data"]);
        let _served = ends_or_serves(&format!("{kib} KiB"), folder.path(), child);
    }
}

/// Gives the process so many threads and no further one. A limit of the system does not bind root, and counts the threads of other processes.
const FEW_THREADS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
static int given;
int pthread_create(pthread_t *thread, const pthread_attr_t *with, void *(*run)(void *), void *on) {
    if (__atomic_fetch_add(&given, 1, __ATOMIC_SEQ_CST) >= atoi(getenv("THREADS_MAX"))) return EAGAIN;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, with, run, on);
}
"#;

/// How many starts run at a time.
const AT_A_TIME: usize = 8;

#[test]
fn a_start_ends_or_serves_whichever_of_its_threads_is_the_first_that_it_does_not_get() {
    let folder = tempfile::tempdir().unwrap();
    let [source, library] = ["few.c", "few.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, FEW_THREADS).unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    assert!(made.expect("a C compiler, `cc`, builds the product too").success());
    for first in (0..).step_by(AT_A_TIME) {
        let start = |threads: usize| {
            let folder = tempfile::tempdir().unwrap();
            let limit = format!("export THREADS_MAX={threads} LD_PRELOAD={}", library.display());
            let child = serve(folder.path(), &limit, &["--data-dir", "data"]);
            (threads, folder, child)
        };
        let starts: Vec<_> = (first..first + AT_A_TIME).map(start).collect();
        let ends = starts.into_iter().map(|(threads, folder, child)| {
            ends_or_serves(&format!("{threads} threads"), folder.path(), child)
        });
        if ends.collect::<Vec<_>>().into_iter().all(|served| served) {
            break;
        }
    }
}

#[test]
fn before_it_listens_a_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // A server that accepts and says nothing: the start waits for the database.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://trefoil@{}/trefoil?sslmode=disable", silent.local_addr().unwrap());
    let mut child = serve(
        folder.path(),
        "export TREFOIL_STORE_TIMEOUT_MS=60000",
        &["--data-dir", "data", "--store", &store],
    );
    let _held = silent.accept().unwrap();
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15), "{}", text(folder.path(), "log"));
}

/// Programs that rotate logs send such signals.
#[tokio::test(flavor = "multi_thread")]
async fn signals_that_others_send_end_nothing() {
    let program = Program::own(&[]);
    for name in ["-USR1", "-USR2", "-ALRM"] {
        program.signal(name);
        program.serves(1).await;
    }
    assert_eq!(program.terminate().code(), Some(0));
}

#[test]
fn a_new_installation_is_said_and_where_a_file_or_a_unit_names_the_directory_it_takes_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("trefoil.toml"), format!("[server]\ndata_dir = {:?}\n", at("named"))).unwrap();
    std::fs::write(at("limits.toml"), "[limits]\nbody_timeout_s = 60\n").unwrap();
    let unit = "export NOTIFY_SOCKET=/nowhere";
    for (limit, arguments, makes) in [
        ("true", &["--data-dir", "typed"][..], Some("typed")),
        ("true", &["--config", "limits.toml"], Some("trefoil-data")),
        ("true", &["--config", "trefoil.toml"], None),
        ("true", &["--config", "trefoil.toml", "--data-dir", "mistyped"], Some("mistyped")),
        (unit, &["--data-dir", "of-a-unit"], None),
        (unit, &["--data-dir", "of-a-unit", "--init"], Some("of-a-unit")),
        ("true", &["--config", "trefoil.toml", "--init"], Some("named")),
        ("true", &["--config", "trefoil.toml"], Some("")),
        (unit, &["--data-dir", "of-a-unit"], Some("")),
    ] {
        let mut child = serve(folder.path(), limit, arguments);
        let mut ended = None;
        until("neither ended nor serves", || {
            ended = child.try_wait().unwrap();
            ended.is_some() || text(folder.path(), "out").contains("trust root")
        });
        let log = text(folder.path(), "log");
        let said = log.lines().find(|line| line.contains("made a new installation in"));
        match makes {
            None => {
                assert_eq!(ended.and_then(|ended| ended.code()), Some(1), "{arguments:?}: {log}");
                assert!(log.contains("there is no installation in") && log.contains("--init"), "{log}");
                assert!(log.contains("trefoil restore") && said.is_none(), "{log}");
            }
            Some(name) => {
                assert!(ended.is_none(), "{arguments:?}: {log}");
                let is_said = said.is_some_and(|said| said.ends_with(name));
                assert_eq!(is_said, !name.is_empty(), "{arguments:?}: {log}");
                signal(&child, "-TERM");
                assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {log}");
            }
        }
        assert!(!log.lines().any(|line| line.contains("WARN") && line.len() > 200), "{log}");
    }
    assert!(!at("nothing").exists());
}

/// A program that holds the store's lock is named, and the disk is not blamed.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_program_is_named_with_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let program = Program::start(&data, File::create(&log).unwrap(), &[("TREFOIL_STORE_URL", "")]);
    siblings::alone(program.admin.address);
    let other = rusqlite::Connection::open(data.join("store.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    program.create_tenant().await.problem(503, "store-unavailable");
    let holder = format!("another program, process {}, holds a lock of", std::process::id());
    until("the lock is named", || text(folder.path(), "log").contains(&holder));
    let said = text(folder.path(), "log");
    assert!(said.contains("store.sqlite") && !said.contains("disk"), "{said}");
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    let serve = "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data-dir";
    let refused = trefoil(&[&words(serve)[..], &[data.to_str().unwrap()]].concat());
    refused.ends(1, &format!("another trefoil process, number {}", program.id()));
    program.serves(1).await;
    assert_eq!(program.terminate().code(), Some(0));
}
