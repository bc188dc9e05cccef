//! The address of a database: where it is, who connects, and whether the way there is safe.
//!
//! A way that leaves the machine needs TLS with the server's certificate and name verified (`sslmode=verify-full`, the default).
//! `sslmode=disable` is accepted for a loopback address, and a unix socket never has TLS. The other modes of libpq are refused, because with
//! them anybody on the way may read or replace what is sent.

use crate::servers::{PROVEN_FOR, Servers};
use crate::tls::Tls;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use trefoil_contents::shown;
use zeroize::Zeroizing;

/// Longest wait for one address of the server.
const CONNECT: Duration = Duration::from_secs(1);
/// The default of PostgreSQL.
const PORT: u16 = 5432;

/// Where a password is looked for that is not in the address.
#[derive(Clone, Debug, Default)]
pub struct PasswordFiles {
    /// A file with the password alone.
    pub own: Option<PathBuf>,
    /// A file of libpq, with lines of `HOST:PORT:DATABASE:USER:PASSWORD`.
    pub libpq: Option<PathBuf>,
}

/// A database that can be connected to.
#[derive(Clone)]
pub struct Address {
    #[cfg(test)]
    config: Config,
    pub(crate) servers: Arc<Servers>,
    pub(crate) tls: Option<Tls>,
    /// Without the password.
    place: String,
}

/// Never the password.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

/// What a user and a password have as `%XX`. Unescaped, nobody knows where the password ends.
const ESCAPED: [char; 4] = ['@', '/', '?', '#'];

/// Hides the password of an address, whether or not the address is valid.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return if url.is_empty() { String::new() } else { shown(url) };
    };
    let (user, place) = rest.rsplit_once('@').map_or(("", rest), |(user, place)| (user, place));
    let (name, password) = user.split_once([':', '/', '?']).map_or((user, ""), |(name, _)| (name, ":***"));
    // Without a database, what stands behind an unescaped `@` of the password looks like a machine.
    let has_database = place.split('?').next().is_some_and(|place| place.contains('/'));
    if user.contains(ESCAPED) || !password.is_empty() && !has_database {
        return format!("{scheme}://{name}{password}");
    }
    // A user and a password without a machine.
    let is_port = |port: &str| port.starts_with(|one: char| one.is_ascii_digit() || one == ':');
    match place.split_once(':') {
        Some((name, port)) if user.is_empty() && !is_port(port) => return format!("{scheme}://{name}:***"),
        _ => {}
    }
    let (place, query) = place.split_once('?').map_or((place, None), |(place, query)| (place, Some(query)));
    let hidden = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if name.contains("pass") => format!("{name}=***"),
        _ => pair.to_owned(),
    };
    let query = query.map(|query| query.split('&').map(hidden).collect::<Vec<_>>().join("&"));
    let (at, query) =
        (if user.is_empty() { "" } else { "@" }, query.map_or(String::new(), |query| format!("?{query}")));
    format!("{scheme}://{name}{password}{at}{place}{query}")
}

impl Address {
    /// Reads `postgres://USER@HOST[:PORT]/DATABASE[?sslmode=verify-full&sslrootcert=FILE]`, as libpq writes it.
    ///
    /// # Errors
    /// A text that says what is wrong and what to write; it never has the password.
    pub fn read(url: &str, passwords: &PasswordFiles) -> Result<Address, String> {
        let shown = without_password(url);
        let refused = |cause: &dyn fmt::Display| format!("{shown}: {cause}");
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(refused(&"not an address of PostgreSQL; write it as postgres://USER@HOST/DATABASE"));
        }
        let unescaped = |(user, _): (&str, &str)| user.contains(ESCAPED);
        if url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).is_some_and(unescaped) {
            let cure = "write a special character of the password as %XX (%40 for @, %2F for /), or put the password into a file: store.password_file";
            return Err(refused(&cure));
        }
        let (plain, mode, roots) = tls_of(url);
        let mut config: Config = plain.parse().map_err(|_| {
            let form = "this does not read; write it as postgres://USER@HOST/DATABASE, and a special character as %XX";
            refused(&unknown(url).unwrap_or_else(|| form.to_owned()))
        })?;
        let Some(user) = config.get_user().filter(|user| !user.is_empty()).map(str::to_owned) else {
            return Err(refused(&"no user; write it as postgres://USER@HOST/DATABASE"));
        };
        let Some(database) = config.get_dbname().map(str::to_owned) else {
            return Err(refused(&"no database; write it as postgres://USER@HOST/DATABASE"));
        };
        if config.get_hosts().is_empty() {
            return Err(refused(
                &"no host; write it as postgres://USER@HOST/DATABASE, or add ?host=/DIRECTORY for a unix socket",
            ));
        }
        let is_local = config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_local);
        let is_socket = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        let tls = match mode.as_deref() {
            None | Some("disable") if is_socket => None,
            Some("disable") if is_local => None,
            Some("disable") => {
                return Err(refused(
                    &"sslmode=disable is for this machine alone: the way to the database leaves it; use verify-full",
                ));
            }
            None | Some("verify-full") if !is_socket => {
                Some(Tls::new(roots.as_deref()).map_err(|cause| refused(&cause))?)
            }
            Some(other) => {
                return Err(refused(&format!(
                    "sslmode={} is not supported; use verify-full, or disable for a unix socket or a loopback address",
                    trefoil_contents::shown(other)
                )));
            }
            None => None,
        };
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        if config.get_password().is_none()
            && let Some(password) =
                password(&config, &user, &database, passwords).map_err(|cause| refused(&cause))?
        {
            config.password(password.as_bytes());
        }
        Ok(Address {
            servers: Arc::new(Servers::of(&config, patient)),
            place: place(&config, &user, &database),
            #[cfg(test)]
            config,
            tls,
        })
    }

    /// For how long answers of an old primary may count after another server took its place.
    pub(crate) fn old_primary_counts_for(&self) -> Duration {
        if self.servers.count() > 1 { PROVEN_FOR } else { Duration::ZERO }
    }
}

/// A connection that writes, and that ends when the server does.
fn patient(config: &mut Config) {
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    config.connect_timeout(CONNECT).application_name("trefoil");
    config.keepalives_idle(Duration::from_secs(5)).keepalives_interval(Duration::from_secs(2));
    config.keepalives_retries(3).tcp_user_timeout(Duration::from_secs(10));
}

/// Where it is, in words: a socket's directory is in brackets.
fn place(config: &Config, user: &str, database: &str) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => format!("[{}]:{port}", path.display()),
        }
    });
    format!("postgres://{user}@{}/{database}", hosts.collect::<Vec<_>>().join(","))
}

/// What an address may have after its `?`.
const PARAMETERS: &str = "sslmode sslrootcert host hostaddr port user password dbname options channel_binding application_name connect_timeout \
                          target_session_attrs load_balance_hosts keepalives keepalives_idle keepalives_interval keepalives_retries \
                          tcp_user_timeout";

/// A parameter that does not exist, and the nearest that does.
fn unknown(url: &str) -> Option<String> {
    let names = url.split_once('?')?.1.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    let known = || PARAMETERS.split(' ');
    let name = names.into_iter().find(|name| !known().any(|known| known == *name))?;
    let alike =
        |known: &&str| known.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count();
    let nearest = known().max_by_key(alike).filter(|known| alike(known) > 2);
    let hint = nearest.map_or("leave it out".to_owned(), |known| format!("did you mean {known}?"));
    Some(format!("there is no parameter {}; {hint}", shown(name)))
}

/// The address without what tokio-postgres does not know of, the mode of TLS, and the file of authorities.
fn tls_of(url: &str) -> (String, Option<String>, Option<PathBuf>) {
    let Some((plain, query)) = url.split_once('?') else { return (url.to_owned(), None, None) };
    let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => {
                roots = Some(PathBuf::from(percent_decode_str(value).decode_utf8_lossy().into_owned()))
            }
            _ => rest.push(pair),
        }
    }
    match rest.is_empty() {
        true => (plain.to_owned(), mode, roots),
        false => (format!("{plain}?{}", rest.join("&")), mode, roots),
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address: Option<std::net::IpAddr> = name.trim_matches(['[', ']']).parse().ok();
            address.map_or(name == "localhost", |address| address.is_loopback())
        }
    }
}

/// The password for this user and database, if a file has it.
fn password(
    config: &Config,
    user: &str,
    database: &str,
    files: &PasswordFiles,
) -> Result<Option<Zeroizing<String>>, String> {
    if let Some(path) = &files.own {
        let text = private_text(path)?;
        return Ok(Some(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned())));
    }
    let Some(path) = &files.libpq else { return Ok(None) };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        // As libpq names every socket.
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().unwrap_or(&PORT).to_string();
    let wanted = [host.as_str(), port.as_str(), database, user];
    Ok(private_text(path)?.lines().find_map(|line| of_line(line, wanted)))
}

fn private_text(path: &Path) -> Result<Zeroizing<String>, String> {
    let bytes = trefoil_storage::data_dir::read_private(path).map_err(|cause| cause.to_string())?;
    let text = std::str::from_utf8(&bytes).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// The password of a line of libpq's file, if its other fields are these or `*`.
fn of_line(line: &str, wanted: [&str; 4]) -> Option<Zeroizing<String>> {
    let mut fields: Vec<Zeroizing<String>> = vec![Zeroizing::default()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(Zeroizing::default()),
            '\\' => fields.last_mut()?.push(letters.next()?),
            _ => fields.last_mut()?.push(letter),
        }
    }
    let is_wanted = fields.len() == 5
        && fields
            .iter()
            .zip(wanted)
            .all(|(field, wanted)| matches!(field.as_str(), "*") || **field == *wanted);
    is_wanted.then(|| fields.pop()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn refused(url: &str) -> String {
        Address::read(url, &PasswordFiles::default()).unwrap_err()
    }

    /// Claim V130.
    #[test]
    fn an_old_primary_is_possible_where_there_are_several_servers() {
        for (hosts, expected) in [("127.0.0.1", Duration::ZERO), ("127.0.0.1,127.0.0.2", PROVEN_FOR)] {
            let url = format!("postgres://u@{hosts}/d?sslmode=disable");
            let address = Address::read(&url, &PasswordFiles::default()).unwrap();
            assert_eq!(address.old_primary_counts_for(), expected, "{hosts}");
        }
    }

    /// Claim V93.
    #[test]
    fn a_way_that_leaves_the_machine_is_verified_or_refused() {
        for (url, expected) in [
            ("postgres://u@db.example/d?sslmode=disable", "the way to the database leaves it"),
            ("postgres://u@10.0.0.1/d?sslmode=disable", "the way to the database leaves it"),
            (
                "postgres://u@localhost/d?sslmode=disable&hostaddr=10.0.0.1",
                "the way to the database leaves it",
            ),
            ("postgres://u@db.example/d?sslmode=prefer", "use verify-full"),
            ("postgres://u@db.example/d?sslmode=require", "use verify-full"),
            ("postgres://u@127.0.0.1/d?sslmode=allow", "use verify-full"),
            ("postgres://u@db.example/d?sslrootcert=/nowhere", "sslrootcert /nowhere"),
            ("postgres://u@db.example", "no database"),
            ("postgres://db.example/d", "no user"),
            ("postgres://:pw@db.example/d", "no user"),
            ("postgres://u@db.example/d?sslmod=verify-full", "did you mean sslmode?"),
            ("postgres://u@db.example/d?colour=red", "there is no parameter `colour`; leave it out"),
            ("postgres:///d?user=u", "no host"),
            ("mysql://u@db.example/d", "not an address of PostgreSQL"),
        ] {
            let said = refused(url);
            assert!(said.contains(expected), "{url}: {said}");
        }
        for url in [
            "postgres://u@127.0.0.1/d?sslmode=disable",
            "postgres://u@[::1]/d?sslmode=disable",
            "postgres://u@localhost:99/d?sslmode=disable",
            "postgres:///d?user=u&host=/run/postgresql",
        ] {
            let address = Address::read(url, &PasswordFiles::default()).unwrap();
            assert!(address.tls.is_none() && address.config.get_ssl_mode() == SslMode::Disable, "{url}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://u:secret@h/d", "postgres://u:***@h/d"),
            ("postgres://u:se:c@ret@h/d?sslmode=disable", "postgres://u:***"),
            ("postgres://u:a@secret", "postgres://u:***"),
            ("postgres://u:a@secret?sslmode=disable&sslrootcert=/ca", "postgres://u:***"),
            ("postgres://u:a@secret:5432", "postgres://u:***"),
            ("postgres://u:sec/ret@h/d", "postgres://u:***"),
            ("postgres://u:sec?ret@h/d", "postgres://u:***"),
            ("postgres://u:sec%40ret@h:5432/d", "postgres://u:***@h:5432/d"),
            ("postgres://u:secret", "postgres://u:***"),
            ("postgres://u:sec?ret", "postgres://u:***"),
            ("postgres://h:5432/d", "postgres://h:5432/d"),
            ("postgres://[::1]:5432/d", "postgres://[::1]:5432/d"),
            ("postgres:///d?password=sec@ret&user=u", "postgres://:***"),
            ("host=db user=u password=secret", "a text of 30 characters"),
            ("postgres:///d?password=secret&user=u", "postgres:///d?password=***&user=u"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("", ""),
        ] {
            assert_eq!(without_password(url), shown);
        }
        let url = "postgres://u:secret@127.0.0.1/d?sslmode=disable";
        let address = Address::read(url, &PasswordFiles::default()).unwrap();
        assert_eq!(format!("{address} {address:?}").matches("secret").count(), 0);
        assert_eq!(address.config.get_password(), Some(&b"secret"[..]));
        assert!(!refused("postgres://u:secret@h/d?sslmode=allow").contains("secret"));
    }

    #[test]
    fn a_password_comes_from_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Some(path)
        };
        let url = "postgres://u@127.0.0.1/d?sslmode=disable";
        let of = |own, libpq| {
            Address::read(url, &PasswordFiles { own, libpq }).map(|address| {
                address.config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            })
        };
        assert_eq!(of(write("own", "pass word\n", 0o600), None), Ok(Some("pass word".to_owned())));
        assert!(of(write("open", "x", 0o644), None).unwrap_err().contains("open"));
        let lines = "# none\n127.0.0.1:5432:other:u:wrong\n*:*:d:u:a\\:b\\\\c\n*:*:*:*:late\n";
        assert_eq!(of(None, write("pgpass", lines, 0o600)), Ok(Some("a:b\\c".to_owned())));
        assert_eq!(of(None, write("none", "h:1:d:u:x", 0o600)), Ok(None));
    }
}
