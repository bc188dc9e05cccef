//! What request handlers share.

#![expect(clippy::disallowed_types, reason = "for the operator's findings, off the path of a login")]

use crate::bodies::{self, Encoding};
use crate::config::{Config, Limits};
use crate::findings::{Recurring, Stood};
use crate::limits::LiveLimits;
use crate::listener::connections::Connections;
use crate::listener::raise_descriptor_limit;
use crate::metrics::proofs::ProofGauges;
use crate::metrics::{Gauges, Metrics};
use crate::problem::Problem;
use crate::refusals::Refusals;
use crate::tls::Pair;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use trefoil_api::{Finding, Receipt};
use trefoil_attest::What;
use trefoil_matching::Status;
use trefoil_service::subjects::rotation::Rotations;
use trefoil_service::tenants::notes::Noted;
use trefoil_service::{Refused, Service};
use trefoil_storage::store::TenantId;

/// The state behind both listeners.
pub(crate) struct App {
    pub(crate) config: Config,
    /// Those of the configuration, until it is read again.
    pub(crate) limits: Arc<LiveLimits>,
    pub(crate) service: Arc<Service>,
    pub(crate) rotations: Arc<Rotations>,
    /// What new connections get.
    pub(crate) certificate: Arc<Pair>,
    pub(crate) metrics: Metrics,
    pub(crate) public_connections: Arc<Connections>,
    pub(crate) admin_connections: Arc<Connections>,
    /// Chooses the refusals that the log shows.
    pub(crate) refusals: Refusals,
    /// The findings when it was last asked for them.
    pub(crate) stood: Mutex<Stood>,
    /// Refusals that come again and again.
    pub(crate) recurring: Mutex<Recurring>,
    /// Whether it ends soon, and callers are to go to other nodes.
    pub(crate) leaving: AtomicBool,
}

impl App {
    /// The receipt of a change that was made, if it can be sealed now.
    pub(crate) async fn receipt(
        &self,
        tenant: TenantId,
        changed_at: u64,
        what: What,
        encoding: Encoding,
    ) -> Result<Option<Receipt>, Problem> {
        let patience = self.limits.answer_timeout();
        let answer = self.service.log.receipt(tenant, changed_at, what, patience).await;
        bodies::receipt(answer, encoding)
    }

    /// The receipt of what an operator changed, if it can be sealed now.
    pub(crate) async fn sealed(&self, noted: impl Into<Option<Noted>>) -> Result<Option<Receipt>, Problem> {
        let Some(noted) = noted.into() else { return Ok(None) };
        let answer = self.service.log.sealed(noted, self.limits.answer_timeout()).await;
        bodies::receipt(answer, Encoding::Full)
    }

    /// Asks the service for what may block.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Service) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = Arc::clone(&self.service);
        blocking(move || Ok(work(&service)?)).await
    }

    /// Takes other limits from now on.
    pub(crate) fn set_limits(&self, limits: &Limits) {
        raise_descriptor_limit(2 * limits.connections);
        self.limits.set(limits.clone());
        self.service.logins.pace.bound(limits.in_flight_per_tenant, limits.latency_aim());
        self.service.logins.failure_bounds.set(limits.distinct_failures());
        self.service.logins.source_bounds.set(limits.source_failures());
    }

    /// The key-holder's counts of tenants that exist: it was asked a second ago, and may keep a tenant that was deleted.
    fn trips(&self, status: &Status) -> Vec<(TenantId, u64)> {
        let live = self.service.tenants.tenant_usage();
        status.trips.iter().copied().filter(|(tenant, _)| live.contains_key(tenant)).collect()
    }

    /// Refusals that come again and again. A task looks too, so that each is seen when it comes.
    pub(crate) fn recurring(&self) -> Vec<Finding> {
        let mut counts = BTreeMap::new();
        for ((code, _), count) in self.metrics.requests.sums().problems {
            *counts.entry(code).or_default() += count;
        }
        let mut recurring = self.recurring.lock().unwrap_or_else(PoisonError::into_inner);
        recurring.look(
            &counts,
            self.service.node.clock.monotonic_ns() / 1_000_000_000,
            self.service.node.now(),
        )
    }

    /// What a scrape reads.
    pub(crate) fn gauges(&self) -> Gauges<'_> {
        let service = &self.service;
        let counted = service.node.key_holder_watch.status();
        Gauges {
            intake_depth: service.log.intake.load().as_ref().map_or(0, |intake| intake.depth()),
            nonces: [service.logins.door.nonces(), self.config.pipeline.nonces],
            in_flight_limit: service.logins.pace.limit(),
            work_limit: service.logins.pace.share(),
            proofs: ProofGauges {
                depth: service.sessions.proofs.depth(),
                open: service.sessions.quota.open(),
            },
            open_sessions: service.sessions.rows.open(),
            templates: service.subjects.templates.held(),
            tenant_look_ups: service.tenants.look_ups(),
            refused_for_failures: service.tenants.refused_for_failures(None),
            refused_for_source: service.tenants.refused_for_source(None),
            arenas: service.subjects.templates.arenas(),
            ready: service.undecided().is_none(),
            disk: [service.node.disk.free(), service.node.disk.low_water()],
            seal_waited: service.log.standing.waited(),
            expiries: [
                self.certificate.until(),
                service.keys.until(),
                self.certificate.client_ca().and_then(|callers| callers.until()),
            ],
            fleet: service.node.store.fleet().map(|fleet| (fleet.nodes().len(), fleet.figures())),
            retained: service.log.retained.counts(),
            connections: [("public", &self.public_connections), ("admin", &self.admin_connections)],
            key_holders: service.node.key_holder.seats(),
            budget_trips: counted.as_deref().map_or_else(Vec::new, |status| self.trips(status)),
            counted,
            outcomes: service.logins.outcomes(),
        }
    }
}

/// Runs `work` where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|cause| Err(Problem::internal(cause)))
}
