use super::*;

fn leaf(i: u32) -> Digest {
    let mut input = [0; 32];
    input[..4].copy_from_slice(&i.to_le_bytes());
    Digest::hash_to_field("leaf", &input)
}

fn leaves(count: u32) -> Vec<Digest> {
    (0..count).map(leaf).collect()
}

#[test]
fn batch_build_and_single_updates_give_the_same_tree() {
    for count in [0, 1, 2, 352, 1023, 1024, 1025, 2050] {
        let built = CredentialTree::from_leaves(&leaves(count)).expect("fits");
        let mut updated = CredentialTree::new();
        for (i, leaf) in leaves(count).into_iter().enumerate() {
            updated.update(i as u32, leaf).expect("in the tree");
        }
        assert_eq!(built.root(), updated.root(), "{count} leaves");
    }
}

#[test]
fn every_path_leads_to_the_root_and_no_other_leaf_fits_it() {
    let mut tree = CredentialTree::from_leaves(&leaves(1500)).expect("fits");
    tree.update(CAPACITY - 1, leaf(77_777)).expect("in the tree");
    for index in [0, 1, 700, 1023, 1024, 1499, 1500, 5000, CAPACITY - 2, CAPACITY - 1] {
        let path = tree.path(index).expect("in the tree");
        let leaf = tree.leaf(index).expect("in the tree");
        assert_eq!(path.root(index, &leaf), tree.root(), "{index}");
        if leaf != Digest::ZERO {
            assert_ne!(path.root(index ^ 1, &leaf), tree.root());
        }
        assert_ne!(path.root(index, &self::leaf(99_999)), tree.root());
    }
}

#[test]
fn indices_beyond_the_tree_are_refused() {
    let mut tree = CredentialTree::new();
    for index in [CAPACITY, u32::MAX] {
        assert_eq!(tree.update(index, leaf(0)), Err(TreeError::Index(index.into())));
        assert_eq!(tree.path(index), Err(TreeError::Index(index.into())));
        assert_eq!(tree.leaf(index), Err(TreeError::Index(index.into())));
    }
    let too_many = vec![Digest::ZERO; CAPACITY as usize + 1];
    assert_eq!(CredentialTree::from_leaves(&too_many).err(), Some(TreeError::Index(CAPACITY.into())));
}

#[test]
fn a_full_tree_is_built_and_updated() {
    let seed = Digest::hash_to_field("full", &[0; 32]).limbs();
    let leaves: Vec<Digest> = (0..CAPACITY)
        .map(|i| Digest::from_limbs(&std::array::from_fn(|k| seed[k] + Field::from_u32(i))))
        .collect();
    let mut tree = CredentialTree::from_leaves(&leaves).expect("fits exactly");
    let index = 0x9_8765;
    let path = tree.path(index).expect("in the tree");
    assert_eq!(path.root(index, &leaves[index as usize]), tree.root());
    tree.update(index, leaf(1)).expect("in the tree");
    assert_eq!(path.root(index, &leaf(1)), tree.root());
}
