//! A key-holder in the gateway's own process. There is no boundary between the two then: anybody who has one has both.

use crate::{KeyHolder, KeyHolderError, KeyHolding, Reply, Request};
use std::sync::Arc;

/// See the module.
pub struct Local {
    keyholder: Arc<KeyHolder>,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Local {
    /// By this clock, in unix seconds.
    pub fn new(keyholder: Arc<KeyHolder>, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Local {
        Local { keyholder, clock: Box::new(clock) }
    }

    /// The key-holder itself.
    pub fn keyholder(&self) -> &KeyHolder {
        &self.keyholder
    }
}

impl KeyHolding for Local {
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        self.keyholder.answer(request, (self.clock)())
    }
}
