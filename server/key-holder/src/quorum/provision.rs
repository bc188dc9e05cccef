//! Sets up one of three key-holders: its pieces on disk and its peers.

use super::member::{Member, Times};
use super::name;
use super::peers::Link;
use crate::address::Address;
use crate::clients::{Client, Clients, Right};
use crate::config;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trefoil_host::identity::{Fingerprint, IDENTITY, Identity, OPERATOR_IDENTITY};
use trefoil_matching::KeyHolder;
use trefoil_matching::quorum::{Pieces, QuorumHolder, Seat};
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::supervisor::Supervisor;

/// The pieces of a key-holder in its data directory.
const PIECES_FILE: &str = "pieces.key";

/// Another key-holder as a client of this one.
pub(crate) fn client(seat: Seat, fingerprint: Fingerprint) -> Client {
    Client { name: name(seat), fingerprint: fingerprint.to_string(), right: Right::Peer }
}

/// The seat and peers of the configuration, or `None` for a single key-holder. Refuses a mixture of both.
pub(crate) fn open(
    supervisor: &Supervisor,
    config: &config::Quorum,
    directory: &DataDir,
    peers: Option<config::Seated>,
    key_holder: &Arc<KeyHolder>,
) -> Result<Option<Member>, String> {
    let path = directory.join(PIECES_FILE);
    let pieces = directory.kept(PIECES_FILE).map_err(|cause| cause.to_string())?;
    let Some((seat, peers)) = peers else {
        return match pieces.is_some() {
            true => {
                Err(format!("{} makes it one of a quorum: set quorum.seat and quorum.peers", path.display()))
            }
            false => Ok(None),
        };
    };
    let bytes = pieces.ok_or_else(|| missing(&path))?;
    let pieces = Pieces::from_bytes(&bytes)
        .ok_or_else(|| format!("{} is damaged: restore it from a backup", path.display()))?;
    if pieces.seat() != seat {
        let (dealt, told) = (pieces.seat().index() + 1, seat.index() + 1);
        return Err(format!("its pieces are those of seat {dealt}, quorum.seat is {told}"));
    }
    let holder = QuorumHolder::new(Arc::clone(key_holder), pieces).map_err(|cause| cause.to_string())?;
    let patience = Duration::from_millis(config.patience_ms);
    let mut links = Vec::with_capacity(2);
    for (seat, address) in peers {
        let identity = Identity::open(directory, IDENTITY).map_err(|cause| cause.to_string())?;
        links.push(Link { seat, address, identity });
    }
    let longest = Duration::from_millis(config.timeout_ms);
    let times = Times { patience, longest };
    Member::new(supervisor, holder, links, times).map(Some).map_err(|cause| cause.to_string())
}

/// Refuses a data directory without pieces before a file is made in it: a directory that is named wrongly would become a key-holder that
/// has nothing.
pub(crate) fn refuse_empty(config: &config::Config) -> Result<(), String> {
    let path = config.server.data_dir.join(PIECES_FILE);
    match config.quorum.seat > 0 && matches!(path.try_exists(), Ok(false)) {
        true => Err(missing(&path)),
        false => Ok(()),
    }
}

fn missing(path: &Path) -> String {
    format!(
        "{} is missing. If this key-holder was made before, server.data_dir is wrong (a relative path starts at the working directory), or the \
         file has to come back from a backup; `trefoil key-holder init-quorum` makes NEW key-holders",
        path.display()
    )
}

/// Makes three key-holders in `dir` that accept a gateway with this name and certificate, and prints how to start them. Returns
/// the gateway's settings.
pub(crate) fn init(
    dir: &Path,
    gateway: (&str, Fingerprint),
    listen: &[SocketAddr],
) -> Result<String, String> {
    let text = |cause: &dyn Display| cause.to_string();
    let mut made = Vec::with_capacity(3);
    for (seat, address) in (1..=3).zip(listen) {
        let data = dir.join(seat.to_string());
        let directory = DataDir::open(&data).map_err(|cause| text(&cause))?;
        let path = directory.join(PIECES_FILE);
        if directory.has(PIECES_FILE).map_err(|cause| text(&cause))? {
            let path = path.display();
            return Err(format!("{path} exists: new pieces would make what was enrolled with it unreadable"));
        }
        let identity = Identity::open(&directory, IDENTITY).map_err(|cause| text(&cause))?;
        let operator = Identity::open(&directory, OPERATOR_IDENTITY).map_err(|cause| text(&cause))?;
        let mut clients = Clients::read(&directory).map_err(|cause| text(&cause))?;
        let operator = (OPERATOR_IDENTITY, operator.fingerprint(), Right::Operate);
        for (name, fingerprint, right) in [operator, (gateway.0, gateway.1, Right::Match)] {
            clients.authorise(&directory, name, fingerprint, right).map_err(|cause| text(&cause))?;
        }
        let address = Address { authority: address.to_string(), fingerprint: identity.fingerprint() };
        made.push((seat, directory, address));
    }
    for (pieces, (_, directory, _)) in Pieces::deal(&mut rand::rng()).iter().zip(&made) {
        directory.keep(PIECES_FILE, &pieces.to_bytes()).map_err(|cause| text(&cause))?;
    }
    println!("three key-holders let in {} ({}); they start with", gateway.0, gateway.1);
    for (seat, directory, address) in &made {
        let peers: Vec<String> = made
            .iter()
            .filter(|(other, ..)| other != seat)
            .map(|(.., address)| format!("{:?}", address.to_string()))
            .collect();
        // They may be started from another working directory.
        let data = std::path::absolute(directory.path()).map_err(|cause| text(&cause))?;
        let peers = peers.join(", ");
        let config = dir.join(format!("{seat}.toml"));
        let toml = format!(
            "[server]\ndata_dir = {data:?}\nlisten = \"{}\"\n\n[quorum]\nseat = {seat}\npeers = [{peers}]\n",
            address.authority
        );
        std::fs::write(&config, toml).map_err(|cause| format!("{}: {cause}", config.display()))?;
        println!("  trefoil key-holder --config {}", config.display());
    }
    println!("any two decide; creating a tenant, enrolling and deleting need all three");
    let flags: Vec<String> = made.iter().map(|(.., address)| format!("--key-holder '{address}'")).collect();
    Ok(flags.join(" "))
}
