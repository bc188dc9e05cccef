-- Version 8: what it adds to versions 2 to 7. This file never changes either. Times are Unix seconds; NULL is never.
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
-- Of a deleted tenant nothing is left but this row, the keys of its issuer and its root log, which others verify with.
ALTER TABLE tenants ADD COLUMN deleted_at INTEGER;
-- Which request made what an entry says, for a day: the same request is not made twice. No answer is kept, because some have a secret.
CREATE TABLE creates (
    operator BLOB NOT NULL, key TEXT NOT NULL, request_digest BLOB NOT NULL, entry INTEGER NOT NULL REFERENCES audit,
    created_at INTEGER NOT NULL, PRIMARY KEY (operator, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX creates_by_age ON creates (created_at);
CREATE INDEX audit_by_tenant ON audit (tenant, number);
CREATE INDEX audit_unsealed ON audit (number) WHERE receipt IS NULL;
