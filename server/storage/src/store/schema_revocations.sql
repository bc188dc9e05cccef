-- Version 9: what it adds to versions 2 to 8. This file never changes either. Times are Unix seconds.
-- Subjects whose template decides no login any more. A row goes when the template is replaced or deleted.
CREATE TABLE revocations (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, revoked_at INTEGER NOT NULL, PRIMARY KEY (tenant, handle)
) STRICT, WITHOUT ROWID;
