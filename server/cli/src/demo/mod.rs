//! `trefoil demo`: a service on this machine, people of a public data set, true and false logins over HTTPS.
//!
//! Nothing is simulated. The service is the one that `trefoil serve` starts, with the embedded defaults and a temporary
//! data directory. Every person has a credential, an encrypted template and a proof session. Every answer
//! is checked twice, by offline verification of its attestation and against plaintext arithmetic.

mod audit;
mod error;
mod kept_login;
mod load;
mod metrics;
mod plan;
mod population;
mod report;

pub use error::DemoError;
pub use kept_login::KeptLogin;
pub use report::Report;

use crate::progress::Progress;
use audit::audit;
use load::{AUDIENCE, Clients, Login, unix_now};
use metrics::{StagesUs, cache_hit_ratio};
use plan::Plan;
use population::{LEVEL, Population};
use report::{Results, Seconds, Setting};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use trefoil_api::{CreateTenant, CreatedTenant, Decision, ServiceStatus};
use trefoil_client::{Admin, Client};
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_server::config::Config;
use trefoil_server::server::Server;
use trefoil_service::login::clock::SystemClock;
use trefoil_service::tenants::tenant::{
    AttemptPolicy, Policy, ProbeMode, ProofNeed, Scope, Threshold, policy,
};
use trefoil_types::TenantId;

/// Arguments of `trefoil demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// People to enrol, at least 2. Default: all people in the data set.
    #[arg(long, value_name = "N")]
    pub people: Option<usize>,
    /// Seed of the choice of impostors and of the order of logins.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Logins in flight.
    #[arg(long, value_name = "C", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub concurrency: u16,
    /// Matching threads of the service; 0 means one for each physical core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub workers: u16,
    /// Directory with x.npy (float32, rows x 512, arcface-512) and y.npy (person of each row); default: the set in the source
    /// tree. A release has it as an archive of its own, trefoil-faces.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Directory for one attestation and the trust root.
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    pub out: PathBuf,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
}

/// The data set in the source tree. Faces are biometric data, so they are in no program.
const DATA_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/data/lfw_arcface512");
/// Name under which the service attests.
const ISSUER: &str = "https://auth.demonstration.example";
/// Streams used of one connection; the service allows 128.
const STREAMS_PER_CONNECTION: usize = 64;
/// Logins made one after the other on the idle service, after the load.
const ALONE_MAX: usize = 32;

/// Runs the demonstration and prints its result. Exit code 0 if everything holds, 1 if any result differs from the expected one,
/// 2 for arguments that cannot be used.
#[must_use]
pub fn main(arguments: &Arguments) -> ExitCode {
    match run(arguments) {
        Ok(report) => {
            match arguments.json {
                true => println!("{}", report.to_json()),
                false => println!("{report}"),
            }
            if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(cause) => {
            eprintln!("trefoil: {cause}");
            match cause {
                DemoError::Data { .. } | DemoError::People { .. } => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Runs the demonstration on a runtime of its own, so the caller must not run inside a runtime.
///
/// # Errors
/// When it cannot complete. Differences are not errors but part of the [`Report`].
pub fn run(arguments: &Arguments) -> Result<Report, DemoError> {
    let policy = policy();
    let data = arguments.data.clone().unwrap_or_else(|| DATA_DIR.into());
    let plan = Plan::new(&data, arguments.people, policy::decision(&policy).threshold, arguments.seed)?;
    // Templates and keys of this run are deleted with it.
    let directory = tempfile::tempdir().map_err(|cause| DemoError::step("temporary directory", &cause))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|cause| DemoError::step("runtime", &cause))?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = demonstrate(arguments, policy, Arc::new(plan), directory.path()) => report,
            Ok(()) = tokio::signal::ctrl_c() => Err(DemoError::Interrupted),
        }
    });
    // After an interruption a proof may still be running; do not wait for it.
    runtime.shutdown_background();
    report
}

/// The default policy, except for attempt budgets: every person is impersonated here as often as they log in, and the
/// default budget would answer `no_match` to the owner as well.
fn policy() -> Policy {
    Policy {
        embedder: "arcface-512".to_owned(),
        threshold: Threshold::FmrClass(Threshold::DEFAULT_CLASS),
        audiences: vec![AUDIENCE.to_owned()],
        proof: ProofNeed::Credential,
        level_min: LEVEL,
        attempts: AttemptPolicy::UNLIMITED,
        attestation_lifetime_s: trefoil_attest::LIFETIME_SECONDS_MAX,
        dimension: 512,
        previous: None,
        sessions_in_memory: None,
        probe: ProbeMode::Plain,
    }
}

async fn demonstrate(
    arguments: &Arguments,
    policy: Policy,
    plan: Arc<Plan>,
    directory: &Path,
) -> Result<Report, DemoError> {
    let progress = Progress::new();
    let service = Service::start(arguments, directory).await?;
    let tenant = service.create_tenant(policy).await?;
    let client = service.client(&tenant, arguments.connections()).await?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let people = plan.people();
    let population =
        Population::issue(people, TenantId::new(tenant.tenant_id.0), tenant.policy_id, unix_now())?;
    let registered = service.admin.register_issuer_key(tenant.tenant_id, &population.issuer).await;
    registered.map_err(DemoError::call("issuer key"))?.without_verification();
    let published = client.publish_root(&population.root).await;
    published.map_err(DemoError::call("credential root"))?.without_verification();
    let clients = Clients::new(client.clone(), Arc::clone(&plan), population.holders, processors);

    let stage = progress.stage("enrol", people);
    clients.enrol(&stage).await?;
    let enrol = stage.finish(&format!("{people} people, blinded and encrypted"));
    let stage = progress.stage("prove", people);
    clients.open_sessions(&stage).await?;
    let prove = stage.finish(&format!("{people} zero-knowledge proofs, {people} sessions"));

    let attempts = plan.attempts.len();
    let under_load = attempts - ALONE_MAX.min(attempts / 4);
    let before = service.status().await?;
    let stage = progress.stage("log in", attempts);
    let mut logins = clients.log_in(0..under_load, arguments.concurrency.into(), &stage).await?;
    let log_in = stage.elapsed();
    let status = service.status().await?;
    logins.extend(clients.log_in(under_load..attempts, 1, &stage).await?);
    stage.finish(&format!("{attempts} logins, half of them false"));

    let trust_root = client.keys().await.map_err(DemoError::call("keys"))?;
    let stage = progress.stage("verify", attempts);
    let (audited, trust_root, logins, stage) = {
        let of = Arc::clone(&clients);
        let (plan, tenant, trust_root, stage) = (Arc::clone(&plan), tenant.tenant_id.0, trust_root, stage);
        let work = move || {
            (
                audit(&mut logins, &of, &plan, TenantId::new(tenant), &trust_root, &stage),
                trust_root,
                logins,
                stage,
            )
        };
        tokio::task::spawn_blocking(work).await.map_err(|cause| DemoError::step("verification", &cause))?
    };
    let verify = stage.finish(&format!("{} attestations, offline", audited.verified));
    let kept = typical(&logins, &plan);
    let login = match kept {
        Some(login) => {
            let key = clients.account_key(login.attempt).id();
            Some(KeptLogin::save(&arguments.out, login, TenantId::new(tenant.tenant_id.0), key, &trust_root)?)
        }
        None => None,
    };
    service.stop().await?;

    let [enrol, prove, log_in, verify] = [enrol, prove, log_in, verify].map(|took| took.as_secs_f64());
    let results = Results {
        plan: &plan,
        logins: &logins,
        under_load,
        audit: audited,
        cache_hit_ratio: cache_hit_ratio(&before, &status),
        stages_us: StagesUs::of(&status).ok_or_else(|| DemoError::step("status", &"a stage is missing"))?,
        status,
        seconds: Seconds { enrol, prove, log_in, verify },
        sent_again: clients.sent_again(),
        login,
    };
    Ok(Report::new(arguments.setting(processors), results))
}

impl Arguments {
    fn connections(&self) -> usize {
        usize::from(self.concurrency).div_ceil(STREAMS_PER_CONNECTION)
    }

    fn setting(&self, processors: usize) -> Setting {
        let workers = (self.workers > 0).then_some(usize::from(self.workers));
        Setting {
            workers: Placement::new(workers, Pin::Auto).workers(),
            processors,
            concurrency: self.concurrency.into(),
            connections: self.connections(),
            seed: self.seed,
        }
    }
}

/// The service under demonstration and its operator.
struct Service {
    server: Server,
    admin: Admin,
    certificate: Vec<u8>,
}

impl Service {
    async fn start(arguments: &Arguments, directory: &Path) -> Result<Service, DemoError> {
        let mut config = Config::embedded();
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        config.server.data_dir = directory.join("data");
        config.server.listen = loopback;
        config.server.admin_listen = loopback;
        config.server.issuer = ISSUER.to_owned();
        config.pipeline.workers = arguments.workers.into();
        // Half of its logins are impostors, on purpose.
        config.limits.distinct_failures = 0;
        let server = Server::start(config, Arc::new(SystemClock::default())).await;
        let server = server.map_err(|cause| DemoError::step("service", &cause))?;
        let certificate = std::fs::read(server.certificate_path());
        let certificate = certificate.map_err(|cause| DemoError::step("certificate", &cause))?;
        let address = format!("https://{}", server.admin_address());
        let admin = Admin::new(&address, &certificate, server.admin_token());
        let admin = admin.map_err(DemoError::call("admin client"))?;
        Ok(Service { server, admin, certificate })
    }

    async fn create_tenant(&self, policy: Policy) -> Result<CreatedTenant, DemoError> {
        let tenant = CreateTenant { name: "demonstration".to_owned(), policy };
        let created = self.admin.create_tenant(&tenant).await.map_err(DemoError::call("tenant"))?;
        // The demonstration verifies its logins, each of them, after the load.
        Ok(created.without_verification())
    }

    async fn client(&self, tenant: &CreatedTenant, connections: usize) -> Result<Client, DemoError> {
        let scopes = vec![Scope::Enrol, Scope::Authenticate, Scope::Issue];
        let key = self.admin.create_api_key(tenant.tenant_id, scopes).await;
        let key = key.map_err(DemoError::call("API key"))?.without_verification();
        let address = format!("https://{}", self.server.public_address());
        Client::new(&address, &self.certificate, &key.api_key, connections).map_err(DemoError::call("client"))
    }

    async fn status(&self) -> Result<ServiceStatus, DemoError> {
        self.admin.status().await.map_err(DemoError::call("status"))
    }

    async fn stop(self) -> Result<(), DemoError> {
        match self.server.shutdown().await {
            true => Ok(()),
            false => Err(DemoError::step("shutdown", &"requests were still in flight")),
        }
    }
}

/// A login that succeeded as it should.
fn typical<'a>(logins: &'a [Login], plan: &Plan) -> Option<&'a Login> {
    logins.iter().find(|login| plan.attempts[login.attempt].genuine && login.decision == Decision::Match)
}
