//! A value that threads take turns with.

use std::ops::{Deref, DerefMut};

use crossbeam_channel::{Receiver, Sender, bounded};

/// One value, held by one thread at a time. A thread that panics while it holds the value removes it permanently, and so does a
/// thread that drops it instead of passing it on; the others are told. The value is dropped with the last of these.
pub(super) struct Turns<T> {
    /// Holds the value between two turns, and `None` once it is gone. A channel of one place: its receiver refills it.
    place: Receiver<Option<T>>,
    /// Its other end. The value itself has none, or a channel would keep what keeps the channel, and neither would ever be dropped.
    back: Sender<Option<T>>,
}

impl<T> Turns<T> {
    pub(super) fn new(value: T) -> Self {
        let (back, place) = bounded(1);
        drop(Back { place: &back, value: Some(value) });
        Turns { place, back }
    }

    /// Waits for the value; none if it was removed.
    pub(super) fn take(&self) -> Option<Turn<'_, T>> {
        let value = self.place.recv().ok()?;
        let back = Back { place: &self.back, value: None };
        Some(Turn { value: value?, back })
    }
}

impl<T> Clone for Turns<T> {
    fn clone(&self) -> Self {
        Turns { place: self.place.clone(), back: self.back.clone() }
    }
}

/// The value, until it is passed on.
pub(super) struct Turn<'a, T> {
    value: T,
    back: Back<'a, T>,
}

impl<T> Turn<'_, T> {
    /// Gives the value to the thread that has waited longest.
    pub(super) fn pass(self) {
        let Turn { value, mut back } = self;
        back.value = Some(value);
    }
}

/// Fills the place when it is dropped.
struct Back<'a, T> {
    place: &'a Sender<Option<T>>,
    value: Option<T>,
}

impl<T> Drop for Back<'_, T> {
    fn drop(&mut self) {
        // It is empty while there is one of these, and its receiver lives as long as its sender.
        self.place.try_send(self.value.take()).unwrap_or_default();
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "threads of a test")]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn one_thread_has_the_value_at_a_time_and_each_change_is_seen() {
        let turns = Turns::new(0_u32);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let mut turn = turns.take().expect("it is passed on");
                        let seen = *turn;
                        std::thread::yield_now();
                        *turn = seen + 1;
                        turn.pass();
                    }
                });
            }
        });
        assert_eq!(turns.take().map(|turn| *turn), Some(4_000));
    }

    #[test]
    fn a_value_that_is_not_passed_on_is_gone_for_everybody() {
        let turns = Turns::new(());
        let other = turns.clone();
        drop(turns.take());
        assert!(turns.take().is_none() && other.take().is_none());
        let (turns, held) = (Turns::new(()), Turns::new(()));
        let (one, two) = (turns.clone(), held.clone());
        let panicked = std::thread::spawn(move || {
            let _held = two.take();
            let _one = one.take();
            panic!("meant by the test");
        });
        assert!(panicked.join().is_err());
        assert!(turns.take().is_none() && held.take().is_none());
    }

    #[test]
    fn the_value_is_dropped_with_the_last_that_could_take_it_or_when_it_is_taken_away() {
        let value = Arc::new(());
        let turns = Turns::new(Arc::clone(&value));
        let other = turns.clone();
        turns.take().expect("it is there").pass();
        drop(turns);
        assert_eq!(Arc::strong_count(&value), 2, "another can take it");
        drop(other);
        assert_eq!(Arc::strong_count(&value), 1);
        let turns = Turns::new(Arc::clone(&value));
        drop(turns.take());
        assert_eq!(Arc::strong_count(&value), 1, "nobody can take it");
    }
}
