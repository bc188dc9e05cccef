//! Statements: one encoding each, read back equal, and readable by an independent CBOR library.

use minicbor::Decoder;
use proptest::prelude::*;
use trefoil_attest::{
    Decision, DecodeError, ProbeMode, Problem, Proof, STATEMENT_BYTES_MAX, STATEMENT_FORMAT, Statement,
    Suite, statement_digest,
};
use trefoil_types::{Account, BatchId, SessionId, TenantId};

fn example() -> Statement<'static> {
    Statement {
        suite: Suite::One,
        issuer: "https://auth.example",
        tenant: TenantId::new([1; 16]),
        audience: "https://shop.example",
        account: Account::new([2; 32]),
        nonce: &[3; 32],
        request_digest: [4; 32],
        decision: Decision::Match,
        probe_mode: ProbeMode::Plain,
        policy_id: 7,
        policy_version: 3,
        fmr_class: 4,
        embedder: "facenet-128/1",
        quantiser: "s175/1",
        template_generation: 9,
        proof: Some(Proof {
            circuit: 1,
            root: [5; 32],
            level: 2,
            epoch: 500_000,
            session: SessionId::new([8; 32]),
        }),
        batch_id: BatchId::new([6; 16]),
        place: 31,
        issued_at: 1_800_000_000,
        expires_at: 1_800_000_060,
    }
}

fn problem(bytes: &[u8]) -> Problem {
    let DecodeError { problem, .. } = Statement::decode(bytes).unwrap_err();
    problem
}

/// Reads the encoding with minicbor, which shares no code with this crate.
#[test]
fn an_independent_reader_finds_the_claims() {
    let statement = example();
    let bytes = statement.encode().unwrap();
    let mut d = Decoder::new(&bytes);
    assert_eq!(d.map().unwrap(), Some(8));
    assert_eq!((d.i64().unwrap(), d.str().unwrap()), (1, statement.issuer));
    assert_eq!((d.i64().unwrap(), d.str().unwrap()), (3, statement.audience));
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (4, statement.expires_at));
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (6, statement.issued_at));
    assert_eq!((d.i64().unwrap(), d.bytes().unwrap()), (7, &[&[6; 16][..], &[31]].concat()[..]));
    assert_eq!((d.i64().unwrap(), d.bytes().unwrap()), (10, statement.nonce));
    assert_eq!((d.i64().unwrap(), d.str().unwrap()), (265, STATEMENT_FORMAT));
    assert_eq!((d.i64().unwrap(), d.map().unwrap()), (-65537, Some(11)));
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (1, 1));
    assert_eq!((d.i64().unwrap(), d.bytes().unwrap()), (2, &statement.tenant.as_bytes()[..]));
    assert_eq!((d.i64().unwrap(), d.bytes().unwrap()), (3, &statement.account.as_bytes()[..]));
    assert_eq!((d.i64().unwrap(), d.bytes().unwrap()), (4, &statement.request_digest[..]));
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (5, 1));
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (6, 1));
    assert_eq!(
        (d.i64().unwrap(), d.array().unwrap(), d.u64().unwrap(), d.u64().unwrap()),
        (7, Some(2), 7, 3)
    );
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (8, 4));
    assert_eq!((d.i64().unwrap(), d.array().unwrap()), (9, Some(2)));
    assert_eq!((d.str().unwrap(), d.str().unwrap()), (statement.embedder, statement.quantiser));
    assert_eq!((d.i64().unwrap(), d.u64().unwrap()), (10, 9));
    assert_eq!((d.i64().unwrap(), d.array().unwrap()), (11, Some(5)));
    assert_eq!((d.u64().unwrap(), d.bytes().unwrap()), (1, &[5; 32][..]));
    assert_eq!((d.u64().unwrap(), d.u64().unwrap()), (2, 500_000));
    assert_eq!(d.bytes().unwrap(), &[8; 32][..]);
    assert_eq!(d.position(), bytes.len());
}

#[test]
fn the_longest_statement_fits_its_bound() {
    let (name, model) = ("n".repeat(255), "m".repeat(64));
    let statement = Statement {
        issuer: &name,
        audience: &name,
        nonce: &[0; 64],
        policy_id: u32::MAX,
        policy_version: u32::MAX,
        fmr_class: u8::MAX,
        embedder: &model,
        quantiser: &model,
        template_generation: u32::MAX,
        proof: Some(Proof {
            circuit: u16::MAX,
            root: [0; 32],
            level: u8::MAX,
            epoch: u32::MAX,
            session: SessionId::new([0; 32]),
        }),
        issued_at: u64::MAX - 120,
        expires_at: u64::MAX,
        ..example()
    };
    let bytes = statement.encode().unwrap();
    assert!(bytes.len() <= STATEMENT_BYTES_MAX, "{} bytes", bytes.len());
    assert_eq!(Statement::decode(&bytes).unwrap(), statement);
}

#[test]
fn fields_outside_their_limits_are_not_encoded() {
    let long = "x".repeat(256);
    let base = example();
    let cases = [
        (Statement { issuer: "", ..base.clone() }, "issuer"),
        (Statement { issuer: &long, ..base.clone() }, "issuer"),
        (Statement { audience: "a\nb", ..base.clone() }, "audience"),
        (Statement { nonce: &[0; 15], ..base.clone() }, "nonce"),
        (Statement { nonce: &[0; 65], ..base.clone() }, "nonce"),
        (Statement { embedder: "", ..base.clone() }, "embedder"),
        (Statement { quantiser: &long, ..base.clone() }, "quantiser"),
        (Statement { place: 32, ..base.clone() }, "place"),
        (Statement { expires_at: base.issued_at, ..base.clone() }, "expires_at"),
        (Statement { expires_at: base.issued_at + 121, ..base.clone() }, "expires_at"),
        (Statement { expires_at: base.issued_at - 1, ..base.clone() }, "expires_at"),
    ];
    for (statement, field) in cases {
        let mut out = vec![9];
        assert_eq!(statement.encode_into(&mut out).unwrap_err().field, field);
        assert_eq!(out, [9]);
    }
}

#[test]
fn foreign_encodings_are_refused() {
    let bytes = example().encode().unwrap();
    let replaced = |at: usize, with: &[u8]| [&bytes[..at], with, &bytes[at + 1..]].concat();
    assert_eq!(bytes[0], 0xa8);
    assert_eq!(problem(&replaced(0, &[0xb8, 8])), Problem::NotCanonical, "a longer map head");
    assert_eq!(problem(&[&[0xbf], &bytes[1..], &[0xff]].concat()), Problem::NotCanonical, "indefinite");
    assert_eq!(problem(&replaced(0, &[0xa9])), Problem::WrongLength, "nine claims");
    assert_eq!(problem(&replaced(1, &[0x18, 1])), Problem::NotCanonical, "a longer key");
    assert_eq!(problem(&replaced(1, &[2])), Problem::UnexpectedKey { expected: 1, found: 2 });
    let second = 1 + 1 + 1 + 20;
    assert_eq!(bytes[second], 3);
    assert_eq!(
        problem(&replaced(second, &[1])),
        Problem::UnexpectedKey { expected: 3, found: 1 },
        "repeated"
    );
    assert_eq!(problem(&[&bytes[..], &[0]].concat()), Problem::TrailingBytes);
    assert_eq!(problem(&[0; STATEMENT_BYTES_MAX + 1]), Problem::WrongLength);
    let suite = bytes.windows(6).position(|w| w == [0x3a, 0, 1, 0, 0, 0xab]).unwrap() + 7;
    assert_eq!(bytes[suite], 1);
    assert_eq!(problem(&replaced(suite, &[2])), Problem::UnknownSuite(2));
    assert_eq!(problem(&replaced(suite - 2, &[0xac])), Problem::WrongLength, "twelve fields");
    for end in 0..bytes.len() {
        assert_eq!(problem(&bytes[..end]), Problem::Truncated, "{end} bytes");
    }
}

#[test]
fn the_digest_is_sha3_256_of_the_bytes() {
    // FIPS 202 example: SHA3-256 of the empty string.
    let empty = "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a";
    assert_eq!(hex::encode(statement_digest(b"")), empty);
}

prop_compose! {
    fn proofs()(circuit: u16, root: [u8; 32], level: u8, epoch: u32, session: [u8; 32]) -> Proof {
        Proof { circuit, root, level, epoch, session: SessionId::new(session) }
    }
}

proptest! {
    #[test]
    fn decoding_inverts_encoding(
        names in [("\\PC{1,60}", "\\PC{1,16}"), ("\\PC{1,60}", "\\PC{1,16}")],
        nonce in proptest::collection::vec(any::<u8>(), 16..=64),
        arrays: ([u8; 16], [u8; 32], [u8; 32], [u8; 16]),
        matched: bool,
        shared: bool,
        numbers: (u32, u32, u8, u32),
        proof in proptest::option::of(proofs()),
        place in 0..32_u8,
        issued_at in 0..=u64::MAX - 120,
        life in 1..=120_u64,
    ) {
        let statement = Statement {
            suite: Suite::One,
            issuer: &names[0].0,
            tenant: TenantId::new(arrays.0),
            audience: &names[1].0,
            account: Account::new(arrays.1),
            nonce: &nonce,
            request_digest: arrays.2,
            decision: if matched { Decision::Match } else { Decision::NoMatch },
            probe_mode: if shared { ProbeMode::Shared } else { ProbeMode::Plain },
            policy_id: numbers.0,
            policy_version: numbers.1,
            fmr_class: numbers.2,
            embedder: &names[0].1,
            quantiser: &names[1].1,
            template_generation: numbers.3,
            proof,
            batch_id: BatchId::new(arrays.3),
            place,
            issued_at,
            expires_at: issued_at + life,
        };
        let bytes = statement.encode().unwrap();
        prop_assert_eq!(Statement::decode(&bytes).unwrap(), statement);
    }

    /// Claim S1: One statement has one encoding.
    #[test]
    fn whatever_decodes_is_its_own_encoding(at in 0..400_usize, with: u8, cut in 0..3_usize) {
        let mut bytes = example().encode().unwrap();
        let length = bytes.len();
        bytes[at % length] = with;
        bytes.truncate(length - cut);
        if let Ok(statement) = Statement::decode(&bytes) {
            prop_assert_eq!(statement.encode().unwrap(), bytes);
        }
    }
}
