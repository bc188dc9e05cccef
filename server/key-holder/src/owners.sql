-- Version 1 of the list of tenants by the client that created them.
CREATE TABLE owners (tenant BLOB PRIMARY KEY, client TEXT NOT NULL) STRICT, WITHOUT ROWID;
