//! The issuer of a tenant: its members, and the signed roots over them.
//!
//! An issuer is a directory: its signing key under a passphrase, and a journal of changes. Every change is durable when
//! the call returns; opening replays the journal. An issuer never sees secrets of holders: a holder gives a commitment and
//! gets back a [`CredentialFile`]. The tree is built once, with packed hashes of many leaves, at the first request for a root
//! or a path. From then on each change costs the 20 hashes above its leaf.
//!
//! ```
//! use trefoil_issuer::{Issuer, NewMember};
//! use trefoil_wallet::credentials::sealed::Cost;
//! use trefoil_wallet::wallet::Wallet;
//! use trefoil_zkp::{TenantId, expiry_of};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (cost, now) = (Cost { memory_kib: 8, passes: 1, lanes: 1 }, 1_800_000_000);
//! let mut rng = rand::rng();
//! let mut wallet = Wallet::create(&mut rng);
//! let passphrase = b"known to the issuer's operator";
//! let mut issuer =
//!     Issuer::init(&folder.path().join("issuer"), TenantId::new([1; 16]), 1, passphrase, cost, &mut rng)?;
//! let member = NewMember {
//!     name: "ann".to_owned(),
//!     commitment: wallet.commitment(),
//!     level: 2,
//!     expiry: expiry_of(now + 86_400).ok_or("out of range")?,
//!     roles: 0,
//! };
//! issuer.add(&[member], &mut rng)?;
//! issuer.publish(passphrase, false, now, &mut rng)?;
//! // The holder checks path and signature before the wallet keeps it.
//! wallet.receive(issuer.credential("ann")?, None)?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod change;
mod error;
mod journal;
mod signing;
mod state;

pub use change::{Member, NAME_BYTES_MAX};
pub use error::IssuerError;
pub use journal::JournalError;
pub use signing::{SigningError, public_key, sign};
pub use state::Identity;

use change::Change;
use error::KEY_FILE;
use journal::Journal;
use rand::CryptoRng;
use rayon::prelude::*;
use state::State;
use std::path::Path;
use trefoil_api::{Base64, Hex};
use trefoil_sign::{MlDsa65, SignatureFamily as _};
use trefoil_storage::data_dir::DataDir;
use trefoil_wallet::credentials::sealed::{self, Cost};
use trefoil_wallet::credentials::{
    CREDENTIAL_FORMAT, CredentialFile, LIVE_ROOTS_MAX, RootLog, RootStatement, SignedRoot,
};
use trefoil_zkp::TenantId;
use trefoil_zkp::{Attributes, CAPACITY, CredentialTree, Digest, leaf};

/// The kind of the key file, for [`sealed`].
const KEY_KIND: &str = "trefoil/issuer-key";

/// An open issuer directory. One process holds it at a time.
pub struct Issuer {
    directory: DataDir,
    journal: Journal,
    state: State,
    tree: Option<CredentialTree>,
}

/// A member to be added or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMember {
    /// The issuer's name for the holder, 1 to 64 bytes.
    pub name: String,
    /// From the holder's wallet.
    pub commitment: Digest,
    /// Assurance level.
    pub level: u8,
    /// Last epoch (hour since 1970) that the credential can prove; [`trefoil_zkp::expiry_of`] a time at which it is to be over.
    pub expiry: u32,
    /// Role bits.
    pub roles: u16,
}

impl Issuer {
    /// Makes a directory with a fresh key under `passphrase`.
    ///
    /// # Errors
    /// [`IssuerError`] when the directory exists already or cannot be written.
    pub fn init(
        path: &Path,
        tenant: TenantId,
        policy_id: u32,
        passphrase: &[u8],
        cost: Cost,
        rng: &mut impl CryptoRng,
    ) -> Result<Issuer, IssuerError> {
        let mut issuer = Issuer::read(path)?;
        if issuer.state.identity.is_some() || issuer.directory.join(KEY_FILE).exists() {
            return Err(IssuerError::Initialised);
        }
        let key = MlDsa65::generate(rng).map_err(|_| IssuerError::Replay("no key could be made"))?;
        let sealed = sealed::seal(&key.to_secret_bytes(), passphrase, KEY_KIND, cost, rng)?;
        // The key comes first, because a journal without its key could never publish.
        issuer.directory.write(KEY_FILE, &sealed)?;
        let public_key = signing::public_key(&key).as_bytes().to_vec();
        issuer.change(Change::Init { tenant, policy_id, public_key })?;
        Ok(issuer)
    }

    /// Opens a directory and replays its journal.
    ///
    /// # Errors
    /// [`IssuerError`] when it cannot be read, or the journal contradicts itself.
    pub fn open(path: &Path) -> Result<Issuer, IssuerError> {
        if !path.join("journal").exists() {
            return Err(IssuerError::Uninitialised);
        }
        let issuer = Issuer::read(path)?;
        if issuer.state.identity.is_none() { Err(IssuerError::Uninitialised) } else { Ok(issuer) }
    }

    fn read(path: &Path) -> Result<Issuer, IssuerError> {
        let directory = DataDir::open(path)?;
        let mut state = State::default();
        let journal = Journal::open(&directory, |payload| {
            let change = Change::decode(payload).ok_or(IssuerError::Replay("not a change"))?;
            state.apply(change)
        })?;
        Ok(Issuer { directory, journal, state, tree: None })
    }

    /// The tenant and policy for which it issues, and its key.
    ///
    /// # Panics
    /// Never: an open issuer has an identity.
    pub fn identity(&self) -> &Identity {
        self.state.identity.as_ref().expect("an open issuer has an identity")
    }

    /// All members, by index.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.state.members.values()
    }

    /// The member called `name`.
    ///
    /// # Errors
    /// [`IssuerError::Unknown`] when no member has this name.
    pub fn member(&self, name: &str) -> Result<&Member, IssuerError> {
        let index = self.state.by_name.get(name).ok_or_else(|| IssuerError::Unknown(name.to_owned()))?;
        Ok(&self.state.members[index])
    }

    /// Every root that was signed, oldest first.
    pub fn roots(&self) -> &[SignedRoot] {
        &self.state.roots
    }

    /// The newest root.
    pub fn last_root(&self) -> Option<&RootStatement> {
        self.state.log.as_ref().and_then(RootLog::last)
    }

    /// Adds members, all or none.
    ///
    /// # Errors
    /// [`IssuerError`] when a name is in use, an attribute is out of bounds, the tree is full or the journal cannot be written.
    pub fn add(&mut self, new: &[NewMember], rng: &mut impl CryptoRng) -> Result<(), IssuerError> {
        let mut names = std::collections::HashSet::new();
        let mut members = Vec::with_capacity(new.len());
        let mut free = (0..self.state.next_index).filter(|index| !self.state.members.contains_key(index));
        let mut fresh = self.state.next_index..CAPACITY;
        for (serial, member) in (self.state.next_serial..).zip(new) {
            if self.state.by_name.contains_key(&member.name) || !names.insert(member.name.as_str()) {
                return Err(IssuerError::Exists(member.name.clone()));
            }
            // Freed places are reused once every place of the tree was used.
            let index = fresh.next().or_else(|| free.next()).ok_or(IssuerError::Full)?;
            members.push(member.issue(index, serial, rng)?);
        }
        drop(free);
        self.change(Change::Put(members))
    }

    /// Replaces the attributes of a member, which keeps its name and place. The next root withdraws older ones.
    ///
    /// # Errors
    /// [`IssuerError`] when no member has this name, an attribute is out of bounds or the journal cannot be written.
    pub fn update(&mut self, new: &NewMember, rng: &mut impl CryptoRng) -> Result<(), IssuerError> {
        let index = self.member(&new.name)?.index;
        let member = new.issue(index, self.state.next_serial, rng)?;
        self.change(Change::Put(vec![member]))
    }

    /// Removes members, all or none. The next root withdraws older ones.
    ///
    /// # Errors
    /// [`IssuerError`] when one of the names is unknown or the journal cannot be written.
    pub fn revoke(&mut self, names: &[String]) -> Result<(), IssuerError> {
        let mut indices = Vec::with_capacity(names.len());
        for name in names {
            indices.push(self.member(name)?.index);
        }
        indices.sort_unstable();
        indices.dedup();
        self.change(Change::Revoke(indices))
    }

    /// The root of the present members.
    pub fn root(&mut self) -> Digest {
        self.tree().root()
    }

    /// Whether members changed since the last root.
    pub fn is_published(&mut self) -> bool {
        let root = self.root();
        self.last_root().is_some_and(|last| last.root == root)
    }

    /// Signs the present root as the next generation. Older generations stay accepted, as far as a service keeps them,
    /// unless a member was revoked or changed since, or `withdraw` is set.
    ///
    /// # Errors
    /// [`IssuerError`] when the passphrase is wrong, the root cannot be signed or the journal cannot be written.
    pub fn publish(
        &mut self,
        passphrase: &[u8],
        withdraw: bool,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<RootStatement, IssuerError> {
        let secret = self.directory.file(KEY_FILE, Default::default)?;
        let secret = sealed::open(&secret, passphrase, KEY_KIND)?;
        let wrong_key = IssuerError::Replay("the key file holds no ML-DSA-65 key");
        let mut key = MlDsa65::from_secret_bytes(&secret).map_err(|_| wrong_key)?;
        let last = self.last_root();
        let generation = last.map_or(Some(1), |last| last.generation.checked_add(1));
        let generation = generation.ok_or(IssuerError::Generations)?;
        let kept = generation.saturating_sub(LIVE_ROOTS_MAX as u32 - 1).max(1);
        let generation_min = match withdraw || self.state.withdraws {
            true => generation,
            false => last.map_or(generation, |last| last.generation_min.max(kept)),
        };
        // The chain must continue after the clock was set back.
        let issued_at = last.map_or(now, |last| last.issued_at.max(now));
        let Identity { tenant, public_key, .. } = self.identity().clone();
        let previous = self.state.log.as_ref().map_or([0; 32], RootLog::head);
        let root = self.root();
        let key_id = public_key.id();
        let statement =
            RootStatement { tenant, generation, generation_min, root, issued_at, previous, key_id };
        let signed = sign(&statement, &mut key, rng)?;
        self.change(Change::Publish(signed))?;
        Ok(statement)
    }

    /// The credential of a member under the newest root.
    ///
    /// # Errors
    /// [`IssuerError`] when no member has this name, or changes since the newest root are not published.
    pub fn credential(&mut self, name: &str) -> Result<CredentialFile, IssuerError> {
        let Member { index, attributes, .. } = self.member(name)?.clone();
        if !self.is_published() {
            return Err(IssuerError::Unpublished);
        }
        let path = self.tree().path(index).map_err(|_| IssuerError::Full)?;
        let Identity { policy_id, public_key, .. } = self.identity();
        let SignedRoot { statement, signature } =
            self.state.roots.last().cloned().ok_or(IssuerError::Unpublished)?;
        Ok(CredentialFile {
            format: CREDENTIAL_FORMAT.to_owned(),
            policy_id: *policy_id,
            index,
            attributes: Hex(attributes.to_bytes()),
            path: path.siblings().iter().map(|sibling| Hex(sibling.to_bytes())).collect(),
            root: Base64(statement),
            signature: Base64(signature),
            issuer_key: Base64(public_key.as_bytes().to_vec()),
        })
    }

    /// Journals a change and applies it.
    fn change(&mut self, change: Change) -> Result<(), IssuerError> {
        self.journal.append(&self.directory, &change.encode())?;
        if let Some(tree) = &mut self.tree {
            let set = |tree: &mut CredentialTree, index, leaf| {
                tree.update(index, leaf).map_err(|_| IssuerError::Full)
            };
            match &change {
                Change::Put(members) => {
                    for member in members {
                        set(tree, member.index, member.leaf())?;
                    }
                }
                Change::Revoke(indices) => {
                    for &index in indices {
                        set(tree, index, Digest::ZERO)?;
                    }
                }
                Change::Init { .. } | Change::Publish(_) => {}
            }
        }
        self.state.apply(change)
    }

    fn tree(&mut self) -> &CredentialTree {
        let members = &self.state.members;
        self.tree.get_or_insert_with(|| {
            let mut leaves = vec![Digest::ZERO; self.state.next_index as usize];
            let hashed: Vec<(u32, Digest)> =
                members.par_iter().map(|(index, member)| (*index, member.leaf())).collect();
            for (index, leaf) in hashed {
                leaves[index as usize] = leaf;
            }
            CredentialTree::from_leaves(&leaves)
                .expect("indices were below the capacity when they were given")
        })
    }
}

impl Member {
    fn leaf(&self) -> Digest {
        leaf(&self.commitment, &self.attributes)
    }
}

impl NewMember {
    fn issue(&self, index: u32, serial: u32, rng: &mut impl CryptoRng) -> Result<Member, IssuerError> {
        let NewMember { name, commitment, level, expiry, roles } = self;
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
            return Err(IssuerError::Name(name.clone()));
        }
        let attributes = Attributes::new(*expiry, *level, *roles, serial, rng)
            .map_err(|cause| IssuerError::Attributes { name: name.clone(), cause })?;
        Ok(Member { name: name.clone(), index, commitment: *commitment, attributes })
    }
}

#[cfg(test)]
mod tests;
