//! What every input must satisfy. The fuzzer calls this function, and the tests of the service call the same property, on the stable compiler, with the
//! seeds and with values of their own.

mod api;

/// Any bytes as the body of a request.
pub fn cbor(data: &[u8]) {
    api::property::check(data);
}
