//! A tenant that asks for no proof, and its people.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use trefoil_api::{
    AttestationForm, CreateTenant, Decision, Enrolment, Hex, Nonce, UnprovenAuthentication, Vector,
};
use trefoil_attest::TrustRoot;
use trefoil_client::{Admin, Client, ClientError};
use trefoil_service::tenant::{Policy, ProofNeed, Scope};
use trefoil_types::TenantId;

use crate::Failure;
use crate::flood::world::{AUDIENCE, Reached, policy, unix_now};

/// Connections of the client.
const CONNECTIONS: usize = 8;

/// See the module.
pub(super) struct Caller {
    pub(super) admin: Admin,
    client: Client,
    api_key: String,
    pub(super) tenant: Hex<16>,
    people: Vec<(Hex<32>, Vector)>,
    trust_root: TrustRoot,
    rng: StdRng,
    nonce: u64,
}

/// One login: milliseconds and the number of its seal.
pub(super) struct Answered {
    pub(super) ms: f64,
    pub(super) seal: u64,
    pub(super) is_match: bool,
}

impl Caller {
    /// A tenant at a service.
    pub(super) fn new(reached: &Reached, runtime: &Runtime) -> Result<Caller, Failure> {
        let Reached { certificate, token, .. } = reached;
        let admin =
            Admin::new(&format!("https://{}", reached.admin), certificate, token).map_err(call("admin"))?;
        let asks_none = Policy { proof: ProofNeed::None, level_min: 0, ..policy() };
        let tenant = CreateTenant { name: "size".to_owned(), policy: asks_none };
        let scopes = vec![Scope::Enrol, Scope::Authenticate];
        let made = runtime.block_on(async {
            let tenant = admin.create_tenant(&tenant).await.map_err(call("tenant"))?;
            let tenant = tenant.without_verification().tenant_id;
            let key = admin.create_api_key(tenant, scopes).await.map_err(call("API key"))?;
            Ok::<_, Failure>((tenant, key.without_verification()))
        });
        let (tenant, key) = made?;
        let api_key = key.api_key.to_string();
        let client = client(reached, &api_key)?;
        let trust_root = runtime.block_on(client.keys()).map_err(call("trust root"))?;
        let (people, rng, nonce) = (Vec::new(), StdRng::seed_from_u64(9), 0);
        Ok(Caller { admin, client, api_key, tenant, people, trust_root, rng, nonce })
    }

    /// The same at a service that was started again.
    pub(super) fn moved(self, reached: &Reached) -> Result<Caller, Failure> {
        let admin = Admin::new(&format!("https://{}", reached.admin), &reached.certificate, &reached.token);
        let client = client(reached, &self.api_key)?;
        Ok(Caller { admin: admin.map_err(call("admin"))?, client, ..self })
    }

    pub(super) fn people(&self) -> usize {
        self.people.len()
    }

    /// Enrols more people, so many at a time.
    pub(super) async fn enrol(&mut self, people: usize, in_flight: usize) -> Result<(), Failure> {
        let mut running = JoinSet::<Result<(), ClientError>>::new();
        for _ in 0..people {
            let face = std::array::from_fn(|_| (0..12).map(|_| self.rng.random::<f32>()).sum::<f32>() - 6.0);
            let (handle, face) = (Hex(self.rng.random()), Vector::new(face));
            let embedding = Some(face.clone());
            let enrolment =
                Enrolment { embedding, shares: None, issued_at: None, consent_ref: "form 1".to_owned() };
            if running.len() >= in_flight
                && let Some(enrolled) = running.join_next().await
            {
                enrolled.map_err(Failure::in_step("an enrolment's task"))?.map_err(call("enrolment"))?;
            }
            let client = self.client.clone();
            running.spawn(async move {
                let enrolled = client.enrol(handle, &enrolment, &hex::encode(handle.0)).await?;
                drop(enrolled.without_verification());
                Ok(())
            });
            self.people.push((handle, face));
        }
        while let Some(enrolled) = running.join_next().await {
            enrolled.map_err(Failure::in_step("an enrolment's task"))?.map_err(call("enrolment"))?;
        }
        Ok(())
    }

    fn request(&mut self, person: usize, attestation: AttestationForm) -> UnprovenAuthentication {
        self.nonce += 1;
        let (handle, face) = &self.people[person % self.people.len()];
        UnprovenAuthentication {
            handle: *handle,
            audience: AUDIENCE.to_owned(),
            nonce: Nonce::new([self.nonce.to_le_bytes(); 2].concat()).expect("16 bytes"),
            issued_at: unix_now(),
            embedding: face.clone(),
            source: None,
            attestation,
        }
    }

    /// A login whose time counts.
    pub(super) async fn log_in(&mut self, person: usize) -> Result<Answered, Failure> {
        let request = self.request(person, AttestationForm::Compact);
        let began = Instant::now();
        let answer = self.client.authenticate_unproven(&request).await.map_err(call("login"))?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        // Only the time counts here: `verified` verifies logins.
        let answer = answer.without_verification();
        Ok(Answered { ms, seal: answer.seal_number, is_match: answer.decision == Decision::Match })
    }

    /// A login whose attestation is verified offline. Returns whether it is a match.
    pub(super) async fn verified(&mut self, person: usize) -> Result<bool, Failure> {
        let request = self.request(person, AttestationForm::Full);
        let tenant = TenantId::new(self.tenant.0);
        let login = self.client.login_unproven(tenant, &request, &self.trust_root, unix_now()).await;
        let login = login.map_err(Failure::in_step("verify a login"))?;
        Ok(login.decision == Decision::Match)
    }

    /// Logins of these people with so many in flight.
    pub(super) async fn log_in_all(
        &mut self,
        people: impl Iterator<Item = usize>,
        in_flight: usize,
        until: Instant,
    ) -> Result<Vec<Answered>, Failure> {
        let (mut running, mut done) = (JoinSet::new(), Vec::new());
        for person in people {
            if Instant::now() >= until {
                break;
            }
            if running.len() >= in_flight
                && let Some(answered) = running.join_next().await
            {
                done.push(answered.map_err(Failure::in_step("a login's task"))??);
            }
            let (client, request) = (self.client.clone(), self.request(person, AttestationForm::Compact));
            running.spawn(async move {
                let began = Instant::now();
                let answer = client.authenticate_unproven(&request).await.map_err(call("login"))?;
                let ms = began.elapsed().as_secs_f64() * 1e3;
                let answer = answer.without_verification();
                let seal = answer.seal_number;
                Ok::<_, Failure>(Answered { ms, seal, is_match: answer.decision == Decision::Match })
            });
        }
        while let Some(answered) = running.join_next().await {
            done.push(answered.map_err(Failure::in_step("a login's task"))??);
        }
        Ok(done)
    }
}

fn client(reached: &Reached, api_key: &str) -> Result<Client, Failure> {
    let base = format!("https://{}", reached.public);
    Client::new(&base, &reached.certificate, api_key, CONNECTIONS).map_err(call("client"))
}

pub(super) fn call(step: &'static str) -> impl FnOnce(ClientError) -> Failure {
    Failure::in_step(step)
}
