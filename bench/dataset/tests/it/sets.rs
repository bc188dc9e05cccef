//! Loading sets from files, and splitting them.

use std::path::PathBuf;
use tempfile::TempDir;
use trefoil_dataset::npy::Matrix;
use trefoil_dataset::{Photographs, Protocol, ProtocolError, SetError};

const DIM: usize = 128;

struct Files {
    folder: TempDir,
}

impl Files {
    fn new(columns: usize, x: &[f32], y: &[u8]) -> Self {
        let folder = TempDir::new().unwrap();
        let rows = x.len() / columns;
        let x: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(folder.path().join("x.npy"), npy("<f4", &format!("({rows}, {columns})"), &x)).unwrap();
        std::fs::write(folder.path().join("y.npy"), npy("|u1", &format!("({},)", y.len()), y)).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn load(&self) -> Result<Photographs, SetError> {
        Photographs::load(&self.path("x.npy"), &self.path("y.npy"))
    }

    fn error(&self) -> String {
        self.load().unwrap_err().to_string()
    }
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
}

/// A row with a single coordinate.
fn axis(coordinate: usize, value: f32) -> [f32; DIM] {
    let mut row = [0.0; DIM];
    row[coordinate] = value;
    row
}

fn photographs(rows: Vec<[f32; DIM]>, persons: Vec<i64>) -> Result<Photographs, SetError> {
    Photographs::new(Matrix { columns: DIM, values: rows.into_flattened() }, persons)
}

#[test]
fn a_set_is_loaded() {
    let rows = [axis(0, 1.0), axis(1, -2.0)];
    let set = Files::new(DIM, rows.as_flattened(), &[4, 9]).load().unwrap();
    assert_eq!((set.row(0), set.row(1), set.persons()), (&rows[0][..], &rows[1][..], [4, 9].as_slice()));
    assert_eq!(format!("{set:?}"), "Photographs(..)", "no values");
}

#[test]
fn what_is_wrong_with_a_set_is_said() {
    let wide = Files::new(513, &[1.0; 513], &[0]).error();
    assert!(wide.starts_with("2 to 512 columns expected, found 513"), "{wide}");
    let ids = Files::new(DIM, &[1.0; DIM], &[0, 1]).error();
    assert!(ids.starts_with("1 embeddings but 2 person ids"), "{ids}");
    let mut values = [1.0; 3 * DIM];
    values[2 * DIM + 5] = f32::NAN;
    assert_eq!(Files::new(DIM, &values, &[0, 0, 0]).error(), "row 2, column 5: not a finite number");
    values[DIM] = f32::NEG_INFINITY;
    assert_eq!(Files::new(DIM, &values, &[0, 0, 0]).error(), "row 1, column 0: not a finite number");
    assert_eq!(Files::new(DIM, &[], &[]).error(), "the set has no rows");

    assert!(Files::new(DIM, &[0.0; DIM], &[0]).error().starts_with("row 0: all its numbers are zero"));

    let swapped = Files::new(DIM, &[1.0; DIM], &[0]);
    let error = Photographs::load(&swapped.path("y.npy"), &swapped.path("x.npy")).unwrap_err().to_string();
    assert!(error.contains("y.npy") && error.contains("2 dimension(s) expected, found 1"), "{error}");
    let missing = Photographs::load(&swapped.path("z.npy"), &swapped.path("y.npy")).unwrap_err().to_string();
    assert!(missing.contains("z.npy"), "{missing}");
}

#[test]
fn text_is_read_as_arrays_are_and_its_faults_have_their_line() {
    let folder = TempDir::new().unwrap();
    let load = |x: &str, y: &str| {
        let path = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        Photographs::load(&path("x.csv", x), &path("y.CSV", y))
    };
    let set = load("\u{feff}1, -2.5e0,3\r\n4,5,6\r\n7,8,9\r\n", "Ann\nBob B.\n Ann\n").unwrap();
    assert_eq!(
        (set.width(), set.row(0), set.persons()),
        (3, [1.0, -2.5, 3.0].as_slice(), [0, 1, 0].as_slice())
    );
    assert_eq!(format!("{set:?}"), "Photographs(..)");
    let long = "1,".repeat(513);
    for (x, y, expected) in [
        ("a,b\n1,2\n", "1\n2\n", "x.csv, line 1: column 0 is no number"),
        ("1,2\n3,4,5\n", "1\n2\n", "x.csv, line 2: 3 numbers, but 2 in the first line"),
        ("1,2\n\n3,4\n", "1\n2\n", "x.csv, line 2: column 0 is no number"),
        ("1,2\n3,inf\n", "1\n2\n", "row 1, column 1: not a finite number"),
        ("1,2\n3,4\n", "1\n\n2\n", "y.CSV, line 2: empty"),
        (
            "1,2\n3,4\n",
            "person\n1\n2\n",
            "2 embeddings but 3 person ids: one id per row expected, and no heading",
        ),
        ("1\n2\n", "1\n2\n", "2 to 512 columns expected, found 1"),
        (&long, "1\n", "2 to 512 columns expected, found 513"),
        ("", "", "2 to 512 columns expected, found 0"),
    ] {
        let error = load(x, y).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn people_are_enrolled_in_order_of_appearance() {
    let rows = vec![axis(0, 1.0), axis(1, 1.0), axis(2, 1.0), axis(3, 1.0), axis(4, 1.0)];
    let set = photographs(rows, vec![7, 2, 7, 2, 5]).unwrap();
    let trials = Protocol::Enrol1.split(&set).unwrap();
    let persons = |samples: &[trefoil_dataset::Sample]| samples.iter().map(|s| s.person).collect::<Vec<_>>();
    assert_eq!(persons(&trials.templates), [7, 2, 5]);
    assert_eq!(persons(&trials.probes), [7, 2]);
    assert_eq!(trials.probes[0].vector, axis(2, 1.0));
    assert!(trials.is_genuine(0, 0) && !trials.is_genuine(0, 1));
}

#[test]
fn three_photos_are_averaged_by_direction() {
    // Lengths differ; only directions count.
    let rows = vec![axis(0, 9.0), axis(0, 0.5), axis(1, 3.0), axis(2, 1.0)];
    let set = photographs(rows, vec![1; 4]).unwrap();
    let trials = Protocol::Enrol3.split(&set).unwrap();
    let template = &trials.templates[0].vector;
    let expected = [2.0 / 5f32.sqrt(), 1.0 / 5f32.sqrt()];
    assert!((template[0] - expected[0]).abs() < 1e-6 && (template[1] - expected[1]).abs() < 1e-6);
    assert_eq!(trials.probes.len(), 1);
}

#[test]
fn people_that_cannot_be_enrolled_are_named() {
    let set = photographs(vec![axis(0, 1.0); 5], vec![1, 1, 1, 8, 8]).unwrap();
    let error = Protocol::Enrol3.split(&set).unwrap_err();
    assert_eq!(error.to_string(), "person 8 has 2 row(s), enrol3 needs 3 of each person");
    // Three directions of a plane that add up to nothing.
    let mut opposite = [axis(0, 1.0), axis(1, 1.0), axis(2, 1.0)];
    (opposite[0][1], opposite[1][2], opposite[2][0]) = (-1.0, -1.0, -1.0);
    let set = photographs(opposite.to_vec(), vec![1; 3]).unwrap();
    assert_eq!(Protocol::Enrol3.split(&set), Err(ProtocolError::ZeroLength { person: 1 }));
}
