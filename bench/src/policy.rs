//! Replacement policies for comparison of hit ratios: the textbook forms, on one thread, without values.

mod lru;
mod s3_fifo;

pub(crate) use lru::Lru;
pub(crate) use s3_fifo::S3Fifo;

/// A bounded set of keys that decides on its own which keys to keep.
pub(crate) trait Policy {
    /// Looks up `key`, and inserts it on a miss. Returns whether it was a hit.
    fn request(&mut self, key: u64) -> bool;

    /// Keys held.
    fn held(&self) -> usize;
}

#[cfg(test)]
pub(crate) fn hits(policy: &mut impl Policy, requests: &[u64]) -> Vec<bool> {
    requests.iter().map(|&key| policy.request(key)).collect()
}
