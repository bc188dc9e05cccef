//! Whether key-holders decided what is attested: the leaf of each attested match must be in the job log of the key-holder, or of two where there are
//! three.
//!
//! A job log counts up to its signed head. It is the log of a service's key-holder if the heads that the seals show are in its chain. A match is looked for by its
//! leaf and its tenant, whatever its seal says, so a seal that shows a false head excuses nothing.
//!
//! A leaf may be missing though its match was decided: the log was copied before, begins later, or lost these lines when its key-holder was restored from a
//! backup. Only times tell, that of the statement by the service's clock and those of the lines by the key-holder's. A statement with a false time is of no
//! use to a service: no relying party accepts it.

use super::error::AuditError;
use crate::time;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use trefoil_attest::tree::{Hash, verify_inclusion};
use trefoil_attest::{
    Attestation, CLOCK_SKEW_SECONDS_MAX, Change, Decision, Evidence, JobsHead, Restoration, SealHeader,
    Statement, TrustRoot, statement_digest, verify_seal,
};
use trefoil_key_holder::job_log::{Entry, Head, JobLogError, SignedHead, read};

/// The job logs and attestations of one audit.
#[derive(Default)]
pub struct Decided {
    seals: BTreeMap<u64, Sealed>,
    /// By place, the heads that seals show, and the first seal of each.
    heads: BTreeMap<Place, BTreeMap<Shown, u64>>,
    matches: Vec<Match>,
}

/// How many key-holders there are, and the seat of one, from 1.
type Place = (usize, usize);
/// How often the vault had been restored, and the head.
type Shown = (u64, JobsHead);

/// A seal that attestations may be under.
#[derive(Clone, Copy)]
struct Sealed {
    digest: [u8; 32],
    tree_size: u64,
    root: Hash,
}

/// An attested match.
struct Match {
    /// Its file, its `cti` and so on, for people.
    name: String,
    /// Of the statement.
    digest: [u8; 32],
    leaf: [u8; 32],
    tenant: String,
    issued_at: u64,
}

/// A job log that was read.
pub struct Jobs {
    path: String,
    /// Lines up to its signed head.
    pub lines: u64,
    /// When that was signed, Unix seconds.
    pub at: u64,
    /// SHA3-256 of the key that signed it.
    pub signer: [u8; 32],
    /// How often its vault was restored.
    times: u64,
    /// The first line: its number and time.
    first: (u64, u64),
    /// Digests of the lines that end the heads which seals show, by the number of lines.
    digests: HashMap<u64, [u8; 32]>,
    /// Of what is looked for, the leaves that are there, by tenant.
    leaves: HashSet<(String, [u8; 32])>,
    restored: Vec<Cut>,
}

/// Where a job log goes on after a restoration: the lines before it, the time of the last of them, and that of the restoration.
struct Cut {
    lines: u64,
    from: u64,
    to: u64,
}

/// The outcome for all attested matches.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Found in the logs.
    pub decided: usize,
    /// Later than a log's signed head.
    pub later: usize,
    /// Earlier than a log's first line.
    pub earlier: usize,
    /// Of a time that a log lost when its key-holder was restored.
    pub lost: usize,
    /// Made up: they should be in the logs and are not.
    pub made_up: Vec<String>,
}

/// The first of two counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Decided,
    MadeUp,
    Later,
    Earlier,
    Lost,
}

impl Decided {
    /// Takes a seal of the log, whose signatures were checked.
    pub fn see(&mut self, header: &SealHeader) {
        let key_holders = header.vaults.len();
        for (seat, state) in (1..).zip(&header.vaults) {
            if let Some((restored, jobs)) = state.and_then(|state| Some((state.restored, state.jobs?))) {
                let of_seat = self.heads.entry((key_holders, seat)).or_default();
                of_seat.entry((restored, jobs)).or_insert(header.seal_number);
            }
        }
        self.seals.insert(header.seal_number, Sealed::of(header));
    }

    /// Takes an attestation, which must be under a seal of the log, or under one that the log lost with one of these restorations.
    pub fn attestation(
        &mut self,
        name: &str,
        bytes: &[u8],
        trust_root: &TrustRoot,
        restorations: &[Restoration],
    ) -> Result<(), AuditError> {
        let refused = |cause: String| AuditError::Other { name: name.to_owned(), cause };
        let no_attestation = |cause| AuditError::Source(format!("{name}: {cause}"));
        let Attestation { statement, leaf_index, tree_size, path, evidence, .. } =
            Attestation::decode(bytes).map_err(no_attestation)?;
        if Change::decode(statement).is_ok() {
            return Ok(());
        }
        let digest = statement_digest(statement);
        let statement = Statement::decode(statement).map_err(no_attestation)?;
        let (own, lost) = match &evidence {
            Evidence::Full(seal) => (seal.reference(), Some(seal)),
            Evidence::Compact(named) => (*named, None),
        };
        let lost = lost.filter(|seal| restorations.iter().any(|restored| restored.lost(&seal.header)));
        let sealed = match lost {
            Some(seal) => {
                verify_seal(seal, trust_root).map_err(|cause| refused(cause.to_string()))?;
                Some(Sealed::of(&seal.header))
            }
            None => self.seals.get(&own.seal_number).copied(),
        };
        let Some(sealed) = sealed.filter(|sealed| sealed.digest == own.digest) else {
            let number = own.seal_number;
            return Err(refused(format!(
                "its seal {number} is not in the log: the log has forked, or lost it when it was restored"
            )));
        };
        let is_in_tree = sealed.tree_size == tree_size
            && verify_inclusion(&digest, leaf_index, tree_size, &path, &sealed.root);
        if !is_in_tree || statement.issuer != trust_root.issuer() {
            return Err(refused("its statement is not in the tree of its seal".to_owned()));
        }
        if statement.decision == Decision::Match {
            let (batch, place) = (hex::encode(statement.batch_id.as_bytes()), statement.place);
            let (account, at) =
                (hex::encode(statement.account.as_bytes()), time::format(statement.issued_at));
            self.matches.push(Match {
                name: format!("{name}: cti {batch}{place:02x}, account {account}, {at}"),
                digest,
                leaf: statement.decided_leaf(),
                tenant: hex::encode(statement.tenant.as_bytes()),
                issued_at: statement.issued_at,
            });
        }
        Ok(())
    }

    /// Reads the job log in a directory: its files and `jobs.head`.
    pub fn jobs(&self, directory: &Path) -> Result<Jobs, AuditError> {
        let path = directory.display().to_string();
        let wanted: HashSet<&[u8; 32]> = self.matches.iter().map(|claim| &claim.leaf).collect();
        let ends: HashSet<u64> = self.heads.values().flatten().map(|((_, head), _)| head.lines).collect();
        let (mut first, mut last_at) = (None, 0);
        let (mut digests, mut leaves, mut restored) = (HashMap::new(), HashSet::new(), Vec::new());
        let line = &mut |entry: &Entry, head: Head| {
            first.get_or_insert((entry.n, entry.at));
            if ends.contains(&head.next) {
                digests.insert(head.next, head.digest);
            }
            if matches!(&entry.op[..], "restore" | "accept-older-vault") {
                restored.push(Cut { lines: entry.n, from: last_at, to: entry.at });
            }
            last_at = entry.at;
            let matched =
                entry.matched.as_ref().and_then(|matched| hex::decode(matched).ok()).unwrap_or_default();
            for leaf in matched.as_chunks().0.iter().filter(|leaf| wanted.contains(leaf)) {
                leaves.insert((entry.tenant.clone().unwrap_or_default(), *leaf));
            }
        };
        let (_, signed) = read(directory, line).map_err(|cause| match cause {
            JobLogError::Broken { .. } | JobLogError::OtherHead { .. } => {
                AuditError::Other { name: path.clone(), cause: cause.to_string() }
            }
            cause => AuditError::Source(cause.to_string()),
        })?;
        let (Some(signed), Some(first)) = (signed, first) else {
            return Err(AuditError::Source(format!(
                "{path} has no job log with a signed head: give the directory of a key-holder that ran, or a copy of its jobs.head and jobs-*.log"
            )));
        };
        let SignedHead { lines, at, restored: times, .. } = signed;
        Ok(Jobs { path, lines, at, signer: signed.signer(), times, first, digests, leaves, restored })
    }

    /// Looks for every match in these logs. Also returns the place of each log.
    pub fn judge(&self, logs: &[Jobs]) -> Result<(Verdicts, Vec<Place>), AuditError> {
        let places = logs.iter().map(|jobs| self.place(jobs)).collect::<Result<Vec<Place>, _>>()?;
        let (three, alone): (Vec<_>, Vec<_>) = places.iter().zip(logs).partition(|(place, _)| place.0 > 1);
        if three.len() == 1 || places.iter().collect::<HashSet<_>>().len() < places.len() {
            let cause =
                "of three key-holders give two or three different job logs, of a single one its only one";
            return Err(AuditError::Source(cause.to_owned()));
        }
        let (mut verdicts, mut stated) = (Verdicts::default(), HashMap::new());
        for claim in &self.matches {
            // The digest of a request covers its nonce and audience, so nothing is stated twice of one.
            if stated.insert(claim.leaf, claim.digest).is_some_and(|before| before != claim.digest) {
                verdicts.made_up.push(format!("{}: there is another statement of this decision", claim.name));
                continue;
            }
            // One of three may not have taken part. A service that had one key-holder and then three has logs of both.
            let together = [(&alone, alone.len()), (&three, three.len().saturating_sub(1))];
            match together.iter().filter_map(|(logs, needed)| look_together(claim, logs, *needed)).min() {
                Some(Verdict::Decided) => verdicts.decided += 1,
                Some(Verdict::Later) => verdicts.later += 1,
                Some(Verdict::Earlier) => verdicts.earlier += 1,
                Some(Verdict::Lost) => verdicts.lost += 1,
                Some(Verdict::MadeUp) | None => verdicts.made_up.push(claim.name.clone()),
            }
        }
        Ok((verdicts, places))
    }

    /// Whose log it is: the one whose heads it has, all of them.
    fn place(&self, jobs: &Jobs) -> Result<Place, AuditError> {
        let refused = |cause: String| AuditError::Other { name: jobs.path.clone(), cause };
        let compared = self.heads.iter().map(|(place, heads)| {
            let heads =
                heads.iter().filter_map(|(shown, seal)| Some((jobs.has(shown)?, shown.1.lines, seal)));
            let (right, wrong): (Vec<_>, Vec<_>) = heads.partition(|(has, ..)| *has);
            (right.len(), *place, wrong.into_iter().next())
        });
        match compared.max_by_key(|(right, ..)| *right) {
            Some((1.., place, None)) => Ok(place),
            Some((1.., (_, seat), Some((_, lines, seal)))) => Err(refused(format!(
                "the log has forked: seal {seal} shows {lines} lines of key-holder {seat} that end otherwise"
            ))),
            Some(_) => Err(refused("no head that the seals show is in this log: it is of another key-holder, was altered from the beginning, or was copied too early".to_owned())),
            None => Err(AuditError::Source(
                "no seal that was checked shows a job log: the key-holder is in the service's process, where none is kept".to_owned(),
            )),
        }
    }
}

/// Whether so many of these logs have a match; `None` without logs.
fn look_together(claim: &Match, logs: &[(&Place, &Jobs)], needed: usize) -> Option<Verdict> {
    let found: Vec<Verdict> = logs.iter().map(|(_, jobs)| jobs.look_for(claim)).collect();
    let decided = found.iter().filter(|one| **one == Verdict::Decided).count();
    let open: Vec<Verdict> = found.into_iter().filter(|one| *one > Verdict::MadeUp).collect();
    match (decided, open.iter().min()) {
        _ if logs.is_empty() => None,
        (decided, _) if decided >= needed => Some(Verdict::Decided),
        (decided, Some(why)) if decided + open.len() >= needed => Some(*why),
        _ => Some(Verdict::MadeUp),
    }
}

impl Sealed {
    fn of(header: &SealHeader) -> Sealed {
        let (tree_size, root) = (header.tree_size, header.root);
        Sealed { digest: header.digest(), tree_size, root }
    }
}

impl Jobs {
    /// Whether the log has a head; `None` if it is later, earlier, or of a part that was lost.
    fn has(&self, (restored, head): &Shown) -> Option<bool> {
        // Restorations since that head, of which the log shows the newest.
        let since = usize::try_from(self.times.checked_sub(*restored)?).unwrap_or(usize::MAX);
        let kept = match since {
            0 => self.lines,
            since => self.restored.get(self.restored.len().saturating_sub(since))?.lines,
        };
        let is_there = self.first.0 < head.lines && head.lines <= kept;
        is_there.then(|| self.digests.get(&head.lines) == Some(&head.digest))
    }

    fn look_for(&self, claim: &Match) -> Verdict {
        let (at, skew) = (claim.issued_at, CLOCK_SKEW_SECONDS_MAX);
        let (first, began) = self.first;
        // Without its oldest files, what was decided about then may be in them.
        let began = if first == 0 { began.saturating_sub(skew) } else { began + skew };
        let within = |cut: &Cut| cut.from.saturating_sub(skew) <= at && at <= cut.to.saturating_add(skew);
        if self.leaves.contains(&(claim.tenant.clone(), claim.leaf)) {
            Verdict::Decided
        } else if at.saturating_add(skew) > self.at {
            Verdict::Later
        } else if at < began {
            Verdict::Earlier
        } else if self.restored.iter().any(within) {
            Verdict::Lost
        } else {
            Verdict::MadeUp
        }
    }
}

#[cfg(test)]
mod tests;
