//! Which kernels the tests can reach on this machine. They use every tier that the processor has; without this note it would go
//! unnoticed that a missing tier is not tested.

/// Kernels by what their tests need, with the features that `trefoil-kernels` asks for.
fn kernels() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    let vectors = {
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("avx512vpopcntdq");
        [
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("AVX-512", avx512),
            ("SHA extensions", is_x86_feature_detected!("sha")),
            ("VAES", avx512 && is_x86_feature_detected!("vaes")),
        ]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let vectors = ["AVX2", "AVX-512", "SHA extensions", "VAES"].map(|name| (name, false));
    [("portable", true)].into_iter().chain(vectors).collect()
}

/// The kernels that the tests reach, and those that they do not.
pub(crate) fn note() -> String {
    sentence(&kernels())
}

fn sentence(kernels: &[(&str, bool)]) -> String {
    let names = |there: bool| {
        let names: Vec<_> =
            kernels.iter().filter(|kernel| kernel.1 == there).map(|kernel| kernel.0).collect();
        names.join(", ")
    };
    match names(false).as_str() {
        "" => format!("tested here: {}", names(true)),
        missing => format!("tested here: {}; NOT tested, this processor lacks it: {missing}", names(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn what_is_not_tested_is_named() {
        let said = sentence(&[("portable", true), ("AVX2", true), ("AVX-512", false), ("VAES", false)]);
        assert_eq!(said, "tested here: portable, AVX2; NOT tested, this processor lacks it: AVX-512, VAES");
        assert_eq!(sentence(&[("portable", true)]), "tested here: portable");
    }
}
