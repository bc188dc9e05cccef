//! The result for the terminal, in 80 columns, and for programs.

use serde_json::{Value, json};
use std::fmt::Write as _;
use trefoil_dataset::Protocol;
use trefoil_dataset::calibration::{
    CLASSES, ClassFigures, Estimate, Experiment, FALSE_MATCHES_SHOWN, Figures,
};

/// What the tables mean.
const HOW_TO_READ: &str = "\
HOW TO READ THIS
score      the threshold of a policy: from this score on, two vectors match
class k    of 10^k strangers who show their own face, the score accepts one
refused    photographs of the right person that the score does not accept
vectors    cosines, as the model gives them
quantised  the integers that the service compares while they are encrypted; they
           should refuse about as many as the vectors
(a-b)      95 % interval, from 1,000 resamples of the people
shown      the set is large enough for the class: it accepts 30 or more pairs of
           strangers, and the interval is within a factor of three of the rate
indicated  it is not: the score is that of these people, and no promise

WHICH CLASS
Take 4, the default. At class 3 a caller who may log in as anyone finds accounts
that accept a stranger, and can then read their templates: take it only if no
attacker can get an API key or a wallet. Class 2 is for trials.
";
/// Share of right people that is refused too often, at the class that the advice is about.
const MANY_REFUSED: f64 = 0.05;

/// The tables with their explanation, and with what follows for `class`.
pub(super) fn report(experiments: &[Experiment], class: u8) -> String {
    let mut text: String = experiments.iter().map(table).collect();
    text += HOW_TO_READ;
    let _ = write!(text, "\nTHESE PEOPLE, CLASS {class}\n");
    for experiment in experiments {
        let figures = experiment.quantised.classes[usize::from(class - CLASSES[0])];
        let refused = percent(figures.refused[0]);
        let _ = writeln!(text, "With {} it refuses {refused} %.", name(experiment.protocol));
        text += match (figures.refused[0] > MANY_REFUSED, experiment.protocol) {
            (true, Protocol::Enrol1) => "That is many: enrol three photographs, or take better ones.\n",
            (true, Protocol::Enrol3) => "That is many: take better photographs, or another model.\n",
            (false, _) => "",
        };
        if !figures.shown {
            let expected = experiment.quantised.accuracy.comparisons().1 as f64 / 10_f64.powi(class.into());
            let people = (experiment.people as f64 * (FALSE_MATCHES_SHOWN / expected).sqrt()).ceil();
            text += &match expected < FALSE_MATCHES_SHOWN {
                true => {
                    format!(
                        "It is only indicated, by {expected:.1} pairs of strangers, not 30: it takes {people} people.\n"
                    )
                }
                false => {
                    "It is only indicated: its interval is too wide. More people narrow it.\n".to_owned()
                }
            };
        }
    }
    text
}

/// How a protocol is called.
pub(super) fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Enrol1 => "one photograph at enrolment",
        Protocol::Enrol3 => "three photographs at enrolment",
    }
}

fn table(experiment: &Experiment) -> String {
    let Experiment { protocol, people, vectors, quantised } = experiment;
    let (own, strangers) = quantised.accuracy.comparisons();
    let mut text = format!(
        "{}\n{} people, {} comparisons with the right person, {} with strangers\n\n\
         {:16}right people refused, %             strangers accepted\n\
         class   score   vectors           quantised         of 10^class       evidence\n",
        name(*protocol).to_uppercase(),
        grouped(*people),
        grouped(own),
        grouped(strangers),
        ""
    );
    for (of_vectors, class) in vectors.classes.iter().zip(&quantised.classes) {
        let refused = [of_vectors, class].map(|class| estimate(&class.refused, 100.0));
        let accepted = estimate(&class.accepted, 10_f64.powi(class.class.into()));
        let row = format!(
            "{:3} {:9}   {:17} {:17} {accepted:17} {}\n",
            class.class,
            class.threshold,
            refused[0],
            refused[1],
            if class.shown { "shown" } else { "indicated" }
        );
        text += &row;
    }
    let equal = [vectors, quantised].map(|figures| estimate(&figures.equal_error_rate, 100.0));
    let _ = writeln!(text, "equal errors    {:17} {}\n", equal[0], equal[1]);
    text
}

/// One JSON object.
pub(super) fn json(experiments: &[Experiment]) -> Value {
    let figures = |figures: &Figures| {
        let (own, strangers) = figures.accuracy.comparisons();
        let of_class = |class: &ClassFigures| {
            let ClassFigures { class, threshold, refused, accepted, shown } = class;
            let counts =
                [refused[0] * own as f64, accepted[0] * strangers as f64].map(|count| count.round() as u64);
            json!({
                "class": class, "score": threshold, "refused": counts[0], "accepted": counts[1], "shown": shown,
                "refused_share": refused, "accepted_share": accepted,
            })
        };
        let classes: Vec<Value> = figures.classes.iter().map(of_class).collect();
        json!({"own": own, "strangers": strangers, "equal_error_rate": figures.equal_error_rate, "classes": classes})
    };
    let experiment = |experiment: &Experiment| {
        let Experiment { protocol, people, vectors, quantised } = experiment;
        json!({
            "photographs": protocol.photos(), "people": people,
            "vectors": figures(vectors), "quantised": figures(quantised),
        })
    };
    json!({"experiments": experiments.iter().map(experiment).collect::<Vec<_>>()})
}

/// A value and its interval, times a unit.
fn estimate(estimate: &Estimate, unit: f64) -> String {
    let [value, low, high] = estimate.map(|share| percent(share * unit / 100.0));
    format!("{value} ({low}-{high})")
}

/// Three digits or so.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// With commas between thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let comma = |(at, digit): (usize, char)| {
        let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(comma).collect()
}
