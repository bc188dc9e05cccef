//! Scores stay where they are computed: after a batch none is in the key-holder's memory, files, log or replies.

use crate::scan::{face_patterns, memory, patterns, search};
use crate::world::{DECIDE, Gateway, House, Mode, Running, TENANT, face, lenient, under};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::os::unix::fs::MetadataExt as _;
use trefoil_matching::{Embedding, KeyHolding as _};

/// Neighbouring scores that make a pattern.
const RUN: usize = 5;

/// Claim M31.
#[test]
fn no_score_is_left_in_memory_files_log_or_replies() {
    Mode::ALL.into_iter().for_each(leaves_no_score);
}

/// What the system says about a process.
fn proc(running: &Running, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/{file}", running.pid())).unwrap()
}

/// Claim V42: A key-holder's memory stays out of core dumps and swap, or the log says why not. Only their owner can read its files.
#[test]
fn memory_is_kept_out_of_files() {
    let house = House::new("kill");
    let running = house.start();
    let limits = proc(&running, "limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
    let status = proc(&running, "status");
    let locked = status.lines().find(|line| line.starts_with("VmLck")).unwrap();
    // Where it may not lock memory, it says what to do about it.
    let warned = std::fs::read_to_string(house.log_path()).unwrap().contains("memory is not locked");
    assert_ne!(locked.split_whitespace().nth(1) == Some("0"), !warned, "{locked}");
    // The memory file of a process that cannot be dumped belongs to root.
    let owner = std::fs::metadata(format!("/proc/{}/mem", running.pid())).unwrap().uid();
    assert_eq!(owner, 0);
}

fn leaves_no_score(mode: Mode) {
    let house = House::new("kill");
    let config = house.folder.path().join("key-holder.toml");
    let open =
        std::fs::read_to_string(&config).unwrap().replace("[server]", "[server]\nprotect_memory = false");
    std::fs::write(&config, open).unwrap();
    let running = house.start();
    let gateway = Gateway::in_mode(mode, &running, house.gateway(), lenient(15_000), 32);
    let mut rng = StdRng::seed_from_u64(99);
    let probes: Vec<Embedding> = gateway
        .people
        .iter()
        .enumerate()
        .map(|(index, (_, face_of))| if index % 2 == 0 { face_of.clone() } else { face(&mut rng) })
        .collect();
    let scores: Vec<i32> =
        gateway.people.iter().zip(&probes).map(|((_, template), probe)| template.dot(probe)).collect();
    let job = |batch| gateway.job(batch, |index| probes[index].clone());

    // These are the scores: each is accepted at itself and not one above.
    let operator = running.connected(house.operator());
    for (lane, score) in [(1, scores[1]), (4, scores[4])] {
        for (threshold, accepted) in [(score, true), (score + 1, false)] {
            operator.set_policy(TENANT, lenient(threshold)).unwrap();
            let job = under(threshold, job(1));
            assert_eq!(gateway.decide(&job).unwrap() >> lane & 1 == 1, accepted);
        }
    }
    operator.set_policy(TENANT, lenient(15_000)).unwrap();
    let patterns = patterns(scores.windows(RUN));
    // Templates and probes are not there either: this role never has both shares.
    let faces: Vec<[f32; 128]> =
        gateway.people.iter().map(|(_, face)| face).chain(&probes).map(floats).collect();
    let faces = face_patterns(&faces);
    let own: Vec<u8> = probes[4].values().iter().flat_map(|x| i32::from(*x).to_be_bytes()).collect();
    assert_eq!(search(&own, &faces).len(), 2 * 8, "the search finds it as template and as probe");
    let planted: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
    assert!(search(&planted, &patterns).len() > 32 - RUN, "the search finds what is there");

    let mut raw = running.raw(house.gateway());
    let mut replies = Vec::new();
    let known = crate::world::handle(3);
    for round in 0..3 {
        for batch in 0..6 {
            raw.send(&crate::world::frame_with(DECIDE, &job(batch).to_bytes()));
            replies.extend(raw.receive_bytes());
        }
        let regions = memory(running.pid());
        assert!(
            regions.iter().any(|region| trefoil_testing::contains(region, known.as_bytes())),
            "its memory is read"
        );
        for region in &regions {
            assert_eq!(search(region, &patterns), Vec::<String>::new(), "{mode:?}, round {round}");
            assert_eq!(search(region, &faces), Vec::<String>::new(), "{mode:?}, round {round}");
        }
    }
    assert_eq!(search(&replies, &patterns), Vec::<String>::new());
    assert!(
        replies.len() <= 18 * 7,
        "that it is decided, and 32 bits in at most 5 bytes, a batch: {}",
        replies.len()
    );

    drop(running);
    let decimal: Vec<String> = scores.iter().map(i32::to_string).collect();
    let mut files: Vec<_> =
        std::fs::read_dir(house.data()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.push(house.log_path());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(search(&bytes, &patterns), Vec::<String>::new(), "{}", path.display());
        assert_eq!(search(&bytes, &faces), Vec::<String>::new(), "{}", path.display());
        if path.extension().is_none_or(|extension| extension == "log") {
            let text = String::from_utf8(bytes).unwrap();
            let mut numbers = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let shown = numbers.find(|number| decimal.iter().any(|score| score == number));
            assert_eq!(shown, None, "{}", path.display());
        }
    }
}

fn floats(face: &Embedding) -> [f32; 128] {
    std::array::from_fn(|k| f32::from(face.values()[k]))
}
