//! Handles standard output whose reader has gone, as in `trefoil serve --print-config | head -1`.

use std::any::Any;
use std::io::{self, ErrorKind, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

/// Exit code of a program whose reader has gone: the one that a shell shows after SIGPIPE.
const NO_READER: u8 = 141;

/// The payload with which [`write`] unwinds.
struct ReaderGone;

/// Runs a program that ends when its reader has gone: if `print!`, `eprint!` or [`write()`] finds that,
/// the program ends quietly instead of reporting a panic. Other panics are reported as usual. For `main`.
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
/// The operating system's reason. A reader that has gone ends [`while_somebody_reads`] instead.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => resume_unwind(Box::new(ReaderGone)),
        written => written,
    }
}

/// Prints lines of a service at its start. Without a reader the service runs all the same.
pub fn tell(lines: &str) {
    let mut output = io::stdout().lock();
    let _ = output.write_all(lines.as_bytes()).and_then(|()| output.flush());
}
