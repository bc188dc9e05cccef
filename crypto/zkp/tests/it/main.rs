//! The public interface: properties, a second implementation's vectors, and the fuzzers' properties in small.

mod fuzz;
mod props;
mod vectors;
