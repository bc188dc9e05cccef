-- What this version adds to the ones before. This file never changes either.
-- What API keys were used for, by day since 1970. Rows are added to, and deleted once they are old.
CREATE TABLE usage (
    tenant BLOB NOT NULL REFERENCES tenants, api_key BLOB NOT NULL, day INTEGER NOT NULL, matched INTEGER NOT NULL,
    not_matched INTEGER NOT NULL, enrolments INTEGER NOT NULL, refusals INTEGER NOT NULL, PRIMARY KEY (tenant, api_key, day)
) STRICT, WITHOUT ROWID;
