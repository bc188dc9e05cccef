-- Times are Unix seconds; NULL is never.
-- Of a deleted tenant nothing is left but its row, the keys of its issuer and its root log, which others verify with.
CREATE TABLE tenants (
    id BLOB PRIMARY KEY, name TEXT NOT NULL, policy TEXT NOT NULL, policy_version INTEGER NOT NULL, public_key BLOB NOT NULL,
    next_key BLOB, wrapped_key BLOB NOT NULL, created_at INTEGER NOT NULL, disabled_at INTEGER, deleted_at INTEGER
) STRICT, WITHOUT ROWID;
-- Every version of every tenant's policy; the newest is in the tenant's row too. Nothing is updated or deleted.
CREATE TABLE policies (
    tenant BLOB NOT NULL REFERENCES tenants, version INTEGER NOT NULL, policy TEXT NOT NULL, made_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;
-- last_used_at: the hour in which the key was last used, at the latest.
CREATE TABLE api_keys (
    id BLOB PRIMARY KEY, tenant BLOB NOT NULL REFERENCES tenants, tag BLOB NOT NULL, scopes INTEGER NOT NULL,
    created_at INTEGER NOT NULL, label TEXT NOT NULL, expires_at INTEGER, revoked_at INTEGER, last_used_at INTEGER
) STRICT, WITHOUT ROWID;
-- What API keys were used for, by day since 1970. Rows are added to, and deleted once they are old.
CREATE TABLE usage (
    tenant BLOB NOT NULL REFERENCES tenants, api_key BLOB NOT NULL, day INTEGER NOT NULL, matched INTEGER NOT NULL,
    not_matched INTEGER NOT NULL, enrolments INTEGER NOT NULL, refusals INTEGER NOT NULL, PRIMARY KEY (tenant, api_key, day)
) STRICT, WITHOUT ROWID;
-- Every root that was ever published: the log that issuers and auditors read. Nothing is updated or deleted.
CREATE TABLE roots (
    tenant BLOB NOT NULL REFERENCES tenants, generation INTEGER NOT NULL, root BLOB NOT NULL,
    generation_min INTEGER NOT NULL, statement BLOB NOT NULL, signature BLOB NOT NULL, published_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, generation)
) STRICT;
CREATE TABLE issuer_keys (
    tenant BLOB NOT NULL REFERENCES tenants, number INTEGER NOT NULL, key BLOB NOT NULL, registered_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, number)
) STRICT;
-- Outlives templates so that a generation is never used twice.
CREATE TABLE generations (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY (tenant, handle)
) STRICT, WITHOUT ROWID;
CREATE TABLE templates (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL, lane INTEGER NOT NULL,
    epoch INTEGER NOT NULL, wrapped_key BLOB NOT NULL, consent_ref TEXT NOT NULL, created_at INTEGER NOT NULL, wrapped BLOB NOT NULL,
    PRIMARY KEY (tenant, handle)
) STRICT;
-- Generations that a replacement leaves behind: the new one until it is stored, then the old one. A key-holder is still to forget them.
CREATE TABLE leftovers (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY (tenant, handle, generation)
) STRICT, WITHOUT ROWID;
-- Subjects whose template decides no login any more. A row goes when the template is replaced or deleted.
CREATE TABLE revocations (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, revoked_at INTEGER NOT NULL, PRIMARY KEY (tenant, handle)
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    tenant BLOB NOT NULL REFERENCES tenants, id BLOB NOT NULL, expires_at INTEGER NOT NULL, wrapped BLOB NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE TABLE idempotency (
    tenant BLOB NOT NULL REFERENCES tenants, key TEXT NOT NULL, request_digest BLOB NOT NULL, body TEXT NOT NULL,
    created_at INTEGER NOT NULL, PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE TABLE seals (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
-- Complete nodes of the tree over the digests of seals: number n of level l is over seals n << l to (n + 1) << l.
CREATE TABLE log_nodes (
    level INTEGER NOT NULL, number INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, number)
) STRICT, WITHOUT ROWID;
-- What witnesses have signed: the log of the first `size` seals. Nothing is updated or deleted.
CREATE TABLE cosignatures (
    size INTEGER NOT NULL, witness TEXT NOT NULL, line TEXT NOT NULL, PRIMARY KEY (size, witness)
) STRICT, WITHOUT ROWID;
-- When the store was restored from a backup, and the number of the first seal after that. Nothing is updated or deleted.
CREATE TABLE restorations (time INTEGER PRIMARY KEY, first INTEGER NOT NULL) STRICT;
-- When an operator said that the clock is right while seals were dated ahead of it. Nothing is updated or deleted.
CREATE TABLE accepted_clocks (
    id INTEGER PRIMARY KEY, first INTEGER NOT NULL, at INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL
) STRICT;
-- Who may operate the service. The one of the token in the data directory has a row only once it was revoked.
CREATE TABLE operators (
    id BLOB PRIMARY KEY, name TEXT NOT NULL, role INTEGER NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE operator_tokens (
    operator BLOB NOT NULL REFERENCES operators, number INTEGER NOT NULL, tag BLOB NOT NULL, created_at INTEGER NOT NULL,
    expires_at INTEGER, revoked_at INTEGER, PRIMARY KEY (operator, number)
) STRICT, WITHOUT ROWID;
-- What operators changed, each written with its change. The receipt comes once it is sealed. Nothing else is updated, nothing is deleted.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY, tenant BLOB NOT NULL, statement BLOB NOT NULL, receipt BLOB
) STRICT;
-- Which request made what an entry says, for a day: the same request is not made twice. No answer is kept, because some have a secret.
CREATE TABLE creates (
    operator BLOB NOT NULL, key TEXT NOT NULL, request_digest BLOB NOT NULL, entry INTEGER NOT NULL REFERENCES audit,
    created_at INTEGER NOT NULL, PRIMARY KEY (operator, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX creates_by_age ON creates (created_at);
CREATE INDEX audit_by_tenant ON audit (tenant, number);
CREATE INDEX audit_unsealed ON audit (number) WHERE receipt IS NULL;
