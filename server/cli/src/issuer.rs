//! `trefoil issuer`: a tenant's members and the signed roots over them.

mod batch;

use super::exit::{fail, text};
use super::pages;
use super::passphrase::Passphrase;
use super::remote::{self, Remote};
use super::values::{address, digest, expiry, tenant};
use clap::Subcommand;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_api::{Hex, LoggedRoot};
use trefoil_client::Admin;
use trefoil_issuer::{Issuer, NewMember};
use trefoil_pipeline::Clock as _;
use trefoil_service::time;
use trefoil_types::TenantId;
use trefoil_wallet::credentials::sealed::Cost;
use trefoil_wallet::credentials::{RootLog, RootStatement, SignedRoot};
use trefoil_zkp::Digest;

#[derive(clap::Args)]
#[command(
    about = "Issue credentials: keep a tenant's members, sign and publish the root of their tree",
    after_help = "A holder makes a wallet and gives you its commitment; its secret never leaves it. You add the \
    commitment as a\nmember, publish, and give the holder the exported credential. Revoking and publishing ends the \
    member's sessions\nat the next request. The directory is one issuer: back it up whole, and give it to nobody.\n\n\
    Examples, in this order:\n  \
    trefoil issuer init --directory issuer --tenant 5f3a...\n  \
    trefoil issuer register --directory issuer --admin https://127.0.0.1:9443 --ca trefoil-data/tls-certificate.pem \\\n      \
    --admin-token-file trefoil-data/admin.token\n  \
    trefoil issuer add ann --directory issuer --commitment 0a1b... --level 2 --expires 2027-01-01T00:00:00Z\n  \
    trefoil issuer publish --directory issuer --service https://127.0.0.1:8443 --ca trefoil-data/tls-certificate.pem \\\n      \
    --api-key-file issuer-api.key\n  \
    trefoil issuer export ann --directory issuer --output ann.credential\n  \
    trefoil issuer revoke ann --directory issuer     then publish again\n  \
    trefoil issuer audit --directory issuer --service ...   compare the service's log of roots with yours\n\n\
    Exit codes: 0 done, 1 refused (the reason is printed, nothing was changed), 2 wrong usage."
)]
pub(super) struct IssuerCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make an issuer directory with a fresh signing key.
    Init {
        #[command(flatten)]
        place: Place,
        /// The tenant's identifier from the service.
        #[arg(long, value_name = "HEX", value_parser = tenant)]
        tenant: Hex<16>,
        /// Number of the tenant's policy.
        #[arg(long, value_name = "N", default_value_t = trefoil_service::tenants::tenant::POLICY_ID)]
        policy_id: u32,
        #[command(flatten)]
        passphrase: Passphrase,
    },
    /// Tenant, public key, members and newest root.
    Show(Place),
    /// Register the public key with a service's admin API.
    Register {
        #[command(flatten)]
        place: Place,
        /// The admin API, such as https://127.0.0.1:9443.
        #[arg(long, value_name = "URL", value_parser = address)]
        admin: String,
        #[command(flatten)]
        ca: remote::Ca,
        /// The operator's token; admin.token in the service's data directory.
        #[arg(long, value_name = "FILE")]
        admin_token_file: PathBuf,
    },
    /// Add one member, or many from a file.
    Add {
        /// Your name for the member, which you do not publish.
        #[arg(required_unless_present = "batch", conflicts_with = "batch", requires_all = ["commitment", "level", "expires"])]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        member: Assertions,
        /// CSV with the header `name,commitment,level,expires,roles`: all of its members, or none.
        #[arg(long, value_name = "FILE")]
        batch: Option<PathBuf>,
    },
    /// Replace a member's attributes. The next publication ends sessions under older roots.
    Update {
        /// The member.
        #[arg(requires_all = ["commitment", "level", "expires"])]
        name: String,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        member: Assertions,
    },
    /// Remove members. Their sessions end with the next publication.
    Revoke {
        /// The members. All of them are removed, or none.
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Sign the root if members changed, and send every root that the service lacks.
    Publish {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        passphrase: Passphrase,
        /// End all sessions under older roots, even if no member was removed. Signs a new root in any case.
        #[arg(long)]
        withdraw: bool,
        #[command(flatten)]
        remote: Remote,
    },
    /// Write members' credentials under the newest root.
    Export {
        /// The members.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        names: Vec<String>,
        /// Every member.
        #[arg(long, requires = "output")]
        all: bool,
        #[command(flatten)]
        place: Place,
        /// File for one member, directory for several. Absent: standard output.
        #[arg(long, value_name = "PATH")]
        output: Option<PathBuf>,
    },
    /// Compare a service's log of roots, signature by signature, with the roots that this issuer signed.
    Audit {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(clap::Args)]
struct Place {
    /// The issuer directory.
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
}

/// A member's attributes.
#[derive(clap::Args)]
struct Assertions {
    /// The commitment that `trefoil wallet commitment` printed.
    #[arg(long, value_name = "HEX", value_parser = digest)]
    commitment: Option<Digest>,
    /// Assurance level, 0 to 255.
    #[arg(long, value_name = "L")]
    level: Option<u8>,
    /// Last moment of validity, rounded up to the hour: unix seconds or RFC 3339 UTC.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    expires: Option<u64>,
    /// Role bits.
    #[arg(long, value_name = "BITS", default_value_t = 0)]
    roles: u16,
}

impl IssuerCommand {
    pub(super) fn run(self) -> ExitCode {
        match self.command.run() {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(cause) => fail(&cause, 1),
        }
    }
}

impl Command {
    /// The text to print, or the error.
    fn run(self) -> Result<String, String> {
        match self {
            Command::Init { place, tenant, policy_id, passphrase } => {
                let passphrase = passphrase.choose("the new issuer key")?;
                let (rng, cost) = (&mut rand::rng(), Cost::RECOMMENDED);
                let issuer = Issuer::init(
                    &place.directory,
                    TenantId::new(tenant.0),
                    policy_id,
                    passphrase.as_bytes(),
                    cost,
                    rng,
                );
                let issuer = issuer.map_err(|cause| format!("{}: {cause}", place.directory.display()))?;
                Ok(described(&issuer))
            }
            Command::Show(place) => Ok(described(&place.open()?)),
            Command::Register { place, admin, ca, admin_token_file } => {
                let issuer = place.open()?;
                let token = remote::first_line(&admin_token_file)?;
                let admin =
                    Admin::new(&admin, &ca.roots()?, &token).map_err(|cause| ca.named(&admin, &cause))?;
                let identity = issuer.identity();
                let call = admin.register_issuer_key(Hex(identity.tenant.to_bytes()), &identity.public_key);
                let registered = remote::block_on(async { Ok(call.await) })?;
                // No trust root is pinned here. `trefoil admin audit` shows the receipt again, for `trefoil verify`.
                let registered = registered.map_err(|cause| ca.told(&cause))?.without_verification();
                Ok(format!("registered {}\n", hex::encode(registered.key_id.0)))
            }
            Command::Add { name, place, member, batch } => {
                let members = match (name, batch) {
                    (Some(name), _) => vec![member.named(name)?],
                    (None, Some(path)) => batch::read(&path)?,
                    (None, None) => return Err("give a name or --batch".to_owned()),
                };
                place.open()?.add(&members, &mut rand::rng()).map_err(text)?;
                Ok(format!("added {}; publish to make it known\n", members.len()))
            }
            Command::Update { name, place, member } => {
                place.open()?.update(&member.named(name)?, &mut rand::rng()).map_err(text)?;
                Ok("updated 1; publish to make it known\n".to_owned())
            }
            Command::Revoke { names, place } => {
                place.open()?.revoke(&names).map_err(text)?;
                Ok(format!("revoked {}; publish to end their sessions\n", names.len()))
            }
            Command::Publish { place, passphrase, withdraw, remote } => {
                publish(&mut place.open()?, &passphrase, withdraw, &remote)
            }
            Command::Export { names, all, place, output } => {
                export(&mut place.open()?, names, all, output.as_deref())
            }
            Command::Audit { place, remote } => audit(&place.open()?, &remote),
        }
    }
}

impl Place {
    fn open(&self) -> Result<Issuer, String> {
        Issuer::open(&self.directory).map_err(|cause| format!("{}: {cause}", self.directory.display()))
    }
}

impl Assertions {
    fn named(&self, name: String) -> Result<NewMember, String> {
        let Assertions { commitment, level, expires, roles } = self;
        match (commitment, level, expires) {
            (Some(commitment), Some(level), Some(expires)) => Ok(NewMember {
                name,
                commitment: *commitment,
                level: *level,
                expiry: expiry(*expires)?,
                roles: *roles,
            }),
            _ => Err("give --commitment, --level and --expires".to_owned()),
        }
    }
}

/// Signs a root if members changed, and sends the roots that the service lacks. A root that was signed but not sent is sent the next time: it is
/// in the journal, and no generation is ever signed twice.
fn publish(
    issuer: &mut Issuer,
    passphrase: &Passphrase,
    withdraw: bool,
    remote: &Remote,
) -> Result<String, String> {
    let client = remote.client()?;
    if withdraw || !issuer.is_published() {
        let passphrase = passphrase.read("the issuer key")?;
        let now = trefoil_service::login::clock::SystemClock::default().unix_s();
        issuer.publish(passphrase.as_bytes(), withdraw, now, &mut rand::rng()).map_err(text)?;
    }
    // The last page shows the roots that the service lacks, unless there are more than a page.
    let recent = issuer.last_root().map_or(0, |last| last.generation.saturating_sub(64));
    let known = match fetch(remote, issuer, recent)? {
        known if known.is_empty() && recent > 0 => fetch(remote, issuer, 0)?,
        known => known,
    };
    let sent = missing(issuer, &known)?;
    let last = client.block_on(async {
        let mut last = None;
        for root in sent {
            // No trust root is pinned here: `trefoil issuer audit` compares the service's log of roots with the own one.
            last = Some(client.publish_root(root).await?.without_verification());
        }
        Ok(last)
    })?;
    let newest = issuer.last_root().ok_or("nothing was signed")?;
    let RootStatement { generation, generation_min, root, .. } = newest;
    let state = if last.is_some() { "published" } else { "published already" };
    Ok(format!(
        "{state}: generation {generation}, accepted from {generation_min}, root {}\n",
        hex::encode(root.as_bytes())
    ))
}

/// The roots of this issuer that follow the end of the service's log.
fn missing<'a>(issuer: &'a Issuer, known: &[SignedRoot]) -> Result<&'a [SignedRoot], String> {
    let roots = issuer.roots();
    let Some(end) = known.last() else { return Ok(roots) };
    let at = roots.iter().position(|root| root.statement == end.statement);
    let at = at.ok_or("the service's newest root was not signed here: run `trefoil issuer audit`")?;
    Ok(&roots[at + 1..])
}

/// The service's log of roots from a generation on.
fn fetch(remote: &Remote, issuer: &Issuer, from: u32) -> Result<Vec<SignedRoot>, String> {
    let client = remote.client()?;
    let tenant = Hex(issuer.identity().tenant.to_bytes());
    let page = async |from| client.root_log(tenant, from).await.map(|page| (page.roots, page.next));
    let roots = client.block_on(pages::all("the log of roots", from, page))?;
    let signed = |root: LoggedRoot| SignedRoot { statement: root.statement.0, signature: root.signature.0 };
    Ok(roots.into_iter().map(signed).collect())
}

fn audit(issuer: &Issuer, remote: &Remote) -> Result<String, String> {
    let logged = fetch(remote, issuer, 0)?;
    let identity = issuer.identity();
    let mut log = RootLog::new(identity.tenant, None);
    for (number, root) in logged.iter().enumerate() {
        log.append(root, &identity.public_key)
            .map_err(|cause| format!("entry {number} of the log: {cause}"))?;
        if issuer.roots().get(number).is_none_or(|own| own.statement != root.statement) {
            return Err(format!("entry {number} of the log was not signed by this directory"));
        }
    }
    let waiting = issuer.roots().len() - logged.len();
    Ok(format!("{} roots in the log, all of them signed here; {waiting} not yet published\n", logged.len()))
}

fn export(
    issuer: &mut Issuer,
    names: Vec<String>,
    all: bool,
    output: Option<&Path>,
) -> Result<String, String> {
    let names: Vec<String> =
        if all { issuer.members().map(|member| member.name.clone()).collect() } else { names };
    let mut credential = |name: &str| issuer.credential(name).map(|file| file.to_json()).map_err(text);
    if !all && names.len() == 1 {
        let json = credential(&names[0])?;
        remote::write(output, json.as_bytes())?;
        return Ok(String::new());
    }
    let directory = output.ok_or("several credentials need --output DIR")?;
    trefoil_storage::data_dir::make(directory).map_err(text)?;
    for name in &names {
        if name.contains('/') || name.starts_with('.') {
            return Err(format!("`{name}` cannot be a file name; export it alone with --output FILE"));
        }
        let path = directory.join(format!("{name}.credential"));
        remote::write(Some(&path), credential(name)?.as_bytes())?;
    }
    Ok(format!("exported {} to {}\n", names.len(), directory.display()))
}

fn described(issuer: &Issuer) -> String {
    let identity = issuer.identity();
    let mut text = format!(
        "tenant      {}\nissuer key  {}\nmembers     {}\n",
        hex::encode(identity.tenant),
        hex::encode(identity.public_key.id()),
        issuer.members().count()
    );
    if let Some(RootStatement { generation, generation_min, issued_at, .. }) = issuer.last_root() {
        let issued = time::format(*issued_at);
        text += &format!("root        generation {generation}, accepted from {generation_min}, {issued}\n");
    }
    text
}
