//! Packed residues: sums, packing and its inverse; and prefetching for a sum.

use super::{Stream, tiers};
use crate::packed::{self, Ahead};
use crate::{Cpu, Tier};

/// Claim I5: Every kernel equals its portable twin.
#[test]
fn packed_sums_agree_with_addition() {
    let mut stream = Stream(1);
    for n in [8, 16, 24, 64, 2056, 8192] {
        for count in [0, 1, 3, 4, 5, 7, 8, 31, 32] {
            let values: Vec<_> = (0..count).map(|_| stream.below(1 << 48, n)).collect();
            let packed: Vec<Vec<u8>> = values
                .iter()
                .map(|values| {
                    let mut bytes = vec![0; 6 * n];
                    packed::pack(Cpu::at_most(Tier::Portable), values, &mut bytes);
                    bytes
                })
                .collect();
            let sources: Vec<&[u8]> = packed.iter().map(Vec::as_slice).collect();
            let expected: Vec<u64> = (0..n).map(|i| values.iter().map(|v| v[i]).sum()).collect();
            for cpu in tiers().flat_map(|cpu| [true, false].map(|asks| cpu.with_asking_ahead(asks))) {
                let mut acc = vec![u64::MAX; n];
                packed::sum(cpu, &sources, &mut acc);
                assert_eq!(acc, expected, "{cpu:?}, {count} sources of {n}");
            }
        }
    }
}

#[test]
fn packing_is_undone_by_unpacking() {
    let values = Stream(2).below(1 << 48, 1003);
    for cpu in tiers() {
        for n in [0, 1, 7, 8, 9, 1000, 1003] {
            let mut bytes = vec![0xaa; 6 * n];
            packed::pack(cpu, &values[..n], &mut bytes);
            let six = |value: &u64| value.to_le_bytes()[..6].to_vec();
            assert_eq!(bytes, values[..n].iter().flat_map(six).collect::<Vec<u8>>(), "{:?}", cpu.tier());
            let mut back = vec![u64::MAX; n];
            packed::unpack(cpu, &bytes, &mut back);
            assert_eq!(back, values[..n], "{:?}", cpu.tier());
        }
    }
}

#[test]
fn every_line_is_asked_for_once_and_first_sources_of_groups_first() {
    for count in [0usize, 1, 7, 8, 9, 31, 32] {
        let sources: Vec<Vec<u8>> = vec![vec![0; 192]; count];
        let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
        let asks = Cpu::detected().with_asking_ahead(true);
        let mut ahead = Ahead::of(asks, &sources);
        let mut asked = vec![[0; 3]; count];
        let mut first_of_groups = Vec::new();
        while let Some((streams, at)) = ahead.step() {
            for stream in streams {
                let source = sources.iter().position(|source| source.as_ptr() == stream.as_ptr());
                let source = source.expect("a stream is a source");
                asked[source][at / 64] = 1;
                first_of_groups.push(source % 8);
            }
        }
        assert!(asked.iter().all(|lines| *lines == [1; 3]), "{count}");
        assert!(first_of_groups.is_sorted());
        assert!(ahead.step().is_none());
        assert!(Ahead::of(asks.with_asking_ahead(false), &sources).step().is_none());
    }
    assert!(Ahead::none().step().is_none());
}
