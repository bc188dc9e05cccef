-- Version 5: what it adds to versions 2 to 4. This file never changes either.
ALTER TABLE tenants ADD COLUMN policy_version INTEGER NOT NULL DEFAULT 1;
-- Every version of every tenant's policy; the newest is in the tenant's row too. Nothing is updated or deleted.
CREATE TABLE policies (
    tenant BLOB NOT NULL REFERENCES tenants, version INTEGER NOT NULL, policy TEXT NOT NULL, made_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;
INSERT INTO policies SELECT id, 1, policy, created_at FROM tenants;
