"""A service that demands a certificate of its callers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from calls import refused
from service import POLICY, REPOSITORY, Service
from trefoil_attest.client import Tenant, Unreachable

CALLERS = REPOSITORY / "crypto/clients/testdata"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("strict"), {"TREFOIL_TLS_CLIENT_CA": str(CALLERS / "caller-ca.pem")})
    yield service
    service.close()


def test_a_certificate_and_its_key_are_shown_where_the_service_demands_them(strict: Service) -> None:
    # The admin listener demands none.
    key = strict.make_key(strict.make_tenant(POLICY), "enrol")["api_key"]

    def caller(identity: Path | None) -> Tenant:
        return Tenant(strict.url, key, strict.trust_root, ca=strict.ca, identity=identity)

    refused("subject-unknown", caller(CALLERS / "caller.pem").revoke, bytes(32))
    with pytest.raises(Unreachable, match="give yours with its key as `identity`"):
        caller(None).revoke(bytes(32))
    for file, why in (("caller-ca.pem", "a certificate and its key"), ("none.pem", "none.pem must be a PEM file")):
        with pytest.raises(ValueError, match=why):
            caller(CALLERS / file)
    with pytest.raises(ValueError, match="ca: nowhere.pem must be a PEM file with certificates"):
        Tenant(strict.url, key, strict.trust_root, ca="nowhere.pem")
