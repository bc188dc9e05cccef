-- Version 1 of the key-holder's vault: its own file, because another role holds it.
CREATE TABLE tenants (
    tenant BLOB PRIMARY KEY, wrapped_master BLOB NOT NULL, basis_seed BLOB NOT NULL, frozen INTEGER NOT NULL,
    threshold INTEGER NOT NULL, consecutive INTEGER NOT NULL, delay_s INTEGER NOT NULL, per_day INTEGER NOT NULL,
    per_generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE subjects (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL, lane INTEGER NOT NULL,
    wrapped_salt BLOB NOT NULL, consecutive INTEGER NOT NULL, retry_at INTEGER NOT NULL, day INTEGER NOT NULL,
    day_failures INTEGER NOT NULL, generation_failures INTEGER NOT NULL, PRIMARY KEY (tenant, handle, generation)
) STRICT, WITHOUT ROWID;
