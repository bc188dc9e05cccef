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
