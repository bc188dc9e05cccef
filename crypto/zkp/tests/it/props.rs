//! Properties over random inputs: encodings are bijections, parsers are total, the tree is its leaves.

use std::collections::BTreeMap;
use trefoil_types::TenantId;

use proptest::{collection, prelude::*};
use rand::{SeedableRng, rngs::StdRng};
use trefoil_zkp::{Attributes, CAPACITY, Circuit, CredentialTree, Digest, EPOCH_LIMIT, Statement};

prop_compose! {
    fn digests()(words in prop::array::uniform8(0_u32..0x7f00_0001)) -> Digest {
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Digest::from_bytes(&bytes).expect("below the modulus")
    }
}

prop_compose! {
    fn statements()(
        circuit in prop::sample::select(Circuit::ALL.to_vec()),
        tenant in any::<[u8; 16]>(),
        [root, scope, account, handle] in prop::array::uniform4(digests()),
        root_generation in any::<u32>(),
        epoch in 0..EPOCH_LIMIT,
        level in any::<u8>(),
        ctx in any::<[u8; 32]>(),
    ) -> Statement {
        Statement { circuit, tenant: TenantId::new(tenant), root, root_generation, epoch, level, scope, account, handle, ctx }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_statement_is_its_encoding(one in statements(), two in statements()) {
        prop_assert_eq!(Statement::decode(&one.encode()), Ok(one.clone()));
        prop_assert_eq!(one == two, one.digest() == two.digest());
    }

    #[test]
    fn an_accepted_encoding_is_the_only_one(mut bytes in collection::vec(any::<u8>(), Statement::BYTES)) {
        bytes[..6].copy_from_slice(b"TFS1\x03\x00");
        bytes[29] = 0;
        for limb in 0..32 {
            bytes[31 + 4 * limb + 3] &= 0x7e;
        }
        let statement = Statement::decode(&bytes).expect("made well formed");
        prop_assert_eq!(statement.encode().to_vec(), bytes);
    }

    #[test]
    fn attributes_are_their_bytes(expiry in 0..EPOCH_LIMIT, level: u8, roles: u16, serial: u32, seed: u64) {
        let rng = &mut StdRng::seed_from_u64(seed);
        let attributes = Attributes::new(expiry, level, roles, serial, rng).expect("in range");
        prop_assert_eq!(Attributes::from_bytes(&attributes.to_bytes()), Ok(attributes));
        prop_assert_eq!(
            (attributes.expiry(), attributes.level(), attributes.roles(), attributes.serial()),
            (expiry, level, roles, serial)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_tree_depends_on_its_leaves_only(
        leaves in collection::btree_map(0..CAPACITY, digests(), 1..12),
        removed in collection::btree_map(0..CAPACITY, digests(), 0..4),
    ) {
        let mut one = CredentialTree::new();
        for (&index, &leaf) in &leaves {
            one.update(index, leaf).expect("in the tree");
        }
        let mut two = CredentialTree::new();
        for (&index, &leaf) in removed.iter().chain(leaves.iter().rev()) {
            two.update(index, leaf).expect("in the tree");
        }
        for index in removed.keys().filter(|index| !leaves.contains_key(index)) {
            two.update(*index, Digest::ZERO).expect("in the tree");
        }
        prop_assert_eq!(one.root(), two.root());
        let stored: BTreeMap<u32, Digest> =
            leaves.keys().map(|&index| (index, two.leaf(index).expect("in the tree"))).collect();
        prop_assert_eq!(&stored, &leaves);
        for (&index, leaf) in &leaves {
            prop_assert_eq!(two.path(index).expect("in the tree").root(index, leaf), two.root());
        }
    }
}
