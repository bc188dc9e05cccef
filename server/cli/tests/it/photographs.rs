//! The forms of a face in a body, their sizes, and enrolments of several photographs.

use crate::service::{lenient, unlimited};
use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use trefoil_dataset::{Photographs, Protocol};
use trefoil_matching::Embedding;

/// False-match rate 10^-3 on the bundled set.
const THRESHOLD: i32 = 16_046;
const LOGIN_BYTES_MAX: usize = 16 * 1024;

fn with_unlimited_attempts() -> Value {
    with(with(lenient(), "attempts", unlimited()), "threshold", calibrated())
}

fn calibrated() -> Value {
    json!({"calibrated": {"score": THRESHOLD, "fmr_class": 3}})
}

/// Photographs of the people of the bundled set that have at least this many.
fn photographs(least: usize) -> Vec<Vec<[f32; 128]>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/data/lfw_facenet128");
    let set = Photographs::load(&folder.join("x.npy"), &folder.join("y.npy")).expect("the repository has it");
    let trials = Protocol::Enrol1.split(&set).expect("people with several photographs");
    let of = |person: usize| {
        let own = trials.probes.iter().enumerate().filter(|(at, _)| trials.is_genuine(*at, person));
        let own = own.map(|(_, sample)| &sample.vector);
        let all = std::iter::once(&trials.templates[person].vector).chain(own);
        all.map(|vector| vector[..].try_into().unwrap()).collect::<Vec<_>>()
    };
    (0..trials.templates.len()).map(of).filter(|photographs| photographs.len() >= least).collect()
}

fn unit(vector: &[f32]) -> Vec<f64> {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    vector.iter().map(|x| f64::from(*x) / length).collect()
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    unit(one).iter().zip(unit(other)).map(|(x, y)| x * y).sum()
}

/// Claim V185: A subject that is enrolled with several photographs has the mean of their directions as its template, and the answer says how
/// well they agree, whatever their order.
#[tokio::test(flavor = "multi_thread")]
async fn three_photographs_are_enrolled_as_one_face() {
    let service = Service::own(with_unlimited_attempts(), |_| ()).await;
    let all = photographs(6);
    let (person, strangers) = (&service.people(1, 1, 3).await[0], &all[1..]);
    let [one, two, three, ..] = all[0][..] else { panic!("six photographs") };
    let mean: Vec<f32> =
        (0..128).map(|at| [one, two, three].iter().map(|x| unit(x)[at]).sum::<f64>() as f32).collect();
    let mean = Embedding::quantise(&mean).unwrap();
    let least =
        [cosine(&one, &two), cosine(&one, &three), cosine(&two, &three)].into_iter().fold(1.0, f64::min);
    let least = (100.0 * least).round() / 100.0;
    assert!((0.1..1.0).contains(&least), "the photographs differ: {least}");

    let path = service::templates_path(person);
    let send = async |method: Method, key: &str, faces: &[[f32; 128]]| {
        let faces: Vec<Vector> = faces.iter().map(|face| Vector::new(*face)).collect();
        let body = json!({"embeddings": faces, "consent_ref": "form 7"}).to_string();
        service.public.send(method, &path, &[("idempotency-key", key)], body).await
    };
    for _ in 0..2 {
        let enrolled = send(Method::POST, "a", &[one, two, three]).await.is(201).json();
        assert_eq!(
            (&enrolled["generation"], &enrolled["agreement"]),
            (&json!(1), &json!(least)),
            "{enrolled}"
        );
    }
    service.prove(person).await.is(201);
    let shown: Vec<_> = all[0][3..].iter().chain(strangers.iter().flatten()).take(40).collect();
    let mut nonce = 0;
    let mut decide = async || {
        let mut decided = Vec::new();
        for face in &shown {
            nonce += 1;
            decided.push(service.login(person, *face, nonce).await.decision());
        }
        decided
    };
    let wanted: Vec<_> = shown
        .iter()
        .map(|face| match mean.dot(&Embedding::quantise(&face[..]).unwrap()) >= THRESHOLD {
            true => Decision::Match,
            false => Decision::NoMatch,
        })
        .collect();
    assert!(wanted[0] == Decision::Match && wanted.contains(&Decision::NoMatch), "{wanted:?}");
    assert_eq!(decide().await, wanted);
    let replaced = send(Method::PUT, "b", &[three, one, two]).await.is(200).json();
    assert_eq!((&replaced["replaced"], &replaced["agreement"]), (&json!(1), &json!(least)), "{replaced}");
    assert_eq!(decide().await, wanted);
    let alone = send(Method::PUT, "c", &[one]).await.is(200).json();
    assert_eq!(alone.get("agreement"), None, "one photograph agrees with none: {alone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_face_is_the_same_in_each_form() {
    let service = Service::own(with_unlimited_attempts(), |_| ()).await;
    let mut people = service.people(1, 1, 5).await;
    let bytes: [i8; 128] = std::array::from_fn(|at| (90.0 * (at as f32 * 0.7).sin()) as i8);
    people[0].face = bytes.map(f32::from);
    let person = &people[0];
    let int8 = json!({"int8": BASE64.encode(bytes.map(i8::cast_unsigned))});
    let enrolment = json!({"embeddings": [int8], "consent_ref": "form 7"}).to_string();
    let key = [("idempotency-key", "once")];
    service.public.send(Method::POST, &service::templates_path(person), &key, enrolment).await.is(201);
    service.prove(person).await.is(201);
    let mut digests = Vec::new();
    for (nonce, form) in (0..).zip([json!(bytes.to_vec()), json!(Vector::new(person.face)), int8]) {
        // The MAC covers the numbers, not their form.
        let request = service.request(person, &person.face, nonce);
        digests.push(request.probe_digest());
        let body = with(serde_json::to_value(&request).unwrap(), "embedding", form);
        service.public.post("/v1/authentications", &body).await.matches();
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
}

/// The longest form of a face: numbers of 24 characters.
fn longest() -> String {
    format!("[{}]", vec!["-1.2345678901234567e-300"; 512].join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_face_is_read_and_one_byte_more_than_the_limit_is_not() {
    let service = Service::start().await;
    let person = &service.people(1, 1, 7).await[0];
    let request = serde_json::to_value(service.request(person, &person.face, 1)).unwrap();
    let source = "\u{1}".repeat(64);
    let request = with(request, "source", json!(source)).to_string();
    let short = serde_json::to_string(&Vector::new(person.face)).unwrap();
    let login = request.replace(&short, &longest());
    assert!(login.len() > 512 * 26 && request.contains(&short));
    let batch = format!("{{\"authentications\": [{}]}}", vec![&*login; 32].join(", "));
    let enrolment =
        format!("{{\"embeddings\": [{}], \"consent_ref\": \"c\"}}", vec![longest(); 8].join(", "));
    let templates = service::templates_path(person);
    for (path, body, bytes_max, status) in [
        ("/v1/authentications", login, LOGIN_BYTES_MAX, 422),
        ("/v1/authentications/batch", batch, 32 * LOGIN_BYTES_MAX, 200),
        (&*templates, enrolment, 8 * LOGIN_BYTES_MAX, 422),
    ] {
        let padded = |bytes: usize| body.clone() + &" ".repeat(bytes - body.len());
        let send = async |body: String| {
            service.public.send(Method::POST, path, &[("idempotency-key", "k")], body).await
        };
        let read = send(padded(bytes_max)).await.is(status);
        assert!(read.text().contains("got 512") || read.text().contains("source"), "{}", read.text());
        let refused = send(padded(bytes_max + 1)).await;
        assert!(
            refused.problem(413, "body-too-large")["detail"]
                .as_str()
                .unwrap()
                .contains(&bytes_max.to_string())
        );
    }
}
