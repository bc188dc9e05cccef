//! The device's signature: what a phone or a browser computes for a login, and a relying party checks.

use trefoil_attest::{DeviceStatement, Proof};
use trefoil_types::{Account, SessionId, TenantId};
use trefoil_wallet::wallet::Wallet;

use super::bundle::times;
use super::cpu_us;
use crate::{Failure, Report};

/// Keys of `rounds` wallets: derived, signed with once (each time derived anew, as a wallet does), and verified.
pub(super) fn measure(rounds: usize) -> Result<Report, Failure> {
    let (rng, tenant, audience) = (&mut rand::rng(), TenantId::new([1; 16]), "https://shop.example");
    let [mut derive_us, mut sign_us, mut verify_us] = [const { Vec::new() }; 3];
    let proof =
        Proof { circuit: 3, root: [5; 32], level: 2, epoch: 500_000, session: SessionId::new([6; 32]) };
    let account = Account::new([2; 32]);
    let statement =
        DeviceStatement { tenant, account, audience, nonce: &[3; 32], request_digest: [4; 32], proof };
    let mut wrong = 0u32;
    for _ in 0..rounds {
        let key = Wallet::create(rng).account_key(&tenant, audience);
        let (us, id) = cpu_us(|| key.id());
        derive_us.push(us);
        let (us, signature) = cpu_us(|| key.sign(&statement, rng));
        sign_us.push(us);
        let (us, verifies) = cpu_us(|| signature.verifies(&statement.to_be_signed()));
        verify_us.push(us);
        wrong += u32::from(!verifies || signature.account_key() != id);
    }
    let runs = [("derive_us", derive_us), ("sign_us", sign_us), ("verify_us", verify_us)];
    let problem = (wrong > 0).then(|| format!("{wrong} device's signatures do not verify"));
    Ok(Report { problem, ..times("device: ", runs) })
}
