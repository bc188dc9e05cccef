//! What a malicious gateway learns from a key-holder in another process, against the ledger's bound.
//!
//! Strategies take turns for as long as there are jobs, each under its own tenants. The key-holder's process is the real one. The
//! gateway has its certificate, templates as it stores them, and public keys. It may make tenants and enrol
//! people of its own. This program also knows the faces, to check whether the readings are correct.

mod forge;
mod ground;
mod quantiles;
mod strategies;

use std::sync::Arc;
use std::thread;

use serde_json::{Map, Value, json};
use trefoil_matching::{AttemptPolicy, DecisionPolicy, KeyHolding, bits_per_day, bits_per_generation};

use crate::Failure;
use crate::Report;
use crate::remote::KeyHolders;
use ground::Tally;
use strategies::STRATEGIES;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Liar {
    /// Jobs in all, shared by the strategies and both periods.
    pub jobs: usize,
}

/// The score from which a face is accepted.
const THRESHOLD: i32 = 12_000;

/// The period of the ledger.
#[derive(Clone, Copy, Debug)]
enum Period {
    /// The default policy as it is. A run is shorter than a day.
    Day,
    /// Without its delays and daily limits: all days of a template's life in one.
    Generation,
}

impl Period {
    fn name(self) -> &'static str {
        match self {
            Period::Day => "day",
            Period::Generation => "generation",
        }
    }

    fn policy(self) -> DecisionPolicy {
        let attempts = AttemptPolicy::default();
        let attempts = match self {
            Period::Day => attempts,
            Period::Generation => AttemptPolicy {
                failures_per_generation: attempts.failures_per_generation,
                attempts_per_generation: attempts.attempts_per_generation,
                ..AttemptPolicy::UNLIMITED
            },
        };
        DecisionPolicy { threshold: THRESHOLD, attempts }
    }

    /// Answers, failures among them, and bits that the ledger allows about one person.
    fn allowed(self) -> (u32, u32, f64) {
        let policy = AttemptPolicy::default();
        match self {
            Period::Day => (policy.attempts_per_day, policy.failures_per_day, bits_per_day(&policy)),
            Period::Generation => {
                (policy.attempts_per_generation, policy.failures_per_generation, bits_per_generation(&policy))
            }
        }
    }
}

/// Runs it.
///
/// # Errors
/// A process, a connection, or a reply that no strategy provokes.
pub fn liar(parameters: Liar) -> Result<Report, Failure> {
    let key_holders = KeyHolders::start(false)?;
    let jobs = parameters.jobs.div_ceil(2 * STRATEGIES.len());
    let (mut periods, mut summary, mut problem) = (Map::new(), String::new(), None);
    for period in [Period::Day, Period::Generation] {
        let role = key_holders.remote()?;
        let tallies = thread::scope(|scope| {
            let threads: Vec<_> = STRATEGIES
                .iter()
                .map(|strategy| {
                    let role = Arc::clone(&role);
                    scope.spawn(move || (strategy.run)(role as Arc<dyn KeyHolding>, period.policy(), jobs))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| Failure::fault("a strategy panicked"))?)
                .collect::<Result<Vec<Tally>, Failure>>()
        })?;
        let (answers, failures, bits) = period.allowed();
        summary.push_str(&format!(
            "{}: the ledger allows {answers} answers, {failures} failures, {bits:.1} bits about one person\n",
            period.name()
        ));
        let mut strategies = Map::new();
        for (strategy, tally) in STRATEGIES.iter().zip(&tallies) {
            summary.push_str(&format!("  {:<12} {}\n", strategy.name, tally.line()));
            strategies.insert(strategy.name.to_owned(), tally.json());
            let found = tally.problem(answers, failures, bits);
            problem = problem.or(found.map(|what| format!("{}, {}: {what}", period.name(), strategy.name)));
        }
        let allowed =
            json!({ "answers": answers, "failures": failures, "bits": (bits * 10.0).round() / 10.0 });
        periods.insert(period.name().to_owned(), json!({ "allowed": allowed, "strategies": strategies }));
    }
    let result = json!({
        "jobs": jobs * 2 * STRATEGIES.len(), "periods": Value::Object(periods),
        "template_bits": TEMPLATE_BITS, "subject_key_bits": KEY_BITS,
    });
    Ok(Report { summary, result, problem })
}

/// 128 coordinates of deviation 15.47: `128 log2(15.47 sqrt(2 pi e))`.
const TEMPLATE_BITS: u32 = 768;
/// 4,096 ternary digits.
const KEY_BITS: u32 = 6_492;
