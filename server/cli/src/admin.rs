//! `trefoil admin`: an operator's commands to a running service, over its admin listener.

mod budget;
mod once;
mod operator;
pub(super) mod place;
mod service;
mod session;
mod status;
mod subject;
mod table;
mod usage;

use super::exit::fail;
use super::pages;
use super::values::proof_need;
use clap::Subcommand;
use once::Once;
use service::Service;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use table::{show, table};
use trefoil_api::{
    ApiKey, ApiKeyState, CreateApiKey, CreateTenant, CreatedApiKey, Hex, PolicyVersion, RotationStatus,
    TenantSummary,
};
use trefoil_client::{Admin, ClientError};
use trefoil_host::output;
use trefoil_service::tenants::tenant::{Policy, ProbeMode, ProofNeed, Scope, Threshold};
use trefoil_service::time;

/// Exit code of a change that is made, and whose receipt is missing or not kept: as of `trefoil verify`, cannot decide.
const UNSETTLED: u8 = 3;

#[derive(clap::Args)]
#[command(
    about = "Operate a running service: its status and nodes, tenants, policies, API keys, operators, subjects, attempt budgets, sessions, key rotation",
    after_help = "The service, its certificate and its token are found through the configuration that `trefoil serve` reads: --config,\n\
    TREFOIL_<SECTION>_<KEY> and --data-dir. From another machine give --admin, --ca and --admin-token-file.\n\n\
    Examples, in this order:\n  \
    trefoil admin tenant create shop --audience https://shop.example --embedder facenet-128\n  \
    trefoil admin api-key create --tenant 0011... --scope enrol --scope authenticate --output api.key\n  \
    trefoil admin api-key list --tenant 0011...\n  \
    trefoil admin api-key revoke 0123456789abcdef --tenant 0011...\n  \
    trefoil admin subject list --api-key-file api.key\n\n\
    Commands that change something take --receipt and --trust-root. With --trust-root a change is believed only if its receipt verifies under\n\
    that trust root and names the same change of the same tenant, subject, session, key, scopes, role or policy. Receipts hold no names,\n\
    labels and expiries.\n\n\
    Exit codes: 0 done, 1 refused, not reached or not to be believed (the reason is printed), 2 wrong usage, 3 done as the service says, but\n\
    there is no receipt for --receipt or --trust-root, or it cannot be kept. `status` has its own: see its --help."
)]
pub(super) struct AdminCommand {
    #[command(flatten)]
    service: Service,
    /// Print JSON instead of a table.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tenants: create, list, show, disable, enable, delete.
    #[command(subcommand)]
    Tenant(Tenant),
    /// A tenant's policy: set, list its versions.
    #[command(subcommand)]
    Policy(PolicyOf),
    /// API keys of a tenant: create, list, revoke.
    #[command(subcommand)]
    ApiKey(Key),
    /// Operators of the service and their tokens: create, list, show, revoke.
    #[command(subcommand)]
    Operator(operator::Command),
    /// The audit trail: changes by operators and refused attempts, each with its receipt.
    #[command(after_help = "Examples:\n  trefoil admin audit\n  \
        trefoil admin audit --tenant 00112233445566778899aabbccddeeff --json")]
    Audit {
        /// Only entries of this tenant.
        #[arg(long, value_name = "TENANT", value_parser = tenant)]
        tenant: Option<Hex<16>>,
        /// Number of the first entry.
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        from: u64,
    },
    /// Subjects of a tenant: list, show, enrol, replace the template, revoke and erase, with one of its API keys over the public API.
    #[command(subcommand)]
    Subject(subject::Command),
    /// The attempts that subjects have: show, set, and reset those of one subject.
    #[command(subcommand)]
    Budget(budget::Command),
    /// Sessions of a tenant: list, end. With one of its API keys, over the public API.
    #[command(subcommand)]
    Session(session::Command),
    /// The service's health and findings that need attention, as on its page /operator.
    #[command(after_help = "Examples:\n  trefoil admin status\n  trefoil admin status --json\n\n\
        Exit codes, as of `trefoil doctor`: 0 nothing wants attention, 1 warnings, 2 something is broken or it takes no logins. The text or\n\
        the JSON is on standard output then. Also 1 if the service refuses or is not reached, and 2 for wrong usage; then the reason is on\n\
        standard error and standard output is empty.")]
    Status,
    /// Whether the service takes requests, as `GET /readyz`. Needs no token, so that the probe of a container can ask.
    #[command(after_help = "Example:\n  trefoil admin ready --data-dir /var/lib/trefoil\n\n\
        Exit codes: 0 it takes requests, 1 it does not or is not reached (the reason is printed), 2 wrong usage.")]
    Ready,
    /// The nodes that share the service's PostgreSQL database.
    #[command(after_help = "Examples:\n  trefoil admin nodes\n  trefoil admin nodes --json")]
    Nodes,
    /// Uses of a tenant's API keys by day (UTC), for 31 days.
    #[command(after_help = "Examples:\n  trefoil admin usage 00112233445566778899aabbccddeeff\n  \
        trefoil admin usage 00112233445566778899aabbccddeeff --json")]
    Usage {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Reset the key-holder's count of a tenant's malformed jobs, once their cause is found.
    #[command(after_help = "Example:\n  trefoil admin reset-malformed 00112233445566778899aabbccddeeff")]
    ResetMalformed {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Give a tenant's templates new encryption keys, while its subjects log in. Repeat the command to resume a rotation that stopped.
    #[command(after_help = "Examples:\n  trefoil admin rotate-keys 00112233445566778899aabbccddeeff\n  \
        trefoil admin rotate-keys 00112233445566778899aabbccddeeff --status")]
    RotateKeys {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
        /// Start nothing, and print the progress of the rotation.
        #[arg(long)]
        status: bool,
    },
}

#[derive(Subcommand)]
enum Tenant {
    /// Make a tenant with a policy.
    #[command(
        after_help = "Examples:\n  trefoil admin tenant create shop --audience https://shop.example --embedder facenet-128\n  \
        trefoil admin tenant create bank --audience https://bank.example --embedder facenet-128 --level-min 2\n  \
        trefoil admin tenant create kiosk --audience https://kiosk.example --embedder facenet-128 --fmr-class 3\n  \
        trefoil admin tenant create gate --audience https://gate.example --embedder my-model --score 17500 --fmr-class 4\n  \
        trefoil admin tenant create trial --audience https://trial.example --embedder facenet-128 --proof none\n  \
        trefoil admin tenant create lab --policy policy.json     the `policy` of POST /v1/tenants"
    )]
    Create {
        /// Name for operators.
        name: String,
        /// A relying party for which attestations may be made; may be repeated.
        #[arg(long, value_name = "NAME", required_unless_present = "policy", conflicts_with = "policy")]
        audience: Vec<String>,
        /// The model that makes the embeddings: `facenet-128` and `arcface-512` have calibrated classes, another one needs --score.
        #[arg(
            long,
            value_name = "NAME",
            default_value = "",
            hide_default_value = true,
            conflicts_with = "policy"
        )]
        embedder: String,
        /// Numbers in its vectors.
        #[arg(long, value_name = "N", default_value_t = 128, conflicts_with = "policy")]
        dimension: u32,
        /// k of the false-match rate 10^-k: 2, 3 or 4. A smaller k refuses fewer people, but a caller with an API key can then read templates
        /// of accounts for which it finds a look-alike. server/API.md has the figures.
        #[arg(long, value_name = "K", default_value_t = Threshold::DEFAULT_CLASS, conflicts_with = "policy")]
        fmr_class: u8,
        /// Smallest inner product that matches, which `trefoil calibrate` found for this model and --fmr-class.
        #[arg(long, value_name = "S", allow_negative_numbers = true, conflicts_with = "policy")]
        score: Option<i32>,
        /// Whether a login needs a credential proof: `credential`, or `none` for a tenant without credentials, which cannot change later. With
        /// `none` only the API key authenticates a login, and each attestation says so.
        #[arg(long, value_name = "NEED", default_value = "credential", value_parser = proof_need, conflicts_with = "policy")]
        proof: ProofNeed,
        /// Lowest credential level that a session must prove.
        #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "policy")]
        level_min: u8,
        /// JSON file with the whole policy, for fields without a flag.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        #[command(flatten)]
        once: Once,
    },
    /// All tenants.
    #[command(after_help = "Example:\n  trefoil admin tenant list --json")]
    List,
    /// A tenant and its policy.
    #[command(after_help = "Example:\n  trefoil admin tenant show 00112233445566778899aabbccddeeff")]
    Show {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Refuse all API keys of a tenant from now on. Nothing is deleted.
    #[command(after_help = "Example:\n  trefoil admin tenant disable 00112233445566778899aabbccddeeff")]
    Disable {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Destroy a disabled tenant: its templates with their keys, its sessions, API keys and policies. Its root log stays.
    #[command(
        after_help = "Example:\n  trefoil admin tenant delete 00112233445566778899aabbccddeeff --receipt deleted.cbor"
    )]
    Delete {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Accept the API keys of a disabled tenant again.
    #[command(after_help = "Example:\n  trefoil admin tenant enable 00112233445566778899aabbccddeeff")]
    Enable {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
}

#[derive(Subcommand)]
enum PolicyOf {
    /// Change a tenant's policy: makes the next version, which attestations name from then on. Fields without a flag stay as they are.
    #[command(after_help = "Examples:\n  trefoil admin policy set 0011... --fmr-class 4\n  \
        trefoil admin policy set 0011... --audience https://shop.example --audience https://pay.example --level-min 2\n  \
        trefoil admin policy set 0011... --policy policy.json     the `policy` of PUT /v1/tenants/TENANT/policy\n  \
        trefoil admin policy set 0011...                          the same again, for a key-holder that has another threshold")]
    Set {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
        /// A relying party for which attestations may be made; may be repeated. Replaces all present ones.
        #[arg(long, value_name = "NAME", conflicts_with = "policy")]
        audience: Vec<String>,
        /// k of the false-match rate 10^-k: 2, 3 or 4.
        #[arg(long, value_name = "K", conflicts_with = "policy")]
        fmr_class: Option<u8>,
        /// Smallest inner product that matches, which `trefoil calibrate` found for this model and the class.
        #[arg(long, value_name = "S", allow_negative_numbers = true, conflicts_with = "policy")]
        score: Option<i32>,
        /// Lowest credential level that a session must prove.
        #[arg(long, value_name = "N", conflicts_with = "policy")]
        level_min: Option<u8>,
        /// JSON file with the whole policy, for fields without a flag.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// Change it only if this version is in force.
        #[arg(long, value_name = "VERSION")]
        if_version: Option<u32>,
    },
    /// All versions of a tenant's policy.
    #[command(after_help = "Example:\n  trefoil admin policy list 00112233445566778899aabbccddeeff --json")]
    List {
        #[arg(value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
}

#[derive(Subcommand)]
enum Key {
    /// Make an API key. Its secret is shown once, here.
    #[command(after_help = "Examples:\n  \
        trefoil admin api-key create --tenant 0011... --scope enrol --scope authenticate --output api.key\n  \
        trefoil admin api-key create --tenant 0011... --scope issue --label 'issuer, 2027' --expires 2028-01-01T00:00:00Z")]
    Create {
        /// The tenant that it belongs to.
        #[arg(long, value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
        /// A scope: enrol, authenticate or issue; may be repeated.
        #[arg(long, value_name = "SCOPE", required = true, value_parser = scope)]
        scope: Vec<Scope>,
        /// Name for operators.
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// When it expires: Unix seconds, or UTC such as 2027-01-01T00:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = time::parse)]
        expires: Option<u64>,
        /// A new file for the key, which only you can read. Absent: standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        once: Once,
    },
    /// All API keys of a tenant, including expired and revoked ones.
    #[command(
        after_help = "Example:\n  trefoil admin api-key list --tenant 00112233445566778899aabbccddeeff"
    )]
    List {
        #[arg(long, value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Refuse an API key from now on.
    #[command(
        after_help = "To rotate: create a second key, move the callers to it, watch the last use of the old one, revoke it.\n\n\
        Example:\n  trefoil admin api-key revoke 0123456789abcdef --tenant 00112233445566778899aabbccddeeff"
    )]
    Revoke {
        /// Its id from the list: the 16 digits after `trefoil_`.
        #[arg(value_name = "ID", value_parser = key_id)]
        id: Hex<8>,
        /// The tenant.
        #[arg(long, value_name = "TENANT", value_parser = tenant)]
        tenant: Hex<16>,
    },
}

impl AdminCommand {
    pub(super) fn run(self) -> ExitCode {
        if let Command::Status = self.command {
            return status::run(&self.service, self.json);
        }
        match self.command.answer(&self.service, self.json) {
            Ok(text) => {
                output::tell(&if self.json { text } else { text + &self.service.kept() });
                ExitCode::from(if self.service.is_unsettled() { UNSETTLED } else { 0 })
            }
            Err(cause) => fail(&cause, 1),
        }
    }
}

impl Command {
    fn answer(self, service: &Service, json: bool) -> Result<String, String> {
        match self {
            Command::Tenant(Tenant::Create {
                name,
                audience,
                embedder,
                dimension,
                fmr_class,
                score,
                proof,
                level_min,
                policy,
                once,
            }) => {
                let policy = match policy {
                    Some(path) => read_policy(&path)?,
                    None => Policy {
                        dimension,
                        proof,
                        ..policy_of(embedder, threshold(fmr_class, score), audience, level_min)
                    },
                };
                let request = CreateTenant { name, policy };
                let created = once.create(service, async |admin| admin.create_tenant(&request).await)?;
                let id = hex::encode(created.tenant_id.0);
                show(json, &created, || format!("tenant {id}\n"))
            }
            Command::Tenant(Tenant::List) => {
                let all = service.call(all_tenants)?;
                show(json, &all, || tenants(&all))
            }
            Command::Tenant(Tenant::Show { tenant }) => show_tenant(service, json, tenant),
            Command::Tenant(Tenant::Disable { tenant }) => set_disabled(service, json, tenant, true),
            Command::Tenant(Tenant::Enable { tenant }) => set_disabled(service, json, tenant, false),
            Command::Tenant(Tenant::Delete { tenant }) => {
                let deleted = service.change(async |admin| admin.delete_tenant(tenant).await)?;
                show(json, &deleted, || format!("deleted, {} templates destroyed\n", deleted.templates))
            }
            Command::Policy(PolicyOf::Set {
                tenant,
                audience,
                fmr_class,
                score,
                level_min,
                policy,
                if_version,
            }) => {
                let whole = policy.as_deref().map(read_policy).transpose()?;
                let version = service.change(async |admin| {
                    let shown = admin.tenant(tenant).await?;
                    // A change in between must not be undone by the policy that was read before it.
                    let if_version = if_version.or(whole.is_none().then_some(shown.policy_version));
                    let policy = whole.clone().unwrap_or_else(|| {
                        changed(shown.policy, audience.clone(), (fmr_class, score), level_min)
                    });
                    admin.set_policy(tenant, &policy, if_version).await
                })?;
                show(json, &version, || policies(std::slice::from_ref(&version.version)))
            }
            Command::Policy(PolicyOf::List { tenant }) => {
                let all = service.call(async |admin| all_policies(admin, tenant).await)?;
                show(json, &all, || policies(&all))
            }
            Command::ApiKey(Key::Create { tenant, scope, label, expires, output, once }) => {
                let request = CreateApiKey { scopes: scope, label, expires_at: expires };
                let create = async |admin: &Admin| admin.create_api_key_with(tenant, &request).await;
                let name = |key: &CreatedApiKey| format!("API key {}", hex::encode(key.id.0));
                once.secret(service, (json, output.as_deref()), create, "api_key", name)
            }
            Command::ApiKey(Key::List { tenant }) => {
                let all = service.call(async |admin| all_api_keys(admin, tenant).await)?;
                show(json, &all, || api_keys(&all))
            }
            Command::ApiKey(Key::Revoke { id, tenant }) => {
                let revoked = service.change(async |admin| admin.revoke_api_key(tenant, id).await)?;
                show(json, &revoked, || api_keys(std::slice::from_ref(&revoked.key)))
            }
            Command::Operator(command) => command.answer(service, json),
            Command::Audit { tenant, from } => operator::audit(service, json, from, tenant),
            Command::Subject(command) => command.answer(service, json),
            Command::Budget(command) => command.answer(service, json),
            Command::Session(command) => command.answer(service, json),
            Command::Status => status::answer(service, json).map(|(text, _)| text),
            Command::Ready => status::ready(service, json),
            Command::Nodes => status::nodes(service, json),
            Command::Usage { tenant } => usage::answer(service, tenant, json),
            Command::ResetMalformed { tenant } => {
                let reset = service.change(async |admin| admin.reset_malformed(tenant).await)?;
                show(json, &reset, || "the count of malformed jobs is 0\n".to_owned())
            }
            Command::RotateKeys { tenant, status } => {
                let status = match status {
                    true => service.call(async |admin| admin.key_rotation(tenant).await)?,
                    false => service.change(async |admin| admin.rotate_keys(tenant).await)?.status,
                };
                show(json, &status, || rotation(&status))
            }
        }
    }
}

fn show_tenant(service: &Service, json: bool, tenant: Hex<16>) -> Result<String, String> {
    let shown = service.call(async |admin| admin.tenant(tenant).await)?;
    let policy = serde_json::to_string_pretty(&shown.policy).map_err(|cause| cause.to_string())?;
    let root = shown.root_generation.map_or("none".to_owned(), |root| root.to_string());
    show(json, &shown, || {
        let numbers = format!("{} version {}", shown.policy_id, shown.policy_version);
        let head = tenants(std::slice::from_ref(&shown.summary));
        format!("{head}\ncredential root {root}\npolicy {numbers} {policy}\n")
    })
}

fn set_disabled(service: &Service, json: bool, tenant: Hex<16>, disabled: bool) -> Result<String, String> {
    let summary = service.change(async |admin| admin.set_tenant_disabled(tenant, disabled).await)?;
    show(json, &summary, || tenants(std::slice::from_ref(&summary.summary)))
}

/// A class of the model, or a score that its operator calibrated to it.
fn threshold(fmr_class: u8, score: Option<i32>) -> Threshold {
    score.map_or(Threshold::FmrClass(fmr_class), |score| Threshold::Calibrated { score, fmr_class })
}

/// The policy of the flags; the service checks it.
pub(super) fn policy_of(
    embedder: String,
    threshold: Threshold,
    audiences: Vec<String>,
    level_min: u8,
) -> Policy {
    Policy {
        embedder,
        threshold,
        audiences,
        proof: ProofNeed::Credential,
        level_min,
        attempts: trefoil_service::tenants::tenant::AttemptPolicy::default(),
        attestation_lifetime_s: trefoil_attest::LIFETIME_SECONDS_MAX,
        dimension: 128,
        previous: None,
        sessions_in_memory: None,
        probe: ProbeMode::Plain,
    }
}

/// A policy with the fields of the flags replaced.
fn changed(
    present: Policy,
    audiences: Vec<String>,
    (fmr_class, score): (Option<u8>, Option<i32>),
    level_min: Option<u8>,
) -> Policy {
    let class = fmr_class.or(score.and(present.threshold_score().map(|(_, class)| class)));
    Policy {
        audiences: if audiences.is_empty() { present.audiences } else { audiences },
        threshold: class.map_or(present.threshold, |class| threshold(class, score)),
        level_min: level_min.unwrap_or(present.level_min),
        ..present
    }
}

fn read_policy(path: &Path) -> Result<Policy, String> {
    let bytes = super::remote::read(path)?;
    serde_json::from_slice(&bytes).map_err(|cause| {
        let cause = trefoil_contents::parse_error(cause);
        format!("{}: is not a policy in JSON ({cause}); API.md shows one, and --audience makes one without a file", path.display())
    })
}

async fn all_tenants(admin: &Admin) -> Result<Vec<TenantSummary>, ClientError> {
    let page = async |from| admin.tenants(from).await.map(|page| (page.tenants, page.next));
    pages::all("the tenants", Hex([0; 16]), page).await
}

async fn all_policies(admin: &Admin, tenant: Hex<16>) -> Result<Vec<PolicyVersion>, ClientError> {
    let page = async |from| admin.policies(tenant, from).await.map(|page| (page.policies, page.next));
    pages::all("the policies of a tenant", 0, page).await
}

async fn all_api_keys(admin: &Admin, tenant: Hex<16>) -> Result<Vec<ApiKey>, ClientError> {
    let page = async |from| admin.api_keys(tenant, from).await.map(|page| (page.api_keys, page.next));
    pages::all("the API keys of a tenant", Hex([0; 8]), page).await
}

fn tenants(all: &[TenantSummary]) -> String {
    let row = |tenant: &TenantSummary| {
        let TenantSummary { tenant_id, name, dimension, created_at, disabled_at } = tenant;
        let times = (when(Some(*created_at)), when(*disabled_at));
        [hex::encode(tenant_id.0), dimension.to_string(), times.0, times.1, name.clone()]
    };
    table(["TENANT", "DIMENSION", "CREATED", "DISABLED", "NAME"], all.iter().map(row))
}

fn policies(all: &[PolicyVersion]) -> String {
    let row = |version: &PolicyVersion| {
        let PolicyVersion { policy_version, made_at, policy, .. } = version;
        let class = policy.threshold_score().map_or("-".to_owned(), |(_, class)| class.to_string());
        let level = policy.level_min.to_string();
        [policy_version.to_string(), when(Some(*made_at)), class, level, policy.audiences.join(",")]
    };
    table(["VERSION", "MADE", "FMR CLASS", "LEVEL", "AUDIENCES"], all.iter().map(row))
}

fn api_keys(all: &[ApiKey]) -> String {
    let row = |key: &ApiKey| {
        let state = match key.state {
            ApiKeyState::Active => "active".to_owned(),
            ApiKeyState::Expired => "expired".to_owned(),
            ApiKeyState::Revoked => format!("revoked {}", when(key.revoked_at)),
        };
        let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.name()).collect();
        let id = hex::encode(key.id.0);
        let times = [when(Some(key.created_at)), when(key.expires_at), when(key.last_used_at)];
        let [created, expires, used] = times;
        [id, state, scopes.join(","), created, expires, used, key.label.clone()]
    };
    table(["ID", "STATE", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "LABEL"], all.iter().map(row))
}

fn rotation(status: &RotationStatus) -> String {
    let RotationStatus { state, epoch, renewed, left, error, .. } = status;
    let state = format!("{state:?}").to_lowercase();
    let error = error.as_ref().map_or(String::new(), |why| format!("stopped: {why}; ask again to go on\n"));
    format!("{state}: key epoch {epoch}, {renewed} templates renewed, {left} left\n{error}")
}

fn when(time: Option<u64>) -> String {
    time.map_or("-".to_owned(), time::format)
}

fn tenant(text: &str) -> Result<Hex<16>, String> {
    Hex::parse(text)
        .ok_or_else(|| "expected 32 hexadecimal digits; `trefoil admin tenant list` shows them".to_owned())
}

fn key_id(text: &str) -> Result<Hex<8>, String> {
    Hex::parse(text)
        .ok_or_else(|| "expected 16 hexadecimal digits; `trefoil admin api-key list` shows them".to_owned())
}

fn operator_id(text: &str) -> Result<Hex<8>, String> {
    Hex::parse(text)
        .ok_or_else(|| "expected 16 hexadecimal digits; `trefoil admin operator list` shows them".to_owned())
}

fn scope(text: &str) -> Result<Scope, String> {
    let named = Scope::ALL.into_iter().find(|scope| scope.name() == text);
    named.ok_or_else(|| format!("expected one of {}", Scope::ALL.map(Scope::name).join(", ")))
}
