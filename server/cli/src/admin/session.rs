//! `trefoil admin session`: lists open sessions, and ends one early.

use super::place::Caller;
use super::service::Service;
use super::table::table;
use super::{show, when};
use crate::pages;
use clap::Subcommand;
use trefoil_api::{Hex, LiveSession};
use trefoil_client::{Client, ClientError};

#[derive(Subcommand)]
pub(super) enum Command {
    /// All open sessions.
    #[command(after_help = "Example:\n  trefoil admin session list --api-key-file api.key")]
    List {
        #[command(flatten)]
        caller: Caller,
    },
    /// End a session now. Its proof cannot open it again.
    #[command(after_help = "SESSION has 64 digits; `trefoil admin session list` shows them.\n\n\
        Example:\n  trefoil admin session end 0011... --api-key-file api.key --receipt ended.cbor")]
    End {
        #[arg(value_name = "SESSION", value_parser = session)]
        session: Hex<32>,
        #[command(flatten)]
        caller: Caller,
    },
}

impl Command {
    pub(super) fn answer(&self, service: &Service, json: bool) -> Result<String, String> {
        match self {
            Command::List { caller } => {
                let all = service.call_as(caller, all)?;
                show(json, &all, || sessions(&all))
            }
            Command::End { session, caller } => {
                let ended = service.change_as(caller, async |client| client.end_session(*session).await)?;
                show(json, &ended, || "ended\n".to_owned())
            }
        }
    }
}

async fn all(client: &Client) -> Result<Vec<LiveSession>, ClientError> {
    let page = async |from| client.sessions(from).await.map(|page| (page.sessions, page.next));
    pages::all("the sessions", Hex([0; 32]), page).await
}

fn sessions(all: &[LiveSession]) -> String {
    let row = |session: &LiveSession| {
        let LiveSession { session_id, opened_at, expires_at } = session;
        [hex::encode(session_id.0), when(Some(*opened_at)), when(Some(*expires_at))]
    };
    table(["SESSION", "OPENED", "EXPIRES"], all.iter().map(row))
}

fn session(text: &str) -> Result<Hex<32>, String> {
    Hex::parse(text)
        .ok_or_else(|| "expected 64 hexadecimal digits; `trefoil admin session list` shows them".to_owned())
}
