-- Version 3: tables say which programs may use them. This file never changes.
-- version: from here on the oldest program that may use these tables; a program of version 2 takes only 2 there. expanded: the version that
-- they have. A step that only adds leaves version as it is, so that programs of both versions use the tables at a time.
ALTER TABLE node ADD COLUMN expanded bigint;
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
-- programs of version 2 and pg_dump, which are the owner's, go on.
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
