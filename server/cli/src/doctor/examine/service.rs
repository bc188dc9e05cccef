//! The running service: whether it takes requests, and what it finds itself.

use super::WAIT;
use crate::remote;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use trefoil_api::Finding;
use trefoil_client::{Admin, ClientError};
use trefoil_server::config::Config;
use trefoil_server::findings::Fault;
use trefoil_server::server::ADMIN_TOKEN_FILE;

/// Why there is no answer.
struct Unanswered {
    what: String,
    /// The service does not accept the token.
    is_of_token: bool,
}

impl From<String> for Unanswered {
    fn from(what: String) -> Unanswered {
        Unanswered { what, is_of_token: false }
    }
}

impl From<ClientError> for Unanswered {
    fn from(cause: ClientError) -> Unanswered {
        Unanswered { what: cause.to_string(), is_of_token: cause.code() == Some("caller-unauthenticated") }
    }
}

/// The process, if it runs, and shows this certificate; and what it finds itself, which needs a token.
pub(super) fn examine(
    config: &Config,
    certificate: &Path,
    token_file: Option<&Path>,
) -> (Vec<Finding>, Vec<Finding>) {
    let address = reachable(config.server.admin_listen);
    if address.port() == 0 || TcpStream::connect_timeout(&address, WAIT).is_err() {
        let nothing = "nothing listens here: the service is stopped, or elsewhere";
        return (vec![Finding::ok("service", address, nothing)], Vec::new());
    }
    let url = format!("https://{address}");
    let asked = || -> Result<(Vec<u8>, Option<String>), Unanswered> {
        let certificate = remote::read(certificate)?;
        let admin = Admin::without_token(&url, &certificate)?;
        let unready = answer(async { admin.unready().await })?;
        Ok((certificate, unready))
    };
    let (certificate, unready) = match asked() {
        Ok(answered) => answered,
        Err(Unanswered { what, .. }) => {
            return (vec![Fault::ServiceUnreachable.at(address, what)], Vec::new());
        }
    };
    let own = config.server.data_dir.join(ADMIN_TOKEN_FILE);
    let (unasked, attention) = match attention(&url, &certificate, token_file.unwrap_or(&own)) {
        Ok(attention) => (None, attention),
        Err(unasked) => (Some(unasked), Vec::new()),
    };
    let running = match unready {
        None => Finding::ok("service", address, "runs and takes requests"),
        Some(why) => {
            let (why, cure) = why.split_once(". Do: ").unwrap_or((&why, "see its log"));
            Fault::ServiceNotReady.at(address, why).do_this(cure)
        }
    };
    (unasked.into_iter().chain([running]).collect(), attention)
}

/// What wants attention as the service says, or why it did not say.
fn attention(url: &str, certificate: &[u8], token_file: &Path) -> Result<Vec<Finding>, Finding> {
    let place = token_file.display();
    let token = match std::fs::read_to_string(token_file) {
        Ok(text) => text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim().to_owned(),
        Err(cause) => {
            let what =
                format!("it cannot be read ({cause}), so the running service was not asked what it finds");
            return Err(Fault::AdminTokenUnreadable.at(place, what));
        }
    };
    let asked = || -> Result<Vec<Finding>, Unanswered> {
        let admin = Admin::new(url, certificate, &token)?;
        Ok(answer(async { admin.status().await })?.attention)
    };
    asked().map_err(|Unanswered { what, is_of_token }| match is_of_token {
        true => {
            let what = "the service runs and does not accept this token, which is revoked, has expired, or is another service's; so it was not asked \
                        what it finds";
            Fault::AdminTokenRefused.at(place, what)
        }
        false => {
            let what = format!("the service did not say what it finds: {what}");
            Fault::ServiceSilent.at(url, what)
        }
    })
}

fn answer<T>(asking: impl Future<Output = Result<T, ClientError>>) -> Result<T, Unanswered> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| cause.to_string())?;
    let answered = runtime.block_on(async { tokio::time::timeout(WAIT, asking).await });
    let late = |_| format!("no answer within {} s", WAIT.as_secs());
    Ok(answered.map_err(late)??)
}

/// The URL of a listener from its own machine.
fn reachable(mut listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        listen.set_ip(match listen {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    listen
}
