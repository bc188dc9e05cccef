//! The image that `scripts/deploy/image` makes of the built program, and the Kubernetes file of a fleet, played by podman and logged in to.

use std::process::Stdio;

use trefoil_testing::postgres::Server;

use crate::clients::said;
use crate::repo::Repo;
use crate::steps::Steps;
use crate::{fleet, tools};

/// Adds the step, with the program in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let needed = [tools::postgresql(), tools::podman(repo)];
    steps.step_with("image and fleet in containers", needed, || play(repo));
}

/// The script, which checks everything but its last words.
fn play(repo: &Repo) -> Result<String, String> {
    let database = Server::start(&[]).ok_or("no PostgreSQL")?;
    // Over TCP: the containers do not see the folder of its socket.
    let addresses = database.roles().map(|address| {
        let role = address.split(['=', '&']).nth(1).unwrap_or_default();
        let name = address.trim_start_matches("postgres:///").split('?').next().unwrap_or_default();
        format!("postgres://{role}@127.0.0.1:{}/{name}?sslmode=disable", database.port())
    });
    let mut command = repo.command("scripts/deploy/fleet/containers");
    command.args(addresses).arg(repo.binary("trefoil")?).env("PORT", fleet::port().to_string());
    let printed = said(command.stdin(Stdio::null()))?;
    match printed.matches("decision match\n  issuer").count() + printed.matches(" ended with 0\n").count() {
        4 => Ok("a login at the second node verified; both nodes and their key-holder ran as another user with a read-only root, \
                 and SIGTERM ended them with 0"
            .to_owned()),
        _ => Err(printed),
    }
}
