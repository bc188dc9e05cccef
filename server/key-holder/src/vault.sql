-- Version 2 of the key-holder's vault: its own file, because another role holds it.
CREATE TABLE tenants (
    tenant BLOB PRIMARY KEY, keys INTEGER NOT NULL, frozen INTEGER NOT NULL, threshold INTEGER NOT NULL,
    consecutive INTEGER NOT NULL, delay_s INTEGER NOT NULL, per_day INTEGER NOT NULL, per_generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Two of a tenant while its keys are rotated, otherwise one.
CREATE TABLE epochs (
    tenant BLOB NOT NULL REFERENCES tenants, epoch INTEGER NOT NULL, wrapped_master BLOB NOT NULL, seed BLOB NOT NULL,
    PRIMARY KEY (tenant, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE subjects (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL, lane INTEGER NOT NULL,
    epoch INTEGER NOT NULL, renewed_from INTEGER, wrapped_salt BLOB NOT NULL, consecutive INTEGER NOT NULL,
    retry_at INTEGER NOT NULL, day INTEGER NOT NULL, day_failures INTEGER NOT NULL, generation_failures INTEGER NOT NULL,
    PRIMARY KEY (tenant, handle, generation)
) STRICT, WITHOUT ROWID;
CREATE TABLE opening_key (id INTEGER PRIMARY KEY CHECK (id = 0), wrapped BLOB NOT NULL) STRICT;
