//! What is counted by tenant. Labels name tenants by their identifiers, of which only the operator creates more.

use super::Gauges;
use crate::text::Text;
use std::collections::{BTreeMap, BTreeSet};
use trefoil_matching::Status;
use trefoil_service::login::outcomes::TenantOutcomes;
use trefoil_storage::store::UsageCounts;
use trefoil_types::TenantId;

/// The uses of each tenant's API keys.
pub(crate) fn usage(by_tenant: &BTreeMap<TenantId, UsageCounts>) -> String {
    let mut text = Text::default();
    let help = "Logins decided";
    text.family("trefoil_tenant_logins_total", "counter", help);
    for (tenant, counts) in by_tenant {
        for (decision, count) in [("match", counts.matched), ("no_match", counts.not_matched)] {
            let labels = format!("{{tenant=\"{tenant}\",decision=\"{decision}\"}}");
            text.sample("trefoil_tenant_logins_total", &labels, count as f64);
        }
    }
    let mut family = |name: &str, help: &str, count: fn(&UsageCounts) -> u64| {
        text.family(name, "counter", help);
        for (tenant, counts) in by_tenant {
            text.sample(name, &format!("{{tenant=\"{tenant}\"}}"), count(counts) as f64);
        }
    };
    family("trefoil_tenant_enrolments_total", "Subjects enrolled", |counts| counts.enrolments);
    let help =
        "Requests of callers with an API key that were refused or failed; in batches each login counts";
    family("trefoil_tenant_refusals_total", help, |counts| counts.refusals);
    text.into_string()
}

/// What wants attention of each tenant, and of each of its models.
pub(super) fn outcomes(text: &mut Text, Gauges { outcomes, counted, .. }: &Gauges<'_>) {
    let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(&TenantOutcomes) -> u64| {
        text.family(name, kind, help);
        for of in outcomes {
            let model = of.model.0.replace('\\', r"\\").replace('"', "\\\"");
            text.sample(name, &format!("{{tenant=\"{}\",model=\"{model}\"}}", of.tenant), value(of) as f64);
        }
    };
    let help = "1 while more of a tenant's logins with a model are refused than this model explains, the finding refusals-many";
    family("trefoil_tenant_refuses_too_many", "gauge", help, &|of| u64::from(of.excess.is_some()));
    let help = "Logins refused because an API key or a source failed for too many different subjects, since the tenant's policy changed";
    family("trefoil_tenant_turned_away_total", "counter", help, &|of| of.all.turned_away);
    if let Some(Status { frozen, malformed, .. }) = counted.as_deref() {
        let tenants: BTreeSet<TenantId> = outcomes.iter().map(|of| of.tenant).collect();
        let mut family = |name: &str, help: &str, value: &dyn Fn(&TenantId) -> u64| {
            text.family(name, "gauge", help);
            for tenant in &tenants {
                text.sample(name, &format!("{{tenant=\"{tenant}\"}}"), value(tenant) as f64);
            }
        };
        let help = "1 for a tenant that malformed jobs froze";
        family("trefoil_tenant_frozen", help, &|tenant| u64::from(frozen.contains(tenant)));
        let help = "Malformed jobs of a tenant since an operator last reset the count";
        family("trefoil_tenant_malformed_jobs", help, &|tenant| {
            malformed.iter().find(|(of, _)| of == tenant).map_or(0, |(_, count)| *count)
        });
    }
}
