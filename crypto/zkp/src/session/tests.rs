use super::*;
use crate::fixture::{ACCOUNT_KEY, rng};
use trefoil_types::{Handle, SessionId};

const HEADER: RequestHeader<'_> = RequestHeader {
    session_id: SessionId::new([1; 32]),
    handle: Handle::new([2; 32]),
    audience: "payments.example",
    nonce: &[3; 16],
    issued_at: 1_795_000_000,
    probe_digest: &[4; 32],
};

fn key() -> SessionKey {
    SessionKey::from_bytes([5; 32])
}

#[test]
fn the_right_mac_is_accepted_and_every_other_refused() {
    let mac = request_mac(&key(), &HEADER);
    assert_eq!(verify_request_mac(&key(), &HEADER, &mac), Ok(()));
    for bit in 0..256 {
        let mut other = mac;
        other[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify_request_mac(&key(), &HEADER, &other), Err(MacMismatch));
    }
    let other = SessionKey::random(&mut rng(1));
    assert_eq!(verify_request_mac(&other, &HEADER, &mac), Err(MacMismatch));
}

/// Claim P11: The request MAC covers every field.
#[test]
fn the_mac_covers_every_field() {
    let mac = request_mac(&key(), &HEADER);
    let others = [
        RequestHeader { session_id: SessionId::new([9; 32]), ..HEADER },
        RequestHeader { handle: Handle::new([9; 32]), ..HEADER },
        RequestHeader { audience: "payments.exampl", ..HEADER },
        RequestHeader { nonce: &[3; 17], ..HEADER },
        RequestHeader { nonce: &[9; 16], ..HEADER },
        RequestHeader { issued_at: 1_795_000_001, ..HEADER },
        RequestHeader { probe_digest: &[9; 32], ..HEADER },
        RequestHeader { session_id: SessionId::new([2; 32]), handle: Handle::new([1; 32]), ..HEADER },
    ];
    let mut seen = vec![mac];
    for other in others {
        assert_eq!(verify_request_mac(&key(), &other, &mac), Err(MacMismatch), "{other:?}");
        let mac = request_mac(&key(), &other);
        assert!(!seen.contains(&mac), "{other:?}");
        seen.push(mac);
    }
}

#[test]
fn bytes_do_not_wander_between_audience_and_nonce() {
    let one = RequestHeader { audience: "ab", nonce: b"cdefghijklmnopqrs", ..HEADER };
    let two = RequestHeader { audience: "abc", nonce: b"defghijklmnopqrs", ..HEADER };
    assert_ne!(request_mac(&key(), &one), request_mac(&key(), &two));
}

#[test]
fn the_context_covers_every_field() {
    let commitment = key().commitment();
    let contexts = [
        context(&TenantId::new([0; 16]), "audience", &commitment, &ACCOUNT_KEY, 1, 2),
        context(&TenantId::new([1; 16]), "audience", &commitment, &ACCOUNT_KEY, 1, 2),
        context(&TenantId::new([0; 16]), "audienc", &commitment, &ACCOUNT_KEY, 1, 2),
        context(
            &TenantId::new([0; 16]),
            "audience",
            &SessionKey::from_bytes([6; 32]).commitment(),
            &ACCOUNT_KEY,
            1,
            2,
        ),
        context(&TenantId::new([0; 16]), "audience", &commitment, &AccountKeyId::new([8; 32]), 1, 2),
        context(&TenantId::new([0; 16]), "audience", &commitment, &ACCOUNT_KEY, 2, 2),
        context(&TenantId::new([0; 16]), "audience", &commitment, &ACCOUNT_KEY, 1, 1),
        context(&TenantId::new([0; 16]), "audience", &commitment, &ACCOUNT_KEY, 2, 1),
    ];
    for (i, one) in contexts.iter().enumerate() {
        assert!(contexts[..i].iter().all(|other| other != one), "{i}");
    }
}

#[test]
fn the_key_is_not_shown_and_round_trips() {
    assert_eq!(format!("{:?}", key()), "SessionKey(..)");
    assert_eq!(*key().to_bytes(), [5; 32]);
    let mut wiped = key();
    wiped.zeroize();
    assert_eq!(wiped.0, [0; 32]);
}
