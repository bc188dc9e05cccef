//! The wallet: holds a credential, opens proof sessions, authenticates requests.

use rand::CryptoRng;
use thiserror::Error;
use trefoil_api::{AttestationForm, Authentication, Base64, Hex, Nonce, Shares, Vector};
use trefoil_attest::{DeviceSignature, DeviceStatement, Proof};
use trefoil_split::{Context, QuantiseError, SealingKey, Split, split_probe};
use trefoil_types::{Account, Handle, SessionId};
use trefoil_zkp::envelope::{EnvelopeError, ProofEnvelope};
use trefoil_zkp::session::{SessionKey, request_mac};
use trefoil_zkp::{Circuit, ProveError, SessionClaim, TenantId, Witness, epoch_to_prove, prove};
use zeroize::Zeroizing;

use crate::account_key::AccountKey;

/// The issuer's data for a holder besides the credential itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The tenant that issued the credential.
    pub tenant: TenantId,
    /// Its policy's number.
    pub policy_id: u32,
    /// Generation of the root at the end of the witness's path.
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
    /// The session for the holder.
    pub session: HolderSession,
    /// The level that was shown.
    pub level: u8,
}

/// The holder's side of a proof session. The session key is wiped when dropped.
#[derive(Debug)]
pub struct HolderSession {
    tenant: TenantId,
    /// As attestations name it; its session is this one.
    proof: Proof,
    handle: Handle,
    account: Account,
    audience: String,
    key: SessionKey,
}

/// The recipient to which a device seals its shares.
#[derive(Clone, Copy, Debug)]
pub struct SealTo<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The key of its key-holder, pinned.
    pub key: &'a SealingKey,
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

    /// The holder at its tenant: what enrolments and requests name.
    #[must_use]
    pub fn handle(&self) -> Hex<32> {
        Hex(trefoil_zkp::handle(&self.witness.secret, &self.membership.tenant).to_bytes())
    }

    /// The holder towards `audience`: the `account` of attestations, the same in every session.
    #[must_use]
    pub fn account(&self, audience: &str) -> Account {
        let scope = trefoil_zkp::scope(&self.membership.tenant, audience);
        Account::new(trefoil_zkp::account(&self.witness.secret, &scope).to_bytes())
    }

    /// The key with which the holder's devices sign for the account with `audience`.
    #[must_use]
    pub fn account_key(&self, audience: &str) -> AccountKey {
        AccountKey::of(&self.witness.secret, &self.membership.tenant, audience)
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
        let key_commitment = key.commitment();
        let account_key = self.account_key(audience).id();
        let statement = self.witness.statement(&SessionClaim {
            circuit: Circuit::Cred2,
            tenant,
            audience,
            root_generation,
            epoch: epoch_to_prove(self.witness.attributes.expiry(), now),
            level,
            policy_id,
            key_commitment: &key_commitment,
            account_key,
        });
        let session = HolderSession {
            tenant,
            proof: Proof {
                circuit: statement.circuit.id(),
                root: *statement.root.as_bytes(),
                level,
                epoch: statement.epoch,
                session: SessionId::new(statement.digest()),
            },
            handle: Handle::new(statement.handle.to_bytes()),
            account: Account::new(statement.account.to_bytes()),
            audience: audience.to_owned(),
            key: key.clone(),
        };
        let proof = prove(&self.witness, &statement, rng)?;
        let envelope = ProofEnvelope {
            statement,
            audience: audience.to_owned(),
            session_key: key,
            account_key,
            policy_id,
            proof,
        };
        Ok(OpenRequest { envelope: envelope.encode()?, session, level })
    }
}

impl HolderSession {
    /// The session's id, which the service computes as well.
    #[must_use]
    pub fn id(&self) -> Hex<32> {
        Hex(self.proof.session.to_bytes())
    }

    /// The holder towards this audience, the same in every session: the `account` of attestations.
    #[must_use]
    pub fn account(&self) -> Account {
        self.account
    }

    /// The holder at its tenant: what enrolments and requests name.
    #[must_use]
    pub fn handle(&self) -> Hex<32> {
        Hex(self.handle.to_bytes())
    }

    /// The relying party that the session is for.
    #[must_use]
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The session's stored form, with its secrets: tenant, circuit u16, root, level u8, epoch u32, id, handle, account, key, then the audience.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(5 * 32 + 23 + self.audience.len()));
        let Proof { circuit, root, level, epoch, session } = &self.proof;
        bytes.extend(self.tenant.as_bytes());
        bytes.extend(circuit.to_le_bytes());
        bytes.extend(root);
        bytes.push(*level);
        bytes.extend(epoch.to_le_bytes());
        bytes.extend(session.as_bytes());
        bytes.extend(self.handle.as_bytes());
        bytes.extend(self.account.as_bytes());
        bytes.extend(self.key.to_bytes().iter());
        bytes.extend(self.audience.as_bytes());
        bytes
    }

    /// Reads the bytes of [`HolderSession::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<HolderSession> {
        let (tenant, rest) = bytes.split_first_chunk()?;
        let (circuit, rest) = rest.split_first_chunk()?;
        let (root, rest) = rest.split_first_chunk()?;
        let (level, rest) = rest.split_first()?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (handle, rest) = rest.split_first_chunk()?;
        let (account, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let audience = str::from_utf8(rest).ok()?.to_owned();
        let key = SessionKey::from_bytes(*key);
        Some(HolderSession {
            tenant: TenantId::new(*tenant),
            proof: Proof {
                circuit: u16::from_le_bytes(*circuit),
                root: *root,
                level: *level,
                epoch: u32::from_le_bytes(*epoch),
                session: SessionId::new(*session),
            },
            handle: Handle::new(*handle),
            account: Account::new(*account),
            audience,
            key,
        })
    }

    /// Whether to open another session in place of this one, given the times of its opening and its end (unix seconds): true when at most a tenth
    /// of its life is left.
    #[must_use]
    pub fn is_due(&self, opened_at: u64, expires_at: u64, now: u64) -> bool {
        let life = expires_at.saturating_sub(opened_at);
        now >= expires_at.saturating_sub(life / 10)
    }

    /// A request with the face `probe` and the relying party's nonce.
    #[must_use]
    pub fn authentication(
        &self,
        probe: Vector,
        nonce: Nonce,
        issued_at: u64,
        attestation: AttestationForm,
    ) -> Authentication {
        self.signed(Some(probe), None, nonce, issued_at, attestation)
    }

    /// Like [`HolderSession::authentication`], for the probe mode `shared`: the service sees only a uniform share of the
    /// probe.
    ///
    /// # Errors
    /// [`QuantiseError`] when the probe is not a face.
    pub fn shared_authentication(
        &self,
        probe: &Vector,
        SealTo { tenant, key }: SealTo<'_>,
        nonce: Nonce,
        issued_at: u64,
        attestation: AttestationForm,
        rng: &mut impl CryptoRng,
    ) -> Result<Authentication, QuantiseError> {
        let context = Context::probe(tenant, &self.handle, &self.proof.session, nonce.as_bytes(), issued_at);
        let split = split_probe(probe.coordinates(), key, &context, rng)?;
        Ok(self.signed(None, Some(shares(&split)), nonce, issued_at, attestation))
    }

    /// The signature of the holder's device for this request. The service does not get it: who has the answer joins it to the attestation
    /// ([`trefoil_attest::join`]). `key` is that of the session's account, and outlives the session, so the session does not keep it.
    pub fn sign(
        &self,
        request: &Authentication,
        key: &AccountKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> DeviceSignature {
        let HolderSession { tenant, account, ref audience, proof, .. } = *self;
        let (nonce, request_digest) = (request.nonce.as_bytes(), attested_digest(request));
        key.sign(&DeviceStatement { tenant, account, audience, nonce, request_digest, proof }, rng)
    }

    fn signed(
        &self,
        embedding: Option<Vector>,
        shares: Option<Shares>,
        nonce: Nonce,
        issued_at: u64,
        attestation: AttestationForm,
    ) -> Authentication {
        let unsigned = Authentication {
            handle: Hex(self.handle.to_bytes()),
            session_id: self.id(),
            audience: self.audience.clone(),
            nonce,
            issued_at,
            embedding,
            shares,
            mac: Hex([0; 32]),
            embedder: None,
            source: None,
            attestation,
        };
        let mac = Hex(request_mac(&self.key, &unsigned.header(&unsigned.probe_digest())));
        Authentication { mac, ..unsigned }
    }
}

/// The request digest that an attestation of `request` must have.
#[must_use]
pub fn attested_digest(request: &Authentication) -> [u8; 32] {
    request.header(&request.probe_digest()).digest()
}

/// The two shares of a face in the form of a body.
#[must_use]
pub fn shares(split: &Split) -> Shares {
    let (open, sealed) = (split.open.to_bytes().to_vec(), split.sealed.as_bytes().to_vec());
    Shares { open: Base64(open), sealed: Base64(sealed) }
}
