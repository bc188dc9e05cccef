//! The quickstart of a tenant without credentials: only an API key and a face.

use super::{AUDIENCE, Calls, Quickstart, TENANT, random, say, step, word};
use crate::exit::text;
use crate::{keys, remote};
use serde_json::{Value, json};
use std::path::Path;
use trefoil_api::{
    AttestationForm, Authenticated, Base64, Enrolment, Hex, Nonce, UnprovenAuthentication, Vector,
};
use trefoil_attest::TrustRoot;
use trefoil_client::{Client, Login};
use trefoil_host::output;
use trefoil_pipeline::Clock as _;
use trefoil_service::login::clock::SystemClock;
use trefoil_types::TenantId;

/// The parameters of both calls of the application, and the trust root under which their answers are verified: that of the operator's own
/// data directory.
struct Subject {
    tenant: TenantId,
    handle: Hex<32>,
    client: Client,
    trust_root: TrustRoot,
}

impl Quickstart {
    /// From the tenant to the verified login.
    pub(super) fn without_proofs(&self, calls: Calls<'_>, faces: [[f32; 128]; 2]) -> Result<(), String> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        let admin = calls.admin();
        let admin = admin.each_ref().map(String::as_str);
        say("1. The operator makes a tenant that asks for no proof, and an API key");
        let proof = [&TENANT[..], &["--proof", "none"]].concat();
        let tenant = step(&[&["admin", "tenant", "create", "quickstart"], &proof[..], &admin])?;
        let tenant = word(&tenant, 1)?;
        let scopes = ["--scope", "enrol", "--scope", "authenticate", "--output", &calls.key];
        step(&[&["admin", "api-key", "create", "--tenant", &tenant], &scopes[..], &admin])?;

        let certificate = remote::read(&calls.found.certificate)?;
        let key = remote::first_line(Path::new(&calls.key))?;
        let client = Client::new(&calls.service, &certificate, &key, 1).map_err(|cause| cause.to_string())?;
        let trust_root = keys::trust_root(&calls.found.data_dir)?;
        let subject =
            Subject { tenant: tenant_id(&tenant)?, handle: Hex(rand::random()), client, trust_root };
        let [enrolled, shown] = faces.map(Vector::new);
        say(
            "2. The application enrols a face under a handle that it chooses (the line of curl is at the end)",
        );
        output::tell(&format!("{}\n", enrol(&subject, enrolled)?));
        say(
            "3. It logs in with another photograph, and nothing else: the API key vouches for it (the line of curl is at the end)",
        );
        let nonce = random::<16>();
        let answer = log_in(&subject, shown, &nonce)?;
        output::tell(&format!("decision {}\n", json!(answer.decision).as_str().unwrap_or_default()));
        self.private("answer.json", &json!(answer).to_string())?;

        say(
            "4. The relying party pins the trust root once, and verifies the answer within two minutes, offline",
        );
        let (data_dir, root, answer) =
            (calls.found.data_dir.display().to_string(), file("trust-root.json"), file("answer.json"));
        step(&[&["keys", "export-trust-root", "--data-dir", &data_dir, "--output", &root]])?;
        let demands = ["--audience", AUDIENCE, "--nonce", &nonce, "--accept-no-proof"];
        step(&[&["verify", &answer, "--trust-root", &root], &demands[..]])?;

        say("The same calls with curl");
        let calls = Calls { tenant, handle: hex::encode(subject.handle.0), ..calls };
        let login = self.login_line(&calls);
        output::tell(&super::curl_lines(&calls, "none", Some(login)));
        Ok(())
    }

    /// A login with curl: the face comes from a file, nonce and time are fresh.
    fn login_line(&self, Calls { service, handle, .. }: &Calls<'_>) -> String {
        let face = super::quoted(&self.directory.join("face-2.json").display().to_string());
        let body = format!(
            r#"{{\"handle\": \"{handle}\", \"audience\": \"{AUDIENCE}\", \"nonce\": \"{}\", \"issued_at\": $(date +%s), \"embedding\": $(cat {face})}}"#,
            random::<16>()
        );
        format!(r#"--json "{body}" {service}/v1/authentications"#)
    }
}

fn tenant_id(text: &str) -> Result<TenantId, String> {
    let id = Hex::<16>::parse(text).ok_or_else(|| format!("{text:?} is no tenant"))?;
    Ok(TenantId::new(id.0))
}

fn enrol(subject: &Subject, face: Vector) -> Result<String, String> {
    let Subject { tenant, handle, client, trust_root } = subject;
    let enrolment = Enrolment::of(vec![face], "quickstart");
    let enrolled = remote::block_on(client.enrol(*handle, &enrolment, &random::<16>()))?;
    let enrolled = enrolled.verified(trust_root, Some(tenant), now()).map_err(text)?;
    Ok(format!("enrolled {} generation {}", hex::encode(handle.0), enrolled.generation))
}

/// A login whose attestation is verified, in the form in which it came.
fn log_in(subject: &Subject, embedding: Vector, nonce: &str) -> Result<Authenticated, String> {
    let Subject { tenant, handle, client, trust_root } = subject;
    let nonce: Nonce = serde_json::from_value(Value::from(nonce)).map_err(text)?;
    let request = UnprovenAuthentication {
        handle: *handle,
        audience: AUDIENCE.to_owned(),
        nonce,
        issued_at: now(),
        embedding,
        embedder: None,
        source: None,
        attestation: AttestationForm::Full,
    };
    let answer = remote::block_on(client.authenticate_unproven(&request))?;
    let login = answer.verified_unproven(*tenant, &request, trust_root, now()).map_err(text)?;
    let Login { decision, id, attestation, seal_number, .. } = login;
    Ok(Authenticated {
        id: Hex(id.to_bytes()),
        decision,
        attestation: Some(Base64(attestation)),
        seal_number,
    })
}

fn now() -> u64 {
    SystemClock::default().unix_s()
}
