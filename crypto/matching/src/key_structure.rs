//! How a tenant's templates are encrypted.

/// Bytes of one packed polynomial: 2 primes, 4096 coefficients, 6 bytes.
pub(crate) const POLYNOMIAL_BYTES: usize = 2 * 4096 * 6;

/// How a tenant's templates are encrypted. Follows from the probe mode, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStructure {
    /// Every template has a key of its own: 48 KiB each, erasable one by one. For plain probes.
    PerSubject,
    /// One key for all: 96 KiB each. Products of ciphertexts are possible, which shared probes need; a leaked key opens all of
    /// the tenant's templates. For shared probes.
    PerTenant,
}

impl KeyStructure {
    /// The byte that stands for it in encodings.
    pub fn code(self) -> u8 {
        match self {
            KeyStructure::PerSubject => 0,
            KeyStructure::PerTenant => 1,
        }
    }

    /// The structure that a byte stands for.
    pub fn from_code(code: u8) -> Option<KeyStructure> {
        [KeyStructure::PerSubject, KeyStructure::PerTenant].into_iter().find(|keys| keys.code() == code)
    }

    /// Polynomials of a template.
    pub(crate) fn polynomials(self) -> usize {
        match self {
            KeyStructure::PerSubject => 1,
            KeyStructure::PerTenant => 2,
        }
    }
}
