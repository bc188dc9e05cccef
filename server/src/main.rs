//! (under construction)
fn main() {}
