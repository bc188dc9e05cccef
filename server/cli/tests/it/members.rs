//! Members of a credential tree whose proofs are made for one root after another.

use crate::http::Reply;
use crate::service::{AUDIENCE, Customer, Service};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_api::{AttestationForm, Authentication, Nonce, Vector};
use trefoil_client::{Client, Holder, HolderSession, Membership};
use trefoil_pipeline::Clock as _;
use trefoil_types::TenantId;
use trefoil_zkp::{Attributes, CredentialTree, Digest, Secret, Witness, commitment, leaf};

/// Level of every member; the tests' policy asks for 2.
const LEVEL: u8 = 2;

pub(crate) struct Members {
    tree: CredentialTree,
    members: Vec<Member>,
    epoch: u32,
    tenant: TenantId,
}

struct Member {
    secret: [u8; 32],
    attributes: Attributes,
    face: [f32; 128],
}

/// A session that its holder proved, and that holder.
pub(crate) struct Proven {
    pub(crate) member: usize,
    pub(crate) envelope: Vec<u8>,
    pub(crate) session: HolderSession,
}

impl Members {
    pub(crate) fn new(service: &Customer, count: usize, seed: u64) -> Members {
        let mut rng = StdRng::seed_from_u64(seed);
        let epoch = trefoil_zkp::epoch_at(service.clock.unix_s());
        let (mut tree, mut members) = (CredentialTree::new(), Vec::new());
        for index in 0..count as u32 {
            let secret = Secret::random(&mut rng);
            let attributes = Attributes::new(epoch + 100, LEVEL, 0, index, &mut rng).unwrap();
            tree.update(index, leaf(&commitment(&secret), &attributes)).unwrap();
            let face = std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0);
            members.push(Member { secret: *secret.to_bytes(), attributes, face });
        }
        Members { tree, members, epoch, tenant: service.tenant }
    }

    /// Members under the first root of a service, enrolled.
    pub(crate) async fn enrolled(service: &Customer, count: usize, seed: u64) -> Members {
        let members = Members::new(service, count, seed);
        service.publish(members.root(), 1).await;
        for member in 0..count {
            members.enrol(service, member).await;
        }
        members
    }

    pub(crate) fn root(&self) -> [u8; 32] {
        self.tree.root().to_bytes()
    }

    pub(crate) fn face(&self, member: usize) -> [f32; 128] {
        self.members[member].face
    }

    /// Takes a member out of the tree.
    pub(crate) fn revoke(&mut self, member: usize) {
        self.tree.update(member as u32, Digest::ZERO).unwrap();
    }

    /// A holder under the tree as it is now.
    pub(crate) fn holder(&self, member: usize, root_generation: u32) -> Holder {
        let Member { secret, attributes, .. } = &self.members[member];
        let (secret, attributes) = (Secret::from_bytes(secret).unwrap(), *attributes);
        let index = member as u32;
        let witness = Witness { secret, attributes, index, path: self.tree.path(index).unwrap() };
        let membership = Membership { tenant: self.tenant, policy_id: 1, root_generation, level: LEVEL };
        Holder::new(witness, membership)
    }

    /// Enrols a member's face.
    pub(crate) async fn enrol(&self, service: &Customer, member: usize) {
        let key = hex::encode(self.holder(member, 0).handle().0);
        self.enrol_again(service, member, &key).await;
    }

    /// The same under another idempotency key, for a member who was enrolled before.
    pub(crate) async fn enrol_again(&self, service: &Customer, member: usize, key: &str) {
        let handle = self.holder(member, 0).handle().0;
        service.public.enrol(handle, &self.face(member), key).await.is(201);
    }

    /// A session of a member, proven and opened now.
    pub(crate) async fn open(&self, service: &Customer, member: usize, root: u32, audience: &str) -> Wallet {
        let (holder, now) = (self.holder(member, root), service.clock.unix_s());
        let proven = holder.open(audience, now, &mut rand::rng()).unwrap();
        let opened = service.open(&proven.envelope).await.is(201);
        let expires_at = opened.json()["expires_at"].as_u64().unwrap();
        Wallet { session: proven.session, envelope: proven.envelope, expires_at, face: self.face(member) }
    }

    /// A proof of a member under the tree as it is now, made when it is `now` for the member.
    pub(crate) fn prove_at(&self, member: usize, root_generation: u32, now: u64) -> Proven {
        let opened = self.holder(member, root_generation).open(AUDIENCE, now, &mut rand::rng()).unwrap();
        Proven { member, envelope: opened.envelope, session: opened.session }
    }

    /// A client of the service.
    pub(crate) fn client(&self, service: &Service, connections: usize) -> Client {
        client(service, service.public.bearer.as_deref().unwrap(), connections)
    }

    /// A proof of a member under the tree as it is now.
    pub(crate) fn prove(&self, member: usize, root_generation: u32, seed: u64) -> Proven {
        let now = u64::from(self.epoch) * trefoil_zkp::EPOCH_SECONDS;
        let holder = self.holder(member, root_generation);
        let opened = holder.open(AUDIENCE, now, &mut StdRng::seed_from_u64(seed)).unwrap();
        Proven { member, envelope: opened.envelope, session: opened.session }
    }
}

/// An open session.
pub(crate) struct Wallet {
    pub(crate) session: HolderSession,
    pub(crate) envelope: Vec<u8>,
    pub(crate) expires_at: u64,
    face: [f32; 128],
}

impl Wallet {
    /// A request that shows the own face.
    pub(crate) fn request(&mut self, service: &Customer) -> Authentication {
        let nonce = Nonce::new(rand::random::<[u8; 16]>().to_vec()).unwrap();
        let (face, now) = (Vector::new(self.face), service.clock.unix_s());
        self.session.authentication(face, nonce, now, AttestationForm::Full)
    }

    pub(crate) async fn log_in(&mut self, service: &Customer) -> Reply {
        let request = self.request(service);
        service.authenticate(&request).await
    }
}

impl Proven {
    /// A request that shows `face`. Nonces of one session must differ.
    pub(crate) fn request(&self, service: &Service, face: &[f32; 128], nonce: u64) -> Authentication {
        let nonce = Nonce::new([nonce.to_le_bytes(); 2].concat()).unwrap();
        let (face, now) = (Vector::new(*face), service.clock.unix_s());
        self.session.authentication(face, nonce, now, AttestationForm::Compact)
    }
}

/// The typed client, for many requests over few connections.
pub(crate) fn client(service: &Service, api_key: &str, connections: usize) -> Client {
    let certificate = std::fs::read(service.server.certificate_path()).unwrap();
    let address = format!("https://{}", service.server.public_address());
    Client::new(&address, &certificate, api_key, connections).unwrap()
}
