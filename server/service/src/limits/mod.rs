//! What one caller may have: requests in flight, failures, uploads, requests that wait.

pub mod ahead;
pub mod distinct_failures;
pub mod pace;
pub mod quota;
pub mod sources;
