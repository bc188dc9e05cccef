-- What this version adds to the ones before. This file never changes either.
-- Generations that a replacement leaves behind: the new one until it is stored, then the old one. A key-holder is still to forget them.
CREATE TABLE leftovers (
    tenant BLOB NOT NULL REFERENCES tenants, handle BLOB NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY (tenant, handle, generation)
) STRICT, WITHOUT ROWID;
