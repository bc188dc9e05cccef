//! The wallet: holds a credential, opens proof sessions, authenticates requests.

use crate::wire::{AttestationForm, Authentication, Hex, Nonce, Vector, request_digest};
use rand::CryptoRng;
use thiserror::Error;
use trefoil_zkp::envelope::{EnvelopeError, ProofEnvelope};
use trefoil_zkp::session::{SessionKey, request_mac};
use trefoil_zkp::{Circuit, ProveError, SessionClaim, TenantId, Witness, epoch_at, handle, prove};
use zeroize::Zeroizing;

/// What the issuer tells a holder besides the credential itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The tenant that issued the credential.
    pub tenant: TenantId,
    /// Its policy's number.
    pub policy_id: u32,
    /// Generation of the root that the witness's path leads to.
    pub root_generation: u32,
    /// Credential level to show.
    pub level: u8,
}

/// A credential on its holder's device.
#[derive(Debug)]
pub struct Holder {
    witness: Witness,
    membership: Membership,
}

/// A proven session that the service has not yet seen.
pub struct OpenRequest {
    /// The body of `POST /v1/proof-sessions`.
    pub envelope: Vec<u8>,
    /// What the holder keeps.
    pub session: HolderSession,
}

/// The holder's side of a proof session. The session key is wiped when dropped.
#[derive(Debug)]
pub struct HolderSession {
    id: [u8; 32],
    subject: [u8; 32],
    tag: [u8; 32],
    audience: String,
    key: SessionKey,
}

/// Why no session can be opened.
#[derive(Debug, Error)]
pub enum HolderError {
    /// The credential does not support the statement.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// The audience or the proof does not fit an envelope.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
}

impl Holder {
    /// A holder of the credential in `witness`.
    #[must_use]
    pub fn new(witness: Witness, membership: Membership) -> Holder {
        Holder { witness, membership }
    }

    /// The holder's pseudonym at its tenant: the `subject` of the API.
    #[must_use]
    pub fn subject(&self) -> Hex<32> {
        Hex(handle(&self.witness.secret, &self.membership.tenant).to_bytes())
    }

    /// Proves the credential to `audience` under a fresh session key. Takes tens of milliseconds of one core.
    ///
    /// # Errors
    /// When the credential does not support the statement, or the audience has more than 255 bytes.
    pub fn open(
        &self,
        audience: &str,
        now: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<OpenRequest, HolderError> {
        let Membership { tenant, policy_id, root_generation, level } = self.membership;
        let key = SessionKey::random(rng);
        let statement = self.witness.statement(&SessionClaim {
            circuit: Circuit::Cred1,
            tenant,
            audience,
            root_generation,
            epoch: epoch_at(now),
            level,
            policy_id,
            key_commitment: &key.commitment(),
            chain: None,
        });
        let session = HolderSession {
            id: statement.digest(),
            subject: statement.handle.to_bytes(),
            tag: statement.tag.to_bytes(),
            audience: audience.to_owned(),
            key: key.clone(),
        };
        let proof = prove(&self.witness, &statement, rng)?;
        let envelope = ProofEnvelope {
            statement,
            audience: audience.to_owned(),
            session_key: key,
            policy_id,
            chain: None,
            proof,
        };
        Ok(OpenRequest { envelope: envelope.encode()?, session })
    }
}

impl HolderSession {
    /// The session's id, which the service computes as well.
    #[must_use]
    pub fn id(&self) -> Hex<32> {
        Hex(self.id)
    }

    /// The holder's pseudonym towards this audience in this epoch: the `handle` of attestations.
    #[must_use]
    pub fn tag(&self) -> [u8; 32] {
        self.tag
    }

    /// The relying party that the session is for.
    #[must_use]
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The session as its holder keeps it, session key included: id, subject, tag, key, and the audience.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(4 * 32 + self.audience.len()));
        bytes.extend(self.id);
        bytes.extend(self.subject);
        bytes.extend(self.tag);
        bytes.extend(self.key.to_bytes().iter());
        bytes.extend(self.audience.as_bytes());
        bytes
    }

    /// Reads back [`HolderSession::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<HolderSession> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (subject, rest) = rest.split_first_chunk()?;
        let (tag, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let audience = str::from_utf8(rest).ok()?.to_owned();
        Some(HolderSession {
            id: *id,
            subject: *subject,
            tag: *tag,
            audience,
            key: SessionKey::from_bytes(*key),
        })
    }

    /// A request that `probe` is the holder's face, under the relying party's nonce.
    #[must_use]
    pub fn authentication(
        &self,
        probe: Vector,
        nonce: Nonce,
        issued_at: u64,
        attestation: AttestationForm,
    ) -> Authentication {
        let probe_digest = probe.digest();
        let unsigned = Authentication {
            subject: Hex(self.subject),
            session_id: self.id(),
            audience: self.audience.clone(),
            nonce,
            issued_at,
            embedding: probe,
            mac: Hex([0; 32]),
            attestation,
        };
        let mac = Hex(request_mac(&self.key, &unsigned.header(&probe_digest)));
        Authentication { mac, ..unsigned }
    }
}

/// What an attestation of `request` must carry as its request digest.
#[must_use]
pub fn attested_digest(request: &Authentication) -> [u8; 32] {
    request_digest(&request.header(&request.embedding.digest()))
}
