//! Subjects that had no attempt left a moment ago, as one worker remembers them.
//!
//! A batch with such a subject is masked twice, so a subject without attempts that keeps trying would slow others down. The memory
//! holds only denials, and forgets them before a returned attempt could be noticed. A batch of nothing else takes as long as with a match ([`super::Usual`]).

use std::collections::HashMap;
use trefoil_matching::{Handle, Template, TenantId};

/// How long a subject is remembered.
const LIFE_NS: u64 = 1_000_000_000;
/// How many subjects are remembered.
const ENTRIES_MAX: usize = 1024;

/// See the module.
#[derive(Default)]
pub(crate) struct Spent {
    until: HashMap<(TenantId, Handle, u32), u64>,
}

impl Spent {
    /// Whether the template's subject had no attempt left at most [`LIFE_NS`] before `now`, in nanoseconds.
    pub(crate) fn has(&self, template: &Template, now: u64) -> bool {
        !self.until.is_empty() && self.until.get(&name(template)).is_some_and(|until| now < *until)
    }

    /// Remembers one, if there is room.
    pub(crate) fn note(&mut self, template: &Template, now: u64) {
        if self.until.len() >= ENTRIES_MAX {
            self.until.retain(|_, until| now < *until);
        }
        if self.until.len() < ENTRIES_MAX {
            self.until.insert(name(template), now + LIFE_NS);
        }
    }
}

fn name(template: &Template) -> (TenantId, Handle, u32) {
    (template.tenant, template.handle, template.generation)
}
