//! Requests of one tenant that wait at a node of a fleet because they are dated ahead. Each holds a place in work, and its MAC is not checked
//! yet, so few may wait.

use std::sync::Arc;

/// How many may wait: well below the places that a tenant has in work.
const MAX: usize = 8;

/// Counted by its references: one for each request that waits.
#[derive(Default)]
pub struct Ahead(Arc<()>);

/// A request waits while this is there.
pub(crate) struct Waits(#[expect(dead_code, reason = "it counts while it is there")] Arc<()>);

impl Ahead {
    /// A request begins to wait; `None` if too many do.
    pub(crate) fn begin(&self) -> Option<Waits> {
        let waits = Arc::clone(&self.0);
        // Beside the one of the tenant.
        (Arc::strong_count(&waits) <= 1 + MAX).then_some(Waits(waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_wait_and_one_that_ends_makes_room() {
        let ahead = Ahead::default();
        let mut waiting: Vec<Waits> = std::iter::from_fn(|| ahead.begin()).collect();
        assert_eq!(waiting.len(), MAX);
        assert!(ahead.begin().is_none());
        waiting.pop();
        assert!(ahead.begin().is_some());
    }
}
