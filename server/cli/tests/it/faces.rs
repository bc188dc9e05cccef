//! Real faces through the API, in either probe mode: each decision is that of the plain inner product.

use crate::modes::Devices;
use crate::world::*;
use trefoil_dataset::{Photographs, Protocol, Trials};
use trefoil_matching::Embedding;

/// False-match rate 10^-3 on this set.
const THRESHOLD: i32 = 16_046;
/// People who enrol at full volume, and photographs that each of them shows.
const PEOPLE: usize = 24;
const SHOWN: usize = 12;

/// The first photographs of people, and others to show.
fn trials() -> Trials {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/data/lfw_facenet128");
    let set = Photographs::load(&set.join("x.npy"), &set.join("y.npy")).expect("the repository has it");
    Protocol::Enrol1.split(&set).expect("people with several photographs")
}

/// For each of the first people: every second photograph that they show is their own, as far as there are, and the others are
/// the strangers that are most like them.
fn shown(trials: &Trials, person: usize) -> Vec<[f32; 128]> {
    let template = Embedding::quantise(&trials.templates[person].vector).unwrap();
    let (own, mut others): (Vec<usize>, Vec<usize>) =
        (0..trials.probes.len()).partition(|probe| trials.is_genuine(*probe, person));
    let score = |probe: &usize| template.dot(&Embedding::quantise(&trials.probes[*probe].vector).unwrap());
    others.sort_by_cached_key(|probe| -score(probe));
    let own = own.into_iter().take(SHOWN / 2);
    own.chain(others).take(SHOWN).map(|probe| trials.probes[probe].vector[..].try_into().unwrap()).collect()
}

async fn decide_as_the_plain_product_does(probe: &str) {
    let count = volume(PEOPLE, 6);
    let mut policy = with(service::lenient(), "probe", probe);
    policy["threshold"] = json!({"calibrated": {"score": THRESHOLD, "fmr_class": 3}});
    let service = Service::timely(policy).await;
    let trials = trials();
    let mut people = service.people(count as u32, 1, 71).await;
    let devices = Devices::of(&service, probe).await;
    let mut requests = Vec::new();
    let mut wanted = Vec::new();
    for (index, person) in people.iter_mut().enumerate() {
        person.face = trials.templates[index].vector[..].try_into().unwrap();
        devices.welcome(&service, person).await;
        for (n, face) in (0..).zip(shown(&trials, index)) {
            requests.push(devices.request(&service, person, &face, n));
            wanted.push(expected(person, &face));
        }
    }
    let matches = wanted.iter().filter(|decision| **decision == Decision::Match).count();
    assert_eq!(wanted.len(), count * SHOWN);
    assert!(matches > count && matches < wanted.len() - count, "both occur: {matches}");
    for (requests, wanted) in requests.chunks(4 * count).zip(wanted.chunks(4 * count)) {
        let replies = join_all(requests.iter().map(|request| service.authenticate(request))).await;
        let decided: Vec<Decision> = replies.iter().map(|reply| reply.decision()).collect();
        assert_eq!(decided, wanted);
    }
}

fn expected(person: &Person, face: &[f32; 128]) -> Decision {
    let score = Embedding::quantise(&person.face).unwrap().dot(&Embedding::quantise(face).unwrap());
    if score >= THRESHOLD { Decision::Match } else { Decision::NoMatch }
}

#[tokio::test(flavor = "multi_thread")]
async fn real_faces_in_the_clear() {
    decide_as_the_plain_product_does("plain").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_faces_that_the_service_never_sees() {
    decide_as_the_plain_product_does("shared").await;
}
