//! Logs a person in at a running service: proves her credential for a session, sends her face under the session's key, and verifies the
//! attestation that comes back.
//!
//! ```text
//! trefoil serve                     in one terminal
//! trefoil quickstart                in another: makes a tenant, a wallet and an enrolled face in ./quickstart
//! cargo run -p trefoil-client --example login -- https://127.0.0.1:8443 trefoil-data/tls-certificate.pem quickstart
//! ```
//!
//! It prints the account that logged in, or the reason for a denial.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;
use trefoil_api::{AttestationForm, Decision, Nonce, Vector};
use trefoil_attest::{ExpectedNonce, Policy, TrustRoot, join, verify};
use trefoil_client::Client;
use trefoil_wallet::wallet::Wallet;

/// The relying party that quickstart's tenant allows.
const AUDIENCE: &str = "https://shop.example";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [service, certificate, directory] = arguments.as_slice() else {
        return Err("usage: login SERVICE CERTIFICATE QUICKSTART_DIRECTORY".into());
    };
    let directory = Path::new(directory);
    let now = UNIX_EPOCH.elapsed()?.as_secs();
    let first_line = |name: &str| -> Result<String, Box<dyn Error>> {
        let text = fs::read_to_string(directory.join(name))?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    };
    // The holder: a secret and a credential, which stay on her device.
    let wallet =
        Wallet::open(&fs::read(directory.join("ann.wallet"))?, first_line("passphrase")?.as_bytes())?;
    let tenant = wallet.only_tenant().ok_or("the wallet has no credential")?;
    let face: Vector = serde_json::from_slice(&fs::read(directory.join("face-2.json"))?)?;
    // The relying party: a nonce for this login, and the trust root that it pinned.
    let nonce = Nonce::new(rand::random::<[u8; 32]>().to_vec()).ok_or("a nonce has 16 to 64 bytes")?;
    let trust_root = TrustRoot::from_file(&fs::read(directory.join("trust-root.json"))?)?;

    let client = Client::new(service, &fs::read(certificate)?, &first_line("api.key")?, 1)?;
    // One proof opens a session; any number of logins follow in it, each with a MAC under the session's key.
    let proven = wallet.prove(&tenant, AUDIENCE, None, now, &mut rand::rng())?;
    // The receipt of the opening is for auditors: only the session's key makes logins, and each of those is verified.
    client.open_session(proven.envelope).await?.without_verification();
    let request = proven.session.authentication(face, nonce, now, AttestationForm::Full);
    // Her device signs for the request, with a key that the service does not have.
    let key = wallet.account_key(&tenant, AUDIENCE);
    let signature = proven.session.sign(&request, &key, &mut rand::rng());
    let login = client.login(&proven.session, &request, &trust_root, now).await?;
    if login.decision == Decision::NoMatch {
        return Err("the service attests that this is another person's face".into());
    }
    // The relying party keeps the key's id beside the account, and requires it: no service alone can log her in.
    let joined = join(&login.attestation, &signature)?;
    let expected = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
    verify(&joined, &Policy::new(trust_root, AUDIENCE, expected).account_key(key.id()), now)?;
    println!("account   {}", hex::encode(login.account));
    println!("seal      {}", login.seal_number);
    println!("decision  match, attested, signed by her device, verified");
    Ok(())
}
