use rand::Rng;
use trefoil_types::TenantId;

use super::*;
use crate::{
    epoch::EPOCH_LIMIT,
    fixture::{EPOCH, LEVEL, member, rng, statement, witness},
    secret::Secret,
    statement::Circuit,
    verify::verify,
};

#[test]
fn the_last_live_epoch_and_the_exact_level_are_enough() {
    let witness = member(EPOCH, LEVEL);
    let statement = statement(&witness, Circuit::Cred2);
    let proof = prove(&witness, &statement, &mut rng(1)).expect("just enough");
    assert!(verify(&statement, &proof).is_ok());
}

#[test]
fn an_insufficient_credential_is_named() {
    let cases = [
        (member(EPOCH - 1, 3), ProveError::Expired),
        (member(EPOCH + (1 << 16), 3), ProveError::ExpiryTooFar),
        (member(EPOCH + 1, LEVEL - 1), ProveError::Level),
    ];
    for (witness, error) in cases {
        let statement = statement(&witness, Circuit::Cred2);
        assert_eq!(prove(&witness, &statement, &mut rng(1)), Err(error));
    }
}

#[test]
fn a_statement_that_is_not_the_witnesses_is_named() {
    let refused = |change: fn(&mut Statement), error: ProveError| {
        let witness = witness();
        let mut statement = statement(&witness, Circuit::Cred2);
        change(&mut statement);
        assert_eq!(prove(&witness, &statement, &mut rng(1)), Err(error));
    };
    refused(|s| s.root = s.account, ProveError::Root);
    refused(|s| s.account = s.root, ProveError::Account);
    refused(|s| s.scope = s.root, ProveError::Account);
    refused(|s| s.handle = s.root, ProveError::Handle);
    refused(|s| s.tenant = TenantId::new([1; 16]), ProveError::Handle);
    refused(|s| s.level = 4, ProveError::Level);
    refused(|s| s.epoch = EPOCH_LIMIT, ProveError::Statement(StatementError::Epoch(EPOCH_LIMIT)));

    let mut outside = witness();
    let statement = statement(&outside, Circuit::Cred2);
    outside.index |= CAPACITY;
    assert_eq!(prove(&outside, &statement, &mut rng(1)), Err(ProveError::Index));
}

/// A generator that repeats itself must not mask two statements alike: their proofs' difference would show the
/// witness.
#[test]
fn a_repeating_generator_gives_every_statement_its_own_masks() {
    let witness = witness();
    let one = statement(&witness, Circuit::Cred2);
    let two = Statement { level: LEVEL - 1, ..one.clone() };
    let first = |statement| hedged(&witness, statement, &[1; 32]).next_u64();
    assert_ne!(first(&one), first(&two));
    assert_eq!(first(&one), first(&one));
    // Knowing the generator and the statement reveals no mask, because the masks depend on the secret.
    let other = Witness { secret: Secret::random(&mut rng(2)), ..member(EPOCH, LEVEL) };
    assert_ne!(first(&one), hedged(&other, &one, &[1; 32]).next_u64());
}
