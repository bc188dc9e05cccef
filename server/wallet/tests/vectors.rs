//! The vectors of `server/api/testdata`, from which a client in another language is checked: probe digests, request MACs, request digests
//! and proof envelopes. All inputs are fixed, so the file is generated again here and compared byte for byte.

use serde_json::{Value, json};
use trefoil_api::{Authentication, Hex, Shares, UnprovenAuthentication, Vector};
use trefoil_types::{AccountKeyId, TenantId};
use trefoil_wallet::attested_digest;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::{SessionKey, context, request_mac, verify_request_mac};
use trefoil_zkp::{Circuit, Digest, Secret, Statement, account, handle, proof_size_window, scope};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../api/testdata/requests.json");
const TENANT: TenantId = TenantId::new([7; 16]);
const EPOCH: u32 = 498_611;

/// `N` bytes that count up from `first`.
fn counted<const N: usize>(first: u8) -> [u8; N] {
    std::array::from_fn(|i| first.wrapping_add(i as u8))
}

/// Coordinates that no `f32` has exactly, so that a client has to round to the nearest.
fn coordinates() -> [f64; 128] {
    std::array::from_fn(|i| (((i * 37) % 128) as f64 - 64.0) / 97.0)
}

fn narrow(coordinates: &[f64; 128]) -> Vector {
    Vector::new(coordinates.map(|x| x as f32))
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(bytes)
}

fn probes() -> Value {
    // The least negative number that rounds to zero keeps its sign; the least subnormal stays.
    let mut odd = coordinates();
    (odd[0], odd[1], odd[2], odd[3]) = (-0.0, 1e-60, -1e-60, 1.4e-45);
    let vectors = [("an embedding", coordinates()), ("zeros and a subnormal", odd)].map(|(name, numbers)| {
        let vector = narrow(&numbers);
        json!({ "name": name, "embedding": numbers.to_vec(), "base64": vector, "digest": hex(vector.digest()) })
    });
    let bytes: [u8; 32] = std::array::from_fn(|at| (at * 41) as u8);
    let vector = Vector::new(bytes.map(|byte| f32::from(byte.cast_signed())));
    let [one, another] = vectors;
    json!([one, another, {
        "name": "32 signed bytes",
        "embedding": bytes.map(u8::cast_signed).to_vec(),
        "base64": vector,
        "int8": trefoil_api::Base64(bytes.to_vec()),
        "digest": hex(vector.digest()),
    }])
}

fn shared_probe() -> Value {
    let shares: Shares = serde_json::from_value(json!({
        "open": trefoil_api::Base64(counted::<272>(1).to_vec()),
        "sealed": trefoil_api::Base64(counted::<1408>(2).to_vec()),
    }))
    .unwrap();
    json!({ "shares": shares, "digest": hex(shares.digest()) })
}

/// A request as a client sends it, under `key`.
fn request(name: &str, key: &SessionKey, changes: &Value) -> Value {
    let mut body = json!({
        "handle": hex(counted::<32>(0x20)),
        "session_id": hex(counted::<32>(0x40)),
        "audience": "https://shop.example",
        "nonce": hex(counted::<32>(0x60)),
        "issued_at": 1_795_000_000_u64,
        "embedding": narrow(&coordinates()),
        "mac": hex([0; 32]),
        "attestation": "full",
    });
    let fields = body.as_object_mut().unwrap();
    fields.extend(changes.as_object().unwrap().clone());
    fields.retain(|_, value| !value.is_null());
    // The service's reading of it.
    let read = |body: &Value| serde_json::from_value::<Authentication>(body.clone()).unwrap();
    let unsigned = read(&body);
    let (probe_digest, request_digest) = (unsigned.probe_digest(), attested_digest(&unsigned));
    body["mac"] = hex(request_mac(key, &unsigned.header(&probe_digest))).into();
    let signed = read(&body);
    assert_eq!(verify_request_mac(key, &signed.header(&probe_digest), &signed.mac.0), Ok(()));
    json!({
        "name": name,
        "session_key": hex(key.to_bytes()),
        "body": body,
        "probe_digest": hex(probe_digest),
        "request_digest": hex(request_digest),
    })
}

fn requests() -> Value {
    let key = SessionKey::from_bytes(counted(0x80));
    json!([
        request("plain", &key, &json!({})),
        request(
            "the shortest nonce, an audience beyond ASCII, compact",
            &key,
            &json!({ "nonce": hex(counted::<16>(1)), "audience": "https://käse.example", "attestation": "compact" }),
        ),
        request("the longest nonce", &key, &json!({ "nonce": hex(counted::<64>(1)) })),
        request("shared probe", &key, &json!({ "embedding": null, "shares": shared_probe()["shares"] }),),
    ])
}

/// A login at a tenant whose policy asks for no proof: it has no session and no MAC, and its digest names the tenant.
fn unproven(name: &str, changes: &Value) -> Value {
    let mut body = json!({
        "handle": hex(counted::<32>(0x20)),
        "audience": "https://shop.example",
        "nonce": hex(counted::<32>(0x60)),
        "issued_at": 1_795_000_000_u64,
        "embedding": narrow(&coordinates()),
        "attestation": "full",
    });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let read: UnprovenAuthentication = serde_json::from_value(body.clone()).unwrap();
    json!({
        "name": name,
        "tenant": hex(TENANT),
        "body": body,
        "probe_digest": hex(read.embedding.digest()),
        "request_digest": hex(read.request_digest(&TENANT)),
    })
}

fn unproven_requests() -> Value {
    json!([
        unproven("no proof", &json!({})),
        unproven(
            "no proof, the shortest nonce, an audience beyond ASCII, compact",
            &json!({ "nonce": hex(counted::<16>(1)), "audience": "https://käse.example", "attestation": "compact" }),
        ),
    ])
}

/// An envelope whose proof is zeros: it decodes, and no service accepts it.
fn envelope() -> Value {
    let (session_key, secret) =
        (SessionKey::from_bytes(counted(0x80)), Secret::from_bytes(&[1; 32]).unwrap());
    let audience = "https://shop.example";
    let (account_key, scope) = (AccountKeyId::new(counted(0xc0)), scope(&TENANT, audience));
    let statement = Statement {
        circuit: Circuit::Cred2,
        tenant: TENANT,
        root: Digest::from_bytes(&[3; 32]).unwrap(),
        root_generation: 5,
        epoch: EPOCH,
        level: 2,
        scope,
        account: account(&secret, &scope),
        handle: handle(&secret, &TENANT),
        ctx: context(&TENANT, audience, &session_key.commitment(), &account_key, EPOCH, 1),
    };
    let proof = vec![0; *proof_size_window(Circuit::Cred2).start()];
    let (own_account, own_handle) = (statement.account.to_bytes(), statement.handle.to_bytes());
    let id = statement.digest();
    let envelope = ProofEnvelope {
        statement,
        audience: audience.to_owned(),
        session_key: session_key.clone(),
        account_key,
        policy_id: 1,
        proof: proof.clone(),
    };
    let bytes = envelope.encode().unwrap();
    ProofEnvelope::decode(&bytes).unwrap();
    json!({
        "head": hex(&bytes[..bytes.len() - proof.len()]),
        "zeros": proof.len(),
        "circuit": 3,
        "tenant": hex(TENANT),
        "root_generation": 5,
        "epoch": EPOCH,
        "level": 2,
        "account": hex(own_account),
        "handle": hex(own_handle),
        "audience": audience,
        "session_key": hex(session_key.to_bytes()),
        "account_key": account_key.to_string(),
        "policy_id": 1,
        "session_id": hex(id),
    })
}

fn made() -> String {
    let vectors = json!({
        "format": "trefoil:request-vectors/1",
        "probes": probes(),
        "shared_probe": shared_probe(),
        "requests": requests(),
        "unproven_requests": unproven_requests(),
        "envelope": envelope(),
    });
    serde_json::to_string_pretty(&vectors).unwrap() + "\n"
}

/// Claim V50: API.md alone suffices to write a login, in 40 lines of Python's standard library. Routes, problems and test vectors of the
/// page are those of the service. Also: `crypto/clients/python/tests/test_documents.py`.
#[test]
fn the_committed_request_vectors_are_those_of_the_implementation() {
    if std::env::var_os("TREFOIL_BLESS").is_some() {
        std::fs::write(FILE, made()).unwrap();
    }
    let committed = std::fs::read_to_string(FILE).unwrap();
    for (line, (committed, made)) in committed.lines().zip(made().lines()).enumerate() {
        assert_eq!(
            committed,
            made,
            "requests.json, line {}; set TREFOIL_BLESS and look at the difference",
            line + 1
        );
    }
    assert_eq!(committed, made());
}

/// Claim V51: The Python and TypeScript clients return no login whose attestation is altered, of another login, person or tenant, or
/// contradicts the answer, and repeat only requests that take effect at most once. Also: `crypto/clients/python/tests/test_client.py`,
/// `crypto/clients/typescript/test/client.live.ts`.
///
/// A client that sends the array of numbers signs the digest of the service's reading of it.
#[test]
fn numbers_and_base64_are_one_probe() {
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
    for probe in vectors["probes"].as_array().unwrap() {
        let read = |field: &str| serde_json::from_value::<Vector>(probe[field].clone()).unwrap();
        let digest = Hex(read("embedding").digest());
        assert_eq!(digest, Hex(read("base64").digest()), "{}", probe["name"]);
        if let Some(int8) = probe.get("int8") {
            let read: Vector = serde_json::from_value(json!({ "int8": int8 })).unwrap();
            assert_eq!(digest, Hex(read.digest()), "{}", probe["name"]);
        }
        assert_eq!(json!(digest), probe["digest"]);
    }
}
