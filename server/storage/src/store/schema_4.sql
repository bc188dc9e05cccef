-- Version 4: what it adds to versions 2 and 3. This file never changes either. Times are Unix seconds; NULL is never.
ALTER TABLE tenants ADD COLUMN disabled_at INTEGER;
ALTER TABLE api_keys ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
ALTER TABLE api_keys ADD COLUMN revoked_at INTEGER;
-- The hour in which the key was last used, at the latest.
ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;
