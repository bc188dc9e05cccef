//! The content of a sealed wallet: magic "TFW3", secret (32), u16 credentials (each u32 length and JSON), u16 sessions
//! (each u32 length and bytes), integers little-endian, with no trailing bytes.

use super::{CREDENTIALS_MAX, Credential, SESSIONS_MAX, Session, Wallet, WalletError};
use crate::HolderSession;
use crate::credentials::CredentialFile;
use trefoil_types::TenantId;
use trefoil_zkp::{Secret, commitment};
use zeroize::Zeroizing;

const MAGIC: [u8; 4] = *b"TFW3";

pub(super) fn encode(wallet: &Wallet) -> Zeroizing<Vec<u8>> {
    let Wallet { secret, credentials, sessions } = wallet;
    let credentials: Vec<_> = credentials.iter().map(|credential| credential.file.to_json()).collect();
    let sessions: Vec<_> = sessions.iter().map(Session::to_bytes).collect();
    let lengths = credentials.iter().map(String::len).chain(sessions.iter().map(|bytes| bytes.len()));
    // Allocate all at once, because a growing vector leaves copies of the secret behind.
    let mut bytes =
        Zeroizing::new(Vec::with_capacity(4 + 32 + 4 + lengths.map(|length| 4 + length).sum::<usize>()));
    bytes.extend(MAGIC);
    bytes.extend(secret.to_bytes().iter());
    bytes.extend((credentials.len() as u16).to_le_bytes());
    for json in &credentials {
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(json.as_bytes());
    }
    bytes.extend((sessions.len() as u16).to_le_bytes());
    for session in &sessions {
        bytes.extend((session.len() as u32).to_le_bytes());
        bytes.extend(session.iter());
    }
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Result<Wallet, WalletError> {
    let mut rest = bytes;
    if take(&mut rest, "magic")? != MAGIC {
        return Err(WalletError::Content("magic"));
    }
    let secret = Zeroizing::new(take(&mut rest, "secret")?);
    let secret = Secret::from_bytes(&secret).map_err(|_| WalletError::Content("secret"))?;
    let commitment = commitment(&secret);
    let credentials = (0..count(&mut rest, CREDENTIALS_MAX, "credentials")?)
        .map(|_| {
            let file = CredentialFile::from_json(part(&mut rest, "credential")?)?;
            let root = file.verify(&commitment)?;
            Ok(Credential { file, root })
        })
        .collect::<Result<_, WalletError>>()?;
    let mut sessions = Vec::new();
    for _ in 0..count(&mut rest, SESSIONS_MAX, "sessions")? {
        let bytes = part(&mut rest, "session")?;
        sessions.push(Session::from_bytes(bytes).ok_or(WalletError::Content("session"))?);
    }
    if !rest.is_empty() {
        return Err(WalletError::Content("bytes at the end"));
    }
    Ok(Wallet { secret, credentials, sessions })
}

impl Session {
    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let Session { tenant, level, opened_at, expires_at, holder } = self;
        let holder = holder.to_bytes();
        let mut bytes = Zeroizing::new(Vec::with_capacity(33 + holder.len()));
        bytes.extend(tenant.as_bytes());
        bytes.push(*level);
        bytes.extend(opened_at.to_le_bytes());
        bytes.extend(expires_at.to_le_bytes());
        bytes.extend(holder.iter());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Session> {
        let (tenant, rest) = bytes.split_first_chunk()?;
        let (level, rest) = rest.split_first()?;
        let (opened_at, rest) = rest.split_first_chunk()?;
        let (expires_at, rest) = rest.split_first_chunk()?;
        let (opened_at, expires_at) = (u64::from_le_bytes(*opened_at), u64::from_le_bytes(*expires_at));
        let holder = HolderSession::from_bytes(rest)?;
        Some(Session { tenant: TenantId::new(*tenant), level: *level, opened_at, expires_at, holder })
    }
}

fn count(rest: &mut &[u8], max: usize, what: &'static str) -> Result<usize, WalletError> {
    let count = usize::from(u16::from_le_bytes(take(rest, what)?));
    if count <= max { Ok(count) } else { Err(WalletError::Content(what)) }
}

fn part<'a>(rest: &mut &'a [u8], what: &'static str) -> Result<&'a [u8], WalletError> {
    let length = u32::from_le_bytes(take(rest, what)?) as usize;
    let (head, tail) = rest.split_at_checked(length).ok_or(WalletError::Content(what))?;
    *rest = tail;
    Ok(head)
}

fn take<const N: usize>(rest: &mut &[u8], what: &'static str) -> Result<[u8; N], WalletError> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or(WalletError::Content(what))?;
    *rest = tail;
    Ok(*head)
}
