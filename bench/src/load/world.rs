//! A tenant of a service, and people of it with open sessions.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use trefoil_types::TenantId;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_api::{CreateTenant, Enrolment, Vector};
use trefoil_attest::TrustRoot;
use trefoil_client::{Admin, Client, ClientError, Holder, HolderSession, Membership};
use trefoil_issuer::{public_key, sign};
use trefoil_pipeline::Clock as _;
use trefoil_server::config::Config;
use trefoil_service::login::clock::SystemClock;
use trefoil_service::tenants::tenant::{AttemptPolicy, Policy, ProbeMode, ProofNeed, Scope, Threshold};
use trefoil_sign::{MlDsa65, SignatureFamily as _};
use trefoil_wallet::credentials::RootStatement;
use trefoil_zkp::epoch_at;
use zeroize::Zeroizing;

use crate::Failure;
use crate::population::{LEVEL, credentials};

pub(super) const AUDIENCE: &str = "shop.example";
/// Proofs are dated this far ahead, so that no session ends with its epoch during a run.
const AHEAD_S: u64 = 600;

/// See the module.
pub(super) struct World {
    honest: Client,
    flooder: Arc<Client>,
    /// API key of the honest clients.
    api_key: String,
    people: Vec<(HolderSession, Vector)>,
    proofs: Vec<Vec<u8>>,
}

/// Addresses, certificate and admin token of a service.
pub(super) struct Reached {
    pub(super) admin: SocketAddr,
    pub(super) public: SocketAddr,
    pub(super) certificate: Vec<u8>,
    pub(super) token: String,
}

/// The embedded defaults with this data directory, on free ports.
pub(super) fn config(data_dir: std::path::PathBuf) -> Config {
    let mut config = Config::embedded();
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.server.data_dir = data_dir;
    (config.server.listen, config.server.admin_listen) = (loopback, loopback);
    config.proofs.session_life_s = 3600;
    config
}

impl World {
    /// A new tenant, and `people` with open sessions, whose faces have so many numbers.
    pub(super) async fn at(
        reached: &Reached,
        tenant: &str,
        people: usize,
        numbers: usize,
    ) -> Result<World, Failure> {
        let Reached { certificate, token, .. } = reached;
        let address = format!("https://{}", reached.admin);
        let admin = Admin::new(&address, certificate, token).map_err(call("admin"))?;
        let tenant = CreateTenant { name: tenant.to_owned(), policy: policy(numbers) };
        // A measurement takes the answers to its own preparations as they come.
        let tenant = admin.create_tenant(&tenant).await.map_err(call("tenant"))?.without_verification();
        let address = format!("https://{}", reached.public);
        let client = async |scopes, connections| -> Result<(Client, String), Failure> {
            let key = admin.create_api_key(tenant.tenant_id, scopes).await;
            let key = key.map_err(call("API key"))?.without_verification();
            let client =
                Client::new(&address, certificate, &key.api_key, connections).map_err(call("client"))?;
            Ok((client, key.api_key.to_string()))
        };
        let (honest, api_key) = client(vec![Scope::Enrol, Scope::Authenticate, Scope::Issue], 2).await?;
        // 64 streams at one time on a connection, so that the flooder is not held back by its own connections.
        let (flooder, _) = client(vec![Scope::Authenticate], 4).await?;
        let membership = Membership {
            tenant: TenantId::new(tenant.tenant_id.0),
            policy_id: tenant.policy_id,
            root_generation: 1,
            level: LEVEL,
        };
        let holders = issue(people, numbers, &membership, &admin, &honest).await?;
        let mut world = World { honest, flooder: flooder.into(), api_key, people: vec![], proofs: vec![] };
        for (holder, face) in holders {
            // A second session of each, never opened, because a known proof is not verified again.
            let unopened = holder.open(AUDIENCE, unix_now() + AHEAD_S, &mut rand::rng());
            world.proofs.push(unopened.map_err(Failure::in_step("proof"))?.envelope);
            world.welcome(&holder, face).await?;
        }
        Ok(world)
    }

    async fn welcome(&mut self, holder: &Holder, face: Vector) -> Result<(), Failure> {
        let enrolment = Enrolment::of(vec![face.clone()], "measurement");
        let key = hex::encode(holder.handle().0);
        let enrolled = self.honest.enrol(holder.handle(), &enrolment, &key).await;
        enrolled.map_err(call("enrolment"))?.without_verification();
        let opened = holder.open(AUDIENCE, unix_now() + AHEAD_S, &mut rand::rng());
        let opened = opened.map_err(Failure::in_step("proof"))?;
        let session = self.honest.open_session(opened.envelope).await;
        session.map_err(call("session"))?.without_verification();
        self.people.push((opened.session, face));
        Ok(())
    }

    /// One of them, in turn.
    pub(super) fn person(&self, number: usize) -> &(HolderSession, Vector) {
        &self.people[number % self.people.len()]
    }

    pub(super) fn api_key(&self) -> &str {
        &self.api_key
    }

    pub(super) fn flooder(&self) -> &Arc<Client> {
        &self.flooder
    }

    /// An upload of the right size and form, for a session that is not open, whose proof is wrong in one bit past the
    /// first grinding check.
    pub(super) fn invalid(&self, lane: usize) -> Vec<u8> {
        let mut bytes = self.proofs[lane % self.proofs.len()].clone();
        let at = bytes.len() / 3 + lane;
        bytes[at] ^= 1;
        bytes
    }

    /// The trust root that a relying party pins.
    pub(super) async fn trust_root(&self) -> Result<TrustRoot, Failure> {
        self.honest.keys().await.map_err(call("trust root"))
    }
}

/// Credentials for people under a published root, each with a face.
async fn issue(
    people: usize,
    numbers: usize,
    membership: &Membership,
    admin: &Admin,
    client: &Client,
) -> Result<Vec<(Holder, Vector)>, Failure> {
    let (mut rng, now) = (StdRng::seed_from_u64(1), unix_now());
    let count = u32::try_from(people).map_err(Failure::in_step("people"))?;
    let (witnesses, tree) = credentials(0..count, epoch_at(now), &mut rng)?;
    let mut key = MlDsa65::generate(&mut rng).map_err(Failure::in_step("issuer key"))?;
    let public = public_key(&key);
    let statement = RootStatement {
        tenant: membership.tenant,
        generation: membership.root_generation,
        generation_min: membership.root_generation,
        root: tree.root(),
        issued_at: now,
        previous: [0; 32],
        key_id: public.id(),
    };
    let signed = sign(&statement, &mut key, &mut rng).map_err(Failure::in_step("root"))?;
    let tenant = trefoil_api::Hex(membership.tenant.to_bytes());
    let registered = admin.register_issuer_key(tenant, &public).await;
    registered.map_err(call("issuer key"))?.without_verification();
    client.publish_root(&signed).await.map_err(call("root"))?.without_verification();
    let holder = |witness| {
        let normal = |_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
        let face = Vector::of(Zeroizing::new((0..numbers).map(normal).collect()));
        let face = face.ok_or_else(|| Failure::usage("a face has 2 to 512 numbers"))?;
        Ok((Holder::new(witness, membership.clone()), face))
    };
    witnesses.into_iter().map(holder).collect()
}

fn policy(numbers: usize) -> Policy {
    Policy {
        embedder: "random".to_owned(),
        threshold: Threshold::Calibrated { score: 18_000, fmr_class: 3 },
        audiences: vec![AUDIENCE.to_owned()],
        proof: ProofNeed::Credential,
        level_min: LEVEL,
        attempts: AttemptPolicy::UNLIMITED,
        attestation_lifetime_s: trefoil_attest::LIFETIME_SECONDS_MAX,
        dimension: numbers as u32,
        previous: None,
        sessions_in_memory: None,
        probe: ProbeMode::Plain,
    }
}

pub(super) fn unix_now() -> u64 {
    SystemClock::default().unix_s()
}

fn call(step: &'static str) -> impl FnOnce(ClientError) -> Failure {
    Failure::in_step(step)
}
