//! For every constraint group a trace that breaks only that group: the whole circuit refuses it, the circuit
//! without the group accepts it. So each group is needed and each test can fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use trefoil_types::TenantId;

use p3_air::DebugConstraintBuilder;
use p3_field::PrimeCharacteristicRing;
use p3_uni_stark::QuotientAir;

use super::*;
use crate::{
    digest::Digest,
    fixture::{self, EPOCH, member, witness},
    hash::{account, commitment, handle_scope, input, leaf, scope},
    layout::link_row,
    parameters::{self, Config, Masks, Parameters, Proof, config, parameters},
    secret::Secret,
    session::SessionKey,
    statement::{Circuit, Statement},
    trace::{Trace, public_values},
    verify::{ProofError, verify},
    witness::{SessionClaim, Witness},
};

const GROUPS: [Group; 16] = [
    Group::SecretConstant,
    Group::FullRound,
    Group::PartialRound,
    Group::NextState,
    Group::CommitmentInput,
    Group::LeafInput,
    Group::Bits,
    Group::Expiry,
    Group::Level,
    Group::NodeInput,
    Group::Capacity,
    Group::Root,
    Group::AccountInput,
    Group::AccountOutput,
    Group::HandleInput,
    Group::HandleOutput,
];

/// Level of the path at which traces are tampered with.
const TAMPERED: usize = 3;

/// Claim P1.
#[test]
fn the_whole_circuit_refuses_every_forgery() {
    for group in GROUPS {
        let (trace, statement) = forge(group);
        assert!(!accepts(&CredentialAir::new(), trace, &statement), "{group:?}");
    }
}

/// Claim P1: Every constraint of the circuit is needed: without its group a forgery passes, with it none does.
#[test]
fn without_its_group_every_forgery_passes() {
    for group in GROUPS {
        let (trace, statement) = forge(group);
        assert!(accepts(&CredentialAir::without(group), trace, &statement), "{group:?}");
    }
}

#[test]
fn an_honest_trace_passes() {
    let witness = witness();
    let statement = fixture::statement(&witness, Circuit::Cred2);
    let trace = Trace::new(&witness, &statement, &mut fixture::rng(1));
    assert!(accepts(&CredentialAir::new(), trace, &statement));
}

/// Claim P5: An account belongs to one wallet, one tenant and one audience, and is the same in every epoch. No wallet can prove another's
/// account, and accounts with two audiences cannot be linked.
///
/// The inputs of the account's hash are the member's secret, the scope of tenant and audience, and the account's domain. Whatever else a
/// forger hashes there, the trace is correct except for one group of constraints, and only that group stops it.
#[test]
fn an_account_is_of_the_members_secret_and_of_the_statements_scope() {
    let witness = witness();
    let honest = fixture::statement(&witness, Circuit::Cred2);
    let (own, right) = (witness.secret.limbs(), honest.scope.limbs());
    let other = Secret::random(&mut fixture::rng(4)).limbs();
    let elsewhere = |tenant, audience| scope(tenant, audience).limbs();
    let cheats = [
        ("another's secret", Group::AccountInput, Domain::Account, other, right),
        (
            "another audience",
            Group::AccountInput,
            Domain::Account,
            own,
            elsewhere(&honest.tenant, "other.example"),
        ),
        (
            "another tenant",
            Group::AccountInput,
            Domain::Account,
            own,
            elsewhere(&TenantId::new([9; 16]), fixture::AUDIENCE),
        ),
        ("no scope", Group::AccountInput, Domain::Account, own, [Field::ZERO; LIMBS]),
        (
            "the handle's scope",
            Group::AccountInput,
            Domain::Account,
            own,
            handle_scope(&honest.tenant).limbs(),
        ),
        ("the handle's domain", Group::Capacity, Domain::Handle, own, right),
        ("the commitment's domain", Group::Capacity, Domain::Commitment, own, right),
    ];
    for (name, group, domain, left, right) in cheats {
        let forged = || {
            let mut trace = Trace::new(&witness, &honest, &mut fixture::rng(3));
            let account = pseudonym(&mut trace, ACCOUNT_SLOT, domain, &left, &right);
            assert_ne!(account, honest.account, "{name}");
            (trace, Statement { account, ..honest.clone() })
        };
        let (trace, statement) = forged();
        assert!(!accepts(&CredentialAir::new(), trace, &statement), "{name}");
        let (trace, statement) = forged();
        assert!(accepts(&CredentialAir::without(group), trace, &statement), "{name}");
    }
}

/// Claim P5.
///
/// One wallet: the same account in every epoch and session, another with every other audience and at every other tenant, and nothing
/// in two audiences' statements that only this member has in both.
#[test]
fn an_account_stays_the_same_over_epochs_and_is_another_elsewhere() {
    let witness = member(EPOCH + 2000, 3);
    let key = |byte| SessionKey::from_bytes([byte; 32]).commitment();
    let statement = |tenant, audience: &str, epoch, session| {
        let key = key(session);
        let claim = SessionClaim { tenant, audience, epoch, ..fixture::claim(Circuit::Cred2, &key) };
        witness.statement(&claim)
    };
    let first = statement(fixture::TENANT, fixture::AUDIENCE, EPOCH, 1);
    for (session, epoch) in (2..).zip([EPOCH, EPOCH + 1, EPOCH + 2, EPOCH + 1000]) {
        let later = statement(fixture::TENANT, fixture::AUDIENCE, epoch, session);
        assert_eq!((later.account, later.handle), (first.account, first.handle));
        assert_ne!(later.digest(), first.digest(), "a session of its own");
        let trace = Trace::new(&witness, &later, &mut fixture::rng(1));
        assert!(accepts(&CredentialAir::new(), trace, &later));
    }
    let elsewhere = statement(fixture::TENANT, "other.example", EPOCH, 9);
    let abroad = statement(TenantId::new([9; 16]), fixture::AUDIENCE, EPOCH, 9);
    let stranger = Secret::random(&mut fixture::rng(4));
    let accounts = [
        first.account,
        elsewhere.account,
        abroad.account,
        account(&stranger, &first.scope),
        first.handle,
        abroad.handle,
        commitment(&witness.secret),
    ];
    for (i, one) in accounts.iter().enumerate() {
        assert!(accounts[..i].iter().all(|other| other != one));
    }
    let Statement { root, handle, .. } = first;
    // The handle is for the service and is not attested; the root is every member's.
    assert_eq!((elsewhere.root, elsewhere.handle), (root, handle));
    assert!(elsewhere.scope != first.scope && elsewhere.ctx != first.ctx && abroad.handle != handle);
}

/// The public path, with the shipped parameters: skipping the prover's own checks gains nothing.
#[test]
fn forcing_an_insufficient_credential_through_the_prover_does_not_help() {
    for witness in [member(EPOCH - 1, 3), member(EPOCH + (1 << 16), 3), member(EPOCH, fixture::LEVEL - 1)] {
        let statement = fixture::statement(&witness, Circuit::Cred2);
        let trace = Trace::new(&witness, &statement, &mut fixture::rng(5));
        let config = parameters::proving(&statement, Masks::from_rng(&mut fixture::rng(6)));
        let values = public_values(&statement);
        if let Some(proof) = forced(&config, parameters::circuit(), trace, &values) {
            let proof = postcard::to_allocvec(&proof).expect("plain data");
            assert_eq!(verify(&statement, &proof), Err(ProofError::Rejected));
        }
    }
}

/// Whether a proof of `trace` verifies, under weak parameters: what is tested is the circuit.
fn accepts(air: &CredentialAir, trace: Trace, statement: &Statement) -> bool {
    let weak = Parameters {
        log_blowup: 3,
        queries: 16,
        batch_grinding: 0,
        query_grinding: 0,
        ..parameters(Circuit::Cred2)
    };
    let config = config(&weak, statement, Masks::from_rng(&mut fixture::rng(2)));
    let values = public_values(statement);
    forced(&config, air, trace, &values)
        .is_some_and(|proof| p3_uni_stark::verify(&config, air, &proof, &values).is_ok())
}

/// A proof of whatever the trace holds. None where the prover was built with its assertions and the trace breaks a constraint:
/// then it checks that and panics. The profiles of this workspace build it without.
fn forced<A>(config: &Config, air: &A, trace: Trace, values: &[Field]) -> Option<Proof>
where
    A: QuotientAir<Config> + for<'a> Air<DebugConstraintBuilder<'a, Field>>,
{
    let proof = catch_unwind(AssertUnwindSafe(|| {
        p3_uni_stark::prove(config, air, trace.into_matrix(), values).expect("masks suffice")
    }));
    assert!(proof.is_ok() || cfg!(debug_assertions), "the prover panicked");
    proof.ok()
}

/// A trace and statement that satisfy every constraint except those of `group`, to the forger's gain.
fn forge(group: Group) -> (Trace, Statement) {
    let witness = match group {
        Group::Expiry | Group::Bits => member(EPOCH - 1, 3),
        Group::Level => member(EPOCH + 2000, fixture::LEVEL - 1),
        _ => witness(),
    };
    let mut statement = fixture::statement(&witness, Circuit::Cred2);
    let mut trace = Trace::new(&witness, &statement, &mut fixture::rng(3));
    let other = Secret::random(&mut fixture::rng(4)).limbs();
    let scopes = [statement.scope.limbs(), handle_scope(&statement.tenant).limbs()];
    let stray = Digest::hash_to_field("stray", &[1; 32]);

    match group {
        // Another member's pseudonyms.
        Group::SecretConstant => {
            trace.secret(link_row(ACCOUNT_SLOT)..ROWS, &other);
            statement.account = pseudonym(&mut trace, ACCOUNT_SLOT, Domain::Account, &other, &scopes[0]);
            statement.handle = pseudonym(&mut trace, HANDLE_SLOT, Domain::Handle, &other, &scopes[1]);
        }
        Group::AccountInput => {
            statement.account = pseudonym(&mut trace, ACCOUNT_SLOT, Domain::Account, &other, &scopes[0]);
        }
        Group::HandleInput => {
            statement.handle = pseudonym(&mut trace, HANDLE_SLOT, Domain::Handle, &other, &scopes[1]);
        }
        // Hashes that are steered towards a chosen output.
        Group::FullRound => statement.root = tampered(&mut trace, &witness, 1, CELL_COLUMN + 6),
        Group::PartialRound => statement.root = tampered(&mut trace, &witness, 3, CELL_COLUMN + 2),
        Group::NextState => statement.root = tampered(&mut trace, &witness, 3, STATE_COLUMN + 9),
        // Another member's credential.
        Group::CommitmentInput => {
            let input = input(Domain::Commitment, &other, &[Field::ZERO; LIMBS]);
            let commitment = trace.slot(COMMITMENT_SLOT, &input);
            statement.root = from_leaf(&mut trace, &witness, &commitment, Domain::Leaf);
        }
        Group::LeafInput => {
            statement.root = from_leaf(&mut trace, &witness, &stray.limbs(), Domain::Leaf);
        }
        // An inner node that passes for a leaf.
        Group::Capacity => {
            let commitment = commitment(&witness.secret).limbs();
            statement.root = from_leaf(&mut trace, &witness, &commitment, Domain::Node);
        }
        // A subtree that the member is not in.
        Group::NodeInput => statement.root = climb(&mut trace, &witness, TAMPERED, stray.limbs()),
        // Expired by one epoch, with a "bit" of minus one.
        Group::Bits => {
            trace.bits(LEAF_SLOT, 0, EXPIRY_BITS, 0);
            trace.cells(link_row(LEAF_SLOT), CELL_COLUMN, &[-Field::ONE]);
        }
        // Expired, and of too low a level: the honest filling spells another number.
        Group::Expiry | Group::Level => {}
        Group::Root => statement.root = stray,
        Group::AccountOutput => statement.account = stray,
        Group::HandleOutput => statement.handle = stray,
    }
    (trace, statement)
}

fn pseudonym(
    trace: &mut Trace,
    slot: usize,
    domain: Domain,
    secret: &[Field; LIMBS],
    scope: &[Field; LIMBS],
) -> Digest {
    Digest::from_limbs(&trace.slot(slot, &input(domain, secret, scope)))
}

/// Refills the leaf from `left` under `domain`, and the path above it. Returns the root.
fn from_leaf(trace: &mut Trace, witness: &Witness, left: &[Field; LIMBS], domain: Domain) -> Digest {
    let node = trace.slot(LEAF_SLOT, &input(domain, left, &witness.attributes.limbs()));
    climb(trace, witness, 0, node)
}

/// Changes one value of the node at [`TAMPERED`] and refills the path above. Returns the root.
fn tampered(trace: &mut Trace, witness: &Witness, row: usize, column: usize) -> Digest {
    let leaf = leaf(&commitment(&witness.secret), &witness.attributes).limbs();
    let node = (0..TAMPERED)
        .fold(leaf, |node, level| trace.slot(NODE_SLOTS.start + level, &node_input(witness, level, node)));
    let input = node_input(witness, TAMPERED, node);
    let node = trace.slot_with(NODE_SLOTS.start + TAMPERED, &input, |at_row, at_column, value| {
        if (at_row, at_column) == (row, column) { value + Field::ONE } else { value }
    });
    climb(trace, witness, TAMPERED + 1, node)
}

/// Refills the path from `level` on, where `node` enters. Returns the root.
fn climb(trace: &mut Trace, witness: &Witness, level: usize, node: [Field; LIMBS]) -> Digest {
    let root = (level..NODE_SLOTS.len())
        .fold(node, |node, level| trace.slot(NODE_SLOTS.start + level, &node_input(witness, level, node)));
    Digest::from_limbs(&root)
}

fn node_input(witness: &Witness, level: usize, node: [Field; LIMBS]) -> [Field; STATE] {
    let sibling = witness.path.siblings()[level].limbs();
    match witness.index >> level & 1 {
        0 => input(Domain::Node, &node, &sibling),
        _ => input(Domain::Node, &sibling, &node),
    }
}
