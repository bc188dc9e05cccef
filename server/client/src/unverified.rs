//! Answers of which nobody has verified yet what the service attests.

use std::fmt;
use thiserror::Error;
use trefoil_api::{
    Authenticated, ChangedOperator, ChangedPolicy, ChangedTenant, CreatedApiKey, CreatedOperatorToken,
    CreatedTenant, DeletedTenant, EndedSession, Enrolled, Erased, ProofSession, PublishedRoot, Receipt,
    RegisteredIssuerKey, Replaced, ResetAttempts, ResetMalformed, Revoked, RevokedApiKey, StartedRotation,
};
use trefoil_attest::{Seal, TrustRoot, VerifyError, What, verify_change, verify_change_with_seal};
use trefoil_types::TenantId;

/// An answer whose attestation or receipt is not verified. Its content is reached by `verified`, with the pinned trust root, or by saying
/// so: [`Unverified::without_verification`].
///
/// ```no_run
/// use trefoil_api::{Enrolled, Enrolment, Hex};
/// use trefoil_attest::TrustRoot;
/// use trefoil_client::Client;
///
/// # async fn enrol(client: Client, handle: Hex<32>, face: Enrolment, pinned: TrustRoot, now: u64) -> Result<(), Box<dyn std::error::Error>> {
/// // Refused unless the receipt verifies, and says that this subject was enrolled with this consent.
/// let enrolled: Enrolled = client.enrol(handle, &face, "form 7").await?.verified(&pinned, None, now)?;
/// # drop(enrolled);
/// # Ok(())
/// # }
/// ```
///
/// There is no other way to it:
///
/// ```compile_fail,E0609
/// # use trefoil_api::Hex;
/// # async fn erase(client: trefoil_client::Client, handle: Hex<32>) -> Result<(), Box<dyn std::error::Error>> {
/// let generation = client.erase(handle).await?.generation;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "call `verified`, or say `without_verification`"]
pub struct Unverified<T> {
    answer: T,
    said: Option<Said>,
    seal: Option<Box<Seal>>,
}

/// What the receipt of a change must say: of this tenant, if the request names it, that this was done.
pub(crate) type Said = (Option<TenantId>, What);

/// Why an answer is not to be believed.
#[derive(Debug, Error)]
pub enum ReceiptError {
    /// There is no receipt. Nothing was changed, because it was so already; or it was changed and could not be sealed in time.
    #[error(
        "there is no receipt to verify: it was so already, or the service could not seal one in time, and its log says why. The change \
         may be made all the same"
    )]
    Missing,
    /// The receipt does not verify.
    #[error("the service's receipt does not verify, do not believe this answer: {0}")]
    Receipt(#[from] VerifyError),
    /// The receipt says something else than request and answer.
    #[error("the receipt says something else than was asked for and answered, do not believe this answer")]
    Differs,
}

/// An answer to a change, with its receipt.
pub trait Receipted {
    /// The receipt; none if nothing was changed, or if it could not be sealed in time.
    fn receipt(&self) -> Option<&Receipt>;
}

macro_rules! receipted {
    ($($answer:ty),* $(,)?) => {$(
        impl Receipted for $answer {
            fn receipt(&self) -> Option<&Receipt> {
                self.receipt.as_ref()
            }
        }
    )*};
}

receipted!(
    ChangedOperator,
    ChangedPolicy,
    ChangedTenant,
    CreatedApiKey,
    CreatedOperatorToken,
    CreatedTenant,
    DeletedTenant,
    EndedSession,
    Enrolled,
    Erased,
    ProofSession,
    PublishedRoot,
    RegisteredIssuerKey,
    Replaced,
    ResetAttempts,
    ResetMalformed,
    Revoked,
    RevokedApiKey,
    StartedRotation,
);

impl Unverified<Authenticated> {
    /// The answer to a login, which has an attestation in place of a receipt.
    pub(crate) fn login(answer: Authenticated) -> Unverified<Authenticated> {
        Unverified { answer, said: None, seal: None }
    }
}

impl<T> Unverified<T> {
    /// The answer to a change. `said` is `None` if it is about something else than the request.
    pub(crate) fn change(answer: T, said: Option<Said>) -> Unverified<T> {
        Unverified { answer, said, seal: None }
    }

    /// Adds the seal of a compact attestation or receipt: the one with `seal_number`, from [`Client::seal`](crate::Client::seal).
    pub fn with_seal(self, seal: Seal) -> Unverified<T> {
        Unverified { seal: Some(Box::new(seal)), ..self }
    }

    /// The answer as it came. Only TLS vouches for it: for programs that pass its attestation or receipt on to somebody who verifies it, or
    /// that do not depend on it.
    pub fn without_verification(self) -> T {
        self.answer
    }

    pub(crate) fn answer(&self) -> &T {
        &self.answer
    }

    pub(crate) fn into_parts(self) -> (T, Option<Box<Seal>>) {
        (self.answer, self.seal)
    }
}

impl<T: Receipted> Unverified<T> {
    /// The receipt as it came, to keep: it is evidence also where it does not verify.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.answer.receipt()
    }

    /// The number of the seal of the receipt, which a compact one needs; `None` if there is no receipt.
    #[must_use]
    pub fn seal_number(&self) -> Option<u64> {
        self.receipt().map(|receipt| receipt.seal_number)
    }

    /// The answer, if its receipt passes [`Unverified::check`]. Otherwise the answer is gone: where one is of use without a receipt, such
    /// as a new API key, call `check` first.
    ///
    /// # Errors
    /// As of [`Unverified::check`].
    pub fn verified(
        self,
        trust_root: &TrustRoot,
        tenant: Option<&TenantId>,
        now: u64,
    ) -> Result<T, ReceiptError> {
        self.check(trust_root, tenant, now)?;
        Ok(self.answer)
    }

    /// Whether the receipt verifies under `trust_root` at `now` (unix seconds) and says what was asked for and what the answer says:
    /// the same change of the same subject, session, key, policy, operator. `trust_root` is the pinned one. A receipt of
    /// [`Client`](crate::Client) must be of `tenant` if you give it: an API key does not say whose it is. One of [`Admin`](crate::Admin)
    /// must be of the tenant of the request in any case.
    ///
    /// # Errors
    /// [`ReceiptError::Missing`] without a receipt; [`ReceiptError`] for one that must not be believed.
    pub fn check(
        &self,
        trust_root: &TrustRoot,
        tenant: Option<&TenantId>,
        now: u64,
    ) -> Result<(), ReceiptError> {
        let receipt = self.receipt().ok_or(ReceiptError::Missing)?;
        let (of, what) = self.said.as_ref().ok_or(ReceiptError::Differs)?;
        let bytes = &receipt.attestation.0;
        let verified = match &self.seal {
            None => verify_change(bytes, trust_root, tenant, now)?,
            Some(seal) => verify_change_with_seal(bytes, seal, trust_root, tenant, now)?,
        };
        let change = verified.change();
        let same = change.what == *what
            && of.is_none_or(|of| of == change.tenant)
            && (*verified.digest(), verified.seal().seal_number) == (receipt.id.0, receipt.seal_number);
        if same { Ok(()) } else { Err(ReceiptError::Differs) }
    }
}

/// Shows nothing of the answer.
impl<T> fmt::Debug for Unverified<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unverified(..)")
    }
}
