//! Every probe of an embedding set against every template, encrypted, compared with arithmetic in the clear.
//!
//! Templates are enrolled as the service enrols them, 32 to a batch in 32 lanes; every probe is matched against every batch.
//! Probes in the clear go through the roles of the service; shared probes, and a quorum of key-holders, through the same arithmetic alone. In the former, each job is opened twice: by the key-holder, which gives one bit per lane, and by [`opener`], which
//! gives the scores. The matrix of scores must equal that of plain arithmetic bit for bit, and the bits must be those
//! that the scores imply.

mod by_roles;
mod opener;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trefoil_dataset::{Photographs, Protocol, ScoreMatrix, Trials};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Handle, KeyHolder, LANES, Lane, Matcher, MemoryVault, Model,
    PublicKey, Template, TemplateName, Tier, Width, split, system_entropy, unblind,
};
use trefoil_types::{BatchId, ProbeMode};

use crate::args::{cores, in_source_tree, workers};
use crate::clock::WORLD_START_S;
use crate::distribution::rounded;
use crate::population::TENANT;
use crate::roles::quantise;
use crate::{Failure, Report, parallel};
use opener::{Keys, Opener};

/// If the set has no reference, the scores are compared with plain arithmetic only.
#[derive(Debug, Args)]
pub(crate) struct Exact {
    /// Set to compare: a folder in --data with x.npy and y.npy, such as lfw_facenet128
    #[arg(long, value_name = "NAME", required_unless_present = "x", conflicts_with_all = ["x", "y"])]
    set: Option<String>,
    /// Embeddings: a .npy file of float32 rows of 2 to 512 numbers
    #[arg(long, value_name = "FILE", requires = "y")]
    x: Option<PathBuf>,
    /// People: a .npy file with one integer per row
    #[arg(long, value_name = "FILE", requires = "x")]
    y: Option<PathBuf>,
    /// How rows become templates and probes: a person's first row is the template, or the mean of the first three
    #[arg(long, value_parser = protocol, default_value = "enrol1")]
    protocol: Protocol,
    /// How probes arrive: plain, in the clear with a key per template, or shared, in two shares under one key per tenant
    #[arg(long, value_parser = mode, default_value = "plain")]
    mode: ProbeMode,
    /// Three key-holders in place of one, each with two of three pieces of every key
    #[arg(long, conflicts_with = "mode")]
    quorum: bool,
    /// Folder of the sets [default: bench/data of the source tree]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
}

fn protocol(name: &str) -> Result<Protocol, String> {
    let known = [Protocol::Enrol1, Protocol::Enrol3].into_iter().find(|known| known.to_string() == name);
    known.ok_or_else(|| "use enrol1, enrol3".to_owned())
}

fn mode(name: &str) -> Result<ProbeMode, String> {
    let known = [ProbeMode::Plain, ProbeMode::Shared].into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| "use plain, shared".to_owned())
}

/// False-match rate 10^-3 on `lfw_facenet128` with `enrol1`; for the comparison of bits any threshold serves.
const THRESHOLD: i32 = 16_046;

/// Runs the comparison.
///
/// # Errors
/// When the set cannot be read or a step fails. A difference is in the report, not here.
pub(crate) fn exact(args: &Exact, tier: Tier) -> Result<Report, Failure> {
    let Exact { protocol, mode, .. } = args;
    let workers = args.workers.unwrap_or_else(cores);
    let data = args.data.clone().unwrap_or_else(|| in_source_tree("data"));
    let (x, y) = match (&args.set, &args.x, &args.y) {
        (Some(name), None, None) => (data.join(name).join("x.npy"), data.join(name).join("y.npy")),
        (None, Some(x), Some(y)) => (x.clone(), y.clone()),
        _ => return Err(Failure::usage("give either --set, or both --x and --y")),
    };
    if let Some(name) = args.set.as_ref().filter(|_| !x.is_file()) {
        return Err(unknown_set(&data, name));
    }
    let set = Photographs::load(&x, &y)
        .map_err(|error| Failure::usage(format!("the set cannot be used: {error}")))?;
    let reference = match &args.set {
        Some(name) => reference(&data, name, *protocol)?,
        None => None,
    };
    let width = Width::of(set.width()).ok_or_else(|| Failure::fault("a set has 2 to 512 numbers"))?;
    let trials = protocol.split(&set).map_err(|error| Failure::usage(error.to_string()))?;
    let plain = trials
        .score(Embedding::quantise, Embedding::dot)
        .map_err(|error| Failure::usage(format!("an embedding cannot be quantised: {error}")))?;
    let started = Instant::now();
    let (encrypted, bits_wrong) = match mode {
        _ if args.quorum => (by_roles::compare_in_pieces(&trials, workers, tier)?, None),
        ProbeMode::Plain => {
            let (scores, wrong) = Enrolment::new(&trials)?.compare(&trials, workers, tier)?;
            (scores, Some(wrong))
        }
        // These have scores but no decisions; the roles' tests cover its decisions.
        ProbeMode::Shared => (by_roles::compare(&trials, workers, tier)?, None),
    };
    let seconds = started.elapsed().as_secs_f64();
    let sha256 = hex::encode(encrypted.sha256());
    let plain_sha256 = hex::encode(plain.sha256());
    let equal = reference.as_ref().map(|reference| *reference == sha256);
    let jobs = encrypted.probes() * encrypted.templates().div_ceil(LANES);
    let problem = problem(equal, sha256 == plain_sha256, bits_wrong.unwrap_or(0));
    let scores = encrypted.probes() * encrypted.templates();
    let result = json!({
        "set": args.set,
        "protocol": protocol.to_string(), "quantiser": format!("unit-r{}/{}", width.scale(), set.width()),
        "probes": encrypted.probes(), "templates": encrypted.templates(), "scores": scores,
        "sha256": sha256, "expected": reference, "equal": equal,
        "plain_sha256": plain_sha256, "equal_to_plain": sha256 == plain_sha256,
        "threshold": THRESHOLD, "decisions_wrong": bits_wrong,
        "mode": mode.name(), "quorum": args.quorum, "jobs": jobs, "seconds": rounded(seconds), "workers": workers, "tier": tier.name(),
    });
    let verdict = match (&problem, equal) {
        (Some(problem), _) => format!("WRONG: {problem}"),
        (None, Some(_)) => "equal to the reference and to plain arithmetic".to_owned(),
        (None, None) => "equal to plain arithmetic; the set has no reference".to_owned(),
    };
    let summary =
        format!("{scores} scores in {jobs} encrypted jobs, {seconds:.1} s\nsha256 {sha256}\n{verdict}\n");
    Ok(Report { summary, result, problem })
}

fn problem(equal: Option<bool>, equal_to_plain: bool, bits_wrong: u64) -> Option<String> {
    if !equal_to_plain {
        return Some("the encrypted scores differ from plain arithmetic".to_owned());
    }
    if equal == Some(false) {
        return Some("the scores differ from the reference".to_owned());
    }
    (bits_wrong > 0).then(|| format!("{bits_wrong} decisions are not those that the scores imply"))
}

fn unknown_set(data: &Path, name: &str) -> Failure {
    let mut names: Vec<String> = fs::read_dir(data)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("x.npy").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Failure::usage(format!("no set {name:?} in {}; sets there: {known}", data.display()))
}

/// The known digest of the set's matrix: `<set>/<protocol>` in `reference.json`.
fn reference(data: &Path, name: &str, protocol: Protocol) -> Result<Option<String>, Failure> {
    let path = data.join("reference.json");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::fault(format!("{}: {error}", path.display()))),
    };
    let all: Value = serde_json::from_str(&text).map_err(Failure::in_step(path.display()))?;
    let Some(entry) = all.get(format!("{name}/{protocol}")) else { return Ok(None) };
    // An unreadable entry must not count as a set without a reference.
    match entry["sha256"].as_str() {
        Some(digest) => Ok(Some(digest.to_owned())),
        None => Err(Failure::fault(format!("{}: {name}/{protocol} has no sha256", path.display()))),
    }
}

/// All templates of a set, encrypted, and the keys to look inside.
struct Enrolment {
    key_holder: KeyHolder,
    key: PublicKey,
    templates: Vec<Template>,
    keys: Keys,
}

impl Enrolment {
    fn new(trials: &Trials) -> Result<Self, Failure> {
        let mut rng: StdRng = rand::make_rng();
        let vault = Arc::<MemoryVault>::default();
        let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rng, WORLD_START_S)
            .map_err(Failure::in_step("key-holder"))?;
        let numbers = trials.templates.first().map_or(0, |sample| sample.vector.len());
        let model =
            Model::of("exact", numbers).ok_or_else(|| Failure::fault("no vectors, or of no width"))?;
        let policy = DecisionPolicy::new(model, THRESHOLD, AttemptPolicy::UNLIMITED);
        let key = key_holder
            .create_tenant(TENANT, trefoil_matching::KeyStructure::PerSubject, policy)
            .map_err(Failure::in_step("tenant"))?;
        let mut templates = Vec::with_capacity(trials.templates.len());
        for (index, (sample, lane)) in
            trials.templates.iter().zip(Lane::all().collect::<Vec<_>>().iter().cycle()).enumerate()
        {
            let embedding = quantise(&sample.vector)?;
            let (blinded, blind) = split(&embedding, &mut rng);
            let name = TemplateName { tenant: TENANT, handle: handle(index), generation: 1 };
            let encrypted = key_holder
                .enrol(name, *lane, model, &blinded.into(), WORLD_START_S)
                .map_err(Failure::in_step("enrolment"))?;
            templates.push(unblind(encrypted, blind));
        }
        let keys = Keys::of(&vault, &TENANT)?;
        Ok(Enrolment { key_holder, key, templates, keys })
    }

    /// The encrypted scores, and how many of the key-holder's bits disagree with them.
    fn compare(&self, trials: &Trials, workers: usize, tier: Tier) -> Result<(ScoreMatrix, u64), Failure> {
        let state = || (Matcher::new(tier, Box::new(system_entropy)), Opener::new(&self.keys));
        let rows =
            parallel::map_with(workers, trials.probes.len(), "probes", state, |(matcher, opener), probe| {
                let embedding = quantise(&trials.probes[probe].vector)?;
                let mut row = Vec::with_capacity(self.templates.len());
                let mut wrong = 0;
                for group in self.templates.chunks(LANES) {
                    wrong += self.score(group, &embedding, (matcher, opener), &mut row)?;
                }
                Ok((row, wrong))
            });
        let rows = rows.into_iter().collect::<Result<Vec<(Vec<i32>, u64)>, Failure>>()?;
        let wrong = rows.iter().map(|(_, wrong)| wrong).sum();
        let scores = rows.into_iter().flat_map(|(row, _)| row).collect();
        let matrix = ScoreMatrix::new(trials.probes.len(), self.templates.len(), scores)
            .map_err(Failure::in_step("scores"))?;
        Ok((matrix, wrong))
    }

    /// One job: `probe` against up to 32 templates. Appends the scores to `row`; returns how many bits are wrong.
    fn score(
        &self,
        group: &[Template],
        probe: &Embedding,
        (matcher, opener): (&mut Matcher, &mut Opener<'_>),
        row: &mut Vec<i32>,
    ) -> Result<u64, Failure> {
        let lanes: Vec<(&Template, &Embedding)> = group.iter().map(|template| (template, probe)).collect();
        let job = matcher
            .mask(BatchId::new(rand::rng().random()), TENANT, THRESHOLD, &self.key, &lanes)
            .map_err(Failure::in_step("match"))?;
        let decisions =
            self.key_holder.decide(&job, WORLD_START_S).map_err(Failure::in_step("key-holder"))?;
        let scores = opener.scores(&job)?;
        let mut wrong = 0;
        for template in group {
            let score = scores[template.lane.index()];
            wrong += u64::from(decisions.accepted(template.lane) != (score >= THRESHOLD));
            row.push(score);
        }
        Ok(wrong)
    }
}

/// A handle for the template `index`. The match needs no credential, only distinct names.
fn handle(index: usize) -> Handle {
    Handle::new(Sha256::digest((index as u64).to_le_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_any_kind_is_a_problem() {
        assert_eq!(problem(Some(true), true, 0), None);
        assert_eq!(problem(None, true, 0), None);
        assert!(problem(Some(false), true, 0).is_some());
        assert!(problem(None, false, 0).is_some());
        assert!(problem(Some(true), true, 1).is_some());
    }

    #[test]
    fn references_are_looked_up_by_set_and_protocol() {
        let folder = tempfile::tempdir().expect("folder");
        let of = |name: &str, protocol| reference(folder.path(), name, protocol);
        assert_eq!(of("a", Protocol::Enrol1).expect("no file"), None);
        let text = r#"{"a/enrol1": {"sha256": "00"}, "b/enrol1": {"sha": "00"}}"#;
        fs::write(folder.path().join("reference.json"), text).expect("file");
        assert_eq!(of("a", Protocol::Enrol1).expect("entry").as_deref(), Some("00"));
        assert_eq!(of("a", Protocol::Enrol3).expect("no entry"), None);
        assert!(of("b", Protocol::Enrol1).is_err());
    }
}
