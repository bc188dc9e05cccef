//! The thread that hears.

use super::{
    AGAIN_MARGIN, AGAIN_MIN, CHANGES_MAX, HOUSE, Heard, LOOK_PAUSE, MISSED, POLL, PROOF_PAUSE, Place, keys,
    nodes,
};
use crate::link::Link;
use crate::node::{is_true, stored};
use crate::table::Rows;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trefoil_attest::SERVICE;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::fleet::{Apply, Change, Item, News, Node, NodeKeys};
use trefoil_storage::table::Records as _;
use trefoil_storage::table::Value;

/// Hears of what other nodes change.
pub(super) struct Ears {
    pub(super) place: Place,
    pub(super) link: Option<Link>,
    pub(super) apply: Apply,
    pub(super) heard: Arc<Heard>,
    pub(super) seen: Arc<AtomicU64>,
    pub(super) house: Arc<AtomicBool>,
    pub(super) nodes: Arc<Mutex<Vec<Node>>>,
    pub(super) keys: Arc<Mutex<Option<NodeKeys>>>,
    pub(super) looked_at: Option<Instant>,
    /// The last transaction that was heard of.
    pub(super) last: u64,
    pub(super) recent: VecDeque<(Instant, News)>,
}

impl Ears {
    pub(super) fn run(mut self, wake: &Receiver<()>, patience: Duration) {
        loop {
            match wake.recv_timeout(POLL) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.place.supervisor.death().is_some() {
                return;
            }
            match self.hear() {
                Ok(()) => {}
                Err(cause @ (StoreError::Forged(_) | StoreError::Unusable(_))) => {
                    let place = self.place.address.to_string();
                    self.place.supervisor.damaged(Path::new(&place), &cause.to_string());
                    return;
                }
                Err(cause) => tracing::debug!(%cause, patience = patience.as_millis(), "news are late"),
            }
        }
    }

    /// Asks for news, and has them taken over.
    pub(super) fn hear(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let held = self.link.take().filter(|link| !link.is_lost());
        self.house.store(held.is_some() && self.house.load(Ordering::Acquire), Ordering::Release);
        let link = held.map_or_else(|| self.place.hearing(), Ok)?;
        let heard = self.hear_on(&link, begun);
        self.link = Some(link);
        heard
    }

    fn hear_on(&mut self, link: &Link, begun: Instant) -> Result<(), StoreError> {
        let missing =
            || StoreError::Unusable(format!("{}: the row of its table node is missing", self.place.address));
        // Hearing nothing from an old primary that still runs does not show that nothing happened.
        let proven = link.assure_within(PROOF_PAUSE)?;
        let (node, _) = stored(link, "", "")?.ok_or_else(missing)?.open(&self.place.mac)?;
        if node.generation < self.last {
            return Err(StoreError::Unusable(format!(
                "{}: it counts {} transactions, and this node has heard of {}: a standby took over that lacked some. Switch to a server that has them",
                self.place.address, node.generation, self.last
            )));
        }
        let mut news = News {
            everything: self.heard.age() > MISSED,
            registry: node.registry > self.seen.load(Ordering::Acquire),
            ..News::default()
        };
        if node.generation > self.last {
            self.read(link, node.generation, &mut news)?;
        }
        // Each change of the registry names its tenant.
        news.registry &= news.tenants.is_empty() && !news.operators;
        let fresh = news.clone();
        let again = AGAIN_MIN.max(self.place.patience + AGAIN_MARGIN);
        self.recent.retain(|(at, _)| begun.saturating_duration_since(*at) < again);
        for (_, old) in &self.recent {
            news.subjects.extend(&old.subjects);
            news.sessions.extend(&old.sessions);
        }
        if !news.is_empty() {
            (self.apply)(&news).map_err(StoreError::Fault)?;
        }
        self.raise_seen(node.registry);
        self.last = node.generation;
        if !(fresh.subjects.is_empty() && fresh.sessions.is_empty()) {
            self.recent.push_back((begun, fresh));
        }
        self.heard.note(begun.min(proven));
        self.look_around(link, begun)
    }

    /// The thread that writes sets it too.
    #[expect(clippy::disallowed_methods, reason = "for changes of the registry, which are rare")]
    fn raise_seen(&self, registry: u64) {
        self.seen.fetch_max(registry, Ordering::AcqRel);
    }

    fn read(&self, link: &Link, until: u64, news: &mut News) -> Result<(), StoreError> {
        let rows = Rows { link, mac: &self.place.mac, sum: Cell::default(), telling: None };
        let values = [self.last, until, CHANGES_MAX as u64].map(Value::bound);
        let changes: Vec<Change> = rows.select(
            "WHERE generation > $1 AND generation <= $2 ORDER BY generation, number LIMIT $3",
            &values,
        )?;
        news.everything |= changes.len() == CHANGES_MAX;
        let seen = self.seen.load(Ordering::Acquire);
        for change in changes {
            let tenant = change.tenant;
            match change.item() {
                None => news.everything = true,
                // This node has it in memory.
                Some(Item::Registry) if change.generation <= seen => {}
                Some(Item::Registry) if tenant == SERVICE => news.operators = true,
                Some(Item::Registry) if news.tenants.contains(&tenant) => {}
                Some(Item::Registry) => news.tenants.push(tenant),
                Some(Item::Subject(handle)) => news.subjects.push((tenant, handle)),
                Some(Item::Session(id)) => news.sessions.push((tenant, id)),
            }
        }
        Ok(())
    }

    /// Looks who the nodes are, and keeps house if nobody does. That lock belongs to this connection.
    fn look_around(&mut self, link: &Link, now: Instant) -> Result<(), StoreError> {
        if self.looked_at.is_some_and(|at| now.saturating_duration_since(at) < LOOK_PAUSE) {
            return Ok(());
        }
        self.looked_at = Some(now);
        let keys = *self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        link.batch(&keys::announced(&self.place.named, keys))?;
        if !self.house.load(Ordering::Acquire) {
            self.house.store(is_true(link, &format!("pg_try_advisory_lock({HOUSE})"))?, Ordering::Release);
        }
        *self.nodes.lock().unwrap_or_else(PoisonError::into_inner) = nodes(link)?;
        Ok(())
    }
}
