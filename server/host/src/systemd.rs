//! The interface to systemd: passed sockets, readiness, and watchdog messages.
//!
//! Without systemd there are no sockets, and messages are dropped.

use rustix::net::sockopt::socket_acceptconn;
use sd_notify::NotifyState;
use std::net::TcpListener;
use std::time::Duration;

/// Whether a unit of systemd has started this process and waits for its messages.
pub fn is_manager() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// The sockets that systemd passed, one for each of `names`, if it passed any. A socket unit names each with
/// `FileDescriptorName=`; without names the sockets are taken in this order.
///
/// Call it before the process has a second thread: it removes `LISTEN_FDS` from the environment, so that no child takes the sockets too.
///
/// # Errors
/// The fault in the socket units, and what to write there.
pub fn sockets<const N: usize>(names: [&str; N]) -> Result<[Option<TcpListener>; N], String> {
    let given = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut passed = listenfd::ListenFd::from_env();
    let places = places(&names, &given, passed.len())?;
    let mut sockets = [const { None }; N];
    for (number, place) in places.into_iter().enumerate() {
        let name = names[place];
        let wrong = |cause: String| {
            format!(
                "the socket {name} that systemd passed: {cause}; it takes ListenStream= with a TCP port and Accept=no"
            )
        };
        let socket = passed.take_tcp_listener(number).map_err(|cause| wrong(cause.to_string()))?;
        let socket = socket.ok_or_else(|| wrong("is gone".to_owned()))?;
        match socket_acceptconn(&socket) {
            Ok(true) => {}
            Ok(false) => return Err(wrong("does not listen".to_owned())),
            Err(cause) => return Err(wrong(cause.to_string())),
        }
        sockets[place] = Some(socket);
    }
    Ok(sockets)
}

/// For each of `count` sockets with these names, the index of its name in `names`.
fn places(names: &[&str], given: &str, count: usize) -> Result<Vec<usize>, String> {
    let write =
        || format!("write FileDescriptorName= with {}, once each, into the socket units", names.join(" or "));
    if count > names.len() {
        return Err(format!(
            "systemd passed {count} sockets, and at most {} are of use; {}",
            names.len(),
            write()
        ));
    }
    let given: Vec<&str> = given.split(':').filter(|name| !name.is_empty()).collect();
    if count == 0 || !given.iter().any(|name| names.contains(name)) {
        return Ok((0..count).collect());
    }
    if given.len() != count {
        return Err(format!("systemd passed {count} sockets with {} name; {}", given.len(), write()));
    }
    let mut places = Vec::new();
    for name in given {
        match names.iter().position(|known| *known == name) {
            Some(place) if places.contains(&place) => {
                return Err(format!("systemd passed a socket {name} twice; {}", write()));
            }
            Some(place) => places.push(place),
            None => return Err(format!("systemd passed a socket {name}; {}", write())),
        }
    }
    Ok(places)
}

/// Reports that the service accepts requests.
pub fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Reports that the service answers requests in flight and ends.
pub fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Reports that the service works. Call it once in every [`interval`].
pub fn alive() {
    notify(&[NotifyState::Watchdog]);
}

/// How often to call [`alive`]: twice in `WatchdogSec=`; `None` without a watchdog.
pub fn interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|time| time / 2)
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(cause) = sd_notify::notify(states) {
        tracing::warn!(%cause, "systemd was not told: see NOTIFY_SOCKET");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_told_apart_by_name_and_without_names_by_order() {
        let both = ["public", "admin"];
        for (given, count, expected) in [
            ("", 0, Ok(vec![])),
            ("admin:public", 2, Ok(vec![1, 0])),
            ("public", 1, Ok(vec![0])),
            ("admin", 1, Ok(vec![1])),
            ("trefoil.socket:trefoil.socket", 2, Ok(vec![0, 1])),
            ("", 2, Ok(vec![0, 1])),
            ("public:admin", 0, Ok(vec![])),
            ("public:public", 2, Err("public twice")),
            ("public:metrics", 2, Err("metrics")),
            ("public", 2, Err("1 name")),
            ("a:b:c", 3, Err("3 sockets")),
        ] {
            match (places(&both, given, count), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{given} {count}"),
                (Err(cause), Err(part)) => assert!(cause.contains(part), "{given} {count}: {cause}"),
                (found, _) => panic!("{given} {count}: {found:?}"),
            }
        }
    }
}
