//! A key-holder in the gateway's own process. There is no boundary between the two then: whoever has one has both.

use crate::{KeyHolder, KeyHolderError, KeyHolding, Reply, Request};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// See the module.
pub struct Local {
    keyholder: Arc<KeyHolder>,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Local {
    /// By the machine's clock.
    pub fn new(keyholder: Arc<KeyHolder>) -> Local {
        Local::with_clock(keyholder, unix_s)
    }

    /// By another clock, in unix seconds.
    pub fn with_clock(keyholder: Arc<KeyHolder>, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Local {
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

/// The machine's clock, in unix seconds. A clock before 1970 is a broken one; at zero no budget is renewed.
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
