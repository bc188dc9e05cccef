//! Epochs: the unit of expiry and of pairwise accounts.

/// Length of one epoch in seconds. One hour: the longest time for which a cached verdict may live on.
pub const EPOCH_SECONDS: u64 = 3600;

/// Epochs lie below this. It keeps `expiry - epoch` far from the field's modulus, so that the range check in
/// the circuit cannot wrap; 2^24 hours end in the year 3883.
pub const EPOCH_LIMIT: u32 = 1 << 24;

/// Epoch of a time in unix seconds. Times past the last epoch stay in the last one, in which every credential
/// that can be issued has expired or expires.
pub fn epoch_at(now: u64) -> u32 {
    u32::try_from(now / EPOCH_SECONDS).map_or(EPOCH_LIMIT - 1, |epoch| epoch.min(EPOCH_LIMIT - 1))
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
}
