//! A backend that sends its API key only to exchange it for access tokens, and a kiosk that gets a token and never the key.
//!
//! ```text
//! trefoil serve                     in one terminal
//! trefoil quickstart                in another: makes a tenant and its API key in ./quickstart
//! cargo run -p trefoil-client --example tokens -- https://127.0.0.1:8443 trefoil-data/tls-certificate.pem quickstart
//! ```
//!
//! It prints what each of the two may do.

use std::error::Error;
use std::fs;
use std::path::Path;
use trefoil_api::{Hex, Scope};
use trefoil_client::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [service, certificate, directory] = arguments.as_slice() else {
        return Err("usage: tokens SERVICE CERTIFICATE QUICKSTART_DIRECTORY".into());
    };
    let certificate = fs::read(certificate)?;
    let api_key = fs::read_to_string(Path::new(directory).join("api.key"))?;
    let api_key = api_key.lines().next().unwrap_or_default();

    // The first call gets a token, and later ones get the next before it ends.
    let backend = Client::new(service, &certificate, api_key, 1)?.with_access_tokens(None)?;
    let subjects = backend.subjects(Hex([0; 32])).await?.subjects;
    println!("backend   lists {} subject", subjects.len());

    // Ten minutes for a process that logs people in and manages nobody.
    let token = backend.access_token(Some(&[Scope::Authenticate])).await?;
    let kiosk = Client::new(service, &certificate, token.text(), 1)?;
    println!("kiosk     sees tenant {}", hex::encode(kiosk.tenant().await?.tenant_id.0));
    match kiosk.subjects(Hex([0; 32])).await {
        Err(refused) if refused.code() == Some("scope-missing") => {
            println!("kiosk     may not list subjects")
        }
        Err(other) => return Err(other.into()),
        Ok(_) => return Err("a token has more scopes than it was given".into()),
    }
    Ok(())
}
