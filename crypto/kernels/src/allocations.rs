//! An allocator that counts on request: the system's, with one extra load per call when counting is off.
//!
//! A program that wants its allocations counted makes [`Counted`] its global allocator. Counts are of all threads together
//! ([`Counts::of_all_threads`]) and of the calling one ([`Counts::of_this_thread`]), so that a thread can say which of its steps
//! allocated. It is here because an allocator is `unsafe`, and that is only allowed in this crate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The allocator.
#[derive(Debug)]
pub struct Counted;

/// Allocations, and the bytes that they requested. Frees are not subtracted, and growth counts as a new allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls.
    pub allocations: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Written when counting begins and ends, so every thread's copy of its line stays valid in between.
static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Made without allocating and without anything to do at the thread's end: an allocator may touch it at any time.
    static OWN: Cell<Counts> = const { Cell::new(Counts { allocations: 0, bytes: 0 }) };
}

/// Counts as long as it lives; one at a time.
#[derive(Debug)]
pub struct Counting(());

impl Counting {
    /// Starts counting.
    #[must_use]
    pub fn start() -> Counting {
        COUNTING.store(true, Ordering::Relaxed);
        Counting(())
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        COUNTING.store(false, Ordering::Relaxed);
    }
}

impl Counts {
    /// Counts of all threads, including ended ones, since the program started, while counting was on.
    pub fn of_all_threads() -> Counts {
        Counts { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
    }

    /// Counts of the calling thread since it started, while counting was on.
    pub fn of_this_thread() -> Counts {
        OWN.get()
    }

    /// The counts since `before`.
    #[must_use]
    pub fn since(self, before: Counts) -> Counts {
        Counts { allocations: self.allocations - before.allocations, bytes: self.bytes - before.bytes }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "shared only while counting is on, which it never is while time is measured"
)]
fn count(bytes: usize) {
    if !COUNTING.load(Ordering::Relaxed) {
        return;
    }
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    let Counts { allocations, bytes: own } = OWN.get();
    OWN.set(Counts { allocations: allocations + 1, bytes: own + bytes as u64 });
}

#[allow(unsafe_code, reason = "the trait of an allocator is unsafe")]
// SAFETY: every call goes unchanged to the system's allocator; counting allocates nothing and does not unwind.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above; `pointer` came from the system's allocator, since all calls go there.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counted = Counted;

    #[test]
    fn allocations_are_counted_while_somebody_asks_and_on_their_thread() {
        let allocate = || drop(std::hint::black_box(vec![1u8; 1000]));
        let before = Counts::of_this_thread();
        allocate();
        assert_eq!(Counts::of_this_thread(), before, "nobody asked");
        let all = Counts::of_all_threads();
        let counting = Counting::start();
        allocate();
        std::thread::spawn(allocate).join().expect("a thread");
        let (own, all) = (Counts::of_this_thread().since(before), Counts::of_all_threads().since(all));
        drop(counting);
        // Making a thread allocates here too.
        assert!(own.allocations >= 1 && own.bytes >= 1000, "{own:?}");
        assert!(all.bytes >= own.bytes + 1000, "the other thread's are among all: {all:?} {own:?}");
        let end = Counts::of_this_thread();
        allocate();
        assert_eq!(Counts::of_this_thread(), end, "counting is off");
    }
}
