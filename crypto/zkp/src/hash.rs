//! The statement's hash functions outside the circuit.
//!
//! One function, H(domain, left, right) = Poseidon2-24([left(8) | right(8) | domain, 0 x 7])[0..8]: a sponge of
//! rate 16 with one absorption. The domain sits in the capacity, so a leaf cannot be taken for a node, nor a
//! node for an account. Depth and arity are fixed, so nothing is padded.

use std::sync::LazyLock;

use p3_field::{Algebra, PackedValue, PrimeCharacteristicRing};
use p3_koala_bear::{Poseidon2KoalaBear, default_koalabear_poseidon2_24};
use p3_symmetric::{CryptographicPermutation, Permutation};
use sha3::{Digest as _, Sha3_256};
use trefoil_types::TenantId;

use crate::{
    attributes::Attributes,
    digest::{Digest, Field, LIMBS},
    secret::Secret,
};

/// Width of the permutation.
pub(crate) const STATE: usize = 24;

/// Several field elements that are permuted together.
pub(crate) type Packed = <Field as p3_field::Field>::Packing;

/// The use of a hash; the first capacity limb of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// Commitment to the secret.
    Commitment = 1,
    /// Leaf of the credential tree.
    Leaf = 2,
    /// Inner node of the credential tree.
    Node = 3,
    /// Account with one relying party.
    Account = 4,
    /// Handle within one tenant.
    Handle = 5,
}

/// The value that the issuer receives in place of the secret: H(commitment, secret, 0). With it the issuer can neither impersonate the
/// holder nor compute accounts.
pub fn commitment(secret: &Secret) -> Digest {
    Digest::from_limbs(&hash(Domain::Commitment, &secret.limbs(), &[Field::ZERO; LIMBS]))
}

/// The leaf that the issuer puts into the credential tree: H(leaf, commitment, attributes).
pub fn leaf(commitment: &Digest, attributes: &Attributes) -> Digest {
    Digest::from_limbs(&hash(Domain::Leaf, &commitment.limbs(), &attributes.limbs()))
}

/// The holder's stable pseudonym within a tenant: H(handle, secret, hash-to-field(tenant)).
/// It names the template; the service knows it, relying parties do not.
pub fn handle(secret: &Secret, tenant: &TenantId) -> Digest {
    Digest::from_limbs(&hash(Domain::Handle, &secret.limbs(), &handle_scope(tenant).limbs()))
}

/// The holder's pseudonym towards one relying party: H(account, secret, scope). It is the same in every session and epoch;
/// a relying party stores it as the account.
pub fn account(secret: &Secret, scope: &Digest) -> Digest {
    Digest::from_limbs(&hash(Domain::Account, &secret.limbs(), &scope.limbs()))
}

/// Second input of the account with `audience`: hash-to-field of
/// SHA3-256("trefoil/account-scope/1" | tenant | u32 length | audience).
pub fn scope(tenant: &TenantId, audience: &str) -> Digest {
    let digest = Sha3_256::new()
        .chain_update(b"trefoil/account-scope/1")
        .chain_update(tenant)
        .chain_update((audience.len() as u32).to_le_bytes())
        .chain_update(audience)
        .finalize();
    Digest::hash_to_field("trefoil/hash-to-field/1", &digest.into())
}

/// Second input of the handle: hash-to-field of SHA3-256("trefoil/handle-scope/1" | tenant).
pub(crate) fn handle_scope(tenant: &TenantId) -> Digest {
    let digest = Sha3_256::new().chain_update(b"trefoil/handle-scope/1").chain_update(tenant).finalize();
    Digest::hash_to_field("trefoil/hash-to-field/1", &digest.into())
}

/// H(domain, left, right) on one input, or on [`Packed`] many.
pub(crate) fn hash<R>(domain: Domain, left: &[R; LIMBS], right: &[R; LIMBS]) -> [R; LIMBS]
where
    R: Algebra<Field> + Copy,
    Poseidon2KoalaBear<STATE>: CryptographicPermutation<[R; STATE]>,
{
    let state = PERMUTATION.permute(input(domain, left, right));
    std::array::from_fn(|i| state[i])
}

/// The permutation's input for H(domain, left, right).
pub(crate) fn input<R: PrimeCharacteristicRing + Copy>(
    domain: Domain,
    left: &[R; LIMBS],
    right: &[R; LIMBS],
) -> [R; STATE] {
    let mut state = [R::ZERO; STATE];
    state[..LIMBS].copy_from_slice(left);
    state[LIMBS..2 * LIMBS].copy_from_slice(right);
    state[2 * LIMBS] = R::from_u8(domain as u8);
    state
}

/// Nodes above the children in `below`, whose length is even.
pub(crate) fn parents(below: &[[Field; LIMBS]]) -> Vec<[Field; LIMBS]> {
    let mut above = Vec::with_capacity(below.len() / 2);
    let (groups, rest) = below.as_chunks::<{ 2 * Packed::WIDTH }>();
    for group in groups {
        let side = |offset: usize| -> [Packed; LIMBS] {
            std::array::from_fn(|limb| Packed::from_fn(|lane| group[2 * lane + offset][limb]))
        };
        let nodes = hash(Domain::Node, &side(0), &side(1));
        above.extend((0..Packed::WIDTH).map(|lane| nodes.map(|limb| limb.as_slice()[lane])));
    }
    above.extend(rest.as_chunks::<2>().0.iter().map(|[left, right]| hash(Domain::Node, left, right)));
    above
}

/// Poseidon2 for KoalaBear, width 24, x^3, 8 full and 23 partial rounds, with Plonky3's published constants.
static PERMUTATION: LazyLock<Poseidon2KoalaBear<STATE>> = LazyLock::new(default_koalabear_poseidon2_24);

#[cfg(test)]
mod tests {
    use p3_field::PrimeField32;
    use rand::RngExt;

    use super::*;
    use crate::fixture;

    #[test]
    fn the_permutation_is_the_references() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../testdata/vectors.json")).expect("JSON");
        let expected = vectors["permutation_of_0_to_23"].as_array().expect("an array");
        let output = PERMUTATION.permute(std::array::from_fn(|i| Field::from_u32(i as u32)));
        let output: Vec<u64> = output.iter().map(|limb| limb.as_canonical_u32().into()).collect();
        assert_eq!(output, expected.iter().filter_map(|limb| limb.as_u64()).collect::<Vec<_>>());
    }

    /// Fewer partial rounds once went unnoticed in another system that uses this permutation.
    #[test]
    fn round_numbers_are_those_for_128_bits() {
        assert_eq!(p3_poseidon2::poseidon2_round_numbers_128::<Field>(STATE, 3), Ok((8, 23)));
    }

    #[test]
    fn packed_parents_equal_single_ones() {
        let nodes: Vec<[Field; LIMBS]> =
            fixture::rng(2).random_iter().take(2 * Packed::WIDTH * 3 + 6).collect();
        let single = nodes.as_chunks::<2>().0.iter().map(|[left, right]| hash(Domain::Node, left, right));
        assert_eq!(parents(&nodes), single.collect::<Vec<_>>());
    }

    #[test]
    fn account_and_handle_differ_for_the_same_scope() {
        let secret = Secret::random(&mut fixture::rng(3));
        let tenant = [9; 16];
        assert_ne!(
            account(&secret, &handle_scope(&TenantId::new(tenant))),
            handle(&secret, &TenantId::new(tenant))
        );
    }

    #[test]
    fn scope_depends_on_every_input_and_not_on_their_concatenation() {
        let scopes = [
            scope(&TenantId::new([0; 16]), "a"),
            scope(&TenantId::new([1; 16]), "a"),
            scope(&TenantId::new([0; 16]), "b"),
            scope(&TenantId::new([0; 16]), "a\0"),
            scope(&TenantId::new([0; 16]), "aa"),
            scope(&TenantId::new([0; 16]), ""),
        ];
        for (i, one) in scopes.iter().enumerate() {
            assert!(scopes[..i].iter().all(|other| other != one));
        }
    }
}
