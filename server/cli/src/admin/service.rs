//! The running service, and how far its answers are believed.

use super::place::{Caller, Place};
use crate::verify::read_trust_root;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use trefoil_attest::TrustRoot;
use trefoil_client::{Admin, Client, ClientError, ReceiptError, Receipted, Unverified};
use trefoil_pipeline::Clock as _;
use trefoil_service::clock::SystemClock;

#[derive(clap::Args)]
pub(super) struct Service {
    #[command(flatten)]
    place: Place,
    /// The issuer's trust root, JSON or CBOR, from a channel you trust: a change is believed only if its receipt verifies and says what was
    /// asked for. Absent: TLS alone vouches for answers.
    #[arg(long, value_name = "FILE", global = true)]
    trust_root: Option<PathBuf>,
    /// Set once an answer has no receipt, although it should be checked.
    #[arg(skip)]
    unchecked: Cell<bool>,
}

impl Service {
    /// Makes a call of the admin API.
    pub(super) fn call<T>(
        &self,
        call: impl AsyncFnOnce(&Admin) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        self.place.call(call)
    }

    /// Makes a call of the admin API that needs no token.
    pub(super) fn call_without_token<T>(
        &self,
        call: impl AsyncFnOnce(&Admin) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        self.place.call_without_token(call)
    }

    /// Makes a call of the public API with an API key.
    pub(super) fn call_as<T>(
        &self,
        caller: &Caller,
        call: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        self.place.call_as(caller, call)
    }

    /// Makes a change over the admin API. Its receipt is checked as `--trust-root` says.
    pub(super) fn change<T: Receipted>(
        &self,
        change: impl AsyncFnOnce(&Admin) -> Result<Unverified<T>, ClientError>,
    ) -> Result<T, String> {
        let root = self.pinned()?;
        self.checked(root, self.call(change)?)
    }

    /// Makes a change over the public API, like [`Service::change`].
    pub(super) fn change_as<T: Receipted>(
        &self,
        caller: &Caller,
        change: impl AsyncFnOnce(&Client) -> Result<Unverified<T>, ClientError>,
    ) -> Result<T, String> {
        let root = self.pinned()?;
        self.checked(root, self.call_as(caller, change)?)
    }

    /// Whether an answer should have been checked and has no receipt.
    pub(super) fn is_unchecked(&self) -> bool {
        self.unchecked.get()
    }

    /// The trust root of `--trust-root`, which is read before anything is changed.
    fn pinned(&self) -> Result<Option<TrustRoot>, String> {
        self.trust_root.as_deref().map(read_trust_root).transpose()
    }

    /// The answer, unless its receipt says that it must not be believed. One without a receipt is shown, since it may hold a new secret.
    fn checked<T: Receipted>(&self, root: Option<TrustRoot>, answer: Unverified<T>) -> Result<T, String> {
        let now = SystemClock::default().unix_s();
        match root.map_or(Ok(()), |root| answer.check(&root, None, now)) {
            Ok(()) => {}
            Err(cause @ ReceiptError::Missing) => {
                eprintln!("trefoil: not checked under --trust-root: {cause}");
                self.unchecked.set(true);
            }
            Err(cause) => {
                let file = self.trust_root.as_deref().map_or(Path::new("").display(), Path::display);
                return Err(format!(
                    "{cause}\n{file} is another service's or out of date, or somebody between you and the service changed the answer. \
                     `trefoil admin audit` shows what was done"
                ));
            }
        }
        Ok(answer.without_verification())
    }
}
