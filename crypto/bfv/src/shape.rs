//! How the lanes of a batch are spread over ciphertexts.

use crate::LANES;
use std::ops::Range;
use trefoil_types::Width;

/// The width of a batch's vectors, and which of its ciphertexts exist: with 128 numbers one carries all 32 lanes, with 256 each of two
/// carries 16, with 512 each of four carries 8. A ciphertext none of whose lanes is occupied is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    width: Width,
    /// A bit for each lane of the ciphertexts that exist.
    lanes: u32,
}

impl Shape {
    /// The shape of a batch in which the lanes of `occupied`, a bit for each, have requests.
    pub fn of(width: Width, occupied: u32) -> Shape {
        let mut shape = Shape { width, lanes: 0 };
        for lanes in all(width) {
            let of_one = (u32::MAX >> (LANES - lanes.len())) << lanes.start;
            shape.lanes |= of_one * u32::from(occupied & of_one != 0);
        }
        shape
    }

    /// The shape for requests in these lanes.
    ///
    /// # Panics
    /// If there are more than 32, or a lane repeats or exceeds 31.
    pub(crate) fn placed(width: Width, lanes: impl Iterator<Item = usize>) -> Shape {
        let occupied = lanes.fold(0u32, |taken, lane| {
            assert!(lane < LANES && taken >> lane & 1 == 0, "lanes are distinct and below {LANES}");
            taken | 1 << lane
        });
        Shape::of(width, occupied)
    }

    /// The width of the vectors.
    pub fn width(self) -> Width {
        self.width
    }

    /// The lanes of each ciphertext that exists, in order.
    pub fn ciphertexts(self) -> impl Iterator<Item = Range<usize>> {
        all(self.width).filter(move |lanes| self.lanes >> lanes.start & 1 == 1)
    }

    /// The number of ciphertexts: 1, 2 or 4 at most, by width.
    pub fn count(self) -> usize {
        self.lanes.count_ones() as usize / self.width.lanes()
    }
}

/// The place of a batch's lane in its ciphertext.
///
/// # Panics
/// If `lane` is above 31.
pub(crate) fn place(width: Width, lane: usize) -> usize {
    assert!(lane < LANES, "lanes are below {LANES}");
    lane % width.lanes()
}

fn all(width: Width) -> impl Iterator<Item = Range<usize>> {
    (0..LANES).step_by(width.lanes()).map(move |first| first..first + width.lanes())
}

/// The requests in these lanes, with their lanes in the ciphertext.
pub(crate) fn within<T>(
    lanes: &Range<usize>,
    requests: impl Iterator<Item = (usize, T)>,
) -> impl Iterator<Item = (usize, T)> {
    let inside = requests.filter(|(lane, _)| lanes.contains(lane));
    inside.map(|(lane, request)| (lane - lanes.start, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ciphertext_exists_if_one_of_its_lanes_is_occupied() {
        let lanes = |width, occupied| {
            let each = Shape::of(width, occupied).ciphertexts();
            each.map(|lanes| (lanes.start, lanes.end)).collect::<Vec<_>>()
        };
        assert_eq!(lanes(Width::W128, 1 << 31), [(0, 32)]);
        assert_eq!(lanes(Width::W256, 1 << 31), [(16, 32)]);
        assert_eq!(lanes(Width::W256, 1 << 31 | 1), [(0, 16), (16, 32)]);
        assert_eq!(lanes(Width::W512, 1 << 31 | 1 << 8 | 1 << 9), [(8, 16), (24, 32)]);
        assert_eq!(Shape::of(Width::W512, u32::MAX).count(), 4);
        assert_eq!(Shape::of(Width::W128, 0).count(), 0);
    }

    #[test]
    #[should_panic(expected = "below 32")]
    fn a_batch_has_no_lane_32() {
        assert_eq!([0, 7, 8, 31].map(|lane| place(Width::W512, lane)), [0, 7, 0, 7]);
        place(Width::W512, 32);
    }
}
