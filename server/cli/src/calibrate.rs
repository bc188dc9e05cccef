//! `trefoil calibrate`: the threshold of an operator's own model, from photographs of people, with its errors and what they rest on.

mod html;
mod report;

use super::admin::policy_of;
use super::exit::{fail, text};
use super::progress::Progress;
use super::values::proof_need;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_api::{Policy, ProofNeed, Threshold};
use trefoil_dataset::calibration::{CLASSES, ClassFigures, Experiment, RESAMPLES};
use trefoil_dataset::{Photographs, Protocol, ProtocolError};
use trefoil_host::output;

#[derive(clap::Args)]
#[command(
    about = "Find the threshold of your own model from photographs of people, with its errors",
    after_help = "A policy matches two vectors if the inner product of their quantised forms reaches a score. That score depends on the model,\n\
    and on your cameras and people, so measure it with them:\n  \
    1. Take four or more photographs of each of 100 people or more, as enrolment and login take them. Photographs of a person on\n     \
    different days show more than a burst.\n  \
    2. Give each to your model, and save the vectors, one in each row: numpy.save('vectors.npy', a), with 2 to 512 numbers of float32 or\n     \
    float64. They need no certain length. Save the number of the person of each row: numpy.save('people.npy', p).\n     \
    Or as text, named .csv: a vector in each line with commas, and a person in each line, both without a heading.\n  \
    3. Run the first example, read the table, choose a class; run the second, and create the tenant.\n\n\
    Each person is enrolled with the first photograph, and, apart from that, with the mean of the first three. Every other photograph is\n\
    compared with every enrolled person. Messages count rows from 0. Nothing leaves this machine, and the report has no vectors.\n\n\
    Examples:\n  trefoil calibrate --x vectors.npy --y people.npy --html report.html\n  \
    trefoil calibrate --x vectors.npy --y people.npy --policy policy.json --model my-model --audience https://shop.example\n  \
    trefoil admin tenant create shop --policy policy.json\n\n\
    Exit codes: 0 done, 1 the files cannot be used or the class is only indicated (the reason is printed), 2 wrong usage."
)]
pub(super) struct Calibrate {
    /// Vectors, a row for each photograph: .npy of float32 or float64, or .csv.
    #[arg(long, value_name = "FILE")]
    x: PathBuf,
    /// The person of each row: .npy of integers, or .csv of any text.
    #[arg(long, value_name = "FILE")]
    y: PathBuf,
    /// Write the report with its curves and histograms, for a browser without a network. Replaces the file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the policy for `trefoil admin tenant create --policy`. Replaces the file.
    #[arg(long, value_name = "FILE", requires_all = ["model", "audience"])]
    policy: Option<PathBuf>,
    /// False-match class of the policy and of the advice, k of the rate 10^-k.
    #[arg(long, value_name = "K", default_value_t = Threshold::DEFAULT_CLASS, value_parser = clap::value_parser!(u8).range(2..=4))]
    class: u8,
    /// The tenant enrols with the mean of three photographs: take the score for that.
    #[arg(long, requires = "policy")]
    three_photographs: bool,
    /// Name of the model in the policy.
    #[arg(long, value_name = "NAME", requires = "policy")]
    model: Option<String>,
    /// A relying party for which attestations may be made; may be repeated.
    #[arg(long, value_name = "NAME", requires = "policy")]
    audience: Vec<String>,
    /// Whether a login needs a credential proof: `credential` or `none`.
    #[arg(long, value_name = "NEED", default_value = "credential", value_parser = proof_need, requires = "policy")]
    proof: ProofNeed,
    /// Write the policy even if the set is too small to show the rate of its class.
    #[arg(long, requires = "policy")]
    accept_indicated: bool,
    /// Print one JSON object instead of the table. The scores of `vectors` are cosines times 2^30.
    #[arg(long)]
    json: bool,
}

impl Calibrate {
    pub(super) fn run(self) -> ExitCode {
        match self.calibrate() {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => fail(&cause, 1),
        }
    }

    fn calibrate(&self) -> Result<(), String> {
        let photographs = Photographs::load(&self.x, &self.y).map_err(text)?;
        notes(&photographs).iter().for_each(|note| eprintln!("note: {note}"));
        let mut experiments = Vec::new();
        for protocol in [Protocol::Enrol1, Protocol::Enrol3] {
            let steps = 2 * (photographs.persons().len() + RESAMPLES);
            let stage = Progress::new().stage(report::name(protocol), steps);
            match Experiment::run(&photographs, protocol, &|| stage.step()) {
                Ok(experiment) => {
                    stage.finish("compared");
                    experiments.push(experiment);
                }
                Err(cause @ ProtocolError::TooFew { .. }) if !experiments.is_empty() => {
                    stage.finish(&format!("left out: {cause}"));
                }
                Err(cause) => return Err(text(cause)),
            }
        }
        let head = format!(
            "{} photographs, vectors of {} numbers, matched as {} at scale {}\n\n",
            report::grouped(photographs.persons().len()),
            photographs.width(),
            photographs.padded().numbers(),
            photographs.padded().scale()
        );
        let report = head + &report::report(&experiments, self.class);
        match self.json {
            true => output::tell(&format!("{:#}\n", report::json(&experiments))),
            false => output::tell(&report),
        }
        if let Some(path) = &self.html {
            written(path, html::page(&experiments, &report))?;
        }
        let next = match &self.policy {
            Some(path) => {
                let policy = self.tenant_policy(&experiments, photographs.width())?;
                written(path, serde_json::to_string_pretty(&policy).map_err(text)? + "\n")?;
                format!("  trefoil admin tenant create NAME --policy {}\n", path.display())
            }
            None => format!(
                "  trefoil calibrate --x {} --y {} \\\n    --policy policy.json --model NAME --audience https://shop.example{}\n  \
                 trefoil admin tenant create NAME --policy policy.json\n",
                self.x.display(),
                self.y.display(),
                if self.figures(&experiments[0]).shown { "" } else { " \\\n    --accept-indicated" }
            ),
        };
        if !self.json {
            output::tell(&format!("\nNEXT\n{next}"));
        }
        Ok(())
    }

    fn figures(&self, experiment: &Experiment) -> ClassFigures {
        experiment.quantised.classes[usize::from(self.class - CLASSES[0])]
    }

    fn tenant_policy(&self, experiments: &[Experiment], width: usize) -> Result<Policy, String> {
        let experiment = experiments.get(usize::from(self.three_photographs));
        let experiment = experiment
            .ok_or("no policy: nobody has four photographs, so three at enrolment were not examined")?;
        let ClassFigures { class, threshold, shown, .. } = self.figures(experiment);
        if !shown && !self.accept_indicated {
            return Err(format!(
                "no policy: class {class} with {} is only indicated by these people; calibrate with more of them, take a class that is \
                 shown (--class), or take the score as it is with --accept-indicated",
                report::name(experiment.protocol)
            ));
        }
        let threshold = Threshold::Calibrated { score: threshold, fmr_class: class };
        let model = self.model.clone().unwrap_or_default();
        let policy = policy_of(model, threshold, self.audience.clone(), 0);
        let policy = Policy { proof: self.proof, dimension: width as u32, ..policy };
        policy.check().map_err(|cause| format!("no policy: {}: {cause}", cause.pointer))?;
        Ok(policy)
    }
}

fn written(path: &Path, text: String) -> Result<(), String> {
    std::fs::write(path, text).map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// What an operator should know of the files, although they can be used.
fn notes(photographs: &Photographs) -> Vec<String> {
    let mut notes = Vec::new();
    let persons = photographs.persons();
    let length = |row| photographs.row(row).iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    let lengths = (0..persons.len()).map(length);
    let (low, high) = lengths.fold((f64::MAX, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    if low < 0.99 || high > 1.01 {
        notes.push(format!(
            "vectors have lengths of {low:.3} to {high:.3}; they are scaled to 1, as in the service"
        ));
    }
    let mut counts = HashMap::new();
    persons.iter().for_each(|person| *counts.entry(person).or_insert(0) += 1);
    for (photographs, what) in [
        (1, "one photograph, only compared as strangers"),
        (3, "fewer than four photographs, left out with three at enrolment"),
    ] {
        let people = counts.values().filter(|count| **count <= photographs).count();
        notes.extend((people > 0).then(|| format!("people with {what}: {people}")));
    }
    let mut order: Vec<usize> = (0..persons.len()).collect();
    let bits = |row: usize| photographs.row(row).iter().map(|v| v.to_bits());
    order.sort_by(|a, b| bits(*a).cmp(bits(*b)));
    let equal = order.windows(2).filter(|pair| bits(pair[0]).eq(bits(pair[1])));
    let (same, other): (Vec<_>, Vec<_>) = equal.partition(|pair| persons[pair[0]] == persons[pair[1]]);
    for (pairs, what) in [
        (same, "one person: the same photograph twice makes the model look better than it is"),
        (other, "two people: a label is wrong, or a photograph was read twice"),
    ] {
        if let [first, ..] = pairs[..] {
            let (a, b, count) = (first[0], first[1], pairs.len());
            notes.push(format!("rows {a} and {b} are equal, and of {what} ({count} such pairs)"));
        }
    }
    notes
}
