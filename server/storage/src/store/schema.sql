-- Version 2, whose tables are those of version 1; its row sum covers all of them. Version 3 adds schema_3.sql, and a later one its own file and a step in sqlite.rs; this one never changes.
CREATE TABLE tenants (
    id BLOB PRIMARY KEY, name TEXT NOT NULL, policy TEXT NOT NULL, public_key BLOB NOT NULL,
    next_key BLOB, wrapped_key BLOB NOT NULL, created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
    id BLOB PRIMARY KEY, tenant BLOB NOT NULL REFERENCES tenants, tag BLOB NOT NULL, scopes INTEGER NOT NULL,
    created_at INTEGER NOT NULL
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
