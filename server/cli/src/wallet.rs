//! `trefoil wallet`: a holder's secret, credentials and sessions, and requests made with them.

mod place;
mod sessions;

use super::exit::{fail, text};
use super::remote::{self, Remote};
use super::values::{nonce, tenant};
use clap::Subcommand;
use place::{Place, write_private};
use sessions::{Login, now, upload};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_api::{Enrolment, Hex, Nonce, ProofSession, Vector};
use trefoil_client::OpenRequest;
use trefoil_contents::parse_error;
use trefoil_service::time;
use trefoil_types::IssuerKeyId;
use trefoil_types::TenantId;
use trefoil_wallet::credentials::CredentialFile;
use trefoil_wallet::wallet::{Session, Wallet};
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::record::ProofRecord;
use trefoil_zkp::{epoch_at, proof_ends};
use zeroize::Zeroizing;

#[derive(clap::Args)]
#[command(
    about = "Hold a credential: prove it anonymously, open sessions, log in",
    after_help = "The wallet file holds a secret that never leaves it, sealed under a passphrase (Argon2id, \
    XChaCha20-Poly1305).\nWithout the file or the passphrase the credentials are lost for good.\n\n\
    Examples, in this order:\n  \
    trefoil wallet create --wallet ann.wallet\n  \
    trefoil wallet commitment --wallet ann.wallet          give this to your issuer, and only this\n  \
    trefoil wallet receive ann.credential --wallet ann.wallet\n  \
    trefoil wallet enrol --wallet ann.wallet --embedding face.json --consent 'form 7' --service ... \n  \
    trefoil wallet open --wallet ann.wallet --audience https://shop.example --service https://127.0.0.1:8443 \\\n      \
    --ca trefoil-data/tls-certificate.pem --api-key-file api.key\n  \
    trefoil wallet authenticate --wallet ann.wallet --audience https://shop.example --embedding face.json \\\n      \
    --nonce 5f3a... --output answer.json --service ...\n  \
    trefoil verify answer.json --trust-root trust-root.json --audience https://shop.example --nonce 5f3a...\n\n\
    Exit codes: 0 done (for `authenticate`: a match), 1 refused, 2 wrong usage, 4 the face did not match."
)]
pub(super) struct WalletCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a wallet with a fresh secret.
    Create(Place),
    /// Print the commitment, which an issuer needs to make a credential.
    Commitment(Place),
    /// Print credentials and sessions.
    Show(Place),
    /// Check a credential and keep it.
    Receive {
        /// The file that the issuer exported.
        credential: PathBuf,
        #[command(flatten)]
        place: Place,
        /// Accept only this issuer key; `trefoil issuer show` prints it. Absent: the first one is remembered.
        #[arg(long, value_name = "HEX", value_parser = key_id)]
        issuer_key: Option<Hex<32>>,
    },
    /// Drop a tenant's credential and sessions.
    Forget {
        #[command(flatten)]
        place: Place,
        /// The tenant.
        #[arg(long, value_name = "HEX", value_parser = tenant)]
        tenant: Hex<16>,
    },
    /// Enrol a face under this wallet's pseudonym at the tenant. The API key needs the scope `enrol`.
    Enrol {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        faces: Faces,
        /// Reference to the consent that was given.
        #[arg(long, value_name = "TEXT")]
        consent: String,
        /// Repeats an enrolment whose answer was lost. Absent: a fresh key.
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Prove the credential in advance and write the upload to a file, for `upload` within this hour or the next.
    Prove {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        claim: Claim,
        /// File for the upload. It holds the session's key: anyone who has it can use the session.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Open the session of a proof that `prove` made.
    Upload {
        /// The file that `prove` wrote.
        proof: PathBuf,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        remote: Remote,
    },
    /// Prove the credential and open a session.
    Open {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        claim: Claim,
        #[command(flatten)]
        remote: Remote,
    },
    /// Log in with a face in an open session; the answer is attested. A session that has ended is opened again first.
    Authenticate {
        #[command(flatten)]
        place: Place,
        /// The relying party.
        #[arg(long)]
        audience: String,
        #[command(flatten)]
        face: Face,
        /// The relying party's nonce, 32 to 128 hexadecimal digits.
        #[arg(long, value_name = "HEX", value_parser = nonce)]
        nonce: Nonce,
        /// File for the answer, for `trefoil verify`. Absent: standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        remote: Remote,
    },
}

/// The credential.
#[derive(clap::Args)]
struct Which {
    /// The tenant; required if the wallet has credentials of several.
    #[arg(long, value_name = "HEX", value_parser = tenant)]
    tenant: Option<Hex<16>>,
}

#[derive(clap::Args)]
struct Claim {
    /// The relying party that the session is for.
    #[arg(long)]
    audience: String,
    /// Level to show. Absent: the credential's own.
    #[arg(long, value_name = "L")]
    level: Option<u8>,
    /// Write the proof without its session key, for a relying party: `trefoil verify --proof`. It shows account
    /// and handle, so such files of several relying parties can be linked.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

#[derive(clap::Args)]
struct Face {
    /// JSON: an array of the model's numbers, a string of base64 (float32, little-endian), or {"int8": base64}. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    embedding: PathBuf,
}

#[derive(clap::Args)]
pub(super) struct Faces {
    /// JSON: an array of the model's numbers, a string of base64 (float32, little-endian), or {"int8": base64}. `-` is standard input. Up to 8
    /// times, for several photographs: the template is their mean.
    #[arg(long, value_name = "FILE", required = true)]
    embedding: Vec<PathBuf>,
}

impl WalletCommand {
    pub(super) fn run(self) -> ExitCode {
        match self.command.run() {
            Ok(code) => code,
            Err(cause) => fail(&cause, 1),
        }
    }
}

impl Command {
    fn run(self) -> Result<ExitCode, String> {
        match self {
            Command::Create(place) => place.create(),
            Command::Commitment(place) => {
                println!("{}", hex::encode(place.open()?.wallet.commitment().as_bytes()));
                Ok(ExitCode::SUCCESS)
            }
            Command::Show(place) => {
                print!("{}", described(&place.open()?.wallet));
                Ok(ExitCode::SUCCESS)
            }
            Command::Receive { credential, place, issuer_key } => {
                let file = CredentialFile::from_json(&remote::read(&credential)?);
                let file = file.map_err(|cause| {
                    let cause = parse_error(cause);
                    format!("{}: {cause}; `trefoil issuer export` writes one", credential.display())
                })?;
                let mut open = place.open()?;
                let issuer = issuer_key.map(|key| IssuerKeyId::new(key.0));
                let received = open.wallet.receive(file, issuer.as_ref()).map_err(text)?;
                let (generation, key) = (received.root().generation, received.root().key_id);
                open.save()?;
                println!("received: root generation {generation}, issuer key {}", hex::encode(key));
                Ok(ExitCode::SUCCESS)
            }
            Command::Forget { place, tenant } => {
                let mut open = place.open()?;
                open.wallet.forget(&TenantId::new(tenant.0)).map_err(text)?;
                open.save()?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Enrol { place, which, faces, consent, idempotency_key, remote } => {
                let wallet = place.open()?.wallet;
                let handle = wallet.handle(&which.of(&wallet)?);
                let enrolment = Enrolment::of(faces.read()?, consent);
                let key = idempotency_key.unwrap_or_else(|| hex::encode(rand::random::<[u8; 16]>()));
                let client = remote.client()?;
                // A wallet pins no trust root. `trefoil admin subject enrol --receipt FILE` keeps the receipt.
                let enrolled = client.block_on(client.enrol(handle, &enrolment, &key)).map_err(|cause| {
                    format!("{cause}\nto repeat it after a lost answer: --idempotency-key {key}")
                })?;
                let enrolled = enrolled.without_verification();
                let agreement = agreement(enrolled.agreement);
                println!("enrolled {} generation {}{agreement}", hex::encode(handle.0), enrolled.generation);
                Ok(ExitCode::SUCCESS)
            }
            Command::Prove { place, claim, output } => prove(&place, &claim, &output),
            Command::Upload { proof, place, remote } => {
                let mut open = place.open()?;
                let client = remote.client()?;
                // The receipt concerns auditors: a wrong session is refused here, and its key is the wallet's.
                let opened =
                    client.block_on(client.open_session(remote::read(&proof)?))?.without_verification();
                open.wallet.confirm(&opened.session_id, now(), opened.expires_at).map_err(text)?;
                open.save()?;
                print_opened(&opened);
                Ok(ExitCode::SUCCESS)
            }
            Command::Open { place, claim, remote } => open_session(&place, &claim, &remote),
            Command::Authenticate { place, audience, face, nonce, output, remote } => {
                let login = Login {
                    audience: &audience,
                    face: &self::face(&face.embedding)?,
                    nonce: &nonce,
                    client: &remote.client()?,
                };
                login.run(&mut place.open()?, output.as_deref())
            }
        }
    }
}

impl Which {
    fn of(&self, wallet: &Wallet) -> Result<TenantId, String> {
        match self.tenant {
            Some(tenant) => Ok(TenantId::new(tenant.0)),
            None => wallet.only_tenant().ok_or_else(|| {
                "the wallet has credentials of no or several tenants: receive one, or give --tenant"
                    .to_owned()
            }),
        }
    }
}

impl Faces {
    pub(super) fn read(&self) -> Result<Vec<Vector>, String> {
        self.embedding.iter().map(|path| face(path)).collect()
    }
}

fn face(path: &Path) -> Result<Vector, String> {
    let bytes = Zeroizing::new(remote::read(path)?);
    let named = |cause| format!("{}: {}", path.display(), parse_error(cause));
    serde_json::from_slice(&bytes).map_err(named)
}

/// How well the photographs of an enrolment agree, for a person.
pub(super) fn agreement(smallest_cosine: Option<f64>) -> String {
    smallest_cosine
        .map_or_else(String::new, |cosine| format!(", smallest cosine of two photographs {cosine:.2}"))
}

fn prove(place: &Place, claim: &Claim, output: &Path) -> Result<ExitCode, String> {
    let mut open = place.open()?;
    let request = claim.prove(&open.wallet)?;
    write_private(output, &request.envelope)?;
    let (id, bytes) = (hex::encode(request.session.id().0), request.envelope.len());
    println!("proven: session {id}, upload of {bytes} bytes");
    let (tenant, level, opened_at) = (claim.which.of(&open.wallet)?, request.level, now());
    // Until the service says when the session ends, assume the end of its proof's validity.
    let expires_at = proof_ends(epoch_at(opened_at));
    let session = Session { tenant, level, opened_at, expires_at, holder: request.session };
    open.wallet.opened(session, opened_at);
    open.save()?;
    Ok(ExitCode::SUCCESS)
}

fn open_session(place: &Place, claim: &Claim, remote: &Remote) -> Result<ExitCode, String> {
    let mut open = place.open()?;
    let tenant = claim.which.of(&open.wallet)?;
    let request = claim.prove(&open.wallet)?;
    let opened = upload(&mut open, tenant, request, &remote.client()?)?;
    print_opened(&opened);
    Ok(ExitCode::SUCCESS)
}

fn print_opened(opened: &ProofSession) {
    println!("session {} until {}", hex::encode(opened.session_id.0), time::format(opened.expires_at));
}

impl Claim {
    fn prove(&self, wallet: &Wallet) -> Result<OpenRequest, String> {
        let tenant = self.which.of(wallet)?;
        let request =
            wallet.prove(&tenant, &self.audience, self.level, now(), &mut rand::rng()).map_err(text)?;
        if let Some(path) = &self.record {
            let envelope = ProofEnvelope::decode(&request.envelope).map_err(text)?;
            write_private(path, &ProofRecord::from(&envelope).encode().map_err(text)?)?;
        }
        Ok(request)
    }
}

fn described(wallet: &Wallet) -> String {
    let mut text = format!("commitment  {}\n", hex::encode(wallet.commitment().as_bytes()));
    for credential in wallet.credentials() {
        let root = credential.root();
        text += &format!(
            "credential  tenant {}, root generation {}, issuer key {}\n  handle    {}\n",
            hex::encode(root.tenant),
            root.generation,
            hex::encode(root.key_id),
            hex::encode(wallet.handle(&root.tenant).0)
        );
    }
    for session in wallet.sessions() {
        let until = time::format(session.expires_at);
        let audience = session.holder.audience();
        let (account, key) = (session.holder.account(), wallet.account_key(&session.tenant, audience).id());
        text += &format!("session     {audience} until {until}\n  account   {account}\n  key       {key}\n");
    }
    text
}

fn key_id(text: &str) -> Result<Hex<32>, String> {
    Hex::parse(text).ok_or_else(|| "expected 64 hexadecimal digits".to_owned())
}
