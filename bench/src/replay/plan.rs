//! The part of a capture that can be replayed, and its callers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value};
use trefoil_api::{AttestationForm, BATCH_MAX};
use trefoil_server::capture::Captured;

use super::percentiles_ms;
use crate::Failure;

/// Most tenants that are made; those beyond share them.
const TENANTS_MAX: usize = 8;
/// An answer with more bytes for each login has the signatures in it: 22 KB against 1 KB.
const FULL_BYTES: u64 = 8 << 10;

/// See the module.
pub(super) struct Plan {
    pub(super) requests: Vec<Planned>,
    /// How many people each tenant has.
    pub(super) people: Vec<usize>,
    /// How many subjects the capture has.
    pub(super) subjects: usize,
    /// Requests that cannot be sent again, by route.
    pub(super) left_out: BTreeMap<String, u64>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// The first one.
    pub(super) after: Duration,
    pub(super) tenant: usize,
    pub(super) kind: Kind,
    pub(super) form: AttestationForm,
    /// Of the answer that was captured, and how long that took.
    pub(super) status: u16,
    took: Duration,
}

/// Its kind and its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Login(usize),
    Batch(Vec<usize>),
    /// A public path.
    Read(String),
}

impl Kind {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Kind::Login(_) => "logins",
            Kind::Batch(_) => "batches",
            Kind::Read(_) => "reads",
        }
    }

    pub(super) fn logins(&self) -> usize {
        match self {
            Kind::Login(_) => 1,
            Kind::Batch(people) => people.len(),
            Kind::Read(_) => 0,
        }
    }
}

impl Planned {
    /// Whether its answer is known: a request that was refused for its contents cannot be repeated, except one without a key.
    pub(super) fn is_judged(&self) -> bool {
        matches!(self.status, 200 | 401)
    }
}

impl Plan {
    /// For at most so many people.
    pub(super) fn new(captured: &[Captured], people_max: usize) -> Result<Plan, Failure> {
        let mut tenants = Tenants::default();
        captured.iter().for_each(|request| tenants.note(request));
        let people = tenants.people(people_max);
        let mut plan =
            Plan { requests: Vec::new(), people, subjects: tenants.subjects(), left_out: BTreeMap::new() };
        for request in captured {
            let tenant = tenants.place(request).min(plan.people.len() - 1);
            match kind(request, |subject| tenants.person(tenant, subject, plan.people[tenant])) {
                Some(kind) => plan.requests.push(planned(request, tenant, kind)),
                None => *plan.left_out.entry(request.route.clone()).or_default() += 1,
            }
        }
        let Some(first) = plan.requests.first().map(|request| request.after) else {
            return Err(Failure::usage("the capture has no login and no other request that can be replayed"));
        };
        plan.requests.iter_mut().for_each(|request| request.after -= first);
        Ok(plan)
    }

    pub(super) fn lasts(&self) -> Duration {
        self.requests.last().map_or(Duration::ZERO, |last| last.after)
    }

    pub(super) fn logins(&self) -> usize {
        self.requests.iter().map(|request| request.kind.logins()).sum()
    }

    /// How long the captured service took, without waiting for a connection.
    pub(super) fn captured_ms(&self) -> Map<String, Value> {
        let mut of = BTreeMap::<&str, Vec<u64>>::new();
        for request in &self.requests {
            of.entry(request.kind.name()).or_default().push(request.took.as_nanos() as u64);
        }
        of.into_iter().map(|(kind, ns)| (kind.to_owned(), percentiles_ms(&ns))).collect()
    }
}

fn planned(request: &Captured, tenant: usize, kind: Kind) -> Planned {
    let for_each = request.answer_bytes / kind.logins().max(1) as u64;
    Planned {
        after: Duration::from_micros(request.began_us),
        tenant,
        form: if for_each > FULL_BYTES { AttestationForm::Full } else { AttestationForm::Compact },
        kind,
        status: request.status,
        took: Duration::from_micros(request.took_us),
    }
}

/// A login whose caller was refused could not be read, so its subject is arbitrary.
fn kind(request: &Captured, person: impl Fn(u64) -> usize) -> Option<Kind> {
    let subjects = &request.subjects;
    match request.route.as_str() {
        "POST /v1/authentications" if request.status == 401 => Some(Kind::Login(0)),
        "POST /v1/authentications" => subjects.first().map(|subject| Kind::Login(person(*subject))),
        "POST /v1/authentications/batch" => (1..=BATCH_MAX)
            .contains(&subjects.len())
            .then(|| Kind::Batch(subjects.iter().map(|subject| person(*subject)).collect())),
        route => {
            let path = route.strip_prefix("GET ").filter(|path| !path.contains('{'))?;
            (request.status == 200).then(|| Kind::Read(path.to_owned()))
        }
    }
}

/// Tenants and their subjects in the order in which they first came.
#[derive(Default)]
struct Tenants {
    order: Vec<u64>,
    subjects: Vec<Vec<u64>>,
    places: BTreeMap<(usize, u64), usize>,
}

impl Tenants {
    fn note(&mut self, request: &Captured) {
        let Some(tenant) = request.tenant else { return };
        if !self.order.contains(&tenant) {
            self.order.push(tenant);
            if self.subjects.len() < TENANTS_MAX {
                self.subjects.push(Vec::new());
            }
        }
        let place = self.place(request);
        for subject in &request.subjects {
            if !self.places.contains_key(&(place, *subject)) {
                self.places.insert((place, *subject), self.subjects[place].len());
                self.subjects[place].push(*subject);
            }
        }
    }

    /// The tenant that stands for that of a request; the first one for a request without.
    fn place(&self, request: &Captured) -> usize {
        let at = request.tenant.and_then(|tenant| self.order.iter().position(|known| *known == tenant));
        at.unwrap_or(0) % TENANTS_MAX
    }

    fn person(&self, tenant: usize, subject: u64, people: usize) -> usize {
        self.places.get(&(tenant, subject)).copied().unwrap_or(0) % people
    }

    fn subjects(&self) -> usize {
        let all: BTreeSet<u64> = self.subjects.iter().flatten().copied().collect();
        all.len()
    }

    /// As many for each tenant as it has subjects, in all no more than so many, and at least one for each.
    fn people(&self, most: usize) -> Vec<usize> {
        let all = self.subjects.iter().map(Vec::len).sum::<usize>().max(1);
        let share = |subjects: &Vec<u64>| {
            if all <= most { subjects.len().max(1) } else { (subjects.len() * most / all).max(1) }
        };
        let people: Vec<usize> = self.subjects.iter().map(share).collect();
        if people.is_empty() { vec![1] } else { people }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(began_us: u64, route: &str, tenant: Option<u64>, subjects: &[u64]) -> Captured {
        Captured {
            began_us,
            took_us: 5_000,
            route: route.to_owned(),
            status: 200,
            request_bytes: 1_500,
            answer_bytes: 30_000,
            tenant,
            subjects: subjects.to_vec(),
            stream: None,
        }
    }

    const LOGIN: &str = "POST /v1/authentications";
    const BATCH: &str = "POST /v1/authentications/batch";

    #[test]
    fn who_comes_again_is_the_same_person_at_the_same_distance() {
        let plan = Plan::new(
            &[
                captured(1_000, LOGIN, Some(1), &[10]),
                captured(1_500, LOGIN, Some(2), &[10]),
                captured(2_000, BATCH, Some(1), &[11, 10, 11]),
                captured(3_000, "GET /v1/keys", None, &[]),
            ],
            64,
        )
        .expect("a plan");
        let kinds: Vec<_> =
            plan.requests.iter().map(|request| (request.tenant, request.kind.clone())).collect();
        let read = Kind::Read("/v1/keys".to_owned());
        assert_eq!(
            kinds,
            [(0, Kind::Login(0)), (1, Kind::Login(0)), (0, Kind::Batch(vec![1, 0, 1])), (0, read)]
        );
        assert_eq!(plan.people, [2, 1]);
        assert_eq!(plan.requests[2].after, Duration::from_micros(1_000));
        assert_eq!((plan.lasts(), plan.logins()), (Duration::from_millis(2), 5));
        assert_eq!(plan.requests[0].form, AttestationForm::Full);
        assert_eq!(plan.requests[2].form, AttestationForm::Full);
    }

    #[test]
    fn what_cannot_be_sent_again_is_counted() {
        let refused = Captured { status: 401, ..captured(3, LOGIN, None, &[]) };
        let unread = Captured { status: 400, ..captured(4, LOGIN, Some(1), &[]) };
        let plan = Plan::new(
            &[
                captured(1, "POST /v1/proof-sessions", Some(1), &[]),
                captured(2, "GET /v1/seals/{n}", None, &[]),
                refused,
                unread,
            ],
            64,
        )
        .expect("a plan");
        assert_eq!(plan.requests.len(), 1);
        assert!(plan.requests[0].is_judged() && plan.requests[0].kind == Kind::Login(0));
        assert_eq!(plan.left_out.values().sum::<u64>(), 3);
        assert!(Plan::new(&[captured(1, "POST /v1/proof-sessions", Some(1), &[])], 64).is_err());
    }

    #[test]
    fn subjects_beyond_the_people_share_them_and_so_do_tenants() {
        let many: Vec<Captured> = (0..100).map(|at| captured(at, LOGIN, Some(at % 20), &[at])).collect();
        let plan = Plan::new(&many, 16).expect("a plan");
        assert_eq!(plan.people.len(), TENANTS_MAX);
        assert!(plan.people.iter().sum::<usize>() <= 16, "{:?}", plan.people);
        for request in &plan.requests {
            let Kind::Login(person) = request.kind else { panic!("logins") };
            assert!(person < plan.people[request.tenant]);
        }
        assert_eq!(plan.subjects, 100);
    }
}
