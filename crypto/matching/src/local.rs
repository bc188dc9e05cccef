//! A key-holder in the gateway's own process. Then there is no boundary between the two: an attacker who has one has both.

use crate::{KeyHolder, KeyHolderError, KeyHolding, Reply, Request};
use std::sync::Arc;

/// See the module.
pub struct Local {
    key_holder: Arc<KeyHolder>,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Local {
    /// By this clock, in unix seconds.
    pub fn new(key_holder: Arc<KeyHolder>, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Local {
        Local { key_holder, clock: Box::new(clock) }
    }

    /// The key-holder itself.
    pub fn key_holder(&self) -> &KeyHolder {
        &self.key_holder
    }
}

impl KeyHolding for Local {
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        self.key_holder.answer(request, (self.clock)())
    }
}
