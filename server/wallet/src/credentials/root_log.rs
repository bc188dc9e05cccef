//! The chain of a tenant's roots, checked link by link.

use super::root_statement::{IssuerPublicKey, RootError, RootStatement, SignedRoot};
use thiserror::Error;
use trefoil_zkp::TenantId;

/// The end of a tenant's chain of roots. Give it every signed root in order; it accepts only the next one.
#[derive(Clone, Debug)]
pub struct RootLog {
    tenant: TenantId,
    last: Option<RootStatement>,
}

/// Why a root is not the next of its chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// The root itself is refused.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The root of another tenant.
    #[error("the root is of tenant {}", hex::encode(.0))]
    Tenant(TenantId),
    /// Not above the generation before.
    #[error("generation {got} does not follow generation {last}")]
    Generation {
        /// Its generation.
        got: u32,
        /// The generation before.
        last: u32,
    },
    /// A minimum below the one before would bring withdrawn sessions back.
    #[error("generation_min {got} is below the earlier {last}: what was withdrawn stays withdrawn")]
    Minimum {
        /// Its minimum.
        got: u32,
        /// The minimum before.
        last: u32,
    },
    /// It names another predecessor.
    #[error("the root follows {}, the chain ends at {}", hex::encode(got), hex::encode(last))]
    Previous {
        /// The predecessor that it names.
        got: [u8; 32],
        /// The end of the chain.
        last: [u8; 32],
    },
    /// Its time lies before that of the root before.
    #[error("issued at {got}, before the root before it ({last}): check the issuer's clock")]
    Time {
        /// Its time.
        got: u64,
        /// The time before.
        last: u64,
    },
}

impl RootLog {
    /// The chain of `tenant` that ends with `last`, or is empty.
    pub fn new(tenant: TenantId, last: Option<RootStatement>) -> RootLog {
        RootLog { tenant, last }
    }

    /// The newest root.
    pub fn last(&self) -> Option<&RootStatement> {
        self.last.as_ref()
    }

    /// The digest that the next statement must name as its predecessor.
    pub fn head(&self) -> [u8; 32] {
        self.last.as_ref().map_or([0; 32], RootStatement::digest)
    }

    /// Verifies the signature and the link of the next root, and appends it.
    ///
    /// # Errors
    /// [`ChainError`] when the signature is wrong or the root does not follow the last one; the log is unchanged.
    pub fn append(
        &mut self,
        signed: &SignedRoot,
        key: &IssuerPublicKey,
    ) -> Result<&RootStatement, ChainError> {
        let statement = signed.verify(key)?;
        if statement.tenant != self.tenant {
            return Err(ChainError::Tenant(statement.tenant));
        }
        if let Some(last) = &self.last {
            if statement.generation <= last.generation {
                return Err(ChainError::Generation { got: statement.generation, last: last.generation });
            }
            if statement.generation_min < last.generation_min {
                return Err(ChainError::Minimum { got: statement.generation_min, last: last.generation_min });
            }
            if statement.issued_at < last.issued_at {
                return Err(ChainError::Time { got: statement.issued_at, last: last.issued_at });
            }
        }
        let head = self.head();
        if statement.previous != head {
            return Err(ChainError::Previous { got: statement.previous, last: head });
        }
        Ok(self.last.insert(statement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::testing::{public_key, sign};
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use trefoil_sign::{MlDsa65, SignatureFamily as _};
    use trefoil_zkp::Digest;

    /// Claim I17: A root follows the one before, signed by its tenant.
    #[test]
    fn only_the_next_root_is_taken() {
        let mut rng = StdRng::seed_from_u64(2);
        let mut key = MlDsa65::generate(&mut rng).unwrap();
        let public = public_key(&key);
        let mut log = RootLog::new(TenantId::new([1; 16]), None);
        let mut make = |change: &dyn Fn(&mut RootStatement), head: [u8; 32]| {
            let mut statement = RootStatement {
                tenant: TenantId::new([1; 16]),
                generation: 5,
                generation_min: 3,
                root: Digest::ZERO,
                issued_at: 100,
                previous: head,
                key_id: public.id(),
            };
            change(&mut statement);
            sign(&statement, &mut key, &mut rng)
        };
        let first = make(&|_| (), [0; 32]);
        assert_eq!(log.append(&first, &public).unwrap().generation, 5);
        let head = log.head();
        let refused =
            |log: &RootLog, signed: &SignedRoot| log.clone().append(signed, &public).map(drop).unwrap_err();
        assert!(matches!(refused(&log, &first), ChainError::Generation { got: 5, last: 5 }));
        let next = |statement: &mut RootStatement| statement.generation = 6;
        assert!(matches!(refused(&log, &make(&next, [0; 32])), ChainError::Previous { .. }));
        let foreign = make(&|s| (s.generation, s.tenant) = (6, TenantId::new([2; 16])), head);
        assert_eq!(refused(&log, &foreign), ChainError::Tenant(TenantId::new([2; 16])));
        let lower = make(&|s| (s.generation, s.generation_min) = (6, 2), head);
        assert_eq!(refused(&log, &lower), ChainError::Minimum { got: 2, last: 3 });
        let earlier = make(&|s| (s.generation, s.issued_at) = (6, 99), head);
        assert_eq!(refused(&log, &earlier), ChainError::Time { got: 99, last: 100 });
        log.append(&make(&next, head), &public).unwrap();
    }
}
