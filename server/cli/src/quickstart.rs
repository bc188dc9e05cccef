//! `trefoil quickstart`: from a running service to a verified login, by the commands that it prints.
//!
//! Each step runs this program again with the arguments that it prints, so the output shows exactly the commands that ran. It starts no service:
//! the reader sees the one that `trefoil serve` runs, with its log, and the printed lines work again later.

mod unproven;

use super::admin::place::{Found, Place};
use super::exit::fail;
use super::values::address;
use clap::Args;
use rand::RngExt as _;
use serde_json::json;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use trefoil_api::{ProofNeed, Threshold};
use trefoil_host::output;
use trefoil_pipeline::Clock as _;
use trefoil_service::login::clock::SystemClock;
use trefoil_service::time;
use trefoil_storage::data_dir::GITIGNORE;

/// The relying party of the example.
const AUDIENCE: &str = "https://shop.example";
/// Lifetime of the example's credential.
const CREDENTIAL_LIFE_S: u64 = 30 * 86_400;
/// The embedder of the photographs, and of the tenant's policy.
const EMBEDDER: &str = "facenet-128";
/// The flags of its tenant.
const TENANT: [&str; 4] = ["--audience", AUDIENCE, "--embedder", EMBEDDER];

#[derive(Args)]
#[command(
    about = "Make the first tenant, credential and login on a running service, and print every command",
    after_help = "Run `trefoil serve` in another terminal first; quickstart starts no service. It makes a tenant, an API key, an\n\
    issuer and a wallet in --directory, enrols made numbers as a face, logs in with others that are near them, and verifies\n\
    the answer offline. Each step is a command of this program, printed and then run.\n\
    With --proof none there are no credentials: no issuer and no wallet. Enrolment and login are then calls of the API, printed at the end\n\
    as lines of curl.\n\n\
    Examples:\n  trefoil quickstart\n  trefoil quickstart --proof none\n  trefoil quickstart --directory /tmp/first --data-dir /var/lib/trefoil\n\n\
    Exit codes: 0 every step succeeded, 1 one did not (the last line says which), 2 wrong usage."
)]
pub(super) struct Quickstart {
    /// Whether the tenant asks for a credential proof: `credential`, or `none`.
    #[arg(long, value_name = "NEED", default_value = "credential", value_parser = super::values::proof_need)]
    proof: ProofNeed,
    /// A new directory for the files of tenant, issuer and holder.
    #[arg(long, value_name = "DIR", default_value = "quickstart")]
    directory: PathBuf,
    /// The service's public API, such as https://127.0.0.1:8443. Absent: as configured.
    #[arg(long, value_name = "URL", value_parser = address)]
    service: Option<String>,
    #[command(flatten)]
    place: Place,
}

impl Quickstart {
    pub(super) fn run(self) -> ExitCode {
        match self.steps() {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => fail(&cause, 1),
        }
    }

    fn steps(&self) -> Result<(), String> {
        let faces @ [enrolled, shown] = photographs();
        let found = self.place.found()?;
        // Before anything is made, check that the service answers and accepts the token.
        self.place.call(async |admin| admin.status().await)?;
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&self.directory)
            .map_err(|cause| format!("{}: {cause}; give --directory a new one", self.directory.display()))?;
        // The faces and the API key stay out of a repository that the directory is in.
        self.private(GITIGNORE, "*\n")?;
        let service = self.service.clone().unwrap_or_else(|| found.service.clone());
        let file = |name: &str| self.directory.join(name).display().to_string();
        self.private("face.json", &json!(enrolled.as_slice()).to_string())?;
        self.private("face-2.json", &json!(shown.as_slice()).to_string())?;
        let body = json!({"embeddings": [enrolled.as_slice()], "consent_ref": "quickstart"});
        self.private("enrolment.json", &body.to_string())?;
        let calls = Calls {
            found: &found,
            service,
            tenant: String::new(),
            handle: String::new(),
            key: file("api.key"),
            body: file("enrolment.json"),
        };
        match self.proof {
            ProofNeed::None => self.without_proofs(calls, faces),
            ProofNeed::Credential => self.with_credentials(calls),
        }
    }

    /// From the tenant to the verified login of a person with a credential.
    fn with_credentials(&self, calls: Calls<'_>) -> Result<(), String> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        let Calls { found, service, key, .. } = &calls;
        let certificate = found.certificate.display().to_string();
        let admin = calls.admin();
        let admin = admin.each_ref().map(String::as_str);
        let (issuer, wallet) = (file("issuer"), file("ann.wallet"));
        let remote = ["--service", service, "--ca", &certificate, "--api-key-file", key];
        let passphrase = file("passphrase");
        let sealed = ["--passphrase-file", passphrase.as_str()];
        self.private("passphrase", &(random::<32>() + "\n"))?;

        say("1. The operator makes a tenant and an API key");
        let tenant = step(&[&["admin", "tenant", "create", "quickstart"], &TENANT[..], &admin[..]])?;
        let tenant = word(&tenant, 1)?;
        let scopes = ["--scope", "enrol", "--scope", "authenticate", "--scope", "issue", "--output", key];
        step(&[&["admin", "api-key", "create", "--tenant", &tenant], &scopes[..], &admin])?;

        say("2. The tenant's issuer");
        let of_issuer = ["--directory", issuer.as_str()];
        step(&[&["issuer", "init", "--tenant", &tenant], &of_issuer[..], &sealed])?;
        step(&[&["issuer", "register"], &of_issuer[..], &admin])?;

        say("3. A holder's wallet, and her credential");
        let of_wallet = [&["--wallet", wallet.as_str()], &sealed[..]].concat();
        step(&[&["wallet", "create"], &of_wallet[..]])?;
        let commitment = step(&[&["wallet", "commitment"], &of_wallet[..]])?;
        let commitment = word(&commitment, 0)?;
        let expires = time::format(SystemClock::default().unix_s() + CREDENTIAL_LIFE_S);
        let member = ["--commitment", &commitment, "--level", "2", "--expires", &expires];
        step(&[&["issuer", "add", "ann"], &of_issuer[..], &member])?;
        step(&[&["issuer", "publish"], &of_issuer[..], &sealed, &remote])?;
        let credential = file("ann.credential");
        step(&[&["issuer", "export", "ann"], &of_issuer[..], &["--output", &credential]])?;
        step(&[&["wallet", "receive", &credential], &of_wallet[..]])?;

        say("4. A face is enrolled: face.json, 128 numbers, as an embedding model gives for a photograph");
        let (face, second) = (file("face.json"), file("face-2.json"));
        let enrol = ["--embedding", &face, "--consent", "quickstart"];
        let enrolled = step(&[&["wallet", "enrol"], &of_wallet[..], &enrol, &remote])?;
        let handle = word(&enrolled, 1)?;

        say("5. A login with another photograph, face-2.json: one proof for the session, then the face");
        let (nonce, answer, root) = (random::<16>(), file("answer.json"), file("trust-root.json"));
        let audience = ["--audience", AUDIENCE];
        step(&[&["wallet", "open"], &of_wallet[..], &audience, &remote])?;
        let shown = ["--embedding", &second, "--nonce", &nonce, "--output", &answer];
        step(&[&["wallet", "authenticate"], &of_wallet[..], &audience, &shown, &remote])?;

        say(
            "6. The relying party pins the trust root and ann's account key, and verifies the answer within two minutes, offline",
        );
        let data_dir = found.data_dir.display().to_string();
        step(&[&["keys", "export-trust-root", "--data-dir", &data_dir, "--output", &root]])?;
        let shown = step(&[&["wallet", "show"], &of_wallet[..]])?;
        let key = shown.lines().find_map(|line| line.trim().strip_prefix("key ")).unwrap_or_default().trim();
        let login = ["--nonce", &nonce, "--account-key", key];
        step(&[&["verify", &answer, "--trust-root", &root], &audience[..], &login])?;

        say("The same calls with curl (a login needs the wallet: its proof and its MAC)");
        output::tell(&curl_lines(&Calls { tenant, handle, ..calls }, "credential", None));
        Ok(())
    }

    /// Writes a file that only its owner can read.
    fn private(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.directory.join(name);
        let file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|cause| format!("{}: {cause}", path.display()))
    }
}

/// The values in the lines for curl.
struct Calls<'a> {
    found: &'a Found,
    service: String,
    tenant: String,
    handle: String,
    key: String,
    body: String,
}

impl Calls<'_> {
    /// The flags with which a command reaches the admin API.
    fn admin(&self) -> [String; 6] {
        let Found { url, certificate, token, .. } = self.found;
        let at = |path: &Path| path.display().to_string();
        ["--admin", url, "--ca", &at(certificate), "--admin-token-file", &at(token)].map(str::to_owned)
    }
}

/// The admin API, then the public one: the subject is erased and enrolled again, and logs in if curl can do that.
fn curl_lines(calls: &Calls<'_>, proof: &str, login: Option<String>) -> String {
    let Calls { found, service, tenant, handle, key, body } = calls;
    let path = |path: &Path| quoted(&path.display().to_string());
    let curl = format!("curl -sS --fail-with-body --cacert {}", path(&found.certificate));
    let with = |file: &str| format!("-H \"Authorization: Bearer $(head -n 1 {file})\"");
    let (token, key) = (with(&path(&found.token)), with(&quoted(key)));
    let policy = format!(
        r#"{{"embedder": "{EMBEDDER}", "threshold": {{"fmr_class": {}}}, "audiences": ["{AUDIENCE}"], "proof": "{proof}"}}"#,
        Threshold::DEFAULT_CLASS
    );
    let (url, tenants, subject) =
        (&found.url, format!("{}/v1/tenants", found.url), format!("/v1/subjects/{handle}/templates"));
    let lines = [
        format!(r#"{curl} {token} --json '{{"name": "second", "policy": {policy}}}' {tenants}"#),
        format!(
            r#"{curl} {token} --json '{{"scopes": ["enrol"], "label": "curl"}}' {tenants}/{tenant}/api-keys"#
        ),
        format!("{curl} {token} {tenants}/{tenant}/api-keys"),
        format!("{curl} {key} -X DELETE {service}{subject}"),
        format!(
            "{curl} {key} -H 'Idempotency-Key: {}' --json @{} {service}{subject}",
            random::<8>(),
            quoted(body)
        ),
        format!("{curl} {service}/v1/keys"),
        format!("{curl} {url}/readyz"),
    ];
    let login = login.map(|login| format!("{curl} {key} {login}"));
    lines.into_iter().chain(login).map(|line| format!("$ {line}\n")).collect()
}

fn say(text: &str) {
    output::tell(&format!("\n{text}\n"));
}

/// Prints a command of this program, runs it, prints its output and returns it.
fn step(groups: &[&[&str]]) -> Result<String, String> {
    let arguments = groups.concat();
    let line: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    let line = format!("trefoil {}", line.join(" "));
    output::tell(&format!("$ {line}\n"));
    let program = std::env::current_exe().map_err(|cause| format!("this program: {cause}"))?;
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let ran = ran.map_err(|cause| format!("{line}: {cause}"))?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    output::tell(&said);
    if ran.status.success() {
        Ok(said)
    } else {
        Err(format!("this command failed, with {}: {line}", ran.status))
    }
}

/// A word of the first line that a command printed.
fn word(said: &str, index: usize) -> Result<String, String> {
    let word = said.lines().next().and_then(|line| line.split_whitespace().nth(index));
    word.map(str::to_owned).ok_or_else(|| format!("the last command printed nothing to go on with: {said:?}"))
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Two vectors as a model makes them of one person: a direction, and another near it. Nobody's face.
fn photographs() -> [[f32; 128]; 2] {
    let mut rng = rand::rng();
    let mut near = |of: f32| of + 0.2 * (rng.random::<f32>() - 0.5);
    let face = std::array::from_fn(|_| near(rand::random::<f32>() - 0.5));
    [face, face.map(near)]
}

/// Random bytes in hexadecimal.
fn random<const N: usize>() -> String {
    hex::encode(rand::random::<[u8; N]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_word_is_read_back_by_a_shell() {
        for word in ["plain-1.json", "", "two words", "it's", "$(x)", "a\"b", "*"] {
            let read = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(String::from_utf8(read.unwrap().stdout).unwrap(), word);
        }
    }
}
