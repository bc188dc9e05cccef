//! The process, under the usual names of exporters: version, start, processor time, memory, open files. Read from `/proc`, so on
//! Linux only. A figure that cannot be read is left out.

use crate::text::Text;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};
use trefoil_api::ProcessFigures;

/// See the module.
pub(crate) struct Process {
    started_at: f64,
}

impl Default for Process {
    fn default() -> Process {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Process { started_at: since.map_or(0.0, |since| since.as_secs_f64()) }
    }
}

impl Process {
    /// Its start, Unix seconds.
    pub(crate) fn started_at(&self) -> u64 {
        self.started_at as u64
    }

    pub(super) fn render(&self, text: &mut Text) {
        text.family("trefoil_build_info", "gauge", "1; the version is a label");
        text.sample("trefoil_build_info", concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1.0);
        let started = "Start of the process, unix seconds";
        text.single("process_start_time_seconds", "gauge", started, self.started_at);
        let ProcessFigures { processor_seconds, memory_bytes, open_files } = figures();
        text.single(
            "process_cpu_seconds_total",
            "counter",
            "Processor time of the process",
            processor_seconds,
        );
        let memory = memory_bytes.map(|bytes| bytes as f64);
        text.single("process_resident_memory_bytes", "gauge", "Memory of the process", memory);
        let files = open_files.map(|files| files as f64);
        text.single("process_open_fds", "gauge", "Open files and sockets of the process", files);
    }
}

/// What the system reports about this process now.
pub(crate) fn figures() -> ProcessFigures {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    ProcessFigures {
        processor_seconds: processor_seconds(&stat),
        memory_bytes: pages.map(|pages| pages * rustix::param::page_size() as u64),
        open_files: fs::read_dir("/proc/self/fd").ok().map(Iterator::count),
    }
}

/// User and system time: fields 14 and 15. The second field, the name, may have spaces and parentheses.
fn processor_seconds(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_shows_itself() {
        let mut text = Text::default();
        Process::default().render(&mut text);
        let text = text.into_string();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("{name} is missing: {text}")).parse::<f64>().unwrap()
        };
        assert!(value("process_resident_memory_bytes") > 1e6 && value("process_open_fds") >= 3.0);
        assert!(value("process_start_time_seconds") > 1.7e9 && value("process_cpu_seconds_total") >= 0.0);
        assert!(text.contains(concat!(
            "trefoil_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1\n"
        )));
    }

    #[test]
    fn a_name_with_parentheses_moves_no_field() {
        let hz = rustix::param::clock_ticks_per_second() as f64;
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 5 0 0";
        assert_eq!(processor_seconds(stat), Some(42.0 / hz));
        assert_eq!(processor_seconds(""), None);
    }
}
