//! One SLH-DSA signature: the slh-dsa crate and our signer on each kind of processor, alternating.

use serde_json::{Map, Value, json};
use slh_dsa::{Sha2_128f, SigningKey};
use trefoil_kernels::{Cpu, Tier};
use trefoil_sign::{Extent, SignatureFamily as _, SlhDsaSha2_128f};

use super::cpu_us;
use crate::distribution::{Distribution, rounded};
use crate::{Failure, Report};

/// A signer of the comparison.
struct Subject {
    /// Field of the record, and words for people.
    name: &'static str,
    key: SlhDsaSha2_128f,
    once_us: Vec<f64>,
}

pub(super) fn measure(rounds: usize, extent: Extent, tier: Tier) -> Result<Report, Failure> {
    let mut rng = rand::rng();
    let key = SlhDsaSha2_128f::generate(&mut rng).map_err(Failure::in_step("SLH-DSA key"))?;
    let (secret, public) = (key.to_secret_bytes(), key.public_key());
    let theirs = SigningKey::<Sha2_128f>::try_from(&secret[..]).map_err(Failure::in_step("SLH-DSA key"))?;
    let extents = precompute(&key, extent)?;
    let mut subjects = subjects(&key, extent, tier)?;
    // A service signs with the default extent.
    let mut service = key.using_at_most(Extent::default().min(extent));
    let [mut crate_us, mut release_us, mut verify_us] = [const { Vec::new() }; 3];
    let mut wrong = 0u32;
    for round in 0..rounds {
        let (message, opt_rand) = (round.to_be_bytes(), [round as u8; 16]);
        let (us, expected) =
            cpu_us(|| theirs.try_sign_with_context(&message, &[], Some(&opt_rand)).map(|s| s.to_bytes()));
        let expected = expected.map_err(Failure::in_step("slh-dsa"))?;
        crate_us.push(us);
        // The first to run finds the other signers' data in the caches.
        let first = round % subjects.len();
        subjects.rotate_left(first);
        for subject in &mut subjects {
            let (us, signature) = cpu_us(|| subject.key.dangerous_sign_once(&message, &opt_rand));
            subject.once_us.push(us);
            wrong += u32::from(signature[..] != expected[..]);
        }
        subjects.rotate_right(first);
        let (us, signature) = cpu_us(|| service.sign(&message, &mut rng));
        release_us.push(us);
        let signature = signature.map_err(Failure::in_step("signing"))?;
        let (us, verifies) = cpu_us(|| SlhDsaSha2_128f::verify(&public, &message, &signature));
        verify_us.push(us);
        wrong += u32::from(!verifies);
    }
    let (extents, extents_text) = extents;
    let others = [("crate_us", crate_us), ("release_us", release_us), ("verify_us", verify_us)]
        .map(|(name, runs)| (name, Distribution::new(runs)));
    let mut fields = Map::new();
    let crate_us = others[0].1.median();
    let mut summary =
        "SLH-DSA-SHA2-128f, us of processor time: median (times faster than the slh-dsa crate)\n".to_owned();
    for Subject { name, once_us, .. } in subjects {
        let once_us = Distribution::new(once_us);
        let ratio = crate_us / once_us.median();
        summary += &format!("  {name:<34} {:>9.0}  ({ratio:.2})\n", once_us.median());
        let mut of_tier = Map::new();
        once_us.put_into(&mut of_tier, "sign_us");
        of_tier.insert("ratio_vs_slh_dsa_crate".into(), json!(rounded(ratio)));
        match name {
            DETECTED => fields.extend(of_tier),
            _ => drop(fields.insert(name.into(), of_tier.into())),
        }
    }
    // A machine without the instructions has no figure.
    fields.entry("shani").or_insert(json!({ "sign_us": null, "ratio_vs_slh_dsa_crate": null }));
    for (name, runs) in others {
        runs.put_into(&mut fields, name);
        summary += &format!("  {name:<34} {:>9.0}\n", runs.median());
    }
    let problem = (wrong > 0).then(|| format!("{wrong} SLH-DSA signatures differ or do not verify"));
    let mut report = Report { summary: summary + &extents_text, result: fields.into(), problem };
    report.put(json!({
        "extent": extent.name(), "default_extent": Extent::default().name(), "extents": extents, "wrong": wrong,
    }));
    Ok(report)
}

const DETECTED: &str = "own";

/// Does the key's precomputation, one extent after another: memory and processor time of everything up to each, and the text.
fn precompute(key: &SlhDsaSha2_128f, most: Extent) -> Result<(Map<String, Value>, String), Failure> {
    let (mut fields, mut text, mut ms) = (Map::new(), String::new(), 0.0);
    for extent in Extent::ALL.into_iter().filter(|extent| *extent <= most) {
        let (us, outcome) = cpu_us(|| key.precomputation(extent).run());
        outcome.map_err(Failure::in_step("precomputation"))?;
        ms += us / 1e3;
        let (name, bytes) = (extent.name(), extent.memory_bytes());
        text.push_str(&format!("  computed once, {name:<19} {ms:>9.0} ms, {:.0} MB\n", bytes as f64 / 1e6));
        fields.insert(name.into(), json!({ "precompute_ms": rounded(ms), "memory_bytes": bytes }));
    }
    Ok((fields, text))
}

/// The signers, the first with the whole precomputation. SHA-NI gets a service's default.
fn subjects(key: &SlhDsaSha2_128f, most: Extent, tier: Tier) -> Result<Vec<Subject>, Failure> {
    let bare = SlhDsaSha2_128f::from_secret_bytes(&key.to_secret_bytes());
    let bare = bare.map_err(Failure::in_step("SLH-DSA key"))?;
    let usual = key.using_at_most(Extent::default().min(most));
    let mut wanted = vec![
        (DETECTED, Cpu::at_most(tier), key),
        ("with_default_extent", Cpu::at_most(tier), &usual),
        ("without_top_layers", Cpu::at_most(tier), &bare),
        ("portable", Cpu::at_most(Tier::Portable), &bare),
    ];
    if Cpu::at_most(Tier::Avx2.min(tier)).has_sha() {
        wanted.push(("shani", Cpu::at_most(Tier::Avx2.min(tier)), &usual));
    }
    let subject =
        |(name, cpu, key): (_, _, &SlhDsaSha2_128f)| Subject { name, key: key.on(cpu), once_us: Vec::new() };
    Ok(wanted.into_iter().map(subject).collect())
}
