//! The inputs that the fuzzer kept, through the function that it calls: what coverage feedback once found is tried on
//! every machine, on the stable compiler. NOTES.md says how the folder is made.

use std::path::PathBuf;

use crate::target::{Form, Target};

/// Fewest files that still are the minimised corpus and not what a lost folder left behind.
const FILES_MIN: usize = 100;

/// Fewest files of each form that decode and are not the honest input.
const FORM_MIN: usize = 1;

/// Claim S8: Hostile bytes do not panic offline verification, do not verify, and have no second encoding.
#[test]
fn no_input_of_the_kept_corpus_panics_verifies_or_has_two_encodings() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/verify");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() >= FILES_MIN, "{} files in {}", files.len(), folder.display());

    let target = Target::new();
    let mut decoded = Vec::new();
    for file in &files {
        // Shown only on failure; the last name is the culprit.
        println!("{}", file.display());
        let bytes = std::fs::read(file).expect("readable");
        let taken = target.execute(&bytes);
        if !target.seeds.contains(&bytes) {
            decoded.extend(taken);
        }
    }
    // After a change of format the corpus would stop at the decoders; it has to be made anew then.
    assert!(decoded.len() * 10 > files.len(), "{} of {} decoded", decoded.len(), files.len());
    for form in Form::ALL {
        let count = decoded.iter().filter(|one| **one == form).count();
        assert!(count >= FORM_MIN, "{count} decoded as {form:?}");
    }
}
