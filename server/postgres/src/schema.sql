-- The tables of the records are made before this, see schema.rs. Tenant, then subject, lead every primary key that has them, so that they can be the
-- distribution key of an engine that shards. The column mac authenticates its row, see table.rs.
-- One row: the version of these tables, the number of processes that have held the database, and of transactions that were committed.
-- registry: the transaction that changed a summed table last, except for the times of last uses. sum: the sum over the rows of the summed
-- tables, hidden, so that a node takes over from another without reading them all. vault: the transactions of the vault of a
-- process that serves alone.
CREATE TABLE node (
    id bigint PRIMARY KEY, version bigint NOT NULL, term bigint NOT NULL, generation bigint NOT NULL, registry bigint NOT NULL,
    vault bigint NOT NULL, sum bytea NOT NULL, mac bytea NOT NULL
);
-- Ciphertext does not compress.
ALTER TABLE template_bytes ALTER COLUMN wrapped SET STORAGE EXTERNAL;
-- The role that serves owns nothing and deletes no seal. It may put its header in the place of a seal, and nothing else: the bytes that
-- SealHeader::encode gives, with the key set, the claims and the root that the seal has in the place of its own (crypto/attest/src/seal.rs).
CREATE FUNCTION prune_seal(which bigint, header bytea, code bytea) RETURNS bigint SECURITY DEFINER
BEGIN ATOMIC
    WITH pruned AS (
        UPDATE seals SET bytes = header, mac = code WHERE number = which AND length(header) BETWEEN 71 AND 768 AND length(bytes) > 768
        AND substr(header, 1, 3) = '\x845820' AND substr(header, length(header) - 34, 3) = '\x015820'
        AND substr(bytes, 1, 35) = '\x845820'::bytea || substr(header, length(header) - 31)
        AND position('\x045820'::bytea || substr(header, 4, 32) || '\x0f'::bytea || substr(header, 36, length(header) - 70)
                     || '\x19018b01a0f6'::bytea IN bytes) > 0
        RETURNING number
    )
    SELECT count(*) FROM pruned;
END;
REVOKE ALL ON FUNCTION prune_seal FROM PUBLIC;
-- The role that serves sees rows of the tenant for which it works, or of all where it says so: see scope.rs. The owner is held by no policy, so that
-- pg_dump, which is the owner's, sees all.
CREATE FUNCTION is_served(tenant bytea) RETURNS boolean STABLE PARALLEL SAFE
    RETURN current_setting('trefoil.tenant', true) IN ('all', encode(tenant, 'hex'));
-- An entry of the audit trail gets its receipt once, and nothing else changes: no other column may be updated by the role that serves.
ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON audit FOR SELECT USING (is_served(tenant));
CREATE POLICY of_tenant_new ON audit FOR INSERT WITH CHECK (is_served(tenant));
CREATE POLICY of_tenant_unsealed ON audit FOR UPDATE USING (is_served(tenant) AND receipt IS NULL) WITH CHECK (is_served(tenant));
