//! The quickstart of a tenant without credentials: only an API key and a face.

use super::{AUDIENCE, Calls, Quickstart, random, say, step, word};
use crate::remote;
use serde_json::{Value, json};
use std::path::Path;
use trefoil_api::{AttestationForm, Authenticated, Enrolment, Hex, Nonce, UnprovenAuthentication, Vector};
use trefoil_client::Client;
use trefoil_dataset::Row;
use trefoil_key_holder::output;
use trefoil_pipeline::Clock as _;
use trefoil_service::clock::SystemClock;

/// The parameters of both calls of the application.
struct Subject {
    handle: Hex<32>,
    client: Client,
}

impl Quickstart {
    /// From the tenant to the verified login.
    pub(super) fn without_proofs(&self, calls: Calls<'_>, faces: [Row; 2]) -> Result<(), String> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        let admin = calls.admin();
        let admin = admin.each_ref().map(String::as_str);
        say("1. The operator makes a tenant that asks for no proof, and an API key");
        let proof = ["--audience", AUDIENCE, "--proof", "none"];
        let tenant = step(&[&["admin", "tenant", "create", "quickstart"], &proof[..], &admin])?;
        let tenant = word(&tenant, 1)?;
        let scopes = ["--scope", "enrol", "--scope", "authenticate", "--output", &calls.key];
        step(&[&["admin", "api-key", "create", "--tenant", &tenant], &scopes[..], &admin])?;

        let certificate = remote::read(&calls.found.certificate)?;
        let key = remote::first_line(Path::new(&calls.key))?;
        let client = Client::new(&calls.service, &certificate, &key, 1).map_err(|cause| cause.to_string())?;
        let subject = Subject { handle: Hex(rand::random()), client };
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

fn enrol(Subject { handle, client }: &Subject, face: Vector) -> Result<String, String> {
    let enrolment = Enrolment {
        embedding: Some(face),
        shares: None,
        issued_at: None,
        consent_ref: "quickstart".to_owned(),
    };
    let enrolled = remote::block_on(client.enrol(*handle, &enrolment, &random::<16>()))?;
    Ok(format!("enrolled {} generation {}", hex::encode(handle.0), enrolled.generation))
}

fn log_in(
    Subject { handle, client }: &Subject,
    embedding: Vector,
    nonce: &str,
) -> Result<Authenticated, String> {
    let nonce: Nonce = serde_json::from_value(Value::from(nonce)).map_err(|cause| cause.to_string())?;
    let request = UnprovenAuthentication {
        handle: *handle,
        audience: AUDIENCE.to_owned(),
        nonce,
        issued_at: SystemClock::default().unix_s(),
        embedding,
        source: None,
        attestation: AttestationForm::Full,
    };
    remote::block_on(client.authenticate_unproven(&request))
}
