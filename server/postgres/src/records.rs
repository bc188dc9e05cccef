//! The records of the store as rows.

use crate::table::Kind::{Bytes as B, Number as N};
use crate::table::{Change, Fields, Item, Record, Rows, Table, Value};
use trefoil_attest::Restoration;
use trefoil_attest::tree::Hash;
use trefoil_matching::TemplateName;
use trefoil_storage::store::StoreError;
use trefoil_storage::store::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Operator, OperatorToken,
    PRUNED_BYTES_MAX, PolicyVersion, Root, Session, Subject, Template, Tenant, Usage, UsageCounts,
};
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

type Read<T> = Result<T, StoreError>;

impl Record for Tenant {
    const TABLE: Table = Table {
        name: "tenants",
        columns: &[
            ("id", B),
            ("name", B),
            ("policy", B),
            ("policy_version", N),
            ("public_key", B),
            ("next_key", B),
            ("wrapped_key", B),
            ("created_at", N),
            ("disabled_at", N),
            ("deleted_at", N),
        ],
        key: 1,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let Tenant { id, name, policy, policy_version, public_key, next_key, .. } = self;
        let Tenant { wrapped_key, created_at, disabled_at, deleted_at, .. } = self;
        vec![
            Value::bytes(*id.as_bytes()),
            Value::bytes(name.as_str()),
            Value::bytes(policy.as_str()),
            Value::number(*policy_version),
            Value::bytes(public_key.as_slice()),
            Value::Bytes(next_key.clone()),
            Value::bytes(wrapped_key.as_slice()),
            Value::number(*created_at),
            Value::time(*disabled_at),
            Value::time(*deleted_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Tenant {
            id: TenantId::new(fields.array()?),
            name: fields.text()?,
            policy: fields.text()?,
            policy_version: fields.number()?,
            public_key: fields.bytes()?,
            next_key: fields.maybe_bytes()?,
            wrapped_key: fields.bytes()?,
            created_at: fields.number()?,
            disabled_at: fields.time()?,
            deleted_at: fields.time()?,
        })
    }
}

impl Record for PolicyVersion {
    const TABLE: Table = Table {
        name: "policies",
        columns: &[("tenant", B), ("version", N), ("policy", B), ("made_at", N)],
        key: 2,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let PolicyVersion { tenant, version, policy, made_at } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::number(*version),
            Value::bytes(policy.as_str()),
            Value::number(*made_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(PolicyVersion {
            tenant: TenantId::new(fields.array()?),
            version: fields.number()?,
            policy: fields.text()?,
            made_at: fields.number()?,
        })
    }
}

impl Record for ApiKey {
    const TABLE: Table = Table {
        name: "api_keys",
        columns: &[
            ("tenant", B),
            ("id", B),
            ("tag", B),
            ("scopes", N),
            ("created_at", N),
            ("label", B),
            ("expires_at", N),
            ("revoked_at", N),
            ("last_used_at", N),
        ],
        key: 2,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let ApiKey { id, tenant, tag, scopes, created_at, label, expires_at, revoked_at, last_used_at } =
            self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::bytes(*id.as_bytes()),
            Value::bytes(*tag),
            Value::number(*scopes),
            Value::number(*created_at),
            Value::bytes(label.as_str()),
            Value::time(*expires_at),
            Value::time(*revoked_at),
            Value::time(*last_used_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(ApiKey {
            tenant: TenantId::new(fields.array()?),
            id: ApiKeyId::new(fields.array()?),
            tag: fields.array()?,
            scopes: fields.number()?,
            created_at: fields.number()?,
            label: fields.text()?,
            expires_at: fields.time()?,
            revoked_at: fields.time()?,
            last_used_at: fields.time()?,
        })
    }
}

impl Record for Usage {
    const TABLE: Table = Table {
        name: "usage",
        columns: &[
            ("tenant", B),
            ("api_key", B),
            ("day", N),
            ("matched", N),
            ("not_matched", N),
            ("enrolments", N),
            ("refusals", N),
        ],
        key: 3,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Usage { tenant, api_key, day, counts } = self;
        let UsageCounts { matched, not_matched, enrolments, refusals } = counts;
        let counts = [day, matched, not_matched, enrolments, refusals].map(|count| Value::number(*count));
        [Value::bytes(*tenant.as_bytes()), Value::bytes(*api_key.as_bytes())]
            .into_iter()
            .chain(counts)
            .collect()
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Usage {
            tenant: TenantId::new(fields.array()?),
            api_key: ApiKeyId::new(fields.array()?),
            day: fields.number()?,
            counts: UsageCounts {
                matched: fields.number()?,
                not_matched: fields.number()?,
                enrolments: fields.number()?,
                refusals: fields.number()?,
            },
        })
    }
}

impl Record for Root {
    const TABLE: Table = Table {
        name: "roots",
        columns: &[
            ("tenant", B),
            ("generation", N),
            ("root", B),
            ("generation_min", N),
            ("statement", B),
            ("signature", B),
            ("published_at", N),
        ],
        key: 2,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let Root { tenant, root, generation, generation_min, statement, signature, published_at } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::number(*generation),
            Value::bytes(*root),
            Value::number(*generation_min),
            Value::bytes(statement.as_slice()),
            Value::bytes(signature.as_slice()),
            Value::number(*published_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Root {
            tenant: TenantId::new(fields.array()?),
            generation: fields.number()?,
            root: fields.array()?,
            generation_min: fields.number()?,
            statement: fields.bytes()?,
            signature: fields.bytes()?,
            published_at: fields.number()?,
        })
    }
}

impl Record for IssuerKey {
    const TABLE: Table = Table {
        name: "issuer_keys",
        columns: &[("tenant", B), ("number", N), ("key", B), ("registered_at", N)],
        key: 2,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let IssuerKey { tenant, number, key, registered_at } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::number(*number),
            Value::bytes(key.as_slice()),
            Value::number(*registered_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(IssuerKey {
            tenant: TenantId::new(fields.array()?),
            number: fields.number()?,
            key: fields.bytes()?,
            registered_at: fields.number()?,
        })
    }
}

/// The last generation that a subject was given.
pub(crate) struct Generation {
    pub(crate) tenant: TenantId,
    pub(crate) handle: Handle,
    pub(crate) generation: u32,
}

impl Record for Generation {
    const TABLE: Table = Table {
        name: "generations",
        columns: &[("tenant", B), ("handle", B), ("generation", N)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Generation { tenant, handle, generation } = self;
        let (tenant, handle) = (Value::bytes(*tenant.as_bytes()), Value::bytes(*handle.as_bytes()));
        vec![tenant, handle, Value::number(*generation)]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        let (tenant, handle) = (TenantId::new(fields.array()?), Handle::new(fields.array()?));
        Ok(Generation { tenant, handle, generation: fields.number()? })
    }
}

/// A generation that a key-holder is still to forget.
impl Record for TemplateName {
    const TABLE: Table = Table {
        name: "leftovers",
        columns: &[("tenant", B), ("handle", B), ("generation", N)],
        key: 3,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let TemplateName { tenant, handle, generation } = self;
        let (tenant, handle) = (Value::bytes(*tenant.as_bytes()), Value::bytes(*handle.as_bytes()));
        vec![tenant, handle, Value::number(*generation)]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        let (tenant, handle) = (TenantId::new(fields.array()?), Handle::new(fields.array()?));
        Ok(TemplateName { tenant, handle, generation: fields.number()? })
    }
}

/// A template without its bytes, and when its subject was revoked.
pub(crate) struct Enrolled {
    pub(crate) tenant: TenantId,
    pub(crate) handle: Handle,
    pub(crate) generation: u32,
    pub(crate) lane: u8,
    pub(crate) epoch: u32,
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) consent_ref: String,
    pub(crate) created_at: u64,
    pub(crate) revoked_at: Option<u64>,
}

impl Enrolled {
    /// A template as its two rows.
    pub(crate) fn of(template: Template) -> (Enrolled, Bytes) {
        let Template { tenant, handle, generation, lane, epoch, .. } = template;
        let Template { wrapped_key, wrapped, consent_ref, created_at, .. } = template;
        let revoked_at = None;
        (
            Enrolled {
                tenant,
                handle,
                generation,
                lane,
                epoch,
                wrapped_key,
                consent_ref,
                created_at,
                revoked_at,
            },
            Bytes { tenant, handle, generation, wrapped },
        )
    }

    /// The template of its two rows.
    pub(crate) fn with(self, wrapped: Vec<u8>) -> Template {
        let Enrolled {
            tenant, handle, generation, lane, epoch, wrapped_key, consent_ref, created_at, ..
        } = self;
        Template { tenant, handle, generation, lane, epoch, wrapped_key, wrapped, consent_ref, created_at }
    }

    pub(crate) fn subject(self) -> Subject {
        let Enrolled { handle, generation, consent_ref, created_at, revoked_at, .. } = self;
        Subject { handle, generation, consent_ref, created_at, revoked_at }
    }
}

impl Record for Enrolled {
    const TABLE: Table = Table {
        name: "templates",
        columns: &[
            ("tenant", B),
            ("handle", B),
            ("generation", N),
            ("lane", N),
            ("epoch", N),
            ("wrapped_key", B),
            ("consent_ref", B),
            ("created_at", N),
            ("revoked_at", N),
        ],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Enrolled { tenant, handle, generation, lane, epoch, .. } = self;
        let Enrolled { wrapped_key, consent_ref, created_at, revoked_at, .. } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::bytes(*handle.as_bytes()),
            Value::number(*generation),
            Value::number(*lane),
            Value::number(*epoch),
            Value::bytes(wrapped_key.as_slice()),
            Value::bytes(consent_ref.as_str()),
            Value::number(*created_at),
            Value::time(*revoked_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Enrolled {
            tenant: TenantId::new(fields.array()?),
            handle: Handle::new(fields.array()?),
            generation: fields.number()?,
            lane: fields.number()?,
            epoch: fields.number()?,
            wrapped_key: fields.bytes()?,
            consent_ref: fields.text()?,
            created_at: fields.number()?,
            revoked_at: fields.time()?,
        })
    }
}

/// The bytes of a template.
pub(crate) struct Bytes {
    pub(crate) tenant: TenantId,
    pub(crate) handle: Handle,
    pub(crate) generation: u32,
    pub(crate) wrapped: Vec<u8>,
}

impl Record for Bytes {
    const TABLE: Table = Table {
        name: "template_bytes",
        columns: &[("tenant", B), ("handle", B), ("generation", N), ("wrapped", B)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Bytes { tenant, handle, generation, wrapped } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::bytes(*handle.as_bytes()),
            Value::number(*generation),
            Value::bytes(wrapped.as_slice()),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Bytes {
            tenant: TenantId::new(fields.array()?),
            handle: Handle::new(fields.array()?),
            generation: fields.number()?,
            wrapped: fields.bytes()?,
        })
    }
}

impl Record for Session {
    const TABLE: Table = Table {
        name: "sessions",
        columns: &[("tenant", B), ("id", B), ("expires_at", N), ("wrapped", B)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Session { tenant, id, expires_at, wrapped } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::bytes(*id.as_bytes()),
            Value::number(*expires_at),
            Value::bytes(wrapped.as_slice()),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Session {
            tenant: TenantId::new(fields.array()?),
            id: SessionId::new(fields.array()?),
            expires_at: fields.number()?,
            wrapped: fields.bytes()?,
        })
    }
}

impl Record for Idempotency {
    const TABLE: Table = Table {
        name: "idempotency",
        columns: &[("tenant", B), ("key", B), ("request_digest", B), ("body", B), ("created_at", N)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Idempotency { tenant, key, request_digest, body, created_at } = self;
        vec![
            Value::bytes(*tenant.as_bytes()),
            Value::bytes(key.as_str()),
            Value::bytes(*request_digest),
            Value::bytes(body.as_str()),
            Value::number(*created_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Idempotency {
            tenant: TenantId::new(fields.array()?),
            key: fields.text()?,
            request_digest: fields.array()?,
            body: fields.text()?,
            created_at: fields.number()?,
        })
    }
}

impl Record for Operator {
    const TABLE: Table = Table {
        name: "operators",
        columns: &[("id", B), ("name", B), ("role", N), ("created_at", N), ("revoked_at", N)],
        key: 1,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let Operator { id, name, role, created_at, revoked_at } = self;
        vec![
            Value::bytes(*id.as_bytes()),
            Value::bytes(name.as_str()),
            Value::number(*role),
            Value::number(*created_at),
            Value::time(*revoked_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Operator {
            id: OperatorId::new(fields.array()?),
            name: fields.text()?,
            role: fields.number()?,
            created_at: fields.number()?,
            revoked_at: fields.time()?,
        })
    }
}

impl Record for OperatorToken {
    const TABLE: Table = Table {
        name: "operator_tokens",
        columns: &[
            ("operator", B),
            ("number", N),
            ("tag", B),
            ("created_at", N),
            ("expires_at", N),
            ("revoked_at", N),
        ],
        key: 2,
        summed: true,
    };

    fn values(&self) -> Vec<Value> {
        let OperatorToken { operator, number, tag, created_at, expires_at, revoked_at } = self;
        vec![
            Value::bytes(*operator.as_bytes()),
            Value::number(*number),
            Value::bytes(*tag),
            Value::number(*created_at),
            Value::time(*expires_at),
            Value::time(*revoked_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(OperatorToken {
            operator: OperatorId::new(fields.array()?),
            number: fields.number()?,
            tag: fields.array()?,
            created_at: fields.number()?,
            expires_at: fields.time()?,
            revoked_at: fields.time()?,
        })
    }
}

/// The request of an entry is a row of its own, [`Create`].
impl Record for AuditEntry {
    const TABLE: Table = Table {
        name: "audit",
        columns: &[("number", N), ("tenant", B), ("statement", B), ("receipt", B)],
        key: 1,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let AuditEntry { number, note, receipt } = self;
        vec![
            Value::number(*number),
            Value::bytes(*note.tenant.as_bytes()),
            Value::bytes(note.statement.as_slice()),
            Value::Bytes(receipt.clone()),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        let number = fields.number()?;
        let (tenant, statement) = (TenantId::new(fields.array()?), fields.bytes()?);
        let note = Note { tenant, statement, once: None };
        Ok(AuditEntry { number, note, receipt: fields.maybe_bytes()? })
    }
}

/// The request that made what an entry of the audit trail says.
pub(crate) struct Create {
    pub(crate) operator: OperatorId,
    pub(crate) key: String,
    pub(crate) request_digest: [u8; 32],
    pub(crate) entry: u64,
    pub(crate) created_at: u64,
}

impl Record for Create {
    const TABLE: Table = Table {
        name: "creates",
        columns: &[("operator", B), ("key", B), ("request_digest", B), ("entry", N), ("created_at", N)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Create { operator, key, request_digest, entry, created_at } = self;
        vec![
            Value::bytes(*operator.as_bytes()),
            Value::bytes(key.as_str()),
            Value::bytes(*request_digest),
            Value::number(*entry),
            Value::number(*created_at),
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Create {
            operator: OperatorId::new(fields.array()?),
            key: fields.text()?,
            request_digest: fields.array()?,
            entry: fields.number()?,
            created_at: fields.number()?,
        })
    }
}

/// A seal, or its header.
pub(crate) struct Seal {
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Record for Seal {
    const TABLE: Table =
        Table { name: "seals", columns: &[("number", N), ("bytes", B)], key: 1, summed: false };

    fn values(&self) -> Vec<Value> {
        vec![Value::number(self.number), Value::bytes(self.bytes.as_slice())]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Seal { number: fields.number()?, bytes: fields.bytes()? })
    }
}

/// A complete node of the log's tree.
pub(crate) struct LogNode {
    pub(crate) level: u8,
    pub(crate) number: u64,
    pub(crate) hash: Hash,
}

impl Record for LogNode {
    const TABLE: Table = Table {
        name: "log_nodes",
        columns: &[("level", N), ("number", N), ("hash", B)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        vec![Value::number(self.level), Value::number(self.number), Value::bytes(self.hash)]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(LogNode { level: fields.number()?, number: fields.number()?, hash: fields.array()? })
    }
}

/// What a witness has signed.
pub(crate) struct Cosignature {
    pub(crate) size: u64,
    pub(crate) witness: String,
    pub(crate) line: String,
}

impl Record for Cosignature {
    const TABLE: Table = Table {
        name: "cosignatures",
        columns: &[("size", N), ("witness", B), ("line", B)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Cosignature { size, witness, line } = self;
        vec![Value::number(*size), Value::bytes(witness.as_str()), Value::bytes(line.as_str())]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Cosignature { size: fields.number()?, witness: fields.text()?, line: fields.text()? })
    }
}

impl Record for Restoration {
    const TABLE: Table = Table {
        name: "restorations",
        columns: &[("restored_at", N), ("first_seal", N)],
        key: 1,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        vec![Value::number(self.time), Value::number(self.first)]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        Ok(Restoration { time: fields.number()?, first: fields.number()? })
    }
}

impl Record for AcceptedClock {
    const TABLE: Table = Table {
        name: "accepted_clocks",
        columns: &[("id", N), ("first_seal", N), ("at", N), ("since", N), ("until", N)],
        key: 1,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let AcceptedClock { id, first, at, from, until } = *self;
        [id, first, at, from, until].map(Value::number).into()
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        let [id, first, at] = [fields.number()?, fields.number()?, fields.number()?];
        Ok(AcceptedClock { id, first, at, from: fields.number()?, until: fields.number()? })
    }
}

const SUBJECT: u64 = 1;
const SESSION: u64 = 2;
const REGISTRY: u64 = 3;

impl Record for Change {
    const TABLE: Table = Table {
        name: "changes",
        columns: &[("generation", N), ("number", N), ("tenant", B), ("kind", N), ("item", B), ("at", N)],
        key: 2,
        summed: false,
    };

    fn values(&self) -> Vec<Value> {
        let Change { generation, number, tenant, item, at } = self;
        let (kind, item) = match item {
            Item::Subject(handle) => (SUBJECT, *handle.as_bytes()),
            Item::Session(id) => (SESSION, *id.as_bytes()),
            Item::Registry => (REGISTRY, [0; 32]),
        };
        let [generation, number, at] = [*generation, *number, *at].map(Value::number);
        vec![
            generation,
            number,
            Value::bytes(*tenant.as_bytes()),
            Value::number(kind),
            Value::bytes(item),
            at,
        ]
    }

    fn read(fields: &mut Fields) -> Read<Self> {
        let (generation, number) = (fields.number()?, fields.number()?);
        let (tenant, kind, item) = (TenantId::new(fields.array()?), fields.number::<u64>()?, fields.array()?);
        let item = match kind {
            SUBJECT => Item::Subject(Handle::new(item)),
            SESSION => Item::Session(SessionId::new(item)),
            REGISTRY => Item::Registry,
            _ => return Err(fields.strange()),
        };
        Ok(Change { generation, number, tenant, item, at: fields.number()? })
    }
}

impl Rows<'_> {
    /// Puts the header of a seal in its place, through the function that sees to it that it is that header.
    pub(crate) fn prune(&self, header: &Seal) -> Result<(), StoreError> {
        let pruned = self.number("SELECT prune_seal($1, $2, $3)", &self.signed(header))?;
        let left = || self.get::<Seal>(&[Value::number(header.number)]);
        match pruned {
            Some(0) if left()?.is_some_and(|seal| seal.bytes.len() > PRUNED_BYTES_MAX) => {
                Err(StoreError::Fault(format!(
                    "the database does not find this header in seal {}, and keeps the seal",
                    header.number
                )))
            }
            _ => Ok(()),
        }
    }
}
