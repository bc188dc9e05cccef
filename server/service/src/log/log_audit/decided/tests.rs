//! Logs, heads and attestations that do not belong together.

use super::*;
use trefoil_attest::tree::{EMPTY_ROOT, MerkleTree};
use trefoil_attest::{
    Account, BatchId, KeySetStatus, ProbeMode, Seal, Suite, TenantId, TrustedKeySet, VaultState,
};
use trefoil_sign::SigningKeys;

const NOW: u64 = 1_800_000_000;
const TENANT: &str = "01010101010101010101010101010101";

fn claim(leaf: u8, issued_at: u64) -> Match {
    let (name, tenant) = ("kept/1".to_owned(), TENANT.to_owned());
    Match { name, digest: [leaf; 32], leaf: [leaf; 32], tenant, issued_at }
}

/// A log of 100 lines in an hour, whose head is `[seat; 32]` at 50 lines, with these leaves.
fn log(seat: u8, leaves: &[u8]) -> Jobs {
    Jobs {
        path: format!("log-{seat}"),
        lines: 100,
        at: NOW,
        signer: [seat; 32],
        times: 0,
        first: (0, NOW - 3600),
        digests: HashMap::from([(50, [seat; 32])]),
        leaves: leaves.iter().map(|leaf| (TENANT.to_owned(), [*leaf; 32])).collect(),
        restored: Vec::new(),
    }
}

fn head(restored: u64, lines: u64, digest: u8) -> Shown {
    (restored, JobsHead { lines, digest: [digest; 32] })
}

/// An audit in which the seals show the head of each of so many key-holders.
fn decided(key_holders: usize) -> Decided {
    let heads =
        (1..=key_holders).map(|seat| ((key_holders, seat), BTreeMap::from([(head(0, 50, seat as u8), 7)])));
    Decided { heads: heads.collect(), ..Decided::default() }
}

/// What becomes of one match; the error if nothing can be said.
fn verdict(of: usize, claim: Match, logs: &[Jobs]) -> Result<Verdict, String> {
    let audit = Decided { matches: vec![claim], ..decided(of) };
    audit.judge(logs).map(|(verdicts, _)| only(verdicts)).map_err(|cause| cause.to_string())
}

/// That of one match.
fn only(verdicts: Verdicts) -> Verdict {
    let Verdicts { decided, later, earlier, lost, made_up } = verdicts;
    match (decided, later, earlier, lost, &made_up[..]) {
        (1, 0, 0, 0, []) => Verdict::Decided,
        (0, 1, 0, 0, []) => Verdict::Later,
        (0, 0, 1, 0, []) => Verdict::Earlier,
        (0, 0, 0, 1, []) => Verdict::Lost,
        (0, 0, 0, 0, [name]) if name == "kept/1" => Verdict::MadeUp,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_match_is_in_the_log_or_made_up_unless_the_log_cannot_have_it() {
    let at = |issued_at| claim(9, issued_at);
    let one = |claim: Match, jobs: Jobs| verdict(1, claim, &[jobs]).unwrap();
    assert!(one(at(NOW - 60), log(1, &[8, 9])) == Verdict::Decided);
    assert!(one(at(NOW + 999), log(1, &[9])) == Verdict::Decided, "whatever its time");
    assert!(one(at(NOW - 60), log(1, &[8])) == Verdict::MadeUp);
    assert!(one(at(NOW - 59), log(1, &[8])) == Verdict::Later, "the clocks may differ by a minute");
    assert!(one(at(u64::MAX), log(1, &[8])) == Verdict::Later);
    assert!(one(at(NOW - 3660), log(1, &[])) == Verdict::MadeUp);
    assert!(one(at(NOW - 3661), log(1, &[])) == Verdict::Earlier);
    let without_older_files = || Jobs { first: (20, NOW - 3600), ..log(1, &[]) };
    assert!(one(at(NOW - 3541), without_older_files()) == Verdict::Earlier);
    assert!(one(at(NOW - 3540), without_older_files()) == Verdict::MadeUp);
    let restored = || {
        let cut = Cut { lines: 60, from: NOW - 1000, to: NOW - 500 };
        Jobs { times: 1, restored: vec![cut], ..log(1, &[]) }
    };
    for (time, verdict) in [
        (NOW - 1061, Verdict::MadeUp),
        (NOW - 1060, Verdict::Lost),
        (NOW - 440, Verdict::Lost),
        (NOW - 439, Verdict::MadeUp),
    ] {
        assert!(one(at(time), restored()) == verdict, "{time}");
    }
    let other_tenant = Match { tenant: "02".repeat(16), ..claim(9, NOW - 60) };
    assert!(one(other_tenant, log(1, &[9])) == Verdict::MadeUp, "a line of another tenant");
}

#[test]
fn one_decision_has_one_statement() {
    let other = Match { name: "kept/2".to_owned(), digest: [7; 32], ..claim(9, NOW - 60) };
    let matches = vec![claim(9, NOW - 60), claim(9, NOW - 60), other];
    let (verdicts, _) = Decided { matches, ..decided(1) }.judge(&[log(1, &[9])]).unwrap();
    assert_eq!((verdicts.decided, verdicts.made_up.len()), (2, 1));
    assert!(verdicts.made_up[0].starts_with("kept/2: there is another statement"), "{verdicts:?}");
}

#[test]
fn of_three_key_holders_two_have_each_match() {
    let seats = |leaves: [&[u8]; 3]| [1, 2, 3].map(|seat| log(seat, leaves[usize::from(seat) - 1]));
    let of = |leaves, count: usize| verdict(3, claim(9, NOW - 60), &seats(leaves)[..count]).unwrap();
    let (has, not): (&[u8], &[u8]) = (&[9], &[8]);
    assert!(of([has, has, has], 3) == Verdict::Decided);
    assert!(of([has, not, has], 3) == Verdict::Decided, "one was away");
    assert!(of([not, has, not], 3) == Verdict::MadeUp, "one alone decides nothing");
    assert!(of([not, has, has], 2) == Verdict::Decided, "and the third has it");
    assert!(of([not, not, has], 2) == Verdict::MadeUp);
    let refused = |logs: &[Jobs]| verdict(3, claim(9, NOW - 60), logs).unwrap_err();
    assert!(refused(&seats([has, has, has])[..1]).contains("give two or three different job logs"));
    assert!(refused(&[log(2, has), log(2, has)]).contains("give two or three different job logs"));
    // A log that was copied before says nothing against it, and two that say no decide.
    let old = |seat| Jobs { at: NOW - 600, ..log(seat, not) };
    let with = |logs: [Jobs; 3]| verdict(3, claim(9, NOW - 60), &logs).unwrap();
    assert!(with([log(1, has), old(2), log(3, not)]) == Verdict::Later);
    assert!(with([log(1, not), old(2), log(3, not)]) == Verdict::MadeUp);
}

/// The number of key-holders in a seal is the service's word: a match is looked for in every log.
#[test]
fn a_service_that_went_from_one_key_holder_to_three_has_the_logs_of_both() {
    let mut audit = decided(3);
    audit.heads.insert((1, 1), BTreeMap::from([(head(0, 50, 7), 3)]));
    // The one stopped half an hour ago, and then the three began.
    let one = |leaves: &[u8]| Jobs { at: NOW - 1800, ..log(7, leaves) };
    let three = |leaves: &[u8]| [1, 2, 3].map(|seat| Jobs { first: (0, NOW - 1800), ..log(seat, leaves) });
    for (issued_at, by_one, by_three, expected) in [
        (NOW - 3000, &[9][..], &[][..], Verdict::Decided),
        (NOW - 3000, &[], &[], Verdict::MadeUp),
        (NOW - 600, &[], &[9], Verdict::Decided),
        (NOW - 600, &[], &[], Verdict::MadeUp),
        (NOW, &[], &[], Verdict::Later),
    ] {
        let [a, b, c] = three(by_three);
        audit.matches = vec![claim(9, issued_at)];
        assert_eq!(only(audit.judge(&[one(by_one), a, b, c]).unwrap().0), expected);
    }
}

#[test]
fn a_log_is_that_of_the_key_holder_whose_heads_the_seals_show() {
    let place = |audit: &Decided, jobs: &Jobs| audit.place(jobs).map_err(|cause| cause.to_string());
    for seat in 1..=3 {
        assert_eq!(place(&decided(3), &log(seat as u8, &[])), Ok((3, seat)));
    }
    let stranger = place(&decided(3), &log(4, &[])).unwrap_err();
    assert!(stranger.contains("log-4: no head that the seals show is in this log"), "{stranger}");
    let early = place(&decided(1), &Jobs { lines: 49, ..log(1, &[]) }).unwrap_err();
    assert!(early.contains("or was copied too early"), "{early}");
    let none = place(&Decided::default(), &log(1, &[])).unwrap_err();
    assert!(none.contains("the key-holder is in the service's process"), "{none}");
    // A later head that is not of this chain.
    let with = |shown: Shown| {
        let mut audit = decided(1);
        audit.heads.get_mut(&(1, 1)).unwrap().insert(shown, 8);
        audit
    };
    let forked = place(&with(head(0, 80, 5)), &log(1, &[])).unwrap_err();
    assert!(forked.contains("the log has forked: seal 8 shows 80 lines of key-holder 1"), "{forked}");
    assert_eq!(place(&with(head(0, 101, 5)), &log(1, &[])), Ok((1, 1)), "it was copied before");
    assert_eq!(place(&with(head(1, 80, 5)), &log(1, &[])), Ok((1, 1)), "it was restored since");
    // The log lost what came after line 60 and goes on otherwise.
    let restored = || Jobs { times: 1, restored: vec![Cut { lines: 60, from: 0, to: 0 }], ..log(1, &[]) };
    assert_eq!(place(&with(head(0, 61, 5)), &restored()), Ok((1, 1)));
    assert!(place(&with(head(0, 60, 5)), &restored()).is_err(), "that line was kept");
    assert!(place(&with(head(1, 80, 5)), &restored()).is_err(), "that is one after it");
}

/// A log of one seal over a statement, and an attestation of it.
struct World {
    trust_root: TrustRoot,
    seal: Seal,
    full: Vec<u8>,
    compact: Vec<u8>,
}

fn statement() -> Statement<'static> {
    Statement {
        suite: Suite::One,
        issuer: "https://auth.example",
        tenant: TenantId::new([1; 16]),
        audience: "https://shop.example",
        account: Account::new([2; 32]),
        nonce: &[3; 16],
        request_digest: [4; 32],
        decision: Decision::Match,
        probe_mode: ProbeMode::Plain,
        policy_id: 1,
        policy_version: 1,
        fmr_class: 4,
        embedder: "model",
        quantiser: "s175/1",
        template_generation: 0,
        proof: None,
        batch_id: BatchId::new([6; 16]),
        place: 5,
        issued_at: NOW,
        expires_at: NOW + 60,
    }
}

fn world(statement: &Statement<'_>) -> World {
    let mut keys = SigningKeys::generate(NOW - 9, NOW + 99, &mut rand::rng()).unwrap();
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let trust_root = TrustRoot::new("https://auth.example", vec![active]).unwrap();
    let statement = statement.encode().unwrap();
    let tree = MerkleTree::new(&[statement_digest(&statement), [7; 32]]).unwrap();
    let jobs = Some(JobsHead { lines: 50, digest: [1; 32] });
    let header = SealHeader {
        issuer: trust_root.issuer().to_owned(),
        key_set_id: keys.id(),
        seal_number: 0,
        previous: [0; 32],
        log_root: EMPTY_ROOT,
        tree_size: 2,
        root: tree.root(),
        time: NOW,
        suite: Suite::One,
        vaults: vec![Some(VaultState { generation: 1, restored: 0, jobs })],
        restored: None,
    };
    let seal = keys.sign_seal(header, &mut rand::rng()).unwrap();
    let path = tree.path(0).unwrap();
    let full = seal.attestation(&statement, 0, &path);
    let evidence = Evidence::Compact(seal.reference());
    let compact =
        Attestation { statement: &statement, leaf_index: 0, tree_size: 2, path, evidence, device: None }
            .encode();
    World { trust_root, seal, full, compact }
}

/// What an audit of this world says of an attestation: the matches that it looks for.
fn asked(world: &World, bytes: &[u8], restorations: &[Restoration]) -> Result<Vec<Match>, String> {
    let mut audit = Decided::default();
    audit.see(&world.seal.header);
    let taken = audit.attestation("kept/1", bytes, &world.trust_root, restorations);
    taken.map_err(|cause| cause.to_string())?;
    Ok(audit.matches)
}

#[test]
fn an_attestation_under_a_seal_of_the_log_is_looked_for_by_batch_request_and_account() {
    let own = world(&statement());
    for bytes in [&own.full, &own.compact] {
        let [found] = &asked(&own, bytes, &[]).unwrap()[..] else { panic!("one match") };
        assert_eq!((found.leaf, &found.tenant[..]), (statement().decided_leaf(), TENANT));
        let (cti, account) = ("06".repeat(16) + "05", "02".repeat(32));
        assert!(
            found.name.starts_with(&format!("kept/1: cti {cti}, account {account}, 2027-")),
            "{}",
            found.name
        );
    }
    let denied = world(&Statement { decision: Decision::NoMatch, ..statement() });
    assert!(asked(&denied, &denied.full, &[]).unwrap().is_empty());
    let leaves = [
        statement(),
        Statement { batch_id: BatchId::new([7; 16]), ..statement() },
        Statement { request_digest: [7; 32], ..statement() },
        Statement { account: Account::new([7; 32]), ..statement() },
    ]
    .map(|statement| statement.decided_leaf());
    assert_eq!(leaves.iter().collect::<HashSet<_>>().len(), 4);
    assert_eq!(
        hex::encode(leaves[0]),
        hex::encode(<sha3::Sha3_256 as sha3::Digest>::digest(
            [&b"trefoil/decided/1"[..], &[6; 16], &[4; 32], &[2; 32]].concat()
        ))
    );
}

#[test]
fn an_attestation_of_another_log_is_a_finding() {
    let (own, other) = (world(&statement()), world(&statement()));
    for bytes in [&other.full, &other.compact] {
        assert!(asked(&own, bytes, &[]).err().unwrap().contains("kept/1: its seal 0 is not in the log"));
    }
    let mut later = Attestation::decode(&own.compact).unwrap();
    later.evidence = Evidence::Compact(trefoil_attest::SealReference { seal_number: 1, digest: [0; 32] });
    assert!(asked(&own, &later.encode(), &[]).err().unwrap().contains("its seal 1 is not in the log"));
    // Of the right log, and not in the tree.
    let mut altered = Attestation::decode(&own.compact).unwrap();
    let statement = Statement { account: Account::new([9; 32]), ..statement() }.encode().unwrap();
    altered.statement = &statement;
    assert!(asked(&own, &altered.encode(), &[]).err().unwrap().contains("not in the tree of its seal"));
    assert!(asked(&own, b"{}", &[]).is_err());
    // A seal that the log lost is its own evidence, if these keys signed it.
    let lost = [Restoration { first: 0, time: NOW + 1 }];
    assert_eq!(asked(&own, &own.full, &lost).unwrap().len(), 1);
    assert!(asked(&own, &other.full, &lost).err().unwrap().contains("kept/1: "), "signed by other keys");
    assert!(asked(&own, &other.compact, &lost).err().unwrap().contains("or lost it when it was restored"));
}
