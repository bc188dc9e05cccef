//! The part of an audit that looks for attested matches in the key-holders' job logs.

use super::{Failure, INVALID, failed, named, undecided};
use crate::remote::read_at_most;
use std::path::PathBuf;
use trefoil_attest::{ATTESTATION_BYTES_MAX, TrustRoot};
use trefoil_service::log::log_audit::{Decided, Head};
use trefoil_service::time;

/// Most made-up matches that are named.
const NAMED_MAX: usize = 20;

#[derive(clap::Args)]
pub(super) struct JobLogs {
    /// Directory with attestations, one in each file. Every match in them must be in the job logs.
    #[arg(long, value_name = "DIR", requires = "jobs")]
    attestations: Option<PathBuf>,
    /// A key-holder's job log, from its operator: its data directory, or a copy of its jobs.head and then its jobs-*.log. Of three key-holders
    /// give two or three. The audit begins at the first seal.
    #[arg(long, value_name = "DIR", conflicts_with = "head")]
    jobs: Vec<PathBuf>,
}

impl JobLogs {
    /// Whether seals are to be remembered.
    pub(super) fn are_given(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Checks the logs against the seals, and the attestations against the logs. Returns what to tell, and how many matches are later than the logs.
    pub(super) fn look(
        &self,
        mut decided: Decided,
        trust_root: &TrustRoot,
        head: &Head,
    ) -> Result<(Vec<String>, usize), Failure> {
        let mut files = Vec::new();
        if let Some(directory) = &self.attestations {
            let entries = std::fs::read_dir(directory).map_err(|cause| named(directory, &cause))?;
            for entry in entries {
                files.push(entry.map_err(|cause| named(directory, &cause))?.path());
            }
        }
        files.sort();
        for path in &files {
            let bytes = read_at_most(path, ATTESTATION_BYTES_MAX as u64).map_err(undecided)?;
            let name = path.display().to_string();
            decided.attestation(&name, &bytes, trust_root, &head.restorations).map_err(failed)?;
        }
        let logs = self.jobs.iter().map(|path| decided.jobs(path)).collect::<Result<Vec<_>, _>>();
        let logs = logs.map_err(failed)?;
        let (verdicts, places) = decided.judge(&logs).map_err(failed)?;
        if !verdicts.made_up.is_empty() {
            let (count, shown) = (verdicts.made_up.len(), verdicts.made_up.iter().take(NAMED_MAX));
            let names: String = shown.map(|name| format!("\n  NOT DECIDED {name}")).collect();
            return Err((format!("{count} attested matches were decided by no key-holder:{names}"), INVALID));
        }
        let mut told: Vec<String> = self
            .jobs
            .iter()
            .zip(&logs)
            .zip(&places)
            .map(|((path, jobs), (_, seat))| {
                let (lines, at, key) = (jobs.lines, time::format(jobs.at), hex::encode(jobs.signer));
                format!(
                    "job log {}: of key-holder {seat}, {lines} lines, signed at {at} by key {key}",
                    path.display()
                )
            })
            .collect();
        if self.attestations.is_some() {
            told.push(format!("{} attested matches are in the job logs", verdicts.decided));
        }
        if verdicts.earlier > 0 {
            told.push(format!(
                "notice: {} attested matches are earlier than the job logs: add their older files",
                verdicts.earlier
            ));
        }
        if verdicts.lost > 0 {
            told.push(format!("notice: {} attested matches are of a time that a job log lost, because its key-holder was restored from a backup", verdicts.lost));
        }
        Ok((told, verdicts.later))
    }
}

/// That some matches are later than the logs.
pub(super) fn later(count: usize) -> Failure {
    undecided(format!(
        "{count} attested matches are later than the job logs: copy them again, a minute after the newest attestation"
    ))
}
