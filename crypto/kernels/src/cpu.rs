//! The processor's instructions, detected once and carried as a value.

use std::str::FromStr;
use std::sync::OnceLock;

/// Environment variable that lowers the tier of tests and benchmarks.
pub const TIER_VARIABLE: &str = "TREFOIL_TIER";

/// A set of instructions, ordered from the least to the most demanding.
///
/// A tier is only a request; [`Cpu::at_most`] turns it into the token that kernels take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// No assumption about the processor.
    Portable,
    /// aarch64, where the portable bodies already use the vectors: with it kernels use the extensions that are detected.
    Neon,
    /// x86-64 with AVX2 and FMA (Haswell and Zen onwards).
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL, VBMI, VBMI2, IFMA and VPOPCNTDQ (Ice Lake and Zen 4 onwards).
    Avx512,
}

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Tier; 4] = [Tier::Portable, Tier::Neon, Tier::Avx2, Tier::Avx512];

    /// The highest tier of this machine, detected on the first call.
    pub fn detected() -> Tier {
        static DETECTED: OnceLock<Tier> = OnceLock::new();
        *DETECTED.get_or_init(detect)
    }

    /// The tiers of this machine, lowest first.
    pub fn available() -> impl Iterator<Item = Tier> {
        let neon_is_here = cfg!(target_arch = "aarch64");
        Tier::ALL
            .into_iter()
            .filter(move |tier| *tier <= Tier::detected() && (*tier != Tier::Neon || neon_is_here))
    }

    /// The detected tier, lowered by [`TIER_VARIABLE`] when that is set. For tests and benchmarks.
    ///
    /// # Errors
    /// When the variable is set to something that is not the name of a tier.
    pub fn from_env() -> Result<Tier, UnknownTier> {
        match std::env::var(TIER_VARIABLE) {
            Ok(name) => Ok(name.parse::<Tier>()?.min(Tier::detected())),
            Err(_) => Ok(Tier::detected()),
        }
    }

    /// The name that [`FromStr`] reads back.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Portable => "portable",
            Tier::Neon => "neon",
            Tier::Avx2 => "avx2",
            Tier::Avx512 => "avx512",
        }
    }
}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(name: &str) -> Result<Tier, UnknownTier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name).ok_or_else(|| UnknownTier(name.to_owned()))
    }
}

/// A tier name that this crate does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown processor tier {0:?}: use portable, neon, avx2 or avx512")]
pub struct UnknownTier(String);

/// Proof that the instructions of one tier exist on this machine. Kernels dispatch on it.
///
/// The SHA extensions are not a tier: processors of a vector tier have them or not. From [`Tier::Neon`] upwards
/// the token carries them when detected; and VAES in [`Tier::Avx512`].
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    tier: Tier,
    token: Token,
    asks_ahead: bool,
    sha: Option<Sha>,
    #[cfg(target_arch = "x86_64")]
    vaes: Option<Vaes>,
}

/// The private half of [`Cpu`]: one zero-sized token per tier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Cpu {
    /// The highest tier of this machine.
    pub fn detected() -> Cpu {
        Cpu::at_most(Tier::detected())
    }

    /// The highest tier of this machine that is not above `tier`.
    pub fn at_most(tier: Tier) -> Cpu {
        let tier = Tier::available().filter(|available| *available <= tier).last().unwrap_or(Tier::Portable);
        let token = match tier {
            Tier::Portable | Tier::Neon => Token::Portable,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => Token::Avx2(Avx2(())),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => Token::Avx512(Avx512(())),
            #[cfg(not(target_arch = "x86_64"))]
            Tier::Avx2 | Tier::Avx512 => Token::Portable,
        };
        Cpu {
            tier,
            token,
            asks_ahead: crate::packed::asking_pays(),
            sha: if tier == Tier::Portable { None } else { Sha::detected() },
            #[cfg(target_arch = "x86_64")]
            vaes: if matches!(token, Token::Avx512(_)) { Vaes::detected() } else { None },
        }
    }

    /// The same tier without the SHA extensions. For tests and benchmarks.
    #[must_use]
    pub fn without_sha(self) -> Cpu {
        Cpu { sha: None, ..self }
    }

    /// Whether kernels may use the SHA extensions.
    pub fn has_sha(self) -> bool {
        self.sha.is_some()
    }

    /// Whether kernels prefetch memory. They do unless [`calibrate`](crate::packed::calibrate) found that prefetching costs time.
    pub fn asks_ahead(self) -> bool {
        self.asks_ahead
    }

    /// The same tier, prefetching or not. For tests and benchmarks.
    #[must_use]
    pub fn with_asking_ahead(self, asks_ahead: bool) -> Cpu {
        Cpu { asks_ahead, ..self }
    }

    /// The tier that this token stands for.
    pub fn tier(self) -> Tier {
        self.tier
    }

    pub(crate) fn token(self) -> Token {
        self.token
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn sha(self) -> Option<Sha> {
        self.sha
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn vaes(self) -> Option<Vaes> {
        self.vaes
    }
}

/// AVX2 and FMA are present. Made only by [`Cpu::at_most`], after detection.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Every feature of [`Tier::Avx512`] is present. Made only by [`Cpu::at_most`], after detection.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

/// The SHA-256 instructions of this architecture are present (with SSSE3 and SSE4.1 on x86-64). Made only by detection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha(());

/// VAES is present, beside every feature of [`Tier::Avx512`]. Made only by detection.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vaes(());

#[cfg(target_arch = "x86_64")]
impl Vaes {
    fn detected() -> Option<Vaes> {
        is_x86_feature_detected!("vaes").then_some(Vaes(()))
    }
}

impl Sha {
    fn detected() -> Option<Sha> {
        #[cfg(target_arch = "x86_64")]
        let found = is_x86_feature_detected!("sha")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1");
        #[cfg(target_arch = "aarch64")]
        let found = std::arch::is_aarch64_feature_detected!("sha2");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let found = false;
        found.then_some(Sha(()))
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Tier {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512vpopcntdq");
    match (avx2, avx512) {
        (true, true) => Tier::Avx512,
        (true, false) => Tier::Avx2,
        (false, _) => Tier::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Tier {
    if cfg!(target_arch = "aarch64") { Tier::Neon } else { Tier::Portable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_exceeds_the_machine_or_the_wish() {
        for wish in Tier::ALL {
            let tier = Cpu::at_most(wish).tier();
            assert_eq!(Some(tier), Tier::available().filter(|tier| *tier <= wish).last());
        }
        assert_eq!(Cpu::detected().tier(), Tier::detected());
        assert!(!Cpu::at_most(Tier::Portable).has_sha());
        assert!(!Cpu::detected().without_sha().has_sha());
        assert_eq!(Cpu::detected().without_sha().tier(), Tier::detected());
    }
}
