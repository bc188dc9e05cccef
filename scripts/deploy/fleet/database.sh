#!/bin/sh
# Run once by the image of PostgreSQL: the roles and the database of the service, as in server/FLEET.md.
set -eu
psql -X -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d postgres -v password="$(cat /run/secrets/trefoil-password)" \
    -v owner_password="$(cat /run/secrets/owner-password)" << 'END'
CREATE ROLE trefoil_owner LOGIN PASSWORD :'owner_password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE ROLE trefoil LOGIN PASSWORD :'password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 62;
CREATE DATABASE trefoil OWNER trefoil_owner ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE trefoil FROM PUBLIC;
END
