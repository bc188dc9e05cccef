//! Search for many byte strings in a large memory. It is here, not beside the tests that use it, because a separate crate can
//! be compiled with optimisation: without it, the memory of one process takes minutes.

use std::collections::HashMap;

/// Byte strings to look for, with their names, by their first eight bytes.
pub type Patterns = HashMap<[u8; 8], Vec<(Vec<u8>, String)>>;

/// The names of the patterns that are in `bytes`, once for each place.
///
/// # Panics
/// If a pattern begins with eight zeros, which memory is full of.
#[must_use]
pub fn search(bytes: &[u8], patterns: &Patterns) -> Vec<String> {
    assert!(!patterns.contains_key(&[0; 8]), "a pattern does not begin with zeros");
    // One bit for each pair of first bytes, so that most places cost one look-up in a small table.
    let mut maybe = vec![false; 1 << 16];
    let pair = |head: &[u8; 8]| usize::from(u16::from_le_bytes([head[0], head[1]]));
    patterns.keys().for_each(|head| maybe[pair(head)] = true);
    let mut found = Vec::new();
    for (at, head) in bytes.windows(8).enumerate() {
        let head: &[u8; 8] = head.first_chunk().expect("eight bytes");
        // Most of memory is zero.
        if *head != [0; 8]
            && maybe[pair(head)]
            && let Some(candidates) = patterns.get(head)
        {
            let here = candidates.iter().filter(|(whole, _)| bytes[at..].starts_with(whole));
            found.extend(here.map(|(_, name)| name.clone()));
        }
    }
    found
}

/// Whether `needle` is in `bytes`.
///
/// # Panics
/// If the needle is empty.
#[must_use]
pub fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    let (first, rest) = needle.split_first().expect("a needle");
    let begins = |at: usize| bytes[at] == *first && bytes[at + 1..].starts_with(rest);
    (0..bytes.len()).any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_found_wherever_they_begin_and_only_whole() {
        let mut patterns = Patterns::new();
        for (bytes, name) in
            [(&b"a needle"[..], "short"), (b"a needle here", "long"), (b"\0\0\0\0\0\0\0\x01", "odd")]
        {
            let head = bytes[..8].try_into().expect("eight");
            patterns.entry(head).or_default().push((bytes.to_vec(), name.to_owned()));
        }
        for before in 0..20 {
            let mut hay = vec![0; before];
            hay.extend(b"a needle her");
            assert_eq!(search(&hay, &patterns), ["short"], "{before}");
            hay.push(b'e');
            assert_eq!(search(&hay, &patterns), ["short", "long"], "{before}");
            hay.extend([0, 0, 0, 0, 0, 0, 0, 1]);
            assert_eq!(search(&hay, &patterns), ["short", "long", "odd"], "{before}");
        }
        assert!(search(b"a needl", &patterns).is_empty() && search(b"", &patterns).is_empty());
    }

    #[test]
    fn a_needle_is_found_at_either_end_and_not_in_part() {
        for hay in [&b"needle in hay"[..], b"hay and needle", b"neneedle"] {
            assert!(contains(hay, b"needle"));
        }
        assert!(!contains(b"need le needl", b"needle") && !contains(b"", b"n"));
    }
}
