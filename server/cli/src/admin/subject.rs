//! `trefoil admin subject`: lists subjects with a template, enrols a subject, replaces a template, revokes a subject, and destroys its template.

use super::once::may_be_there;
use super::place::Caller;
use super::service::Service;
use super::table::table;
use super::{show, when};
use crate::pages;
use crate::wallet::{Faces, agreement};
use clap::Subcommand;
use trefoil_api::{Enrolment, Hex, Replaced, Subject, SubjectState};
use trefoil_client::{Client, ClientError, Receipted, Unverified};

#[derive(Subcommand)]
pub(super) enum Command {
    /// All subjects with a template.
    #[command(after_help = "Example:\n  trefoil admin subject list --api-key-file api.key")]
    List {
        #[command(flatten)]
        caller: Caller,
    },
    /// A subject: its template's generation, whether it is revoked, when it was enrolled, the reference to its consent.
    #[command(after_help = "HANDLE has 64 digits; `trefoil admin subject list` shows them.\n\n\
        Example:\n  trefoil admin subject show 0011... --api-key-file api.key")]
    Show {
        #[arg(value_name = "HANDLE", value_parser = handle)]
        handle: Hex<32>,
        #[command(flatten)]
        caller: Caller,
    },
    /// Replace a subject's template in one step: each login meanwhile is decided with the old or with the new template. A revoked subject is active
    /// again.
    #[command(
        after_help = "HANDLE has 64 digits; `trefoil admin subject list` shows them. For the probe mode `plain`.\n\n\
        Example:\n  trefoil admin subject replace 0011... --embedding face.json --consent 'form 8' --api-key-file api.key"
    )]
    Replace(Template),
    /// Enrol a subject of a tenant without credentials, whose handle you choose. Where there are credentials the wallet shows the handle.
    #[command(
        after_help = "HANDLE has 64 digits: at a tenant with `--proof none` a keyed digest of your own user id, for example. For the probe mode `plain`.\n\n\
        Example:\n  trefoil admin subject enrol 0011... --embedding face.json --consent 'form 7' --api-key-file api.key"
    )]
    Enrol(Template),
    /// Revoke a subject: its logins are refused and its sessions end until its template is replaced. Its record stays.
    #[command(
        after_help = "HANDLE has 64 digits; `trefoil admin subject list` shows them. The key of its template is destroyed: to make the subject active\n\
        again, replace the template.\n\n\
        Examples:\n  trefoil admin subject revoke 0011... --api-key-file api.key --receipt revoked.cbor\n  \
        trefoil verify revoked.cbor --trust-root trust-root.json"
    )]
    Revoke {
        #[arg(value_name = "HANDLE", value_parser = handle)]
        handle: Hex<32>,
        #[command(flatten)]
        caller: Caller,
    },
    /// Destroy a subject's template and its keys. This cannot be undone.
    #[command(after_help = "HANDLE has 64 digits; `trefoil admin subject list` shows them.\n\n\
        Examples:\n  trefoil admin subject erase 0011... --api-key-file api.key --receipt erased.cbor\n  \
        trefoil verify erased.cbor --trust-root trust-root.json")]
    Erase {
        #[arg(value_name = "HANDLE", value_parser = handle)]
        handle: Hex<32>,
        #[command(flatten)]
        caller: Caller,
    },
}

/// A template that is stored for a subject.
#[derive(clap::Args)]
pub(super) struct Template {
    #[arg(value_name = "HANDLE", value_parser = handle)]
    handle: Hex<32>,
    #[command(flatten)]
    faces: Faces,
    /// Your reference to the subject's consent.
    #[arg(long, value_name = "TEXT")]
    consent: String,
    /// Repeats a call whose answer was lost. Absent: a fresh key.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    caller: Caller,
}

impl Template {
    fn enrol(&self, service: &Service, json: bool) -> Result<String, String> {
        let enrolled = self.stored(service, async |client: &Client, enrolment: &Enrolment, key: &str| {
            client.enrol(self.handle, enrolment, key).await
        })?;
        show(json, &enrolled, || {
            let agreement = agreement(enrolled.agreement);
            format!("enrolled, the template is of generation {}{agreement}\n", enrolled.generation)
        })
    }

    fn replace(&self, service: &Service, json: bool) -> Result<String, String> {
        let replaced = self.stored(service, async |client: &Client, enrolment: &Enrolment, key: &str| {
            client.replace(self.handle, enrolment, key).await
        })?;
        show(json, &replaced, || {
            let Replaced { generation, replaced, agreement: found, .. } = replaced;
            let agreement = agreement(found);
            format!(
                "the template is now of generation {generation}{agreement}; generation {replaced} is destroyed\n"
            )
        })
    }

    fn stored<T: Receipted>(
        &self,
        service: &Service,
        call: impl AsyncFnOnce(&Client, &Enrolment, &str) -> Result<Unverified<T>, ClientError>,
    ) -> Result<T, String> {
        let enrolment = Enrolment::of(self.faces.read()?, &*self.consent);
        let drawn = || hex::encode(rand::random::<[u8; 16]>());
        let key = self.idempotency_key.clone().unwrap_or_else(drawn);
        let mut open = false;
        let stored = service.change_as(&self.caller, async |client| {
            let answer = call(client, &enrolment, &key).await;
            open = answer.as_ref().is_err_and(may_be_there);
            answer
        });
        stored.map_err(|cause| match open {
            true => format!("{cause}\nit may have been stored; to go on with it: --idempotency-key {key}"),
            false => cause,
        })
    }
}

impl Command {
    pub(super) fn answer(&self, service: &Service, json: bool) -> Result<String, String> {
        match self {
            Command::List { caller } => {
                let all = service.call_as(caller, all)?;
                show(json, &all, || subjects(&all))
            }
            Command::Show { handle, caller } => {
                let shown = service.call_as(caller, async |client| client.subject(*handle).await)?;
                show(json, &shown, || subjects(std::slice::from_ref(&shown)))
            }
            Command::Replace(template) => template.replace(service, json),
            Command::Enrol(template) => template.enrol(service, json),
            Command::Revoke { handle, caller } => {
                let revoked = service.change_as(caller, async |client| client.revoke(*handle).await)?;
                show(json, &revoked, || {
                    let generation = revoked.generation;
                    let at = when(Some(revoked.revoked_at));
                    format!("revoked at {at}, the template of generation {generation} decides no login\n")
                })
            }
            Command::Erase { handle, caller } => {
                let erased = service.change_as(caller, async |client| client.erase(*handle).await)?;
                show(json, &erased, || {
                    let generation = erased.generation;
                    let at = when(Some(erased.erased_at));
                    format!("erased at {at}, the newest template was of generation {generation}\n")
                })
            }
        }
    }
}

async fn all(client: &Client) -> Result<Vec<Subject>, ClientError> {
    let page = async |from| client.subjects(from).await.map(|page| (page.subjects, page.next));
    pages::all("the subjects", Hex([0; 32]), page).await
}

fn subjects(all: &[Subject]) -> String {
    let row = |subject: &Subject| {
        let Subject { handle, generation, state, dimension, enrolled_at, consent_ref, .. } = subject;
        let (generation, dimension) = (generation.to_string(), dimension.to_string());
        let state = match state {
            SubjectState::Active => "active",
            SubjectState::Revoked => "revoked",
        };
        let (handle, enrolled) = (hex::encode(handle.0), when(Some(*enrolled_at)));
        [handle, generation, state.to_owned(), dimension, enrolled, consent_ref.clone()]
    };
    let columns = ["HANDLE", "GENERATION", "STATE", "DIMENSION", "ENROLLED", "CONSENT"];
    table(columns, all.iter().map(row))
}

pub(super) fn handle(text: &str) -> Result<Hex<32>, String> {
    Hex::parse(text)
        .ok_or_else(|| "expected 64 hexadecimal digits; `trefoil admin subject list` shows them".to_owned())
}
