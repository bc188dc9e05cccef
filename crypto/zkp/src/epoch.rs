//! Epochs: the unit in which credentials expire, and when a proof of one counts.
//!
//! A proof of epoch E shows that the credential's expiry is E or later. It counts in E and in the epoch after it, so that no session
//! ends because an hour does. A credential of expiry X therefore ends at the end of epoch X + 1, and nothing proven about it
//! outlives that. For a credential that is to end at a given time, an issuer uses [`expiry_of`] that time.

/// Length of one epoch in seconds: an hour.
pub const EPOCH_SECONDS: u64 = 3600;

/// Epochs lie below this. It keeps `expiry - epoch` far from the field's modulus, so that the range check in
/// the circuit cannot wrap; 2^24 hours end in the year 3883.
pub const EPOCH_LIMIT: u32 = 1 << 24;

/// Epoch of a time in unix seconds. Times past the last epoch stay in the last one, in which every credential
/// that can be issued has expired or expires.
pub fn epoch_at(now: u64) -> u32 {
    u32::try_from(now / EPOCH_SECONDS).map_or(EPOCH_LIMIT - 1, |epoch| epoch.min(EPOCH_LIMIT - 1))
}

/// First second, in unix time, at which a proof of `epoch` no longer counts: the end of the epoch after it.
pub fn proof_ends(epoch: u32) -> u64 {
    (u64::from(epoch) + 2) * EPOCH_SECONDS
}

/// Whether a proof of `epoch` counts at `now` (unix seconds): in its epoch and the one after. It counts in the one before too, when only a
/// client whose clock is ahead makes it: it shows more than is asked.
pub fn proof_counts(epoch: u32, now: u64) -> bool {
    let starts = u64::from(epoch).saturating_sub(1) * EPOCH_SECONDS;
    (starts..proof_ends(epoch)).contains(&now)
}

/// The epoch that the holder of a credential of this expiry proves at `now` (unix seconds): the present one, or the one before in the
/// credential's last hour.
pub fn epoch_to_prove(expiry: u32, now: u64) -> u32 {
    let present = epoch_at(now);
    if expiry.checked_add(1) == Some(present) { expiry } else { present }
}

/// The expiry of a credential that is to be over at `end` (unix seconds), rounded down to the hour. None for the first two hours of 1970
/// and past the last epoch.
pub fn expiry_of(end: u64) -> Option<u32> {
    let expiry = u32::try_from((end / EPOCH_SECONDS).checked_sub(2)?).ok()?;
    (expiry < EPOCH_LIMIT).then_some(expiry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_one_hour_and_the_last_one_does_not_end() {
        assert_eq!(epoch_at(0), 0);
        assert_eq!(epoch_at(3599), 0);
        assert_eq!(epoch_at(3600), 1);
        assert_eq!(epoch_at(1_795_000_000), 498_611);
        assert_eq!(epoch_at(u64::MAX), EPOCH_LIMIT - 1);
    }

    #[test]
    fn a_proof_counts_in_its_epoch_and_in_those_beside_it() {
        let start = 498_611 * EPOCH_SECONDS;
        let counts = |now| proof_counts(498_611, now);
        assert!(!counts(start - EPOCH_SECONDS - 1) && counts(start - EPOCH_SECONDS));
        assert!(counts(start) && counts(start + 2 * EPOCH_SECONDS - 1));
        assert!(!counts(start + 2 * EPOCH_SECONDS));
        assert_eq!(proof_ends(498_611), start + 2 * EPOCH_SECONDS);
        assert!(proof_counts(0, 0) && proof_counts(0, 7199) && !proof_counts(0, 7200));
        assert!(!proof_counts(EPOCH_LIMIT - 1, u64::MAX) && !proof_counts(u32::MAX, 0));
    }

    /// Claim P15.
    #[test]
    fn a_credential_is_provable_up_to_its_end_and_nothing_outlives_it() {
        for end in [1_800_000_000, 1_800_003_599, 1_800_003_600] {
            let expiry = expiry_of(end).expect("after 1970");
            let over = end / EPOCH_SECONDS * EPOCH_SECONDS;
            assert_eq!(proof_ends(expiry), over);
            // Up to its last second a holder proves an epoch that the credential covers and that counts; then none.
            for now in [over - 3 * EPOCH_SECONDS, over - EPOCH_SECONDS - 1, over - EPOCH_SECONDS, over - 1] {
                let epoch = epoch_to_prove(expiry, now);
                assert!(epoch <= expiry && proof_counts(epoch, now), "{now}");
                assert!(proof_ends(epoch) <= over, "{now}");
            }
            assert!(epoch_to_prove(expiry, over) > expiry);
            assert!((0..=expiry).rev().take(3).all(|epoch| !proof_counts(epoch, over)));
        }
        assert_eq!(expiry_of(2 * EPOCH_SECONDS), Some(0));
        assert_eq!(expiry_of(2 * EPOCH_SECONDS - 1), None);
        assert_eq!(expiry_of((u64::from(EPOCH_LIMIT) + 2) * EPOCH_SECONDS), None);
        assert_eq!(expiry_of(u64::MAX), None);
        assert_eq!(epoch_to_prove(u32::MAX, 0), 0);
    }
}
