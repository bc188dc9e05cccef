//! The audience and the nonce that an attestation must have.

use crate::values::nonce;
use trefoil_attest::{AccountKeyId, ExpectedNonce};

#[derive(clap::Args)]
pub(super) struct Expected {
    /// The relying party that it must be for.
    #[arg(long)]
    audience: Option<String>,
    /// Accept an attestation that was made for any relying party.
    #[arg(long, conflicts_with = "audience")]
    any_audience: bool,
    /// The nonce that it must have, hexadecimal.
    #[arg(long, value_name = "HEX", value_parser = nonce)]
    nonce: Option<trefoil_api::Nonce>,
    /// Accept an attestation of any login, also one that was used before.
    #[arg(long, conflicts_with = "nonce")]
    any_nonce: bool,
    /// The account key that the device must have signed with: the one that you keep beside this account. Absent: any or none, which shows only that
    /// the service attests the login.
    #[arg(long, value_name = "HEX")]
    account_key: Option<AccountKeyId>,
}

impl Expected {
    /// What the command line does not say, and what to do; `None` if it says all.
    pub(super) fn missing(&self) -> Option<String> {
        let audience = self.audience.is_none() && !self.any_audience;
        let nonce = self.nonce.is_none() && !self.any_nonce;
        let (what, risk, give, waive) = match (audience, nonce) {
            (false, false) => return None,
            (true, false) => (
                "no audience",
                "made for another relying party",
                "--audience with your name",
                "--any-audience",
            ),
            (false, true) => {
                ("no nonce", "used before", "--nonce with the nonce that you sent", "--any-nonce")
            }
            (true, true) => (
                "no audience and no nonce",
                "made for another relying party, or used before",
                "--audience with your name and --nonce with the nonce that you sent",
                "--any-audience --any-nonce",
            ),
        };
        Some(format!(
            "{what} to check, so this attestation may have been {risk}; give {give}, or {waive} to go without the check"
        ))
    }

    /// The relying party; `None` for any.
    pub(super) fn audience(&self) -> Option<&str> {
        self.audience.as_deref()
    }

    pub(super) fn nonce(&self) -> ExpectedNonce {
        match &self.nonce {
            Some(nonce) => ExpectedNonce::Exactly(nonce.as_bytes().to_vec()),
            None => ExpectedNonce::DangerousAny,
        }
    }

    /// The pinned account key.
    pub(super) fn account_key(&self) -> Option<AccountKeyId> {
        self.account_key
    }

    /// What it means that no account key is pinned, given the key that signed; `None` if one is.
    pub(super) fn unpinned(&self, device: Option<AccountKeyId>) -> Option<&'static str> {
        match (self.account_key, device) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(
                "not checked: that the device is this person's; keep its key beside the account, and from the next login on require it with --account-key",
            ),
            (None, None) => Some(
                "no device signed: that this person took part is the word of the service, which has all the keys above",
            ),
        }
    }

    /// Which of the two are not checked.
    pub(super) fn unchecked(&self) -> Vec<&'static str> {
        let all = [("audience", self.audience.is_none()), ("nonce", self.nonce.is_none())];
        all.into_iter().filter_map(|(name, absent)| absent.then_some(name)).collect()
    }
}
