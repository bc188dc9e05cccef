//! Standard output whose reader went away, as in `trefoil serve --print-config | head -1`.

use std::any::Any;
use std::io::{self, ErrorKind, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

/// Exit code of a program that nobody listens to any more: what a shell shows for one that SIGPIPE ended.
const NO_READER: u8 = 141;

/// What [`write`] unwinds with.
struct ReaderGone;

/// Runs a program of which nothing is wanted once its reader has gone: where `print!`, `eprint!` or [`write()`] finds that,
/// the program ends quietly instead of with the report of a panic. Other panics are reported as before. For `main`.
pub fn while_somebody_reads(program: impl FnOnce() -> ExitCode) -> ExitCode {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_of_the_reader(panic.payload()) {
            report(panic);
        }
    }));
    match catch_unwind(AssertUnwindSafe(program)) {
        Ok(code) => code,
        Err(panic) if is_of_the_reader(&*panic) => ExitCode::from(NO_READER),
        Err(panic) => resume_unwind(panic),
    }
}

fn is_of_the_reader(panic: &(dyn Any + Send)) -> bool {
    let said = panic.downcast_ref::<String>().map_or("", String::as_str);
    panic.is::<ReaderGone>() || said.starts_with("failed printing to std") && said.contains("Broken pipe")
}

/// Writes bytes to standard output, as `print!` writes text.
///
/// # Errors
/// The operating system's reason, but for a reader that went away: that ends [`while_somebody_reads`].
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => resume_unwind(Box::new(ReaderGone)),
        written => written,
    }
}

/// Prints lines that a service says when it starts. Without a reader the service runs all the same.
pub fn tell(lines: &str) {
    let mut output = io::stdout().lock();
    let _ = output.write_all(lines.as_bytes()).and_then(|()| output.flush());
}
