//! The tables of a store.

use super::log::{Cosignature, LogNode, Seal};
use super::operators::Create;
use super::records::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Operator, OperatorToken, PolicyVersion, Root,
    Session, Subject, Tenant,
};
use super::subjects::{Generation, TemplateBytes};
use super::usage::Usage;
use crate::table::{Record as _, Table};
use trefoil_attest::Restoration;
use trefoil_matching::TemplateName;

/// All tables that every database has. Of a deleted tenant nothing is left but its row, the keys of its issuer and its root log, which others verify with.
pub static TABLES: [Table; 21] = [
    Tenant::TABLE,
    PolicyVersion::TABLE,
    ApiKey::TABLE,
    Usage::TABLE,
    Root::TABLE,
    IssuerKey::TABLE,
    Generation::TABLE,
    Subject::TABLE,
    TemplateBytes::TABLE,
    TemplateName::TABLE,
    Session::TABLE,
    Idempotency::TABLE,
    Operator::TABLE,
    OperatorToken::TABLE,
    AuditEntry::TABLE,
    Create::TABLE,
    Seal::TABLE,
    LogNode::TABLE,
    Cosignature::TABLE,
    Restoration::TABLE,
    AcceptedClock::TABLE,
];

/// Their indexes.
pub const INDEXES: &str = "
    CREATE INDEX api_keys_by_id ON api_keys (id);
    CREATE INDEX templates_by_epoch ON templates (tenant, epoch);
    CREATE INDEX sessions_by_expiry ON sessions (expires_at);
    CREATE INDEX idempotency_by_age ON idempotency (created_at);
    CREATE INDEX audit_by_tenant ON audit (tenant, number);
    CREATE INDEX audit_unsealed ON audit (number) WHERE receipt IS NULL;
    CREATE INDEX creates_by_age ON creates (created_at);";
