//! States of the key-holders' vaults and job logs, as a seal shows them: what tells a vault from an older copy of itself, and a log from one that
//! was cut or forked.

use alloc::vec::Vec;

use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};

/// Most vaults that a seal shows: one, or one for each of three key-holders.
pub const VAULTS_MAX: usize = 3;

/// What a key-holder says of its vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VaultState {
    /// Counts the transactions of the vault.
    pub generation: u64,
    /// How often its operator took an older copy for it, on purpose.
    pub restored: u64,
    /// The head of the key-holder's job log; `None` where it keeps none.
    pub jobs: Option<JobsHead>,
}

/// A head of a key-holder's job log, which the key-holder has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobsHead {
    /// Lines of the log.
    pub lines: u64,
    /// SHA3-256 of the last of them, which names the one before.
    pub digest: [u8; 32],
}

impl VaultState {
    /// Whether a vault in this state is an older copy of one that was seen in state `before`. Nothing that a key-holder does
    /// lowers either count, except that an operator who takes an older copy may lower the generation and then raises `restored`.
    #[must_use]
    pub fn is_older_than(&self, before: &Self) -> bool {
        (self.restored, self.generation) < (before.restored, before.generation)
    }

    /// `[ * null / [generation, restored, ? lines, digest] ]`
    pub(crate) fn write_all(states: &[Option<Self>], w: &mut Writer<'_>) {
        w.array(states.len());
        for state in states {
            match state {
                None => w.null(),
                Some(Self { generation, restored, jobs }) => {
                    w.array(if jobs.is_some() { 4 } else { 2 });
                    w.uint(*generation);
                    w.uint(*restored);
                    if let Some(JobsHead { lines, digest }) = jobs {
                        w.uint(*lines);
                        w.bytes(digest);
                    }
                }
            }
        }
    }

    pub(crate) fn read_all(r: &mut Reader<'_>) -> Result<Vec<Option<Self>>, DecodeError> {
        let mut states = Vec::new();
        for _ in 0..r.array("seal.vaults", 0..=VAULTS_MAX)? {
            states.push(Self::read(r)?);
        }
        Ok(states)
    }

    fn read(r: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if r.is_null() {
            return r.null("seal.vault").map(|()| None);
        }
        let start = r.clone();
        let members = r.array("seal.vault", 2..=4)?;
        let generation = r.uint("seal.vault.generation")?;
        let restored = r.uint("seal.vault.restored")?;
        let jobs = match members {
            2 => None,
            4 => Some(JobsHead { lines: r.uint("seal.vault.lines")?, digest: r.fixed("seal.vault.digest")? }),
            _ => return Err(start.error("seal.vault", Problem::WrongLength)),
        };
        Ok(Some(Self { generation, restored, jobs }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn state(generation: u64, restored: u64) -> VaultState {
        VaultState { generation, restored, jobs: None }
    }

    fn logged(lines: u64) -> VaultState {
        VaultState { jobs: Some(JobsHead { lines, digest: [7; 32] }), ..state(1, 0) }
    }

    #[test]
    fn states_are_older_by_restorations_first_and_then_by_generations() {
        let ascending = [(0, 0), (1, 0), (9, 0), (3, 1), (4, 1), (0, 2)].map(|(g, r)| state(g, r));
        for (place, one) in ascending.iter().enumerate() {
            for (other_place, other) in ascending.iter().enumerate() {
                assert_eq!(one.is_older_than(other), place < other_place, "{one:?}, {other:?}");
            }
        }
    }

    #[test]
    fn a_list_of_states_has_one_encoding_and_at_most_three_entries() {
        for states in [
            vec![],
            vec![None],
            vec![Some(state(0, 0))],
            vec![Some(state(u64::MAX, u64::MAX)), None, Some(state(24, 256))],
            vec![Some(logged(0)), Some(state(3, 0)), Some(logged(u64::MAX))],
        ] {
            let mut out = Vec::new();
            VaultState::write_all(&states, &mut Writer(&mut out));
            let mut r = Reader::new(&out);
            assert_eq!(VaultState::read_all(&mut r).unwrap(), states);
            r.finish("x").unwrap();
        }
        let refused = |bytes: &[u8]| VaultState::read_all(&mut Reader::new(bytes)).unwrap_err().problem;
        assert_eq!(refused(&[0x84, 0xf6, 0xf6, 0xf6, 0xf6]), Problem::WrongLength);
        assert_eq!(refused(&[0x98, 1, 0xf6]), Problem::NotCanonical);
        assert_eq!(refused(&[0x9f, 0xff]), Problem::NotCanonical);
        assert_eq!(refused(&[0x81]), Problem::Truncated);
        assert_eq!(refused(&[0x81, 0x81, 0]), Problem::WrongLength);
        assert_eq!(refused(&[0x81, 0x83, 0, 0, 0]), Problem::WrongLength);
        assert_eq!(refused(&[0x81, 0x85, 0, 0, 0, 0, 0]), Problem::WrongLength);
        assert_eq!(refused(&[0x81, 0x84, 0, 0, 0, 0x41, 0]), Problem::WrongLength);
        assert_eq!(refused(&[0x81, 0x82, 0x18, 3, 0]), Problem::NotCanonical);
        assert_eq!(refused(&[0x81, 0x82, 0, 0x20]), Problem::WrongType { expected: "an unsigned integer" });
        assert_eq!(refused(&[0x81, 0xf7]), Problem::WrongType { expected: "an array" });
        assert_eq!(refused(&[0xf6]), Problem::WrongType { expected: "an array" });
    }
}
