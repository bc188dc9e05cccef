//! `trefoil admin status`: the contents of the operator's page in a few lines.

use super::service::Service;
use super::show;
use super::table::table;
use crate::doctor;
use crate::exit::fail;
use std::process::ExitCode;
use trefoil_api::{
    BudgetTrips, FleetNode, KeyHolderCounts, Level, LoginCounts, LoginOutcomes, ServiceStatus, TenantLogins,
};
use trefoil_host::output;
use trefoil_service::time;

/// Asks the service: as JSON or for people, and the worst that it finds.
pub(super) fn answer(service: &Service, json: bool) -> Result<(String, Level), String> {
    let status = service.call(async |admin| admin.status().await)?;
    Ok((show(json, &status, || text(&status))?, worst(&status)))
}

/// Prints the answer, and ends as `trefoil doctor` does: with 1 for warnings and 2 for what is broken.
pub(super) fn run(service: &Service, json: bool) -> ExitCode {
    match answer(service, json) {
        Ok((text, worst)) => {
            output::tell(&text);
            doctor::code(worst)
        }
        Err(cause) => fail(&cause, 1),
    }
}

fn worst(status: &ServiceStatus) -> Level {
    let found = status.attention.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    if status.ready { found } else { Level::Broken }
}

/// That the service takes requests; else the reason as the error.
pub(super) fn ready(service: &Service, json: bool) -> Result<String, String> {
    match service.call_without_token(async |admin| admin.unready().await)? {
        None => show(json, &serde_json::json!({ "ready": true }), || "ready\n".to_owned()),
        Some(why) => {
            Err(format!("the service takes no requests: {why}\n`trefoil doctor` looks for the cause"))
        }
    }
}

/// The nodes of the service's fleet, as JSON or for people.
pub(super) fn nodes(service: &Service, json: bool) -> Result<String, String> {
    let nodes = service.call(async |admin| admin.status().await)?.nodes;
    show(json, &nodes, || {
        if nodes.is_empty() {
            return "this service is alone: it is not started with --fleet\n".to_owned();
        }
        let row = |node: &FleetNode| {
            let FleetNode { name, address, since, keeps_house, key_set } = node;
            let house = if *keeps_house { "keeps house" } else { "" };
            let since = if *since == 0 { "-".to_owned() } else { time::format(*since) };
            let key_set = key_set.clone().unwrap_or_default();
            [name.clone(), address.clone(), since, key_set, house.to_owned()]
        };
        table(["NODE", "FROM", "SINCE", "KEY SET", ""], nodes.iter().map(row))
    })
}

fn text(status: &ServiceStatus) -> String {
    let ServiceStatus { version, issuer, started_at, ready, logins, batches, seals, key_holder, .. } = status;
    let LoginCounts { matched, not_matched, .. } = logins;
    let takes = if *ready { "takes logins" } else { "takes no logins" };
    let since = time::format(*started_at);
    let head = format!("{issuer}, version {version}, since {since}: {takes}\n");
    let decided = format!("{matched} logins matched, {not_matched} did not, in {} batches", batches.sealed);
    let attempts = key_holder.as_ref().map_or(String::new(), |counts| {
        let KeyHolderCounts { attempts, failures, .. } = counts;
        format!("; the key-holder counts {attempts} attempts, {failures} failures")
    });
    let found: String = match status.attention.as_slice() {
        [] => "nothing wants attention\n".to_owned(),
        found => found.iter().map(doctor::line).collect(),
    };
    let lines = logins_of_tenants(status) + &trips(status);
    format!("{head}{decided} and {} seals{attempts}\n{lines}{found}", seals.stored)
}

/// A line for each tenant, or each of its two models, with logins, for the hour and the day.
fn logins_of_tenants(status: &ServiceStatus) -> String {
    let all = |of: &LoginOutcomes| of.matched + of.not_matched + of.turned_away;
    let words = |of: &LoginOutcomes| {
        let LoginOutcomes { matched, not_matched, locked_out, turned_away } = of;
        format!(
            "{matched} matched, {not_matched} did not, {locked_out} locked out, {turned_away} turned away"
        )
    };
    let line = |of: &TenantLogins| {
        let (name, id, hour, day) = (&of.name, hex::encode(of.tenant.0), words(&of.hour), words(&of.day));
        let model = of.model.as_ref().map_or_else(String::new, |model| format!(", model {model}"));
        format!("tenant {name} ({id}){model}: logins of the last hour: {hour}; of the last day: {day}\n")
    };
    status.tenants.iter().filter(|of| all(&of.day) > 0).map(line).collect()
}

/// A line for each tenant on whose subjects attempts were refused.
fn trips(status: &ServiceStatus) -> String {
    let of = status.key_holder.iter().flat_map(|counts| &counts.budget_trips_by_tenant);
    let line = |BudgetTrips { tenant, trips, recent }: &BudgetTrips| {
        let named = status.caches.iter().find(|cache| cache.tenant == *tenant);
        let name = named.map_or("", |cache| cache.name.as_str());
        format!(
            "tenant {name} ({}): {trips} attempts refused because a budget was spent, {recent} of them in the last minutes\n",
            hex::encode(tenant.0)
        )
    };
    of.map(line).collect()
}
