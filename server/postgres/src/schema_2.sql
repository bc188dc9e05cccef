-- Version 2: several nodes at a time. This file never changes.
-- registry: the transaction that changed a summed table last, except for the times of last uses. sum: the sum over the rows of the summed
-- tables, hidden, so that a node takes over from another without reading them all.
ALTER TABLE node ADD COLUMN registry bigint NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN sum bytea;
-- What nodes have in memory that is no longer so: kind 1 a subject, 2 a session. Each node reads them in order; kept for minutes.
CREATE TABLE changes (
    generation bigint NOT NULL, number bigint NOT NULL, tenant bytea NOT NULL, kind bigint NOT NULL, item bytea NOT NULL, at bigint NOT NULL,
    mac bytea NOT NULL, PRIMARY KEY (generation, number)
);
