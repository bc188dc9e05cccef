//! `trefoil admin budget`: how many attempts the subjects of a tenant have, who has none left, and one more try for one of them.

use super::service::Service;
use super::table::table;
use super::{policies, show};
use clap::Subcommand;
use serde::Serialize;
use trefoil_api::{Hex, ResetAttempts, TenantDetail};
use trefoil_service::tenants::tenant::{AttemptPolicy, Policy};

#[derive(Subcommand)]
pub(super) enum Command {
    /// The attempts that a tenant's policy gives each subject, and how many subjects have none now.
    #[command(after_help = "Example:\n  trefoil admin budget show 00112233445566778899aabbccddeeff")]
    Show {
        #[arg(value_name = "TENANT", value_parser = super::tenant)]
        tenant: Hex<16>,
    },
    /// Change them: makes the next version of the policy. Numbers without a flag stay as they are.
    #[command(
        after_help = "More attempts give a thief of an API key more tries at each account; server/API.md has the figures. A key-holder in another process\n\
        may refuse more than its operator allows.\n\n\
        Examples:\n  trefoil admin budget set 0011... --failures-per-day 10\n  \
        trefoil admin budget set 0011... --consecutive 3 --delay 60"
    )]
    Set(Set),
    /// End the delay of a locked-out subject and forget its failures of the day.
    #[command(
        after_help = "The template's total budget stays spent, and so do the attempts of the day; the answer says if subjects are still\n\
        locked out, and what to do. A key-holder in another process does this for its own operator\n\
        only: `trefoil key-holder reset-attempts`, at each of three. The refusal names the generation that it needs.\n\n\
        Examples:\n  trefoil admin budget reset 0011... --tenant 00112233445566778899aabbccddeeff --receipt reset.cbor\n  \
        trefoil verify reset.cbor --trust-root trust-root.json"
    )]
    Reset {
        #[arg(value_name = "HANDLE", value_parser = super::subject::handle)]
        handle: Hex<32>,
        /// The tenant.
        #[arg(long, value_name = "TENANT", value_parser = super::tenant)]
        tenant: Hex<16>,
    },
}

#[derive(clap::Args)]
pub(super) struct Set {
    #[arg(value_name = "TENANT", value_parser = super::tenant)]
    tenant: Hex<16>,
    #[command(flatten)]
    numbers: Numbers,
    /// Change it only if this version of the policy is in force.
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u32>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = true)]
struct Numbers {
    /// Failures in a row before a delay.
    #[arg(long, value_name = "N")]
    consecutive: Option<u32>,
    /// The delay, seconds.
    #[arg(long, value_name = "S")]
    delay: Option<u64>,
    /// Failures per day (UTC).
    #[arg(long, value_name = "N")]
    failures_per_day: Option<u32>,
    /// Failures in the lifetime of a template, after which the subject enrols again.
    #[arg(long, value_name = "N")]
    failures_per_template: Option<u32>,
    /// Attempts per day (UTC), matches included.
    #[arg(long, value_name = "N")]
    attempts_per_day: Option<u32>,
    /// Attempts in the lifetime of a template, matches included.
    #[arg(long, value_name = "N")]
    attempts_per_template: Option<u32>,
}

impl Numbers {
    fn over(&self, present: AttemptPolicy) -> AttemptPolicy {
        AttemptPolicy {
            consecutive: self.consecutive.unwrap_or(present.consecutive),
            delay_s: self.delay.unwrap_or(present.delay_s),
            failures_per_day: self.failures_per_day.unwrap_or(present.failures_per_day),
            failures_per_generation: self.failures_per_template.unwrap_or(present.failures_per_generation),
            attempts_per_day: self.attempts_per_day.unwrap_or(present.attempts_per_day),
            attempts_per_generation: self.attempts_per_template.unwrap_or(present.attempts_per_generation),
        }
    }
}

impl Command {
    pub(super) fn answer(&self, service: &Service, json: bool) -> Result<String, String> {
        match self {
            Command::Show { tenant } => {
                let shown = service.call(async |admin| admin.tenant(*tenant).await)?;
                show(json, &shown, || budget(&shown))
            }
            Command::Set(Set { tenant, numbers, if_version }) => {
                let version = service.change(async |admin| {
                    let shown = admin.tenant(*tenant).await?;
                    // A change in between must not be undone by the policy that was read before it.
                    let if_version = if_version.or(Some(shown.policy_version));
                    let policy = Policy { attempts: numbers.over(shown.policy.attempts), ..shown.policy };
                    admin.set_policy(*tenant, &policy, if_version).await
                })?;
                show(json, &version, || policies(std::slice::from_ref(&version.version)))
            }
            Command::Reset { handle, tenant } => {
                let (mut locked_out_before, mut locked_out) = (None, None);
                let answer = service.change(async |admin| {
                    locked_out_before = admin.tenant(*tenant).await?.locked_out;
                    let answer = admin.reset_attempts(*tenant, *handle).await?;
                    // It is done: an error of this reading must not hide it.
                    locked_out = admin.tenant(*tenant).await.ok().and_then(|shown| shown.locked_out);
                    Ok(answer)
                })?;
                let reset = Reset { answer, locked_out_before, locked_out };
                show(json, &reset, || reset.told(*tenant, *handle))
            }
        }
    }
}

/// A reset, and how many subjects of the tenant had no attempt before and after it. The service does not tell which.
#[derive(Serialize)]
struct Reset {
    #[serde(flatten)]
    answer: ResetAttempts,
    locked_out_before: Option<u64>,
    locked_out: Option<u64>,
}

impl Reset {
    fn told(&self, tenant: Hex<16>, handle: Hex<32>) -> String {
        let (tenant, handle) = (hex::encode(tenant.0), hex::encode(handle.0));
        match (self.locked_out_before, self.locked_out) {
            (_, Some(0)) => "the subject may try again\n".to_owned(),
            (Some(before), Some(after)) if after < before => "the subject may try again\n".to_owned(),
            (_, Some(after)) => format!(
                "its delay and its failures of the day are gone, but {after} of the tenant's subjects still have no attempt. If it is one of \
                 them, what it has spent stays spent: the attempts of its day, which end at midnight UTC, or those of its template. Then give \
                 it a new template (`trefoil admin subject replace {handle}`), or all subjects more (`trefoil admin budget set {tenant}`)\n"
            ),
            (_, None) => format!(
                "its delay and its failures of the day are gone. How many subjects still have no attempt is not known now: ask later with \
                 `trefoil admin budget show {tenant}`\n"
            ),
        }
    }
}

fn budget(shown: &TenantDetail) -> String {
    let AttemptPolicy {
        consecutive,
        delay_s,
        failures_per_day,
        failures_per_generation,
        attempts_per_day,
        attempts_per_generation,
    } = shown.policy.attempts;
    let number =
        |number: u64| if number == u64::from(u32::MAX) { "no limit".to_owned() } else { number.to_string() };
    let rows = [
        ("failures in a row before a delay", number(consecutive.into())),
        ("delay, seconds", delay_s.to_string()),
        ("failures per day (UTC)", number(failures_per_day.into())),
        ("failures per template", number(failures_per_generation.into())),
        ("attempts per day (UTC)", number(attempts_per_day.into())),
        ("attempts per template", number(attempts_per_generation.into())),
        ("subjects without an attempt now", shown.locked_out.map_or("not known".to_owned(), number)),
    ];
    table(["", "EACH SUBJECT"], rows.map(|(name, number)| [name.to_owned(), number]).into_iter())
}
