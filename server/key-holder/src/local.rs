//! A key-holder in the gateway's own process. There is no boundary between the two then: whoever has one has both.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use trefoil_matching::{KeyHolder, KeyHolderError, KeyHolding, Reply, Request};

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
}

impl KeyHolding for Local {
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        self.keyholder.answer(request, (self.clock)())
    }
}

/// A clock before 1970 is a broken one; at zero no budget is renewed.
pub(crate) fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
