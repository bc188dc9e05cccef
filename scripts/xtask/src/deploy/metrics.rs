//! The page of metrics of a running service, as Prometheus' program judges it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::silent;
use crate::clients::execute;
use crate::repo::Repo;
use crate::service::Service;

/// How often the page is read until it has what it must have, with a pause between.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);
/// Counts of the key-holder, which the service reads once a second.
const COUNTED: &str = "trefoil_budget_trips_total{";

/// The page after a first login.
pub(super) fn check(repo: &Repo) -> Result<String, String> {
    let service = Service::start(repo, "metrics")?;
    service.quickstart(repo)?;
    let file = page(&service)?;
    let mut check = Command::new("promtool");
    let page = fs::File::open(&file).map_err(|cause| format!("{}: {cause}", file.display()))?;
    check.args(["check", "metrics"]).stdin(page);
    silent(check)
}

/// The file with the page, once it has the counts.
fn page(service: &Service) -> Result<PathBuf, String> {
    let file = service.data.with_file_name("metrics.txt");
    for _ in 0..TRIES {
        let mut scrape = Command::new("curl");
        scrape.args(["-sS", "--fail", "--cacert"]).arg(service.certificate());
        scrape.arg("-o").arg(&file).arg(format!("{}/metrics", service.admin));
        execute(&mut scrape)?;
        let page = fs::read_to_string(&file).map_err(|cause| format!("{}: {cause}", file.display()))?;
        if page.contains(COUNTED) {
            return Ok(file);
        }
        sleep(PAUSE);
    }
    Err(format!("the page of metrics does not have {COUNTED}"))
}
