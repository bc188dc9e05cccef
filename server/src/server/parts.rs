//! The parts of the service.

use crate::config::Config;
use std::sync::Arc;
use trefoil_service::Service;
use trefoil_service::keys::signing_keys::Shown;
use trefoil_service::limits::distinct_failures::LiveBounds;
use trefoil_service::limits::quota::Quota;
use trefoil_service::log::Log;
use trefoil_service::login::clock::ClockWatch;
use trefoil_service::login::door::FrontDoor;
use trefoil_service::login::logins::Logins;
use trefoil_service::login::outcomes;
use trefoil_service::login::past::Past;
use trefoil_service::node::Node;
use trefoil_service::sessions::opening::ProofSessions;
use trefoil_service::sessions::proofs::ProofPool;
use trefoil_service::sessions::rows::Sessions;
use trefoil_service::subjects::Subjects;
use trefoil_service::subjects::leftovers::Leftovers;
use trefoil_service::tenants::directory::Directory;
use trefoil_service::tenants::operators::Operators;

/// The parts of the service, each over those before it.
pub(super) fn assembled(
    config: &Config,
    (node, log, keys): (Arc<Node>, Arc<Log>, Shown),
    (tenants, operators): (Directory, Operators),
    (leftovers, rows, proofs): (Leftovers, Sessions, ProofPool),
    (door, past): (Arc<FrontDoor>, Past),
) -> Service {
    let tenants = Arc::new(tenants);
    let sessions = Arc::new(ProofSessions {
        node: Arc::clone(&node),
        log: Arc::clone(&log),
        tenants: Arc::clone(&tenants),
        rows,
        proofs,
        quota: Quota::new(config.proofs.quota()),
        life_s: config.proofs.session_life_s,
    });
    let subjects = Arc::new(Subjects::new(
        Arc::clone(&node),
        Arc::clone(&log),
        Arc::clone(&tenants),
        Arc::clone(&sessions),
        leftovers,
        config.store.templates_in_memory,
    ));
    let logins = Arc::new(Logins {
        node: Arc::clone(&node),
        log: Arc::clone(&log),
        tenants: Arc::clone(&tenants),
        sessions: Arc::clone(&sessions),
        subjects: Arc::clone(&subjects),
        door,
        past,
        clock_watch: ClockWatch::default(),
        pace: config.limits.pace(),
        failure_bounds: LiveBounds::new(config.limits.distinct_failures()),
        source_bounds: LiveBounds::new(config.limits.source_failures()),
        outcomes: outcomes::Watch::default(),
    });
    Service { node, keys, log, tenants, operators, sessions, subjects, logins }
}
