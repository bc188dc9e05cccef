//! Standard output whose reader went away, as in `trefoil serve --print-config | head -1`.

use std::io::{self, ErrorKind, Write as _};

/// Exit code of a program that nobody listens to any more: what a shell shows for one that SIGPIPE ended.
const NOBODY_READS: i32 = 141;

/// Ends the process quietly where `print!` or `eprint!` finds its reader gone, instead of panicking. Other panics are reported
/// as before. For the first line of a program.
pub fn end_with_the_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        if said.starts_with("failed printing to std") && said.contains("Broken pipe") {
            std::process::exit(NOBODY_READS);
        }
        report(panic);
    }));
}

/// Writes bytes to standard output, as `print!` writes text.
///
/// # Errors
/// The operating system's reason, but for a reader that went away: that ends the process quietly.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => std::process::exit(NOBODY_READS),
        written => written,
    }
}
