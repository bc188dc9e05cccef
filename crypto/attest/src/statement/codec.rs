//! The one encoding of a statement.

use alloc::vec::Vec;
use trefoil_types::{Account, BatchId, SessionId, TenantId};

use super::{
    BATCH_MAX, Decision, MODEL_BYTES_MAX, NAME_BYTES_MAX, NONCE_BYTES_MAX, NONCE_BYTES_MIN, ProbeMode, Proof,
    STATEMENT_BYTES_MAX, STATEMENT_FORMAT, Statement, StatementError, TREFOIL_CLAIM, lifetime_is_legal,
};
use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};
use crate::suite::Suite;

/// Fields of our own map.
const FIELDS: usize = 11;

impl<'a> Statement<'a> {
    /// The canonical encoding.
    ///
    /// # Errors
    /// A field outside its limits.
    pub fn encode(&self) -> Result<Vec<u8>, StatementError> {
        let mut out = Vec::with_capacity(512);
        self.encode_into(&mut out)?;
        Ok(out)
    }

    /// Appends the canonical encoding to `out`, which is untouched on error.
    ///
    /// # Errors
    /// A field outside its limits.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), StatementError> {
        self.check()?;
        let mut w = Writer(out);
        w.map(8);
        w.key(1).text(self.issuer);
        w.key(3).text(self.audience);
        w.key(4).uint(self.expires_at);
        w.key(6).uint(self.issued_at);
        let mut token_id = [self.place; 17];
        token_id[..16].copy_from_slice(self.batch_id.as_bytes());
        w.key(7).bytes(&token_id);
        w.key(10).bytes(self.nonce);
        w.key(265).text(STATEMENT_FORMAT);
        w.key(TREFOIL_CLAIM);
        self.write_trefoil(&mut w);
        Ok(())
    }

    fn write_trefoil(&self, w: &mut Writer<'_>) {
        w.map(FIELDS);
        w.key(1).uint(self.suite.number());
        w.key(2).bytes(self.tenant.as_bytes());
        w.key(3).bytes(self.account.as_bytes());
        w.key(4).bytes(&self.request_digest);
        w.key(5).uint(decision_number(self.decision));
        w.key(6).uint(probe_mode_number(self.probe_mode));
        w.key(7).array(2);
        w.uint(self.policy_id.into());
        w.uint(self.policy_version.into());
        w.key(8).uint(self.fmr_class.into());
        w.key(9).array(2);
        w.text(self.embedder);
        w.text(self.quantiser);
        w.key(10).uint(self.template_generation.into());
        w.key(11);
        match self.proof {
            None => w.null(),
            Some(proof) => proof.write(w),
        }
    }

    /// Decodes the one canonical encoding of a statement.
    ///
    /// # Errors
    /// Any other bytes, with the field and offset of the first difference.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > STATEMENT_BYTES_MAX {
            return Err(r.error("statement", Problem::WrongLength));
        }
        r.map("statement", 8)?;
        let issuer = r.key("iss", 1)?.text("iss", NAME_BYTES_MAX)?;
        let audience = r.key("aud", 3)?.text("aud", NAME_BYTES_MAX)?;
        let expires_at = r.key("exp", 4)?.uint("exp")?;
        let issued_at = r.key("iat", 6)?.uint("iat")?;
        if !lifetime_is_legal(issued_at, expires_at) {
            return Err(r.error("exp", Problem::OutOfRange));
        }
        let [batch_id @ .., place]: [u8; 17] = r.key("cti", 7)?.fixed("cti")?;
        if place >= BATCH_MAX {
            return Err(r.error("cti", Problem::OutOfRange));
        }
        let nonce = r.key("eat_nonce", 10)?.bytes("eat_nonce", NONCE_BYTES_MIN..=NONCE_BYTES_MAX)?;
        r.key("eat_profile", 265)?.format("eat_profile", STATEMENT_FORMAT)?;
        r.key("trefoil", TREFOIL_CLAIM)?.map("trefoil", FIELDS)?;
        // Fields of a struct expression are evaluated in the order written: the order on the wire.
        let statement = Self {
            issuer,
            audience,
            expires_at,
            issued_at,
            batch_id: BatchId::new(batch_id),
            place,
            nonce,
            suite: read_suite(r.key("suite", 1)?)?,
            tenant: TenantId::new(r.key("tenant", 2)?.fixed("tenant")?),
            account: Account::new(r.key("account", 3)?.fixed("account")?),
            request_digest: r.key("request_digest", 4)?.fixed("request_digest")?,
            decision: read_enumerated(r.key("decision", 5)?, "decision", decision)?,
            probe_mode: read_enumerated(r.key("probe_mode", 6)?, "probe_mode", probe_mode)?,
            policy_id: read_pair(r.key("policy", 7)?, "policy")?.number("policy.id")?,
            policy_version: r.number("policy.version")?,
            fmr_class: r.key("fmr_class", 8)?.number("fmr_class")?,
            embedder: read_pair(r.key("model", 9)?, "model")?.text("model.embedder", MODEL_BYTES_MAX)?,
            quantiser: r.text("model.quantiser", MODEL_BYTES_MAX)?,
            template_generation: r.key("template_generation", 10)?.number("template_generation")?,
            proof: read_proof(r.key("proof", 11)?)?,
        };
        r.finish("statement")?;
        Ok(statement)
    }
}

impl Proof {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let Self { circuit, root, level, epoch, session } = self;
        w.array(5);
        w.uint((*circuit).into());
        w.bytes(root);
        w.uint((*level).into());
        w.uint((*epoch).into());
        w.bytes(session.as_bytes());
    }
}

pub(crate) fn read_suite(r: &mut Reader<'_>) -> Result<Suite, DecodeError> {
    let start = r.clone();
    let number = r.uint("suite")?;
    Suite::from_number(number).ok_or_else(|| start.error("suite", Problem::UnknownSuite(number)))
}

fn read_pair<'r, 'a>(r: &'r mut Reader<'a>, field: &'static str) -> Result<&'r mut Reader<'a>, DecodeError> {
    r.array(field, 2..=2)?;
    Ok(r)
}

const fn decision_number(decision: Decision) -> u64 {
    match decision {
        Decision::NoMatch => 0,
        Decision::Match => 1,
    }
}

const fn decision(number: u64) -> Option<Decision> {
    match number {
        0 => Some(Decision::NoMatch),
        1 => Some(Decision::Match),
        _ => None,
    }
}

const fn probe_mode_number(mode: ProbeMode) -> u64 {
    match mode {
        ProbeMode::Plain => 1,
        ProbeMode::Shared => 2,
    }
}

const fn probe_mode(number: u64) -> Option<ProbeMode> {
    match number {
        1 => Some(ProbeMode::Plain),
        2 => Some(ProbeMode::Shared),
        _ => None,
    }
}

fn read_enumerated<T>(
    r: &mut Reader<'_>,
    field: &'static str,
    from_number: impl FnOnce(u64) -> Option<T>,
) -> Result<T, DecodeError> {
    let start = r.clone();
    from_number(r.uint(field)?).ok_or_else(|| start.error(field, Problem::OutOfRange))
}

fn read_proof(r: &mut Reader<'_>) -> Result<Option<Proof>, DecodeError> {
    if r.is_null() {
        return r.null("proof").map(|()| None);
    }
    r.array("proof", 5..=5)?;
    Ok(Some(Proof {
        circuit: r.number("proof.circuit")?,
        root: r.fixed("proof.root")?,
        level: r.number("proof.level")?,
        epoch: r.number("proof.epoch")?,
        session: SessionId::new(r.fixed("proof.session")?),
    }))
}
