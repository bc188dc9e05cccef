//! Numbers on the command line, within their bounds.

use trefoil_matching::LANES;

pub(super) fn workers(text: &str) -> Result<usize, String> {
    let workers = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1..=WORKERS_MAX).contains(&workers) { Ok(workers) } else { Err(format!("give 1 to {WORKERS_MAX}")) }
}

/// Numbers of workers, rising.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spread(pub(super) Vec<usize>);

/// `1,5,96`, or `1..192`: both ends, and between them every power of two and the midpoint to the next.
pub(super) fn spread(text: &str) -> Result<Spread, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let Some((from, to)) = part.split_once("..") else {
            all.push(workers(part)?);
            continue;
        };
        let (from, to) = (workers(from)?, workers(to)?);
        let steps = (0..WORKERS_MAX.ilog2()).flat_map(|k| [1 << k, 3 << k]);
        all.extend(steps.filter(|step| (from..=to).contains(step)));
        all.extend([from, to]);
    }
    all.sort_unstable();
    all.dedup();
    Ok(Spread(all))
}

pub(super) fn multiple_of_32(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| "not a number".to_owned())?;
    if count.is_multiple_of(LANES) && (LANES..=USERS_MAX).contains(&count) {
        Ok(count)
    } else {
        Err(format!("give a multiple of {LANES} from {LANES} to {USERS_MAX}, so that every batch is full"))
    }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=600.0).contains(&seconds) { Ok(seconds) } else { Err("give 0.01 to 600 seconds".to_owned()) }
}

/// A share of certainty, per cent.
pub(super) fn level(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (50.0..=99.99).contains(&percent) { Ok(percent) } else { Err("give 50 to 99.99 per cent".to_owned()) }
}

/// A part of a rate.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=2.0).contains(&share) { Ok(share) } else { Err("give 0.01 to 2".to_owned()) }
}

pub(super) fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("give 0 to 100 per cent".to_owned()) }
}

/// Most threads: well above any machine, well below what a typo can request.
const WORKERS_MAX: usize = 1_024;
/// Most templates: 48 GiB of them.
const USERS_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_spread_by_halves_of_octaves() {
        let all = |text| spread(text).map(|Spread(all)| all);
        assert_eq!(all("96,1").as_deref(), Ok(&[1, 96][..]));
        assert_eq!(
            all("1..192").as_deref(),
            Ok(&[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192][..])
        );
        assert_eq!(all("5..7,2").as_deref(), Ok(&[2, 5, 6, 7][..]));
        assert!(all("0..4").is_err() && all("1..x").is_err() && all("").is_err());
    }
}
