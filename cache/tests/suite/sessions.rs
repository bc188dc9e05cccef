//! What sessions promise, one operation at a time.

use super::checked::{Checked, key};
use std::sync::Arc;
use trefoil_cache::{Cache, Inserted, Session};

pub(crate) fn expires_at_the_boundary<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    let cache = Arc::new(make(64));
    let mut session = cache.session();
    let value = Checked::new(1, 1);
    session.insert(key(1), value, 100, 50);
    assert_eq!(session.get(&key(1), 99), Some(value));
    assert_eq!(session.get(&key(1), 100), None);
    assert_eq!(session.get(&key(1), u64::MAX), None);
    assert_eq!(cache.stats().stale, 2);
    // A caller whose clock is behind does not see it expired.
    assert_eq!(session.get(&key(1), 0), Some(value));
    session.insert(key(2), value, u64::MAX, 50);
    assert_eq!(session.get(&key(2), u64::MAX - 1), Some(value));
    assert_eq!(session.get(&key(2), u64::MAX), None);
}

pub(crate) fn removal_is_visible_to_all_sessions<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    let cache = Arc::new(make(1024));
    let (mut one, mut other) = (cache.session(), cache.session());
    for n in 0..200 {
        let value = Checked::new(n, 0);
        assert_eq!(one.insert(key(n), value, 100, 0), Inserted::New);
        assert_eq!(other.get(&key(n), 0), Some(value));
        assert!(other.remove(&key(n)));
        assert_eq!(one.get(&key(n), 0), None);
        assert!(!one.remove(&key(n)));
    }
    assert!(cache.is_empty());
}

pub(crate) fn sweep_takes_exactly_the_expired<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    let cache = Arc::new(make(1 << 12));
    let mut session = cache.session();
    for n in 0..100 {
        session.insert(key(n), Checked::new(n, 0), 10 + n, 0);
    }
    assert_eq!(session.sweep(9), 0);
    assert_eq!(session.sweep(39), 30);
    assert_eq!(session.sweep(39), 0);
    assert_eq!(cache.len(), 70);
    assert!((0..100).all(|n| session.get(&key(n), 0).is_some() == (n >= 30)));
    assert_eq!(cache.stats().expirations, 30);
}

pub(crate) fn keys_that_differ_in_one_bit_are_different<C: Cache<Checked>>(make: impl Fn(usize) -> C) {
    let cache = Arc::new(make(1 << 13));
    let mut session = cache.session();
    let flipped = |bit: usize| {
        let mut key = [0; 32];
        key[bit / 8] ^= 1 << (bit % 8);
        key
    };
    for bit in 0..256 {
        session.insert(flipped(bit), Checked::new(bit as u64, 0), 100, 0);
    }
    for bit in 0..256 {
        assert_eq!(session.get(&flipped(bit), 0), Some(Checked::new(bit as u64, 0)));
    }
    assert_eq!(session.get(&[0; 32], 0), None);
}
