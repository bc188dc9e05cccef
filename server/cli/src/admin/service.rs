//! The running service, and how far its answers are believed.

use super::place::{Caller, Place};
use crate::verify::read_trust_root;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use trefoil_api::Receipt;
use trefoil_attest::TrustRoot;
use trefoil_client::{Admin, Client, ClientError, ReceiptError, Receipted, Unverified};
use trefoil_pipeline::Clock as _;
use trefoil_service::login::clock::SystemClock;

#[derive(clap::Args)]
pub(super) struct Service {
    #[command(flatten)]
    place: Place,
    /// The issuer's trust root, JSON or CBOR, from a channel you trust: a change is believed only if its receipt verifies and says what was
    /// asked for. Absent: TLS alone vouches for answers.
    #[arg(long, value_name = "FILE", global = true)]
    trust_root: Option<PathBuf>,
    /// A new file for the receipt of a change, CBOR, which `trefoil verify` checks.
    #[arg(long, value_name = "FILE", global = true)]
    receipt: Option<PathBuf>,
    /// What went wrong with the receipt of a change that is made.
    #[arg(skip)]
    unsettled: Cell<bool>,
    /// Where the receipt is kept, a line.
    #[arg(skip)]
    kept: RefCell<String>,
}

/// What a change needs before it is made, so that nothing is changed whose receipt cannot be checked or kept.
struct Prepared<'a> {
    root: Option<TrustRoot>,
    file: Option<(File, &'a Path)>,
}

impl Service {
    /// Makes a call of the admin API that changes nothing.
    pub(super) fn call<T>(
        &self,
        call: impl AsyncFnOnce(&Admin) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        self.refuse_receipts()?;
        self.place.call(call)
    }

    /// Makes a call of the admin API that changes nothing and needs no token.
    pub(super) fn call_without_token<T>(
        &self,
        call: impl AsyncFnOnce(&Admin) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        self.refuse_receipts()?;
        self.place.call_without_token(call)
    }

    /// Makes a call of the public API with an API key that changes nothing.
    pub(super) fn call_as<T>(
        &self,
        caller: &Caller,
        call: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        self.refuse_receipts()?;
        self.place.call_as(caller, call)
    }

    /// Makes a change over the admin API. Its receipt is kept and checked as `--receipt` and `--trust-root` say.
    pub(super) fn change<T: Receipted>(
        &self,
        change: impl AsyncFnOnce(&Admin) -> Result<Unverified<T>, ClientError>,
    ) -> Result<T, String> {
        let prepared = self.prepared()?;
        let answer = self.place.call(change).inspect_err(|_| prepared.forget())?;
        self.settled(prepared, answer, "`trefoil admin audit` shows")
    }

    /// Makes a change over the public API, like [`Service::change`].
    pub(super) fn change_as<T: Receipted>(
        &self,
        caller: &Caller,
        change: impl AsyncFnOnce(&Client) -> Result<Unverified<T>, ClientError>,
    ) -> Result<T, String> {
        let prepared = self.prepared()?;
        let answer = self.place.call_as(caller, change).inspect_err(|_| prepared.forget())?;
        self.settled(prepared, answer, "`trefoil admin subject list` and `session list` show")
    }

    /// Whether a change was made whose receipt is missing, or could not be kept.
    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled.get()
    }

    /// A line that says where the receipt is kept; empty if none is.
    pub(super) fn kept(&self) -> String {
        self.kept.take()
    }

    fn refuse_receipts(&self) -> Result<(), String> {
        let given = [("--trust-root", &self.trust_root), ("--receipt", &self.receipt)];
        match given.iter().find(|(_, file)| file.is_some()) {
            Some((flag, _)) => Err(format!(
                "{flag} is for the receipt of a change, and this command changes nothing; leave it out"
            )),
            None => Ok(()),
        }
    }

    fn prepared(&self) -> Result<Prepared<'_>, String> {
        let root = self.trust_root.as_deref().map(read_trust_root).transpose()?;
        let file = match self.receipt.as_deref() {
            None => None,
            Some(path) => Some((new_file(path)?, path)),
        };
        Ok(Prepared { root, file })
    }

    /// The answer, unless its receipt says that it must not be believed. It is shown if there is no receipt, or the receipt could not be kept:
    /// it may hold a new secret. `look` says where to see what was done.
    fn settled<T: Receipted>(
        &self,
        prepared: Prepared<'_>,
        answer: Unverified<T>,
        look: &str,
    ) -> Result<T, String> {
        let kept = prepared.keep(answer.receipt()).unwrap_or_else(|cause| {
            self.tell(&cause);
            String::new()
        });
        let now = SystemClock::default().unix_s();
        match prepared.root.map_or(Ok(()), |root| answer.check(&root, None, now)) {
            Ok(()) => {}
            Err(cause @ ReceiptError::Missing) => {
                self.tell(&format!("not checked under --trust-root: {cause}"))
            }
            Err(cause) => {
                let root = self.trust_root.as_deref().map_or(Path::new("").display(), Path::display);
                return Err(format!(
                    "{cause}\n{kept}{root} is another service's or out of date, or somebody between you and the service changed the answer. \
                     The change may be made all the same: {look} what is there"
                ));
            }
        }
        self.kept.replace(kept);
        Ok(answer.without_verification())
    }

    fn tell(&self, message: &str) {
        eprintln!("trefoil: {message}");
        self.unsettled.set(true);
    }
}

impl Prepared<'_> {
    /// Writes the receipt to its file, and says where it is.
    fn keep(&self, receipt: Option<&Receipt>) -> Result<String, String> {
        let Some((mut file, path)) = self.file.as_ref().map(|(file, path)| (file, path)) else {
            return Ok(String::new());
        };
        let Some(receipt) = receipt else {
            self.forget();
            return Err(format!(
                "no receipt in {}: it was so already, or the service could not seal one in time, and its log says why",
                path.display()
            ));
        };
        let written = file.write_all(&receipt.attestation.0).and_then(|()| file.sync_all());
        written.map_err(|cause| format!("{}: {cause}; the receipt is not kept", path.display()))?;
        Ok(format!("receipt in {}\n", path.display()))
    }

    /// Removes the empty file of a receipt that does not come; never a device, such as `/dev/stdout`.
    fn forget(&self) {
        let Some((file, path)) = &self.file else { return };
        if file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
            // A remaining empty file does no harm: the next call takes it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A file with nothing in it.
fn new_file(path: &Path) -> Result<File, String> {
    let refused = |cause: &dyn std::fmt::Display| {
        format!("{}: {cause}; nothing is changed; give --receipt a new file", path.display())
    };
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|cause| refused(&cause))?;
    match file.metadata().map_err(|cause| refused(&cause))?.len() {
        0 => Ok(file),
        _ => Err(refused(&"holds something already")),
    }
}
