//! Ends a build for another system than Linux with words, before anything else is compiled: every program depends on this crate.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system != "linux" {
        println!(
            "cargo::error=Trefoil's programs run on Linux, and this build is for {system}: they pin threads, lock memory and reserve disk \
             space by calls that only Linux has. Build in a Linux container or virtual machine, such as: docker run -it -v .:/trefoil \
             -w /trefoil rust:1.95 bash. What clients link builds here too: cargo build -p trefoil-attest -p trefoil-wallet"
        );
    }
}
