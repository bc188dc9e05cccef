//! The log for people: lines to standard error that can neither crash nor delay the process.
//!
//! A thread that logs formats its line and queues it; one thread writes. When the queue is full, or the line
//! cannot be written (full disk, closed pipe), the line is lost and counted. When writing succeeds again, the log
//! says how many were lost. A reader that stops reading blocks only the writing thread. Nothing waits for that thread,
//! except the last lines of a process, for up to [`LAST_LINES_TIME_MAX`].
//!
//! `tracing-appender` was not enough: it does not count lines whose write failed, and it prints, hence panics, when its
//! queue is full or its output closed at the end.

#![expect(clippy::disallowed_methods, reason = "counts lines that were lost; waits where nobody is served")]

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGALRM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::{EnvFilter, reload};
use trefoil_contents::shown;
use trefoil_storage::supervisor::no_thread;

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Encoding.
    pub format: LogFormat,
    /// A tracing filter.
    pub filter: String,
}

/// Log encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Most waiting lines: a second of them at 4,096 requests a second with one line each.
const QUEUE_MAX: usize = 4096;
/// Bytes kept of a line. Our longest lines have a tenth of it; with [`QUEUE_MAX`] it bounds the memory to 32 MiB.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Longest wait for the last lines of a process.
const LAST_LINES_TIME_MAX: Duration = Duration::from_secs(1);
/// Pause while standard error, shared with a program that made it non-blocking, takes nothing.
const RETRY: Duration = Duration::from_millis(10);

/// Lines lost since the process started. The log is the process's, so its count is too.
static LINES_LOST: AtomicU64 = AtomicU64::new(0);

/// Lines that could not be written since the process started.
pub fn lines_lost() -> u64 {
    LINES_LOST.load(Ordering::Relaxed)
}

/// The log of a running process. [`Logging::end`] writes the waiting lines.
pub struct Logging {
    lines: Lines,
    filter: Filter,
}

/// The filter of a running process, which can be replaced.
#[derive(Clone)]
pub struct Filter(Arc<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>);

enum Message {
    Line(Vec<u8>),
    /// Everything before it has been written or lost.
    Written(SyncSender<()>),
}

/// The sender of the queue.
#[derive(Clone)]
struct Lines(SyncSender<Message>);

impl Logging {
    /// Starts to write the lines of this process to standard error. A panic becomes a line too.
    ///
    /// # Errors
    /// When `log.filter` is not a filter, or there is no thread for the log.
    pub fn start(log: &Log) -> Result<Logging, String> {
        let filter = parse(log)?;
        let lines = Lines::to(standard_error()).map_err(|cause| no_thread(cause).to_string())?;
        let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines.clone());
        let filter = match log.format {
            LogFormat::Text => {
                let builder = builder.with_ansi(false).log_internal_errors(false).with_filter_reloading();
                let handle = builder.reload_handle();
                builder.init();
                Filter(Arc::new(move |filter| handle.reload(filter)))
            }
            LogFormat::Json => {
                let builder = builder.json().log_internal_errors(false).with_filter_reloading();
                let handle = builder.reload_handle();
                builder.init();
                Filter(Arc::new(move |filter| handle.reload(filter)))
            }
        };
        std::panic::set_hook(Box::new(log_panic));
        // Sent by programs that rotate logs and by mistake; their default effect is the end of the process.
        for signal in [SIGUSR1, SIGUSR2, SIGALRM] {
            flag::register(signal, Arc::default()).map_err(|cause| cause.to_string())?;
        }
        Ok(Logging { lines, filter })
    }

    /// The handle that replaces the filter.
    #[must_use]
    pub fn filter(&self) -> Filter {
        self.filter.clone()
    }

    /// Writes the waiting lines and then `last`, while standard error accepts them, but no longer than
    /// [`LAST_LINES_TIME_MAX`].
    pub fn end(self, last: Option<&str>) {
        let deadline = Instant::now() + LAST_LINES_TIME_MAX;
        if let Some(last) = last {
            self.lines.send_until(Message::Line(format!("{last}\n").into_bytes()), deadline);
        }
        let (written, wait) = sync_channel(1);
        if self.lines.send_until(Message::Written(written), deadline) {
            let left = deadline.saturating_duration_since(Instant::now());
            // The reader has had its time.
            let _ = wait.recv_timeout(left);
        }
    }
}

impl Filter {
    /// Checks that `log.filter` is a filter.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self, log: &Log) -> Result<(), String> {
        parse(log).map(drop)
    }

    /// Uses the filter of `log` from now on.
    ///
    /// # Errors
    /// When it is not a filter, and when the log has ended.
    pub fn set(&self, log: &Log) -> Result<(), String> {
        let filter = parse(log)?;
        (self.0)(filter).map_err(|cause| cause.to_string())
    }
}

/// The filter, or what to write instead.
fn parse(log: &Log) -> Result<EnvFilter, String> {
    if let Some(word) = no_level(&log.filter) {
        return Err(format!(
            "log.filter: {} is no level (error, warn, info, debug, trace, or off); for a module write NAME=LEVEL",
            shown(word)
        ));
    }
    EnvFilter::builder().parse(with_silent_libraries(&log.filter)).map_err(|_| {
        format!(
            "log.filter: {} is not a filter; write it as `info`, or with levels for parts such as `trefoil_server=debug,warn`",
            shown(&log.filter)
        )
    })
}

/// A word of a filter that is neither a level nor has one. The library takes it for the name of a module, and shows nothing of any other.
fn no_level(filter: &str) -> Option<&str> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ':');
    let mut words = filter.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.find(|word| word.chars().all(is_name) && word.parse::<LevelFilter>().is_err())
}

/// The filter, with only warnings of the HTTP and TLS libraries unless it names them, because at `debug` they log every frame.
fn with_silent_libraries(filter: &str) -> String {
    let unnamed = ["h2", "hyper", "rustls"].into_iter().filter(|library| !filter.contains(library));
    unnamed.fold(filter.to_owned(), |filter, library| format!("{filter},{library}=warn"))
}

impl Lines {
    /// A queue of lines that a new thread writes to `output`.
    fn to(output: impl Write + Send + 'static) -> io::Result<Lines> {
        let (queue, lines) = sync_channel(QUEUE_MAX);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(move || write_all(&lines, output)).map(|_| Lines(queue))
    }

    fn send_until(&self, mut message: Message, deadline: Instant) -> bool {
        loop {
            message = match self.0.try_send(message) {
                Ok(()) => return true,
                Err(TrySendError::Full(message)) if Instant::now() < deadline => message,
                Err(_) => return false,
            };
            std::thread::sleep(RETRY);
        }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}

/// The subscriber writes each line with one call.
impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut kept = line[..line.len().min(LINE_BYTES_MAX)].to_vec();
        if kept.len() < line.len() {
            kept.push(b'\n');
        }
        if self.0.try_send(Message::Line(kept)).is_err() {
            LINES_LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard error without the standard library's lock, because a thread that panics must not wait for a
/// write that blocks.
fn standard_error() -> Box<dyn Write + Send> {
    match io::stderr().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        Err(_) => Box::new(io::stderr()),
    }
}

/// The thread's work until the process ends.
fn write_all(lines: &Receiver<Message>, mut output: impl Write) {
    let (mut torn, mut told) = (false, 0);
    while let Ok(message) = lines.recv() {
        match message {
            Message::Line(line) => {
                if write_line(&mut output, &line, &mut torn).is_err() {
                    LINES_LOST.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let lost = lines_lost();
                if lost > told {
                    told = lost;
                    // Through the queue, in the format of all lines. If it is lost itself, the next one reports it.
                    tracing::warn!(
                        lost,
                        "log lines could not be written; lost is their number since the start"
                    );
                }
            }
            // The waiting thread may have given up.
            Message::Written(waiting) => drop(waiting.try_send(())),
        }
    }
}

/// Writes a line. `torn` says whether the line before it was cut off.
fn write_line(output: &mut impl Write, line: &[u8], torn: &mut bool) -> io::Result<()> {
    if *torn {
        write_bytes(output, b"\n", &mut false)?;
    }
    *torn = false;
    write_bytes(output, line, torn)
}

/// Like [`Write::write_all`]; `begun` becomes true on a failure after the first byte.
fn write_bytes(output: &mut impl Write, mut bytes: &[u8], begun: &mut bool) -> io::Result<()> {
    let all = bytes.len();
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(written) if written > 0 => bytes = &bytes[written..],
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(RETRY),
            failed => {
                *begun = bytes.len() < all;
                return failed.and(Err(io::ErrorKind::WriteZero.into()));
            }
        }
    }
    Ok(())
}

/// The panic hook: a line like any other, because the default one writes to standard error itself and may block.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("without a name");
    let why = panic.payload_as_str().unwrap_or("no message");
    let at = panic.location().map(ToString::to_string);
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => tracing::error!(thread, at, %backtrace, "panicked: {why}"),
        _ => tracing::error!(thread, at, "panicked: {why}"),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "the test reads what a thread wrote")]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// An output that takes what `room` allows, piece by piece.
    struct Disk {
        written: Arc<Mutex<Vec<u8>>>,
        room: Vec<io::Result<usize>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let took = if self.room.is_empty() { Ok(bytes.len()) } else { self.room.remove(0) };
            let took = took?.min(bytes.len());
            self.written.lock().unwrap().extend(&bytes[..took]);
            Ok(took)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_cut_off_by_a_full_disk_does_not_run_into_the_next_one() {
        let full = || Err(io::ErrorKind::StorageFull.into());
        let written = Arc::new(Mutex::new(Vec::new()));
        let room = vec![Ok(6), Ok(3), full(), full(), Err(io::ErrorKind::WouldBlock.into())];
        let mut disk = Disk { written: Arc::clone(&written), room };
        let mut torn = false;
        let mut write = |line: &str| write_line(&mut disk, line.as_bytes(), &mut torn).is_ok();
        assert!(write("first\n"));
        assert!(!write("second\n"), "cut off after three bytes");
        assert!(!write("third\n"), "no room at all");
        assert!(write("fourth\n"), "after a pause, because nothing was taken");
        assert!(write("fifth\n"));
        assert_eq!(
            String::from_utf8(written.lock().unwrap().clone()).unwrap(),
            "first\nsec\nfourth\nfifth\n"
        );
    }

    /// An output that takes nothing for as long as the other end of the channel exists.
    struct Stuck(Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(self.0.recv().is_err());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_reader_delays_no_thread_and_lost_lines_are_counted() {
        let (stuck, reader) = sync_channel(0);
        let lines = Lines::to(Stuck(reader)).unwrap();
        let before = lines_lost();
        let sent = QUEUE_MAX as u64 + 100;
        for _ in 0..sent {
            (&lines).write_all(&[b'x'; 2 * LINE_BYTES_MAX]).unwrap();
        }
        // One may be in the hands of the thread.
        let lost = lines_lost() - before;
        assert!((99..=100).contains(&lost), "{lost}");
        let filter = Filter(Arc::new(|_| Ok(())));
        Logging { lines: lines.clone(), filter }.end(Some("the last line"));
        drop(stuck);
        let (written, wait) = sync_channel(1);
        assert!(lines.send_until(Message::Written(written), Instant::now() + Duration::from_secs(60)));
        wait.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
