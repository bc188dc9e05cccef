//! Where the processors' time goes, by samples that Linux' `perf` takes of this process, as a flame graph.
//!
//! Samples are taken after the windows, while the load continues, because sampling costs time and must slow no window. A sample has the
//! stack of a thread, unwound by DWARF, because the programs keep no frame pointers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::Failure;
use crate::chart;

/// Samples a second: no divisor of a timer's rate, so that they fall into no step with one.
const SAMPLES_PER_S: u32 = 199;
/// Bytes of each stack that are kept. What is deeper stands on `[unknown]`.
const STACK_BYTES: u32 = 16_384;
/// The number of most expensive functions in a record.
const DEAREST: usize = 10;

/// Takes samples of this process for a time.
pub(crate) struct Sampling {
    perf: Child,
    data: NamedTempFile,
}

/// Stacks, outermost call first, and how often each was seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    stacks: BTreeMap<Vec<String>, u64>,
}

/// Fails early if there is no `perf` or it may not take samples.
pub(crate) fn check() -> Result<(), Failure> {
    let data = NamedTempFile::new().map_err(Failure::in_step("temporary file"))?;
    let tried =
        Command::new("perf").args(["record", "--quiet", "--output"]).arg(data.path()).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Failure::usage(format!(
            "perf may take no samples here (/proc/sys/kernel/perf_event_paranoid): {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
        Err(_) => Err(Failure::usage("--profile needs perf, such as apt-get install linux-perf")),
    }
}

impl Sampling {
    pub(crate) fn start(seconds: f64) -> Result<Sampling, Failure> {
        let data = NamedTempFile::new().map_err(Failure::in_step("temporary file"))?;
        let mut perf = Command::new("perf");
        perf.args(["record", "--freq", &SAMPLES_PER_S.to_string()]);
        perf.args([
            "--call-graph",
            &format!("dwarf,{STACK_BYTES}"),
            "--pid",
            &std::process::id().to_string(),
        ]);
        perf.arg("--output").arg(data.path()).args(["--", "sleep", &seconds.to_string()]);
        perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(Sampling { perf: perf.spawn().map_err(Failure::in_step("perf"))?, data })
    }

    /// Whether its time is over, which begins when perf does: until then the threads that it looks at must not end.
    pub(crate) fn is_over(&mut self) -> bool {
        !matches!(self.perf.try_wait(), Ok(None))
    }

    /// Waits for the end of its time.
    pub(crate) fn finish(self) -> Result<Profile, Failure> {
        let Sampling { perf, data } = self;
        let done = perf.wait_with_output().map_err(Failure::in_step("perf record"))?;
        if !done.status.success() {
            let cause = String::from_utf8_lossy(&done.stderr);
            return Err(Failure::fault(format!("perf record: {}", cause.trim())));
        }
        let mut script = Command::new("perf");
        script.args(["script", "--no-inline", "--fields", "comm,ip,sym", "--input"]).arg(data.path());
        let told = script.output().map_err(Failure::in_step("perf script"))?;
        let profile = Profile::of_script(&String::from_utf8_lossy(&told.stdout));
        if profile.stacks.is_empty() {
            let cause = String::from_utf8_lossy(&told.stderr);
            return Err(Failure::fault(format!("perf saw nothing: {}", cause.trim())));
        }
        Ok(profile)
    }
}

impl Profile {
    /// What `perf script` prints: for each sample a line with the thread's name, then its calls from the innermost on, then an empty line.
    fn of_script(text: &str) -> Profile {
        let mut profile = Profile::default();
        for sample in text.split("\n\n") {
            let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
            let Some(thread) = lines.next() else { continue };
            let mut stack: Vec<String> = lines.filter_map(call).collect();
            stack.push(kind_of_thread(thread));
            stack.reverse();
            *profile.stacks.entry(stack).or_default() += 1;
        }
        profile
    }

    fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Functions by the samples in which they are the innermost, the most expensive first.
    fn dearest(&self) -> Vec<(&str, u64)> {
        let mut own = BTreeMap::<&str, u64>::new();
        for (stack, count) in &self.stacks {
            *own.entry(stack.last().map_or("", String::as_str)).or_default() += count;
        }
        let mut own: Vec<_> = own.into_iter().collect();
        own.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        own.truncate(DEAREST);
        own
    }

    /// Draws the flame graph, and names it in what the record gets.
    pub(crate) fn drawn(&self, file: &Path) -> Result<Value, Failure> {
        chart::write(file, &self.svg())?;
        let mut json = self.json();
        json["flame_graph"] = json!(file.file_name().unwrap_or_default().to_string_lossy());
        Ok(json)
    }

    fn json(&self) -> Value {
        let all = self.samples() as f64;
        let dearest = self.dearest().into_iter().map(|(name, count)| {
            json!({ "function": name, "percent": (1000.0 * count as f64 / all).round() / 10.0 })
        });
        json!({
            "samples": self.samples(), "samples_per_s": SAMPLES_PER_S, "dearest": dearest.collect::<Vec<_>>(),
        })
    }

    /// Threads at the foot, each call on its caller, as wide as its share of the samples; a pointer's rest on it shows its name.
    fn svg(&self) -> String {
        let mut boxes = Vec::new();
        let stacks: Vec<(&[String], u64)> =
            self.stacks.iter().map(|(stack, n)| (stack.as_slice(), *n)).collect();
        lay(&stacks, 0, 0, &mut boxes);
        let deepest = boxes.iter().map(|of: &Frame| of.depth).max().unwrap_or(0);
        let (all, height) = (self.samples().max(1) as f64, ROW * (deepest + 3) as f64);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"4\" y=\"13\">{} samples, {SAMPLES_PER_S} a second</text>\n",
            self.samples()
        );
        for Frame { name, depth, from, samples } in boxes {
            let (x, width) = (WIDTH * from as f64 / all, WIDTH * samples as f64 / all);
            if width < NARROWEST {
                continue;
            }
            let y = height - ROW * (depth + 1) as f64;
            let percent = 100.0 * samples as f64 / all;
            let (name, shown) = (escaped(name), escaped(&short(name, ((width - 4.0) / LETTER) as usize)));
            // A string grows; it does not fail.
            writeln!(
                svg,
                "<g><title>{name}: {samples} samples, {percent:.2} %</title><rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{:.0}\" \
                 fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.0}\">{shown}</text></g>",
                ROW - 1.0,
                colour(&name),
                x + 2.0,
                y + 11.0
            )
            .unwrap_or_default();
        }
        svg + "</svg>\n"
    }
}

const WIDTH: f64 = 1200.0;
const ROW: f64 = 15.0;
/// Of a letter, about.
const LETTER: f64 = 6.7;
/// Narrower calls are not drawn because they would be invisible.
const NARROWEST: f64 = 0.3;

/// One call in the graph.
struct Frame<'a> {
    name: &'a str,
    depth: usize,
    /// Samples to its left.
    from: u64,
    samples: u64,
}

/// Puts stacks, which are in order and alike up to `depth`, side by side from `from` on.
fn lay<'a>(stacks: &[(&'a [String], u64)], depth: usize, mut from: u64, boxes: &mut Vec<Frame<'a>>) {
    let mut rest = stacks;
    while let Some((first, own)) = rest.first() {
        let Some(name) = first.get(depth) else {
            // It ends here, on its caller.
            from += own;
            rest = &rest[1..];
            continue;
        };
        let alike = rest.partition_point(|(stack, _)| stack.get(depth) <= Some(name));
        let (here, after) = rest.split_at(alike);
        let samples = here.iter().map(|(_, count)| count).sum();
        boxes.push(Frame { name, depth, from, samples });
        lay(here, depth + 1, from, boxes);
        from += samples;
        rest = after;
    }
}

/// The function of one line of a stack: an address, a name, perhaps `(inlined)`.
fn call(line: &str) -> Option<String> {
    let name = line.trim().split_once(' ')?.1.trim().trim_end_matches(" (inlined)");
    // The hash at the end of a mangled name.
    let without_hash = name
        .rsplit_once("::h")
        .filter(|(_, hash)| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    Some(without_hash.map_or(name, |(name, _)| name).to_owned())
}

/// Workers are one kind of thread, whatever their number.
fn kind_of_thread(name: &str) -> String {
    name.trim().trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-').to_owned()
}

/// The part of a name that fits: its end if possible, from a `::` on; empty if it would be a letter or two.
fn short(name: &str, fits: usize) -> String {
    let mut rest = name;
    while rest.chars().count() > fits
        && let Some((_, inner)) = rest.split_once("::")
    {
        rest = inner;
    }
    if fits < 3 { String::new() } else { rest.chars().take(fits).collect() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The same for the same name, from yellow to red.
fn colour(name: &str) -> String {
    let sum = name.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("#{:02x}{:02x}{:02x}", 205 + sum % 50, 90 + sum / 50 % 140, sum / 7_000 % 70)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
worker-0 
\t    5581 trefoil_pipeline::steps::Pipeline<C>::run::h0123456789abcdef
\t    5580 start_thread

worker-12 
\t    5591 sha3<512> (inlined)
\t    5581 trefoil_pipeline::steps::Pipeline<C>::run::h0123456789abcdef
\t    5580 start_thread

worker-1 
\t    5591 sha3<512>
\t    5581 trefoil_pipeline::steps::Pipeline<C>::run::h0123456789abcdef
\t    5580 start_thread

sealer-0 
\t    7777 [unknown]

";

    #[test]
    fn stacks_are_folded_over_the_workers() {
        let profile = Profile::of_script(SCRIPT);
        assert_eq!((profile.samples(), profile.stacks.len()), (4, 3));
        let stack = ["worker", "start_thread", "trefoil_pipeline::steps::Pipeline<C>::run", "sha3<512>"];
        assert_eq!(profile.stacks[&stack.map(str::to_owned).to_vec()], 2);
        assert_eq!(profile.dearest()[0], ("sha3<512>", 2));
        assert_eq!(profile.json()["dearest"][0]["percent"], 50.0);
        assert_eq!(Profile::of_script(""), Profile::default());
    }

    #[test]
    fn a_call_stands_on_its_caller_and_is_as_wide_as_its_samples() {
        let profile = Profile::of_script(SCRIPT);
        let svg = profile.svg();
        assert!(svg.contains("<title>worker: 3 samples, 75.00 %</title>"), "{svg}");
        assert!(svg.contains("<title>sealer: 1 samples, 25.00 %</title><rect x=\"0.0\""), "{svg}");
        assert!(svg.contains("sha3&lt;512&gt;: 2 samples, 50.00 %</title><rect x=\"600.0\""), "{svg}");
        assert_eq!(
            [30, 12, 9, 2].map(|fits| short("a::long::way::to_go", fits)),
            ["a::long::way::to_go", "way::to_go", "to_go", ""]
        );
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }
}
