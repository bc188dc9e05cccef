-- The key-holder's vault: its own file, because another role holds it. Every row is part of the file's keyed sum.
CREATE TABLE tenants (
    tenant BLOB PRIMARY KEY, keys INTEGER NOT NULL, threshold INTEGER NOT NULL, consecutive INTEGER NOT NULL,
    delay_s INTEGER NOT NULL, failures_per_day INTEGER NOT NULL, failures_per_generation INTEGER NOT NULL,
    attempts_per_day INTEGER NOT NULL, attempts_per_generation INTEGER NOT NULL, malformed INTEGER NOT NULL,
    forgiven INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Which client created which tenant: only that client may enrol, shred and decide for it.
CREATE TABLE owners (tenant BLOB PRIMARY KEY, client TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- The newest store that each client has shown.
CREATE TABLE stores (client TEXT PRIMARY KEY, restored INTEGER NOT NULL, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- Two of a tenant while its keys are rotated, otherwise one.
CREATE TABLE epochs (
    tenant BLOB NOT NULL REFERENCES tenants, epoch INTEGER NOT NULL, wrapped_master BLOB NOT NULL, seed BLOB NOT NULL,
    wrapped_tags BLOB NOT NULL, PRIMARY KEY (tenant, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE subjects (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL, lane INTEGER NOT NULL,
    epoch INTEGER NOT NULL, renewed_from INTEGER, wrapped_salt BLOB NOT NULL, consecutive INTEGER NOT NULL,
    retry_at INTEGER NOT NULL, day INTEGER NOT NULL, day_failures INTEGER NOT NULL, day_attempts INTEGER NOT NULL,
    generation_failures INTEGER NOT NULL, generation_attempts INTEGER NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (tenant, handle, generation)
) STRICT, WITHOUT ROWID;
CREATE TABLE opening_key (id INTEGER PRIMARY KEY CHECK (id = 0), wrapped BLOB NOT NULL) STRICT;
-- Shares that were sealed up to this time may have been opened.
CREATE TABLE opened (id INTEGER PRIMARY KEY CHECK (id = 0), until INTEGER NOT NULL) STRICT;
