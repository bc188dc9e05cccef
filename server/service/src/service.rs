//! The parts of the service, and whether it can decide now.

use crate::keys::signing_keys::Shown;
use crate::log::Log;
use crate::login::logins::Logins;
use crate::login::past::behind;
use crate::node::Node;
use crate::sessions::opening::ProofSessions;
use crate::subjects::Subjects;
use crate::tenants::directory::Directory;
use crate::tenants::operators::Operators;
use crate::time;
use std::sync::Arc;

/// The service. All of it is shared, and each part that changes has its own bounded type.
pub struct Service {
    /// What its parts stand on.
    pub node: Arc<Node>,
    /// The trust root, which relying parties pin.
    pub keys: Shown,
    /// The log of seals.
    pub log: Arc<Log>,
    /// Tenants and their API keys.
    pub tenants: Arc<Directory>,
    /// Operators of the service.
    pub operators: Operators,
    /// Proof sessions.
    pub sessions: Arc<ProofSessions>,
    /// Subjects and their templates.
    pub subjects: Arc<Subjects>,
    /// Logins.
    pub logins: Arc<Logins>,
}

impl Service {
    /// Why no decision can be made now, or `None`: the reasons of [`Node::unready`], and a store or a key-holder that is away.
    pub fn undecided(&self) -> Option<String> {
        let Service { node, log, logins, .. } = self;
        let death = node.supervisor.death().map(ToString::to_string);
        let unready = || node.unready().map(str::to_owned);
        let away = || Some(format!("the key-holder cannot be reached: {}", node.key_holder.unready()?));
        let register = || node.register.as_ref().and_then(|register| register.unready());
        let behind = || logins.clock_behind().map(|reached| behind(node.now(), reached));
        let closed = || {
            let until = time::format(logins.past.closed(node.now())?);
            Some(format!(
                "the clock was wrong when it showed this time before; logins are refused until {until}"
            ))
        };
        death
            .or_else(unready)
            .or_else(|| log.store_away())
            .or_else(register)
            .or_else(behind)
            .or_else(closed)
            .or_else(|| log.no_room())
            .or_else(away)
            .or_else(|| node.key_holder_watch.too_many_older())
    }
}
