//! libFuzzer's entry: every input goes through [`Target::execute`].
#![no_main]

use std::sync::LazyLock;

use trefoil_attest_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(Target::new);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    TARGET.execute(data);
});
