//! Reads the known-answer files of `testdata` (see `testdata/PROVENANCE.md`).

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use trefoil_kernels::{Cpu, Tier};

/// One case of a vector file, with the field names of its source.
pub(crate) struct Case(Value);

/// All cases of `testdata/<name>.json.gz`. A file without cases is a failure: it would pass every test.
pub(crate) fn load(name: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(format!("{name}.json.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip of UTF-8");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let Value::Array(cases) = document["cases"].take() else { panic!("{name}: no case list") };
    assert!(!cases.is_empty(), "{name}: zero cases");
    cases.into_iter().map(Case).collect()
}

impl Case {
    /// A hexadecimal field; missing fields are empty, as the sources leave out empty ones.
    pub(crate) fn bytes(&self, field: &str) -> Vec<u8> {
        match &self.0[field] {
            Value::Null => Vec::new(),
            Value::String(text) => hex::decode(text).unwrap_or_else(|error| panic!("{field}: {error}")),
            other => panic!("{field}: {other} is not hexadecimal text"),
        }
    }

    /// A hexadecimal field of exactly `N` bytes.
    pub(crate) fn array<const N: usize>(&self, field: &str) -> [u8; N] {
        self.bytes(field).try_into().unwrap_or_else(|_| panic!("{field}: not {N} bytes"))
    }

    /// A text field.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_else(|| panic!("{field}: not text"))
    }

    /// A truth value.
    pub(crate) fn flag(&self, field: &str) -> bool {
        self.0[field].as_bool().unwrap_or_else(|| panic!("{field}: not a truth value"))
    }

    /// The number of the case in its source.
    pub(crate) fn id(&self) -> &Value {
        match &self.0["tcId"] {
            Value::Null => &self.0["count"],
            id => id,
        }
    }
}

/// Every kind of processor that this machine can stand for.
pub(crate) fn processors() -> impl Iterator<Item = Cpu> {
    Tier::available().map(Cpu::at_most).flat_map(|cpu| match cpu.has_sha() {
        true => vec![cpu, cpu.without_sha()],
        false => vec![cpu],
    })
}

/// A generator that returns given bytes once: for cases that fix the randomness of a signature. The trait is the one
/// that fips204 and fn-dsa take.
pub(crate) struct Fixed<'a>(pub(crate) &'a [u8]);

impl fn_dsa::RngCore for Fixed<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        let (now, rest) = self.0.split_at(out.len());
        out.copy_from_slice(now);
        self.0 = rest;
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), fn_dsa::RngError> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl fn_dsa::CryptoRng for Fixed<'_> {}
