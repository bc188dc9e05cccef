//! The two listeners.

/// Which of the two listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Tenants' callers and anyone who verifies.
    Public,
    /// Operators.
    Admin,
}
