-- Tenant, then subject, lead every primary key that has them, so that they can be the distribution key of an engine that shards. Numbers are
-- unsigned below 2^63, times are Unix seconds, NULL is never, text is UTF-8 in bytea. The column mac authenticates its row, see table.rs.
-- One row: the version of these tables, the number of processes that have held the database, and of transactions that were committed.
-- registry: the transaction that changed a summed table last, except for the times of last uses. sum: the sum over the rows of the summed
-- tables, hidden, so that a node takes over from another without reading them all. vault: the transactions of the vault of a
-- process that serves alone.
CREATE TABLE node (
    id bigint PRIMARY KEY, version bigint NOT NULL, term bigint NOT NULL, generation bigint NOT NULL, registry bigint NOT NULL,
    vault bigint NOT NULL, sum bytea NOT NULL, mac bytea NOT NULL
);
CREATE TABLE tenants (
    id bytea PRIMARY KEY, name bytea NOT NULL, policy bytea NOT NULL, policy_version bigint NOT NULL, public_key bytea NOT NULL,
    next_key bytea, wrapped_key bytea NOT NULL, created_at bigint NOT NULL, disabled_at bigint, deleted_at bigint, mac bytea NOT NULL
);
CREATE TABLE policies (
    tenant bytea NOT NULL, version bigint NOT NULL, policy bytea NOT NULL, made_at bigint NOT NULL, mac bytea NOT NULL,
    PRIMARY KEY (tenant, version)
);
CREATE TABLE api_keys (
    tenant bytea NOT NULL, id bytea NOT NULL, tag bytea NOT NULL, scopes bigint NOT NULL, created_at bigint NOT NULL,
    label bytea NOT NULL, expires_at bigint, revoked_at bigint, last_used_at bigint, mac bytea NOT NULL, PRIMARY KEY (tenant, id)
);
CREATE INDEX api_keys_by_id ON api_keys (id);
CREATE TABLE usage (
    tenant bytea NOT NULL, api_key bytea NOT NULL, day bigint NOT NULL, matched bigint NOT NULL, not_matched bigint NOT NULL,
    enrolments bigint NOT NULL, refusals bigint NOT NULL, mac bytea NOT NULL, PRIMARY KEY (tenant, api_key, day)
);
CREATE TABLE roots (
    tenant bytea NOT NULL, generation bigint NOT NULL, root bytea NOT NULL, generation_min bigint NOT NULL, statement bytea NOT NULL,
    signature bytea NOT NULL, published_at bigint NOT NULL, mac bytea NOT NULL, PRIMARY KEY (tenant, generation)
);
CREATE TABLE issuer_keys (
    tenant bytea NOT NULL, number bigint NOT NULL, key bytea NOT NULL, registered_at bigint NOT NULL, mac bytea NOT NULL,
    PRIMARY KEY (tenant, number)
);
-- Outlives templates so that a generation is never used twice.
CREATE TABLE generations (
    tenant bytea NOT NULL, handle bytea NOT NULL, generation bigint NOT NULL, mac bytea NOT NULL, PRIMARY KEY (tenant, handle)
);
-- Without the template's bytes, so that subjects are listed without them.
CREATE TABLE templates (
    tenant bytea NOT NULL, handle bytea NOT NULL, generation bigint NOT NULL, lane bigint NOT NULL, epoch bigint NOT NULL,
    wrapped_key bytea NOT NULL, consent_ref bytea NOT NULL, created_at bigint NOT NULL, revoked_at bigint, mac bytea NOT NULL,
    PRIMARY KEY (tenant, handle)
);
CREATE INDEX templates_by_epoch ON templates (tenant, epoch);
CREATE TABLE template_bytes (
    tenant bytea NOT NULL, handle bytea NOT NULL, generation bigint NOT NULL, wrapped bytea NOT NULL, mac bytea NOT NULL,
    PRIMARY KEY (tenant, handle)
);
-- Ciphertext does not compress.
ALTER TABLE template_bytes ALTER COLUMN wrapped SET STORAGE EXTERNAL;
CREATE TABLE leftovers (
    tenant bytea NOT NULL, handle bytea NOT NULL, generation bigint NOT NULL, mac bytea NOT NULL,
    PRIMARY KEY (tenant, handle, generation)
);
CREATE TABLE sessions (
    tenant bytea NOT NULL, id bytea NOT NULL, expires_at bigint NOT NULL, wrapped bytea NOT NULL, mac bytea NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE TABLE idempotency (
    tenant bytea NOT NULL, key bytea NOT NULL, request_digest bytea NOT NULL, body bytea NOT NULL, created_at bigint NOT NULL,
    mac bytea NOT NULL, PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE TABLE operators (
    id bytea PRIMARY KEY, name bytea NOT NULL, role bigint NOT NULL, created_at bigint NOT NULL, revoked_at bigint, mac bytea NOT NULL
);
CREATE TABLE operator_tokens (
    operator bytea NOT NULL, number bigint NOT NULL, tag bytea NOT NULL, created_at bigint NOT NULL, expires_at bigint,
    revoked_at bigint, mac bytea NOT NULL, PRIMARY KEY (operator, number)
);
CREATE TABLE audit (
    number bigint PRIMARY KEY, tenant bytea NOT NULL, statement bytea NOT NULL, receipt bytea, mac bytea NOT NULL
);
CREATE INDEX audit_by_tenant ON audit (tenant, number);
CREATE INDEX audit_unsealed ON audit (number) WHERE receipt IS NULL;
CREATE TABLE creates (
    operator bytea NOT NULL, key bytea NOT NULL, request_digest bytea NOT NULL, entry bigint NOT NULL, created_at bigint NOT NULL,
    mac bytea NOT NULL, PRIMARY KEY (operator, key)
);
CREATE INDEX creates_by_age ON creates (created_at);
CREATE TABLE seals (number bigint PRIMARY KEY, bytes bytea NOT NULL, mac bytea NOT NULL);
CREATE TABLE log_nodes (
    level bigint NOT NULL, number bigint NOT NULL, hash bytea NOT NULL, mac bytea NOT NULL, PRIMARY KEY (level, number)
);
CREATE TABLE cosignatures (
    size bigint NOT NULL, witness bytea NOT NULL, line bytea NOT NULL, mac bytea NOT NULL, PRIMARY KEY (size, witness)
);
CREATE TABLE restorations (restored_at bigint PRIMARY KEY, first_seal bigint NOT NULL, mac bytea NOT NULL);
CREATE TABLE accepted_clocks (
    id bigint PRIMARY KEY, first_seal bigint NOT NULL, at bigint NOT NULL, since bigint NOT NULL, until bigint NOT NULL, mac bytea NOT NULL
);
-- What nodes have in memory that is no longer so: kind 1 a subject, 2 a session. Each node reads them in order; kept for minutes.
CREATE TABLE changes (
    generation bigint NOT NULL, number bigint NOT NULL, tenant bytea NOT NULL, kind bigint NOT NULL, item bytea NOT NULL, at bigint NOT NULL,
    mac bytea NOT NULL, PRIMARY KEY (generation, number)
);
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
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON tenants USING (is_served(id));
ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON policies USING (is_served(tenant));
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON api_keys USING (is_served(tenant));
ALTER TABLE usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON usage USING (is_served(tenant));
ALTER TABLE roots ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON roots USING (is_served(tenant));
ALTER TABLE issuer_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON issuer_keys USING (is_served(tenant));
ALTER TABLE generations ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON generations USING (is_served(tenant));
ALTER TABLE templates ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON templates USING (is_served(tenant));
ALTER TABLE template_bytes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON template_bytes USING (is_served(tenant));
ALTER TABLE leftovers ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON leftovers USING (is_served(tenant));
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON sessions USING (is_served(tenant));
ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON idempotency USING (is_served(tenant));
-- An entry of the audit trail gets its receipt once, and nothing else changes: no other column may be updated by the role that serves.
ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON audit FOR SELECT USING (is_served(tenant));
CREATE POLICY of_tenant_new ON audit FOR INSERT WITH CHECK (is_served(tenant));
CREATE POLICY of_tenant_unsealed ON audit FOR UPDATE USING (is_served(tenant) AND receipt IS NULL) WITH CHECK (is_served(tenant));
