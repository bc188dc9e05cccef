//! Large pages for large tables. A random read over many megabytes waits for the translation of its address
//! as well as for memory; with pages of 2 MiB the processor knows the translations.

use std::mem::MaybeUninit;

/// Bytes of a large page. Smaller allocations request none.
const LARGE_PAGE: usize = 2 << 20;

/// The items in a box, which lies in large pages where the system has some to give and is large enough for them.
#[must_use]
pub fn collect_in_large_pages<T>(items: impl ExactSizeIterator<Item = T>) -> Box<[T]> {
    let mut collected = Vec::with_capacity(items.len());
    let room = collected.spare_capacity_mut();
    if size_of_val(room) >= LARGE_PAGE {
        prefer_large(room);
    }
    collected.extend(items);
    collected.into_boxed_slice()
}

/// Requests large pages under `room`. Pages are chosen when they are first written, and an allocator may reuse memory that
/// was written before it was freed: the small pages there are released first. A refusal is not an error.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "system calls that take an address")]
fn prefer_large<T>(room: &mut [MaybeUninit<T>]) {
    use rustix::mm::{Advice, madvise};
    // Whole pages only: those at the ends are shared with neighbours.
    let page = rustix::param::page_size();
    let skipped = room.as_ptr().addr().wrapping_neg() % page;
    let (start, bytes) =
        (room.as_mut_ptr().wrapping_byte_add(skipped), size_of_val(room).saturating_sub(skipped));
    let whole = bytes - bytes % page;
    // SAFETY: these pages lie within `room`, which only we use and which holds no data that could be lost.
    let _ = unsafe { madvise(start.cast(), whole, Advice::LinuxDontNeed) };
    // SAFETY: this advice changes how memory is mapped and none of its bytes.
    let _ = unsafe { madvise(start.cast(), whole, Advice::LinuxHugepage) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn prefer_large<T>(_: &mut [MaybeUninit<T>]) {}

#[cfg(test)]
mod tests {
    use super::collect_in_large_pages;
    #[cfg(all(target_os = "linux", not(miri)))]
    use super::prefer_large;

    #[test]
    fn small_and_large_boxes_hold_their_items() {
        // The larger ones request large pages, which is a system call: none under an interpreter.
        let larger: &[u32] = if cfg!(miri) { &[] } else { &[600_001, 1 << 20] };
        for &items in [0u32, 1, 1000].iter().chain(larger) {
            let collected = collect_in_large_pages(0..items);
            assert!(collected.iter().copied().eq(0..items));
        }
    }

    /// Pages given are counted by the kernel for each mapping; with large pages switched off there are none to give.
    // Reads a file of the kernel's.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_large_box_is_marked_for_large_pages() {
        let collected =
            collect_in_large_pages((0..4u32 << 20).map(u64::from).collect::<Vec<_>>().into_iter());
        let (address, mut inside) = (collected.as_ptr().addr() + (8 << 20), false);
        let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return };
        let bounds = |line: &str| {
            let (from, to) = line.split(' ').next()?.split_once('-')?;
            Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
        };
        for line in maps.lines() {
            if let Some((from, to)) = bounds(line) {
                inside = (from..to).contains(&address);
            } else if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return assert!(flags.split(' ').any(|flag| flag == "hg"), "{flags}");
            }
        }
        panic!("no mapping has the box");
    }

    /// Which pages are there is written in a file of the kernel's, 8 bytes for each, of which the highest bit says it.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn small_pages_that_were_written_before_are_given_back() {
        use std::os::unix::fs::FileExt as _;
        let Ok(pages) = std::fs::File::open("/proc/self/pagemap") else { return };
        let size = rustix::param::page_size();
        let mut written = std::hint::black_box(vec![1u8; 2048 * size]);
        written.clear();
        let first = written.as_ptr().addr() / size + 1;
        let there = || {
            let mut entries = vec![0u8; 8 * 2046];
            pages.read_exact_at(&mut entries, 8 * first as u64).expect("one entry for each page");
            entries.as_chunks::<8>().0.iter().filter(|entry| u64::from_le_bytes(**entry) >> 63 == 1).count()
        };
        assert!(there() > 2000);
        prefer_large(written.spare_capacity_mut());
        assert_eq!(there(), 0);
    }
}
