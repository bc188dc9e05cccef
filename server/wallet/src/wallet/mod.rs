//! The wallet of a credential holder: one secret, the credentials that issuers gave for its commitment, and the proof
//! sessions that are open.
//!
//! Bytes in, bytes out: these modules touch no file, network or clock, so that a browser can run them. The caller
//! supplies time and randomness, keeps the sealed bytes and sends messages. Secrets are wiped when dropped.

mod codec;

use crate::account_key::{self, AccountKey};
use crate::credentials::sealed::{self, Cost, SealedError};
use crate::credentials::{CredentialError, CredentialFile, IssuerKeyId, RootStatement};
use crate::{Holder, HolderError, HolderSession, Membership, OpenRequest};
use rand::CryptoRng;
use thiserror::Error;
use trefoil_api::Hex;
use trefoil_zkp::TenantId;
use trefoil_zkp::{Digest, Secret, Witness, commitment, handle};
use zeroize::Zeroizing;

/// The kind of a sealed wallet, for [`sealed`].
const KIND: &str = "trefoil/wallet";
/// Most credentials of one wallet.
const CREDENTIALS_MAX: usize = 64;
/// Most sessions that a wallet remembers.
const SESSIONS_MAX: usize = 256;

/// See the module.
pub struct Wallet {
    secret: Secret,
    credentials: Vec<Credential>,
    sessions: Vec<Session>,
}

/// A credential that was checked when it was received.
#[derive(Clone, Debug)]
pub struct Credential {
    file: CredentialFile,
    root: RootStatement,
}

/// A proof session that a service opened.
#[derive(Debug)]
pub struct Session {
    /// The tenant whose credential was shown.
    pub tenant: TenantId,
    /// The level that was shown.
    pub level: u8,
    /// Unix seconds.
    pub opened_at: u64,
    /// Unix seconds.
    pub expires_at: u64,
    /// The session that makes requests.
    pub holder: HolderSession,
}

/// Why a wallet operation failed.
#[derive(Debug, Error)]
pub enum WalletError {
    /// The sealed bytes do not open.
    #[error(transparent)]
    Sealed(#[from] SealedError),
    /// They open but do not hold a wallet.
    #[error("the wallet's content does not read ({0}); was it written by another version?")]
    Content(&'static str),
    /// A credential is refused.
    #[error("credential: {0}")]
    Credential(#[from] CredentialError),
    /// This tenant's earlier credential was signed with another issuer key.
    #[error(
        "the credential is signed by issuer key {}, this tenant's was {}; if the issuer changed its key, forget the \
         tenant first",
        hex::encode(got),
        hex::encode(known)
    )]
    IssuerChanged {
        /// The key that signs this one.
        got: IssuerKeyId,
        /// The key that signed the one before.
        known: IssuerKeyId,
    },
    /// The caller expected another issuer key.
    #[error("the credential is signed by issuer key {}, not by the one that was asked for", hex::encode(.0))]
    Issuer(IssuerKeyId),
    /// Older than the wallet's credential.
    #[error("the credential is for root generation {got}; the wallet has generation {known}")]
    Older {
        /// Generation of this one.
        got: u32,
        /// Generation of the one that the wallet has.
        known: u32,
    },
    /// There is no credential of this tenant.
    #[error("no credential of this tenant: receive one first")]
    NoCredential,
    /// No session with the audience was ever opened.
    #[error("no session for this audience: open one first")]
    NoSession,
    /// Too many credentials.
    #[error("the wallet holds {CREDENTIALS_MAX} credentials: forget one")]
    Full,
    /// No proof could be made.
    #[error(transparent)]
    Holder(#[from] HolderError),
}

impl Wallet {
    /// A wallet with a fresh secret.
    pub fn create(rng: &mut (impl CryptoRng + ?Sized)) -> Wallet {
        Wallet { secret: Secret::random(rng), credentials: Vec::new(), sessions: Vec::new() }
    }

    /// Opens sealed bytes.
    ///
    /// # Errors
    /// [`WalletError`] when it is no wallet, or the passphrase is wrong.
    pub fn open(sealed: &[u8], passphrase: &[u8]) -> Result<Wallet, WalletError> {
        let plain = sealed::open(sealed, passphrase, KIND)?;
        codec::decode(&plain)
    }

    /// The bytes to keep.
    ///
    /// # Errors
    /// [`WalletError`] when the passphrase is too short or the cost is out of bounds.
    pub fn seal(
        &self,
        passphrase: &[u8],
        cost: Cost,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, WalletError> {
        let plain: Zeroizing<Vec<u8>> = codec::encode(self);
        Ok(sealed::seal(&plain, passphrase, KIND, cost, rng)?)
    }

    /// The commitment, which an issuer needs to make a credential.
    pub fn commitment(&self) -> Digest {
        commitment(&self.secret)
    }

    /// The holder at this tenant: what enrolments and requests name.
    pub fn handle(&self, tenant: &TenantId) -> Hex<32> {
        Hex(handle(&self.secret, tenant).to_bytes())
    }

    /// The key with which this wallet signs for its account with `audience`.
    pub fn account_key(&self, tenant: &TenantId, audience: &str) -> AccountKey {
        AccountKey::of(&self.secret, tenant, audience)
    }

    /// For a relying party that keeps the account and key of this wallet: those of `next` in their place, signed by both keys. What
    /// `trefoil_attest::verify_succession` reads.
    pub fn succession(
        &self,
        next: &Wallet,
        tenant: &TenantId,
        audience: &str,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Vec<u8> {
        account_key::succession([&self.secret, &next.secret], tenant, audience, rng)
    }

    /// The credentials.
    pub fn credentials(&self) -> &[Credential] {
        &self.credentials
    }

    /// The sessions, expired ones too.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// Checks a credential and stores it in place of an older one of its tenant. `issuer` is the key that the holder
    /// knows to be its issuer's. Without it the first credential of a tenant determines the key.
    ///
    /// # Errors
    /// [`WalletError`] says which check failed; the wallet is unchanged.
    pub fn receive(
        &mut self,
        file: CredentialFile,
        issuer: Option<&IssuerKeyId>,
    ) -> Result<&Credential, WalletError> {
        let root = file.verify(&self.commitment())?;
        if issuer.is_some_and(|issuer| *issuer != root.key_id) {
            return Err(WalletError::Issuer(root.key_id));
        }
        let credential = Credential { file, root };
        let known = self.credentials.iter().position(|known| known.root.tenant == credential.root.tenant);
        let Some(at) = known else {
            if self.credentials.len() >= CREDENTIALS_MAX {
                return Err(WalletError::Full);
            }
            self.credentials.push(credential);
            return Ok(&self.credentials[self.credentials.len() - 1]);
        };
        let known = &self.credentials[at].root;
        let (got, root) = (credential.root.key_id, &credential.root);
        if known.key_id != got && issuer.is_none() {
            return Err(WalletError::IssuerChanged { got, known: known.key_id });
        }
        if root.generation < known.generation {
            return Err(WalletError::Older { got: root.generation, known: known.generation });
        }
        self.credentials[at] = credential;
        Ok(&self.credentials[at])
    }

    /// Drops a tenant's credential and sessions.
    ///
    /// # Errors
    /// [`WalletError`] when there is no credential of this tenant.
    pub fn forget(&mut self, tenant: &TenantId) -> Result<(), WalletError> {
        let before = self.credentials.len();
        self.credentials.retain(|credential| credential.root.tenant != *tenant);
        self.sessions.retain(|session| session.tenant != *tenant);
        if self.credentials.len() == before { Err(WalletError::NoCredential) } else { Ok(()) }
    }

    /// Proves this tenant's credential to `audience` under a fresh session key, showing `level`, or the credential's own.
    /// Takes tens of milliseconds of one core. Store the session with [`Wallet::opened`] once the service opened it.
    ///
    /// # Errors
    /// [`WalletError`] when there is no credential of this tenant, or it does not support the level.
    pub fn prove(
        &self,
        tenant: &TenantId,
        audience: &str,
        level: Option<u8>,
        now: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<OpenRequest, WalletError> {
        let Credential { file, root } = self.credential(tenant)?;
        let attributes = file.attributes()?;
        let copy = Secret::from_bytes(&self.secret.to_bytes()).map_err(|_| WalletError::Content("secret"))?;
        let witness = Witness { secret: copy, attributes, index: file.index, path: file.path()? };
        let membership = Membership {
            tenant: root.tenant,
            policy_id: file.policy_id,
            root_generation: root.generation,
            level: level.unwrap_or(attributes.level()),
        };
        Ok(Holder::new(witness, membership).open(audience, now, rng)?)
    }

    /// Keeps a session that the service opened. An ended session stays until another one with its audience is opened, so that it can be
    /// renewed.
    pub fn opened(&mut self, session: Session, now: u64) {
        let other = |kept: &Session| kept.holder.audience() != session.holder.audience();
        self.sessions.retain(|kept| kept.expires_at > now || other(kept));
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.remove(0);
        }
        self.sessions.push(session);
    }

    /// Notes the times of opening and end of a session that was proven in advance.
    ///
    /// # Errors
    /// [`WalletError`] when there is no such session.
    pub fn confirm(&mut self, id: &Hex<32>, now: u64, expires_at: u64) -> Result<(), WalletError> {
        let session = self.sessions.iter_mut().find(|session| session.holder.id() == *id);
        let session = session.ok_or(WalletError::NoSession)?;
        (session.opened_at, session.expires_at) = (now, expires_at);
        Ok(())
    }

    /// The newest session with `audience`. [`Session::is_due`] says whether to renew it.
    ///
    /// # Errors
    /// [`WalletError`] when no session with this audience was proven.
    pub fn session(&self, audience: &str) -> Result<&Session, WalletError> {
        let towards = |session: &&Session| session.holder.audience() == audience;
        self.sessions.iter().rev().find(towards).ok_or(WalletError::NoSession)
    }

    /// The only credential, or that of `tenant`.
    pub fn only_tenant(&self) -> Option<TenantId> {
        match self.credentials.as_slice() {
            [one] => Some(one.root.tenant),
            _ => None,
        }
    }

    fn credential(&self, tenant: &TenantId) -> Result<&Credential, WalletError> {
        let found = self.credentials.iter().find(|credential| credential.root.tenant == *tenant);
        found.ok_or(WalletError::NoCredential)
    }
}

impl Session {
    /// Whether to open another in its place, because it has ended or soon will.
    pub fn is_due(&self, now: u64) -> bool {
        self.holder.is_due(self.opened_at, self.expires_at, now)
    }
}

impl Credential {
    /// The credential file, as received.
    pub fn file(&self) -> &CredentialFile {
        &self.file
    }

    /// The root above it.
    pub fn root(&self) -> &RootStatement {
        &self.root
    }
}

#[cfg(test)]
mod tests;
