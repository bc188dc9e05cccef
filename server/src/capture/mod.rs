//! A file of the timing and shape of requests, for `trefoil-bench replay`: when each began, how long it took, its route, status, sizes and
//! number of logins. It holds no subject, no face and no API key: tenants and subjects are keyed hashes, whose key is drawn at the start and
//! never written. So a file shows which requests belong to the same subject but not to which subject, and two files cannot be linked.
//!
//! # Threads
//!
//! Each thread of the runtime records its requests in a [`Ring`] of its own. One more thread empties the rings into the file twenty times a
//! second. A request takes no lock and writes no shared memory. Requests are lost when a ring is full or the file has reached its size: the
//! file says how many. Without a capture, a request reads one empty task-local.

mod format;
mod ring;

pub use format::{Captured, FormatError, read};
use ring::Ring;

use crate::openapi::Method;
use aws_lc_rs::hmac;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use thread_local::ThreadLocal;
use trefoil_types::{Handle, TenantId};

/// How often rings are emptied. A ring has room for more than a thread answers in this time.
const EVERY: Duration = Duration::from_millis(50);

/// See the module.
pub(crate) struct Capture {
    rings: ThreadLocal<Ring>,
    /// Methods and patterns of the public listener; a ring has their place here.
    routes: Vec<(Method, &'static str)>,
    key: hmac::Key,
    began_ns: u64,
    /// True until the file has reached its size.
    is_open: AtomicBool,
}

/// The thread that writes the file. Ends it when dropped.
pub(crate) struct Writer {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

/// A request and its answer as the connection sees them.
pub(crate) struct Shape<'a> {
    pub(crate) method: &'a str,
    pub(crate) route: &'a str,
    pub(crate) status: u16,
    pub(crate) began_ns: u64,
    pub(crate) took_ns: u64,
    pub(crate) request_bytes: u64,
    pub(crate) answer_bytes: u64,
}

tokio::task_local! {
    static PARTIES: RefCell<Parties>;
}

/// The tenant and the subjects of a request, as far as its handler has read them, and the mark of its stream.
#[derive(Default)]
pub(crate) struct Parties {
    tenant: Option<TenantId>,
    subjects: Vec<Handle>,
    stream: Option<u64>,
}

/// Handles a request, and learns its tenant and subjects.
pub(crate) async fn with_parties<T>(work: impl Future<Output = T>) -> (T, Parties) {
    let noting = async { (work.await, PARTIES.with(RefCell::take)) };
    PARTIES.scope(RefCell::default(), noting).await
}

/// Notes the tenant of the request that is handled, if it is captured.
pub(crate) fn is_of_tenant(tenant: TenantId) {
    let _ = PARTIES.try_with(|parties| parties.borrow_mut().tenant = Some(tenant));
}

/// Notes the subject of a login in it.
pub(crate) fn is_of_subject(handle: Handle) {
    let _ = PARTIES.try_with(|parties| parties.borrow_mut().subjects.push(handle));
}

impl Capture {
    /// Begins a new file of at most this many bytes.
    ///
    /// # Errors
    /// The file exists already or cannot be made, or the system refuses a thread.
    pub(crate) fn start(
        path: &Path,
        bytes_max: u64,
        routes: Vec<(Method, &'static str)>,
        began_ns: u64,
    ) -> io::Result<(Arc<Capture>, Writer)> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &rand::random::<[u8; 32]>());
        let rings = ThreadLocal::new();
        let capture = Arc::new(Capture { rings, routes, key, began_ns, is_open: AtomicBool::new(true) });
        let (stop, stopped) = channel();
        let own = Arc::clone(&capture);
        let thread = std::thread::Builder::new().name("capture".to_owned()).spawn(move || {
            if let Err(cause) = own.write(file, bytes_max, &stopped) {
                own.is_open.store(false, Relaxed);
                tracing::warn!(%cause, "the capture ended: its file cannot be written");
            }
        })?;
        Ok((capture, Writer { stop, thread }))
    }

    /// Notes a request that was answered. Routes of the other listener are left out.
    pub(crate) fn note(&self, shape: &Shape<'_>, parties: &Parties) {
        let is_it = |(method, path): &(Method, &str)| {
            shape.method.eq_ignore_ascii_case(method.name()) && *path == shape.route
        };
        let Some(route) = self.routes.iter().position(is_it).filter(|_| self.is_open.load(Relaxed)) else {
            return;
        };
        let tenant = parties.tenant.map_or(0, |tenant| self.hash(b"tenant", &tenant.to_bytes()));
        let subjects: Vec<u64> =
            parties.subjects.iter().map(|handle| self.hash(b"subject", &handle.to_bytes())).collect();
        self.rings.get_or(Ring::new).push(&ring::Entry {
            began_us: shape.began_ns.saturating_sub(self.began_ns) / 1_000,
            took_us: shape.took_ns / 1_000,
            route: route as u64,
            status: shape.status.into(),
            request_bytes: shape.request_bytes,
            answer_bytes: shape.answer_bytes,
            tenant,
            stream: parties.stream.unwrap_or(0),
            subjects,
        });
    }

    fn hash(&self, what: &[u8], bytes: &[u8]) -> u64 {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(what);
        context.update(bytes);
        let tag = context.sign();
        tag.as_ref().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
    }

    /// Empties the rings into the file until told to stop, or until it is full.
    fn write(&self, file: File, bytes_max: u64, stopped: &Receiver<()>) -> io::Result<()> {
        let mut file = BufWriter::new(file);
        file.write_all(format::HEAD.as_bytes())?;
        let (mut bytes, mut requests, mut is_full) = (format::HEAD.len() as u64, 0u64, false);
        loop {
            let is_last = !matches!(stopped.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout));
            for line in self.rings.iter().flat_map(Ring::take).map(|entry| self.line(entry)) {
                is_full = is_full || bytes + line.len() as u64 > bytes_max;
                if is_full {
                    break;
                }
                file.write_all(line.as_bytes())?;
                bytes += line.len() as u64;
                requests += 1;
            }
            file.flush()?;
            if is_full || is_last {
                break;
            }
        }
        self.is_open.store(false, Relaxed);
        let lost: u64 = self.rings.iter().map(Ring::lost).sum();
        file.write_all(format::end(requests, lost, is_full).as_bytes())?;
        file.flush()?;
        tracing::info!(requests, lost, is_full, "captured");
        Ok(())
    }

    fn line(&self, entry: ring::Entry) -> String {
        let (method, path) = self.routes[entry.route as usize];
        let named = |word: u64| (word != 0).then_some(word);
        let captured = Captured {
            began_us: entry.began_us,
            took_us: entry.took_us,
            route: format!("{} {path}", method.name().to_ascii_uppercase()),
            status: entry.status as u16,
            request_bytes: entry.request_bytes,
            answer_bytes: entry.answer_bytes,
            tenant: named(entry.tenant),
            subjects: entry.subjects,
            stream: named(entry.stream),
        };
        format!("{captured}\n")
    }
}

impl Writer {
    /// Writes the remaining requests, and ends the file.
    pub(crate) fn end(self) {
        let Writer { stop, thread } = self;
        drop(stop);
        // A panic of the thread is already in the log.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: [(Method, &str); 2] = [(Method::Get, "/v1/keys"), (Method::Post, "/v1/authentications")];

    fn shape(began_ns: u64) -> Shape<'static> {
        Shape {
            method: "POST",
            route: "/v1/authentications",
            status: 200,
            began_ns,
            took_ns: 3_000_000,
            request_bytes: 1_500,
            answer_bytes: 800,
        }
    }

    fn parties(subjects: impl IntoIterator<Item = u8>) -> Parties {
        let subjects = subjects.into_iter().map(|byte| Handle::new([byte; 32])).collect();
        Parties { tenant: Some(TenantId::new([9; 16])), subjects, stream: None }
    }

    #[tokio::test]
    async fn a_handler_tells_whom_its_request_is_about_and_nobody_listens_without_a_capture() {
        is_of_subject(Handle::new([1; 32]));
        let work = async {
            is_of_tenant(TenantId::new([9; 16]));
            is_of_subject(Handle::new([2; 32]));
            7
        };
        let (answer, parties) = with_parties(work).await;
        assert_eq!((answer, parties.tenant), (7, Some(TenantId::new([9; 16]))));
        assert_eq!(parties.subjects, [Handle::new([2; 32])]);
    }

    #[test]
    fn a_file_has_every_request_of_every_thread_and_nobody_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        let (capture, writer) = Capture::start(&path, 1 << 20, ROUTES.to_vec(), 1_000).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let capture = &capture;
                scope.spawn(move || {
                    for at in 0..100 {
                        capture.note(&shape(1_000 + 1_000 * (4 * at + thread)), &parties([at as u8 % 3]));
                    }
                });
            }
        });
        // No route of this listener.
        capture.note(&Shape { route: "/metrics", ..shape(0) }, &parties([]));
        capture.note(&Shape { method: "GET", ..shape(0) }, &parties([]));
        writer.end();
        let text = std::fs::read_to_string(&path).unwrap();
        let captured = read(&text).unwrap();
        assert_eq!(captured.len(), 400);
        assert!(captured.iter().enumerate().all(|(at, request)| request.began_us == at as u64), "in order");
        let mut subjects: Vec<u64> =
            captured.iter().flat_map(|request| request.subjects.iter().copied()).collect();
        subjects.sort_unstable();
        subjects.dedup();
        assert_eq!(subjects.len(), 3, "the same hash for the same subject");
        assert!(text.ends_with("# end: 400 requests, 0 lost\n"), "{text}");
        assert!(!text.contains(&"01".repeat(8)) && !text.contains(&"09".repeat(8)));
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn two_captures_have_no_hash_in_common() {
        let folder = tempfile::tempdir().unwrap();
        let hashes = ["one", "two"].map(|name| {
            let path = folder.path().join(name);
            let (capture, writer) = Capture::start(&path, 1 << 20, ROUTES.to_vec(), 0).unwrap();
            capture.note(&shape(5), &parties([1]));
            writer.end();
            let captured = read(&std::fs::read_to_string(&path).unwrap()).unwrap().remove(0);
            (captured.tenant, captured.subjects)
        });
        assert!(hashes[0].0 != hashes[1].0 && hashes[0].1 != hashes[1].1);
    }

    #[test]
    fn a_file_is_no_larger_than_allowed_and_says_that_it_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        let (capture, writer) = Capture::start(&path, 2_000, ROUTES.to_vec(), 0).unwrap();
        for at in 0..100 {
            capture.note(&shape(at), &parties([1]));
        }
        writer.end();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() < 2_100 && text.contains("the file is full"), "{text}");
        assert!((10..100).contains(&read(&text).unwrap().len()));
        let taken = Capture::start(&path, 2_000, ROUTES.to_vec(), 0);
        assert_eq!(taken.err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    }
}
