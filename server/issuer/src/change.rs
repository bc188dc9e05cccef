//! The payloads of the journal.

use trefoil_wallet::credentials::SignedRoot;
use trefoil_zkp::TenantId;
use trefoil_zkp::{Attributes, Digest};

/// Longest name in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// One member as the issuer records it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The issuer's name for the holder; never leaves the issuer.
    pub name: String,
    /// Place of the leaf.
    pub index: u32,
    /// The commitment, which the holder gave instead of its secret.
    pub commitment: Digest,
    /// The attributes that the issuer asserts.
    pub attributes: Attributes,
}

/// A change in a frame of the journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The first frame.
    Init { tenant: TenantId, policy_id: u32, public_key: Vec<u8> },
    /// Members added, or replaced at their index.
    Put(Vec<Member>),
    /// Members removed.
    Revoke(Vec<u32>),
    /// A root signed.
    Publish(SignedRoot),
}

const INIT: u8 = 1;
const PUT: u8 = 2;
const REVOKE: u8 = 3;
const PUBLISH: u8 = 4;

impl Change {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Change::Init { tenant, policy_id, public_key } => {
                bytes.push(INIT);
                bytes.extend(tenant.as_bytes());
                bytes.extend(policy_id.to_le_bytes());
                bytes.extend(public_key);
            }
            Change::Put(members) => {
                bytes.push(PUT);
                for Member { name, index, commitment, attributes } in members {
                    bytes.extend(index.to_le_bytes());
                    bytes.extend(commitment.as_bytes());
                    bytes.extend(attributes.to_bytes());
                    bytes.push(name.len() as u8);
                    bytes.extend(name.as_bytes());
                }
            }
            Change::Revoke(indices) => {
                bytes.push(REVOKE);
                indices.iter().for_each(|index| bytes.extend(index.to_le_bytes()));
            }
            Change::Publish(root) => {
                bytes.push(PUBLISH);
                bytes.extend(root.to_bytes());
            }
        }
        bytes
    }

    /// `None` if the bytes are malformed.
    pub(super) fn decode(bytes: &[u8]) -> Option<Change> {
        let (&kind, mut rest) = bytes.split_first()?;
        match kind {
            INIT => {
                let tenant = take(&mut rest)?;
                let policy_id = u32::from_le_bytes(take(&mut rest)?);
                Some(Change::Init { tenant: TenantId::new(tenant), policy_id, public_key: rest.to_vec() })
            }
            PUT => {
                let mut members = Vec::new();
                while !rest.is_empty() {
                    members.push(member(&mut rest)?);
                }
                Some(Change::Put(members))
            }
            REVOKE => {
                let mut indices = Vec::with_capacity(rest.len() / 4);
                while !rest.is_empty() {
                    indices.push(u32::from_le_bytes(take(&mut rest)?));
                }
                Some(Change::Revoke(indices))
            }
            PUBLISH => SignedRoot::from_bytes(rest).map(Change::Publish),
            _ => None,
        }
    }
}

fn member(rest: &mut &[u8]) -> Option<Member> {
    let index = u32::from_le_bytes(take(rest)?);
    let commitment = Digest::from_bytes(&take(rest)?).ok()?;
    let attributes = Attributes::from_bytes(&take(rest)?).ok()?;
    let [length] = take(rest)?;
    let (name, tail) = rest.split_at_checked(length.into())?;
    *rest = tail;
    Some(Member { name: str::from_utf8(name).ok()?.to_owned(), index, commitment, attributes })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    #[test]
    fn changes_read_back_and_cuts_do_not() {
        let mut rng = StdRng::seed_from_u64(1);
        let member = |index: u32, name: &str, rng: &mut StdRng| Member {
            name: name.to_owned(),
            index,
            commitment: Digest::from_bytes(&[3; 32]).unwrap(),
            attributes: Attributes::new(4, 5, 6, 7, rng).unwrap(),
        };
        let members = vec![member(1, "ann", &mut rng), member(2, "", &mut rng)];
        let signed = SignedRoot { statement: vec![1; 132], signature: vec![2; 3309] };
        for change in [
            Change::Init { tenant: TenantId::new([1; 16]), policy_id: 2, public_key: vec![3; 1952] },
            Change::Put(members),
            Change::Revoke(vec![1, 0xffff_ffff]),
            Change::Publish(signed),
        ] {
            let bytes = change.encode();
            assert_eq!(Change::decode(&bytes).as_ref(), Some(&change));
            let same =
                (0..bytes.len()).filter(|&cut| Change::decode(&bytes[..cut]).as_ref() == Some(&change));
            assert_eq!(same.count(), 0);
        }
        assert_eq!(Change::decode(&[9]), None);
        assert_eq!(Change::decode(&[]), None);
        assert_eq!(Change::decode(&[PUT, 0]), None);
    }
}
