//! Who waits for a seal: what goes through the pipeline beside a request, and where the answer goes.

use crate::log::seal_log::Reply;
use trefoil_attest::RequestHeader;
use trefoil_pipeline::Verdict;
use trefoil_zkp::session::verify_request_mac;

/// A client's fields of its request, and its MAC. The rest of the header is in the lane.
#[derive(Default)]
pub struct Claim {
    pub(crate) issued_at: u64,
    pub(crate) probe_digest: [u8; 32],
    /// `None` if the tenant asks for no proof, so that nothing is signed.
    mac: Option<[u8; 32]>,
}

/// A request that waits for a seal.
pub enum Asker {
    /// A login, which passes the door and the match.
    Login(Login),
    /// A change that is done and recorded; it passes no door.
    Change(Reply),
}

impl Asker {
    /// Where the answer goes.
    pub(crate) fn into_reply(self) -> Reply {
        match self {
            Asker::Login(login) => login.reply,
            Asker::Change(reply) => reply,
        }
    }
}

/// The data that goes through the pipeline with a login.
pub struct Login {
    /// The client's fields.
    pub claim: Claim,
    /// The nonce was spent at an earlier submission.
    pub is_spent: bool,
    /// Where the answer goes.
    pub reply: Reply,
}

impl Claim {
    /// The signed fields of a request whose probe has this digest.
    pub fn signed(issued_at: u64, probe_digest: [u8; 32], mac: [u8; 32]) -> Claim {
        Claim { issued_at, probe_digest, mac: Some(mac) }
    }

    /// The fields of a request without a signature.
    pub fn unsigned(issued_at: u64) -> Claim {
        Claim { issued_at, ..Claim::default() }
    }

    /// Whether the MAC is that of `header` under the verdict's session key.
    pub fn is_made_with(&self, verdict: &Verdict, header: &RequestHeader<'_>) -> bool {
        self.mac.is_some_and(|mac| verify_request_mac(&verdict.session_key(), header, &mac).is_ok())
    }
}
