//! The typed client gives no content of an answer unless what the service attests verifies, or the caller says so: a gateway that lies is
//! found out, whatever it lies about.

use crate::members::Wallet;
use crate::relay::Relay;
use crate::world::*;
use trefoil_api::{
    Authenticated, CreateOperator, CreateTenant, Enrolment, Nonce, Policy, Role, RotationState, Scope,
    UnprovenAuthentication,
};
use trefoil_attest::{Seal, TrustRoot, VerifyError};
use trefoil_client::{Admin, Client, ClientError, LoginError, ReceiptError, Receipted, Unverified};
use trefoil_types::TenantId;

/// A service behind gateways that may lie, and the trust root of another service.
struct House {
    service: Service,
    public: Relay,
    admin: Relay,
    foreign: TrustRoot,
}

impl House {
    async fn new() -> House {
        let foreign = Service::start().await.trust_root.clone();
        let policy = service::with(service::policy(), "attempts", service::unlimited());
        let service = Service::own(policy, |_| ()).await;
        let (public, admin) = (Relay::to(&service.public).await, Relay::to(&service.admin).await);
        House { service, public, admin, foreign }
    }

    fn client(&self) -> Client {
        self.public.client(self.service.public.bearer.as_deref().unwrap())
    }

    fn now(&self) -> u64 {
        self.service.clock.unix_s()
    }

    async fn seal(&self, number: u64) -> Seal {
        let seal = self.service.public.get(&format!("/v1/seals/{number}")).await;
        Seal::decode(&seal.body).unwrap()
    }

    /// Verifies a receipt, with its seal if it is compact.
    async fn verified<T: Receipted + Clone>(
        &self,
        answer: Unverified<T>,
        root: &TrustRoot,
        tenant: Option<&TenantId>,
    ) -> Result<T, ReceiptError> {
        match answer.clone().verified(root, tenant, self.now()) {
            Err(ReceiptError::Receipt(VerifyError::SealNeeded(named))) => {
                let seal = self.seal(named.seal_number).await;
                answer.with_seal(seal).verified(root, tenant, self.now())
            }
            verified => verified,
        }
    }

    /// Makes a change: its receipt verifies, and no other does. Each of these members of the answer is in the receipt.
    async fn check<T: Receipted + Clone>(
        &self,
        gateway: &Relay,
        members: &[&str],
        change: impl AsyncFn() -> Result<Unverified<T>, ClientError>,
    ) -> T {
        let before = gateway.told();
        let honest = change().await.unwrap();
        let told = gateway.told();
        assert_eq!(honest.seal_number(), told["receipt"]["seal_number"].as_u64(), "{told:.200}");
        let root = &self.service.trust_root;
        let foreign = self.verified(honest.clone(), &self.foreign, None).await.err();
        assert!(matches!(foreign, Some(ReceiptError::Receipt(VerifyError::UnknownKeySet(_)))), "{foreign:?}");
        let elsewhere = self.verified(honest.clone(), root, Some(&TenantId::new([9; 16]))).await.err();
        assert!(matches!(elsewhere, Some(ReceiptError::Receipt(VerifyError::Tenant))), "{elsewhere:?}");

        let lied = async |path: &str, value: Value| {
            let mut lie = told.clone();
            *lie.pointer_mut(path).unwrap_or_else(|| panic!("{path}: {told:.200}")) = value;
            gateway.lie(Some(lie));
            let refused = self.verified(change().await.unwrap(), root, None).await.err();
            gateway.lie(None);
            refused
        };
        let missing = lied("/receipt", Value::Null).await;
        assert!(matches!(missing, Some(ReceiptError::Missing)), "{missing:?}: {told:.200}");
        let mut lies = vec![("/receipt/id".to_owned(), json!("00".repeat(32)))];
        lies.push(("/receipt/seal_number".to_owned(), json!(1_000_000)));
        if before["receipt"].is_object() {
            lies.push(("/receipt".to_owned(), before["receipt"].clone()));
        }
        for member in members {
            lies.push((format!("/{member}"), other(&told[*member])));
        }
        for (path, value) in lies {
            let differs = lied(&path, value).await;
            assert!(matches!(differs, Some(ReceiptError::Differs)), "{path}: {differs:?}: {told:.200}");
        }
        self.verified(honest, root, None).await.unwrap()
    }
}

/// Another value of the same kind.
fn other(value: &Value) -> Value {
    match value {
        Value::String(digits) => {
            let first = if digits.starts_with('0') { "1" } else { "0" };
            json!(first.to_owned() + &digits[1..])
        }
        Value::Null => json!(1),
        number => json!(number.as_u64().unwrap() + 1),
    }
}

fn policy(proof: &str) -> Policy {
    let mut policy = service::policy();
    policy["proof"] = json!(proof);
    policy["level_min"] = json!(if proof == "none" { 0 } else { 2 });
    serde_json::from_value(policy).unwrap()
}

fn enrolment(face: [f32; 128]) -> Enrolment {
    Enrolment::of(vec![Vector::new(face)], "form 7")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receipt_of_every_change_of_a_tenant_verifies_and_none_of_another() {
    let house = House::new().await;
    let (service, client) = (&house.service, house.client());
    let members = Members::new(service, 2, 71);
    let root = service.next_root(members.root(), 1, 1);
    // The first change that the gateway sees.
    client.tenant().await.unwrap();
    let of = ["generation", "generation_min", "head"];
    house.check(&house.public, &of, async || client.publish_root(&root).await).await;
    let [ann, bob] = [0, 1].map(|member| members.holder(member, 1));
    let (subject, face) = (["handle", "generation"], enrolment(members.face(0)));
    let enrol = async || client.enrol(ann.handle(), &face, "ann").await;
    assert_eq!(house.check(&house.public, &subject, enrol).await.handle, ann.handle());
    // Its receipt is compared with that of the other subject.
    let other = enrolment(members.face(1));
    let enrol = async || client.enrol(bob.handle(), &other, "bob").await;
    assert_eq!(house.check(&house.public, &subject, enrol).await.generation, 1);
    let replace = async || client.replace(ann.handle(), &face, "again").await;
    let replaced = house.check(&house.public, &["handle", "generation", "replaced"], replace).await;
    assert_eq!((replaced.generation, replaced.replaced), (2, 1));

    let proven = ann.open(AUDIENCE, house.now(), &mut rand::rng()).unwrap();
    let open = async || client.open_session(proven.envelope.clone()).await;
    let opened = house.check(&house.public, &["session_id", "expires_at"], open).await;
    assert_eq!(opened.session_id, proven.session.id());
    let again = client.open_session(proven.envelope.clone()).await.unwrap();
    let missing = house.verified(again, &service.trust_root, None).await;
    assert!(matches!(missing, Err(ReceiptError::Missing)), "it was open already");
    let end = async || client.end_session(opened.session_id).await;
    house.check(&house.public, &["session_id"], end).await;
    house.check(&house.public, &subject, async || client.revoke(ann.handle()).await).await;
    house.check(&house.public, &subject, async || client.erase(bob.handle()).await).await;

    // A consent is in the receipt by its digest: that of another one is another receipt.
    let consented = client.enrol(bob.handle(), &other, "anew").await.unwrap();
    house.verified(consented, &service.trust_root, Some(&service.tenant)).await.unwrap();
    house.public.lie(Some(house.public.told()));
    let elsewhere = Enrolment { consent_ref: "form 8".to_owned(), ..other };
    let refused = client.enrol(bob.handle(), &elsewhere, "anew").await.unwrap();
    let refused = house.verified(refused, &service.trust_root, None).await;
    assert!(matches!(refused, Err(ReceiptError::Differs)), "{refused:?}");
}

/// Claim V59.
#[tokio::test(flavor = "multi_thread")]
async fn the_receipt_of_every_change_by_an_operator_verifies_and_none_of_another() {
    let house = House::new().await;
    let service = &house.service;
    let admin = house.admin.operator(service.admin.bearer.as_deref().unwrap());
    admin.status().await.unwrap();
    let request = CreateTenant { name: "second".to_owned(), policy: policy("credential") };
    let create = async || admin.create_tenant(&request).await;
    let tenant = house.check(&house.admin, &["tenant_id"], create).await.tenant_id;
    // The same receipt says nothing of a tenant that asks for no proof.
    house.admin.lie(Some(house.admin.told()));
    let without = CreateTenant { policy: policy("none"), ..request };
    let refused = admin.create_tenant(&without).await.unwrap();
    let refused = house.verified(refused, &service.trust_root, None).await;
    assert!(matches!(refused, Err(ReceiptError::Differs)), "{refused:?}");
    house.admin.lie(None);

    let create = async || admin.create_api_key(tenant, vec![Scope::Enrol, Scope::Issue]).await;
    let key = house.check(&house.admin, &["id"], create).await;
    house.admin.lie(Some(json!({ "api_key": key.api_key, "id": key.id, "receipt": key.receipt })));
    let refused = admin.create_api_key(tenant, vec![Scope::Enrol]).await.unwrap();
    let refused = house.verified(refused, &service.trust_root, None).await;
    assert!(matches!(refused, Err(ReceiptError::Differs)), "its key may do more");
    house.admin.lie(None);
    let stricter = Policy { attestation_lifetime_s: 60, ..policy("credential") };
    let of = ["policy_id", "policy_version", "policy_digest"];
    let set = async || admin.set_policy(tenant, &stricter, None).await;
    assert_eq!(house.check(&house.admin, &of, set).await.version.policy_version, 2);
    let revoke = async || admin.revoke_api_key(tenant, key.id).await;
    house.check(&house.admin, &["id"], revoke).await;
    let issuer = trefoil_issuer::public_key(&service.issuer.lock().unwrap().0);
    let register = async || admin.register_issuer_key(tenant, &issuer).await;
    house.check(&house.admin, &["key_id"], register).await;
    // The key-holder of a fleet is a process of its own, and does this for its own operator only.
    if !store::is_fleet() {
        changes_at_the_key_holder(&house, &admin).await;
    }

    let viewer = CreateOperator { name: "ann".to_owned(), role: Role::Viewer, expires_at: None };
    let create = async || admin.create_operator(&viewer).await;
    let operator = house.check(&house.admin, &["operator_id"], create).await.operator_id;
    let create = async || admin.create_operator_token(operator, None).await;
    let number = house.check(&house.admin, &["operator_id", "number"], create).await.number;
    let revoke = async || admin.revoke_operator_token(operator, number).await;
    house.check(&house.admin, &["operator_id"], revoke).await;
    let revoke = async || admin.revoke_operator(operator).await;
    house.check(&house.admin, &["operator_id"], revoke).await;

    let of = ["tenant_id"];
    house.check(&house.admin, &of, async || admin.set_tenant_disabled(tenant, true).await).await;
    house.check(&house.admin, &of, async || admin.set_tenant_disabled(tenant, false).await).await;
    admin.set_tenant_disabled(tenant, true).await.unwrap().without_verification();
    let again = admin.set_tenant_disabled(tenant, true).await.unwrap();
    let missing = house.verified(again, &service.trust_root, None).await;
    assert!(matches!(missing, Err(ReceiptError::Missing)), "it was disabled already");
    let delete = async || admin.delete_tenant(tenant).await;
    house.check(&house.admin, &["tenant_id", "templates"], delete).await;
}

async fn changes_at_the_key_holder(house: &House, admin: &Admin) {
    let service = &house.service;
    let (members, tenant) = (Members::new(service, 1, 72), Hex(service.tenant.to_bytes()));
    service.publish(members.root(), 1).await;
    members.enrol(service, 0).await;
    let handle = members.holder(0, 1).handle();
    house.check(&house.admin, &[], async || admin.reset_malformed(tenant).await).await;
    house.check(&house.admin, &[], async || admin.reset_attempts(tenant, handle).await).await;
    let rotate = async || admin.rotate_keys(tenant).await;
    house.check(&house.admin, &["tenant", "epoch"], rotate).await;
    until(async || admin.key_rotation(tenant).await.unwrap().state == RotationState::Idle).await;
}

/// Each lie about a login that a gateway can tell, in the answer or in its attestation.
fn lies(told: &Value, earlier: &Value) -> Vec<Value> {
    let with = |member: &str, value: Value| {
        let mut lie = told.clone();
        lie[member] = value;
        lie
    };
    let denied = if told["decision"] == "match" { "no_match" } else { "match" };
    vec![
        with("decision", json!(denied)),
        with("id", other(&told["id"])),
        with("seal_number", other(&told["seal_number"])),
        with("attestation", earlier["attestation"].clone()),
        earlier.clone(),
    ]
}

/// Claim I12: The Rust client shows no content before its attestation or receipt verifies.
#[tokio::test(flavor = "multi_thread")]
async fn logins_of_every_form_verify_and_no_lie_about_them_does() {
    let house = House::new().await;
    let (service, client) = (&house.service, house.client());
    let (root, now) = (&service.trust_root, house.now());
    let members = Members::new(service, 1, 73);
    service.publish(members.root(), 1).await;
    members.enrol(service, 0).await;
    let mut wallet: Wallet = members.open(service, 0, 1, AUDIENCE).await;
    let mut request = |form| {
        let request = wallet.request(service);
        trefoil_api::Authentication { attestation: form, ..request }
    };
    let (first, full) = (request(AttestationForm::Full), request(AttestationForm::Full));
    let (compact, none) = (request(AttestationForm::Compact), request(AttestationForm::None));
    let [one, two] = [(); 2].map(|()| request(AttestationForm::Full));
    let session = &wallet.session;
    client.authenticate(&first).await.unwrap().verified(session, &first, root, now).unwrap();
    let earlier = house.public.told();

    let answer = client.authenticate(&full).await.unwrap();
    let told = house.public.told();
    let foreign = answer.clone().verified(session, &full, &house.foreign, now);
    assert!(matches!(foreign, Err(LoginError::Attestation(VerifyError::UnknownKeySet(_)))), "{foreign:?}");
    let late = answer.clone().verified(session, &full, root, now + 3600);
    assert!(matches!(late, Err(LoginError::Attestation(VerifyError::Expired { .. }))), "{late:?}");
    let login = answer.verified(session, &full, root, now).unwrap();
    assert_eq!((login.decision, login.account), (Decision::Match, session.account()));
    for lie in lies(&told, &earlier) {
        house.public.lie(Some(lie));
        let refused = client.authenticate(&full).await.unwrap().verified(session, &full, root, now);
        assert!(matches!(refused, Err(LoginError::Attestation(_) | LoginError::Differs)), "{refused:?}");
    }
    let mut bare = told.clone();
    bare.as_object_mut().unwrap().remove("attestation");
    house.public.lie(Some(bare));
    let refused = client.authenticate(&full).await.unwrap().verified(session, &full, root, now);
    assert!(matches!(refused, Err(LoginError::Unattested)), "{refused:?}");
    house.public.lie(None);

    let answer = client.authenticate(&compact).await.unwrap();
    let refused = answer.clone().verified(session, &compact, root, now);
    assert!(matches!(refused, Err(LoginError::Attestation(VerifyError::SealNeeded(_)))), "{refused:?}");
    let other = house.seal(answer.seal_number() - 1).await;
    let refused = answer.clone().with_seal(other).verified(session, &compact, root, now);
    assert!(matches!(refused, Err(LoginError::Attestation(VerifyError::OtherSeal(_)))), "{refused:?}");
    let seal = client.seal(answer.seal_number()).await.unwrap();
    answer.with_seal(seal).verified(session, &compact, root, now).unwrap();

    // Without its attestation it is a decision that nobody can verify.
    let answer = client.authenticate(&none).await.unwrap();
    let refused = answer.verified(session, &none, root, now);
    assert!(matches!(refused, Err(LoginError::Unattested)), "{refused:?}");

    let requests = [one, two];
    let answers = client.authenticate_many(&requests).await.unwrap();
    for (answer, request) in answers.into_iter().zip(&requests) {
        answer.unwrap().verified(session, request, root, now).unwrap();
    }
    // The right attestations, each in the place of the other.
    let mut swapped = house.public.told();
    swapped["results"].as_array_mut().unwrap().swap(0, 1);
    house.public.lie(Some(swapped));
    for (answer, request) in client.authenticate_many(&requests).await.unwrap().into_iter().zip(&requests) {
        let refused = answer.unwrap().verified(session, request, root, now);
        assert!(matches!(refused, Err(LoginError::Attestation(VerifyError::Nonce))), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_without_a_proof_verify_for_their_tenant_and_no_lie_about_them_does() {
    let house = House::new().await;
    let (service, root, now) = (&house.service, &house.service.trust_root, house.now());
    let admin = house.admin.operator(service.admin.bearer.as_deref().unwrap());
    let request = CreateTenant { name: "app".to_owned(), policy: policy("none") };
    let created = admin.create_tenant(&request).await.unwrap().verified(root, None, now).unwrap();
    let scopes = vec![Scope::Enrol, Scope::Authenticate];
    let key = admin.create_api_key(created.tenant_id, scopes).await.unwrap();
    let client = house.public.client(&key.verified(root, None, now).unwrap().api_key);
    let (tenant, handle) = (TenantId::new(created.tenant_id.0), Hex([7; 32]));
    let face: [f32; 128] = std::array::from_fn(|at| (at as f32 * 0.7).sin());
    let enrolled = client.enrol(handle, &enrolment(face), "once").await.unwrap();
    enrolled.verified(root, Some(&tenant), now).unwrap();
    let request = |nonce: u8| UnprovenAuthentication {
        handle,
        audience: AUDIENCE.to_owned(),
        nonce: Nonce::new(vec![nonce; 16]).unwrap(),
        issued_at: now,
        embedding: Vector::new(face),
        embedder: None,
        source: None,
        attestation: AttestationForm::Full,
    };
    let [first, own] = [1, 2].map(request);
    let login = client.authenticate_unproven(&first).await.unwrap();
    let account = login.verified_unproven(tenant, &first, root, now).unwrap().account;
    let earlier = house.public.told();
    let verified =
        |answer: Unverified<Authenticated>, tenant, root| answer.verified_unproven(tenant, &own, root, now);
    let answer = client.authenticate_unproven(&own).await.unwrap();
    let told = house.public.told();
    let foreign = verified(answer.clone(), tenant, &house.foreign);
    assert!(matches!(foreign, Err(LoginError::Attestation(VerifyError::UnknownKeySet(_)))), "{foreign:?}");
    let elsewhere = verified(answer.clone(), service.tenant, root);
    assert!(matches!(elsewhere, Err(LoginError::Attestation(VerifyError::Tenant))), "{elsewhere:?}");
    assert_eq!(verified(answer, tenant, root).unwrap().account, account);
    for lie in lies(&told, &earlier) {
        house.public.lie(Some(lie));
        let refused = verified(client.authenticate_unproven(&own).await.unwrap(), tenant, root);
        assert!(matches!(refused, Err(LoginError::Attestation(_) | LoginError::Differs)), "{refused:?}");
    }
    house.public.lie(None);
    let requests = [3, 4].map(request);
    let answers = client.authenticate_many_unproven(&requests).await.unwrap();
    for (answer, request) in answers.into_iter().zip(&requests) {
        answer.unwrap().verified_unproven(tenant, request, root, now).unwrap();
    }
}
