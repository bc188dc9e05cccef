use super::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

fn rng() -> StdRng {
    StdRng::seed_from_u64(6)
}

#[test]
fn damaged_content_is_refused() {
    let wallet = Wallet::create(&mut rng());
    let plain = codec::encode(&wallet);
    assert!(codec::decode(&plain).is_ok());
    for cut in 0..plain.len() {
        assert!(matches!(codec::decode(&plain[..cut]), Err(WalletError::Content(_))), "cut at {cut}");
    }
    let longer = [plain.as_slice(), &[0]].concat();
    assert!(matches!(codec::decode(&longer), Err(WalletError::Content("bytes at the end"))));
}

#[test]
fn the_core_touches_no_file_network_or_clock() {
    for (name, source) in [
        ("wallet", include_str!("mod.rs")),
        ("codec", include_str!("codec.rs")),
        ("holder", include_str!("../holder.rs")),
        ("credential", include_str!("../credentials/file.rs")),
        ("root", include_str!("../credentials/root_statement.rs")),
        ("sealed", include_str!("../credentials/sealed.rs")),
    ] {
        let code = source.split("#[cfg(test)]").next().unwrap_or(source);
        for banned in ["std::fs", "std::net", "std::time", "tokio", "aws_lc", "trefoil_sign", "rand::rng()"] {
            assert!(!code.contains(banned), "{name} uses {banned}");
        }
    }
}
