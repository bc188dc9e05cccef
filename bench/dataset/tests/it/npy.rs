//! The `.npy` reader: what it accepts, how it refuses, and that no input makes it panic or allocate
//! more than the input warrants.

use proptest::prelude::*;
use trefoil_dataset::npy::{Dtype, MAX_HEADER_BYTES, Npy, NpyError};

/// A file with a header as NumPy writes it, padded to 64 bytes.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = padded - 1).into_bytes());
    bytes.extend(data);
    bytes
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn error(bytes: &[u8]) -> NpyError {
    Npy::parse(bytes).unwrap_err()
}

#[test]
fn a_float_matrix_is_read_row_by_row() {
    let bytes = file(&header("<f4", "(2, 3)"), &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, -6.5]));
    let matrix = Npy::parse(&bytes).unwrap().to_f32_matrix().unwrap();
    assert_eq!((matrix.columns, matrix.values), (3, vec![1.0, 2.0, 3.0, 4.0, 5.0, -6.5]));
    let doubles: Vec<u8> = [0.1, -1e300].into_iter().flat_map(f64::to_le_bytes).collect();
    let matrix = Npy::parse(&file(&header("<f8", "(1, 2)"), &doubles)).unwrap().to_f32_matrix().unwrap();
    assert_eq!(matrix.values, [0.1, f32::NEG_INFINITY]);
}

#[test]
fn every_integer_type_is_read() {
    let cases: [(&str, Vec<u8>, [i64; 2]); 8] = [
        ("|i1", vec![0xFE, 0x7F], [-2, 127]),
        ("|u1", vec![0xFE, 0x7F], [254, 127]),
        ("<i2", vec![0xFE, 0xFF, 0, 1], [-2, 256]),
        ("<u2", vec![0xFE, 0xFF, 0, 1], [65534, 256]),
        ("<i4", [(-3i32).to_le_bytes(), 7i32.to_le_bytes()].concat(), [-3, 7]),
        ("<u4", [u32::MAX.to_le_bytes(), 7u32.to_le_bytes()].concat(), [4_294_967_295, 7]),
        ("<i8", [i64::MIN.to_le_bytes(), 7i64.to_le_bytes()].concat(), [i64::MIN, 7]),
        ("<u8", [(1u64 << 40).to_le_bytes(), 7u64.to_le_bytes()].concat(), [1 << 40, 7]),
    ];
    for (descr, data, expected) in cases {
        let bytes = file(&header(descr, "(2,)"), &data);
        assert_eq!(Npy::parse(&bytes).unwrap().to_integers().unwrap(), expected, "{descr}");
    }
    let bytes = file(&header("<u8", "(2,)"), &[[0; 8], [0xFF; 8]].concat());
    assert_eq!(Npy::parse(&bytes).unwrap().to_integers(), Err(NpyError::IntegerTooLarge(1)));
}

#[test]
fn version_2_and_any_key_order_are_accepted() {
    let text = "{'shape': (1,), 'descr': '|u1', 'fortran_order': False}\n";
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(9);
    let npy = Npy::parse(&bytes).unwrap();
    assert_eq!(
        (npy.header().dtype.to_string(), npy.header().shape.as_slice()),
        ("|u1".to_owned(), [1].as_slice())
    );
}

#[test]
fn an_empty_array_is_an_array() {
    let bytes = file(&header("<f4", "(0, 128)"), &[]);
    let matrix = Npy::parse(&bytes).unwrap().to_f32_matrix().unwrap();
    assert_eq!((matrix.columns, matrix.values.len()), (128, 0));
}

#[test]
fn refusals_name_what_is_wrong() {
    let good = file(&header("<f4", "(1, 2)"), &floats(&[1.0, 2.0]));
    assert!(Npy::parse(&good).is_ok());
    assert_eq!(error(b"PK\x03\x04"), NpyError::Magic);
    assert_eq!(error(&good[..7]), NpyError::HeaderTruncated);
    assert_eq!(error(&good[..40]), NpyError::HeaderTruncated);
    assert_eq!(error(&good[..good.len() - 1]), NpyError::DataTruncated { expected: 8, found: 7 });
    assert_eq!(error(&[good.clone(), vec![0]].concat()), NpyError::Trailing(1));

    let mut version = good.clone();
    version[6] = 3;
    assert_eq!(error(&version), NpyError::Version(3, 0));
    let long = [b"\x93NUMPY\x02\x00".as_slice(), &[0xFF; 4]].concat();
    assert_eq!(error(&long), NpyError::HeaderTooLong(u32::MAX.into()));
    assert!(
        matches!(error(&[&long[..8], &[1, 0x10, 0, 0]].concat()), NpyError::HeaderTooLong(n) if n == MAX_HEADER_BYTES as u64 + 1)
    );

    let fortran = "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }";
    assert_eq!(error(&file(fortran, &[0; 8])), NpyError::FortranOrder);
    for descr in [">f8", ">f4", "<c8", "|O", "|S4", "<U1", "|b1", "<M8[s]"] {
        assert_eq!(error(&file(&header(descr, "(1, 2)"), &[0; 16])), NpyError::Dtype(descr.into()));
    }
    let huge = "(18446744073709551615, 128)";
    assert!(matches!(error(&file(&header("<f4", huge), &[])), NpyError::ShapeTooLarge(_)));
}

#[test]
fn malformed_headers_are_refused_at_their_place() {
    let cases = [
        "",
        "{}",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), 'extra': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), } x",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1, 2), }",
    ];
    for case in cases {
        assert!(matches!(error(&file(case, &[0; 8])), NpyError::Header(_)), "{case}");
    }
    let no_newline = file(&header("|u1", "(0,)"), &[]);
    let mut no_newline = no_newline;
    *no_newline.last_mut().unwrap() = b' ';
    assert!(matches!(error(&no_newline), NpyError::Header(_)));
}

#[test]
fn arrays_of_another_kind_are_refused_by_purpose() {
    let ids = file(&header("<i2", "(2,)"), &[0; 4]);
    let rows = file(&header("<f4", "(1, 2)"), &[0; 8]);
    let vector = file(&header("<f4", "(2,)"), &[0; 8]);
    let wrong = Npy::parse(&vector).unwrap().to_integers().unwrap_err();
    assert_eq!(wrong, NpyError::WrongDtype { expected: "an integer type", found: Dtype::F32 });
    let wrong = Npy::parse(&ids).unwrap().to_f32_matrix().unwrap_err();
    assert_eq!(wrong, NpyError::Dimensions { expected: 2, found: 1 });
    let wrong = Npy::parse(&rows).unwrap().to_integers().unwrap_err();
    assert_eq!(wrong.to_string(), "1 dimension(s) expected, found 2");
}

/// What one mutation does to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Set(usize, u8),
    Remove(usize),
    Insert(usize, u8),
    Truncate(usize),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    // Positions of the preamble and header; bytes that mean something there more often than not.
    let byte =
        prop_oneof![any::<u8>(), prop::sample::select(b"'(){},:0123456789 <>|fiuTrueFalse\n".to_vec())];
    let mutation = prop_oneof![
        6 => (0..140usize, byte.clone()).prop_map(|(at, to)| Mutation::Set(at, to)),
        2 => (0..140usize).prop_map(Mutation::Remove),
        2 => (0..140usize, byte).prop_map(|(at, to)| Mutation::Insert(at, to)),
        1 => (0..200usize).prop_map(Mutation::Truncate),
    ];
    prop::collection::vec(mutation, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_header_never_panics_nor_allocates_beyond_its_input(matrix: bool, mutations in mutations()) {
        let (descr, shape) = if matrix { ("<f4", "(2, 8)") } else { ("<i4", "(16,)") };
        let mut bytes = file(&header(descr, shape), &[0x40; 64]);
        for mutation in mutations {
            match mutation {
                Mutation::Set(at, to) if at < bytes.len() => bytes[at] = to,
                Mutation::Remove(at) if at < bytes.len() => drop(bytes.remove(at)),
                Mutation::Insert(at, to) if at <= bytes.len() => bytes.insert(at, to),
                Mutation::Truncate(length) => bytes.truncate(length),
                Mutation::Set(..) | Mutation::Remove(_) | Mutation::Insert(..) => {}
            }
        }
        let allocated = allocation_counter::measure(|| {
            if let Ok(npy) = Npy::parse(&bytes) {
                let _ = (npy.to_f32_matrix(), npy.to_integers());
            }
        });
        // One-byte integers widen to eight; names and shapes in errors are short.
        prop_assert!(allocated.bytes_max <= 8 * bytes.len() as u64 + 256, "{}", allocated.bytes_max);
    }
}
