//! The tenant's credential tree: a fixed-depth, sparsely filled Merkle tree over leaves.

use p3_field::PrimeCharacteristicRing;

use crate::{
    digest::{Digest, Field, LIMBS},
    hash::{Domain, hash, parents},
};

/// Levels between a leaf and the root.
pub const DEPTH: usize = 20;

/// Leaves of a tree.
pub const CAPACITY: u32 = 1 << DEPTH;

/// Levels of one page. Ten and ten: an occupied page costs 64 KiB, so that a tree with few members anywhere
/// stays small and a full one has no more than 1/1024 of overhead.
const PAGE_DEPTH: usize = DEPTH / 2;
const PAGE_LEAVES: usize = 1 << PAGE_DEPTH;

type Node = [Field; LIMBS];

/// Leaves at chosen indices, [`Digest::ZERO`] at all others, and every node above them.
///
/// Memory is 64 KiB per occupied group of 1024 consecutive indices. An update rehashes 20 nodes.
/// Two levels of pages of depth ten: the root of the k-th lower page is the k-th leaf of the top page.
#[derive(Clone)]
pub struct CredentialTree {
    top: Page,
    pages: Vec<Option<Page>>,
}

/// The siblings from a leaf to the root, leaf first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerklePath([Digest; DEPTH]);

/// Why a tree operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// There is no such leaf.
    #[error("index {0} is outside a tree of 2^20 leaves")]
    Index(u64),
}

impl CredentialTree {
    /// A tree without members.
    pub fn new() -> CredentialTree {
        let empty = Page::uniform(empty_page_root());
        CredentialTree { top: empty, pages: vec![None; PAGE_LEAVES] }
    }

    /// The tree whose first leaves are `leaves`, in order. At most [`CAPACITY`] of them.
    ///
    /// # Errors
    /// [`TreeError`] when there are more leaves than [`CAPACITY`].
    pub fn from_leaves(leaves: &[Digest]) -> Result<CredentialTree, TreeError> {
        if leaves.len() > CAPACITY as usize {
            return Err(TreeError::Index(leaves.len() as u64 - 1));
        }
        let mut tree = CredentialTree::new();
        let mut roots = vec![empty_page_root(); PAGE_LEAVES];
        for (position, chunk) in leaves.chunks(PAGE_LEAVES).enumerate() {
            let mut nodes = vec![[Field::ZERO; LIMBS]; PAGE_LEAVES];
            for (node, leaf) in nodes.iter_mut().zip(chunk) {
                *node = leaf.limbs();
            }
            let page = Page::from_leaves(nodes);
            roots[position] = page.root();
            tree.pages[position] = Some(page);
        }
        tree.top = Page::from_leaves(roots);
        Ok(tree)
    }

    /// Replaces one leaf; [`Digest::ZERO`] removes a member. The root changes with it.
    ///
    /// # Errors
    /// [`TreeError`] when there is no leaf at `index`.
    pub fn update(&mut self, index: u32, leaf: Digest) -> Result<(), TreeError> {
        let (page, offset) = locate(index)?;
        let lower = self.pages[page].get_or_insert_with(|| Page::uniform([Field::ZERO; LIMBS]));
        lower.update(offset, leaf.limbs());
        self.top.update(page, lower.root());
        Ok(())
    }

    /// The leaf at `index`.
    ///
    /// # Errors
    /// [`TreeError`] when there is no leaf at `index`.
    pub fn leaf(&self, index: u32) -> Result<Digest, TreeError> {
        let (page, offset) = locate(index)?;
        let lower = self.pages[page].as_ref();
        Ok(lower.map_or(Digest::ZERO, |lower| Digest::from_limbs(&lower.levels[0][offset])))
    }

    /// The root, which names exactly this set of members.
    pub fn root(&self) -> Digest {
        Digest::from_limbs(&self.top.root())
    }

    /// The path that proves the leaf at `index`.
    ///
    /// # Errors
    /// [`TreeError`] when there is no leaf at `index`.
    pub fn path(&self, index: u32) -> Result<MerklePath, TreeError> {
        let (page, offset) = locate(index)?;
        let empty;
        let lower = match &self.pages[page] {
            Some(lower) => lower,
            None => {
                empty = Page::uniform([Field::ZERO; LIMBS]);
                &empty
            }
        };
        let siblings = lower.siblings(offset).chain(self.top.siblings(page));
        let mut path = [Digest::ZERO; DEPTH];
        for (slot, sibling) in path.iter_mut().zip(siblings) {
            *slot = Digest::from_limbs(sibling);
        }
        Ok(MerklePath(path))
    }
}

impl Default for CredentialTree {
    fn default() -> Self {
        CredentialTree::new()
    }
}

impl MerklePath {
    /// The path with the given siblings, leaf first.
    pub fn new(siblings: [Digest; DEPTH]) -> MerklePath {
        MerklePath(siblings)
    }

    /// The siblings, leaf first.
    pub fn siblings(&self) -> &[Digest; DEPTH] {
        &self.0
    }

    /// Root of the tree in which `leaf` stands at `index` with these siblings. Only the low 20 bits count.
    pub fn root(&self, index: u32, leaf: &Digest) -> Digest {
        let fold = |node: Node, (level, sibling): (usize, &Digest)| match index >> level & 1 {
            0 => hash(Domain::Node, &node, &sibling.limbs()),
            _ => hash(Domain::Node, &sibling.limbs(), &node),
        };
        Digest::from_limbs(&self.0.iter().enumerate().fold(leaf.limbs(), fold))
    }
}

/// A complete binary tree of 1024 leaves: `levels[0]` the leaves, `levels[10]` the root.
#[derive(Clone)]
struct Page {
    levels: Vec<Vec<Node>>,
}

impl Page {
    fn from_leaves(leaves: Vec<Node>) -> Page {
        let mut levels = vec![leaves];
        for level in 0..PAGE_DEPTH {
            levels.push(parents(&levels[level]));
        }
        Page { levels }
    }

    /// A page of equal leaves, at one hash per level.
    fn uniform(leaf: Node) -> Page {
        let mut node = leaf;
        let mut levels = vec![vec![node; PAGE_LEAVES]];
        for level in 1..=PAGE_DEPTH {
            node = hash(Domain::Node, &node, &node);
            levels.push(vec![node; PAGE_LEAVES >> level]);
        }
        Page { levels }
    }

    fn root(&self) -> Node {
        self.levels[PAGE_DEPTH][0]
    }

    fn update(&mut self, offset: usize, leaf: Node) {
        self.levels[0][offset] = leaf;
        for level in 1..=PAGE_DEPTH {
            let at = offset >> level;
            let [left, right] = [self.levels[level - 1][2 * at], self.levels[level - 1][2 * at + 1]];
            self.levels[level][at] = hash(Domain::Node, &left, &right);
        }
    }

    fn siblings(&self, offset: usize) -> impl Iterator<Item = &Node> {
        (0..PAGE_DEPTH).map(move |level| &self.levels[level][(offset >> level) ^ 1])
    }
}

/// Page and offset of a leaf.
fn locate(index: u32) -> Result<(usize, usize), TreeError> {
    if index >= CAPACITY {
        return Err(TreeError::Index(index.into()));
    }
    Ok((index as usize / PAGE_LEAVES, index as usize % PAGE_LEAVES))
}

fn empty_page_root() -> Node {
    (0..PAGE_DEPTH).fold([Field::ZERO; LIMBS], |node, _| hash(Domain::Node, &node, &node))
}

#[cfg(test)]
mod tests;
