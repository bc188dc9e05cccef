//! Standard output whose reader went away, as in `trefoil serve --print-config | head -1`.

/// Exit code of a program that nobody listens to any more: what a shell shows for one that SIGPIPE ended.
const NOBODY_READS: i32 = 141;

/// Ends the process quietly where `print!` finds its reader gone, instead of panicking. Other panics are reported as
/// before. For the first line of a program.
pub fn end_with_the_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        if said.starts_with("failed printing to stdout") && said.contains("Broken pipe") {
            std::process::exit(NOBODY_READS);
        }
        report(panic);
    }));
}
