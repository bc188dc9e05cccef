//! Where the items of an encoding begin and end, without the decoders that are tested.

/// Where the byte strings of an encoding begin, and their bytes.
pub(crate) fn byte_strings(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut ends = Vec::new();
    let mut found = Vec::new();
    items(bytes, 0, &mut ends);
    for at in ends {
        if bytes.get(at).is_some_and(|head| head >> 5 == 2) {
            let (length, start) = argument(bytes, at);
            if let Some(content) = bytes.get(start..start + length) {
                found.push((start, content.to_vec()));
            }
        }
    }
    found
}

/// The boundaries of the item at `at` and of those in it; returns its end.
pub(crate) fn items(bytes: &[u8], at: usize, boundaries: &mut Vec<usize>) -> usize {
    boundaries.push(at);
    let (argument, start) = argument(bytes, at);
    let nested = match bytes[at] >> 5 {
        4 => argument,
        5 => 2 * argument,
        6 => 1,
        _ => 0,
    };
    let end = match bytes[at] >> 5 {
        2 | 3 => start + argument,
        _ => (0..nested).fold(start, |at, _| items(bytes, at, boundaries)),
    };
    boundaries.push(end);
    end
}

/// The argument of the head at `at` (RFC 8949 section 3), and where the head ends.
pub(crate) fn argument(bytes: &[u8], at: usize) -> (usize, usize) {
    let more = match bytes[at] & 31 {
        small @ 0..24 => return (small.into(), at + 1),
        size => 1 << (size - 24),
    };
    let value = bytes[at + 1..at + 1 + more].iter().fold(0, |value, byte| value << 8 | usize::from(*byte));
    (value, at + 1 + more)
}
