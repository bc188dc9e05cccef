"""A service that demands a certificate of its callers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from service import REPOSITORY, Service
from trefoil_attest.client import Tenant, TenantPolicy, Unreachable

CALLERS = REPOSITORY / "crypto/clients/testdata"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("strict"), {"TREFOIL_TLS_CLIENT_CA": str(CALLERS / "caller-ca.pem")})
    yield service
    service.close()


def test_a_certificate_and_its_key_are_shown_where_the_service_demands_them(strict: Service) -> None:
    # The admin listener demands none.
    admin = strict.admin()
    tenant = admin.create_tenant("shop", TenantPolicy(["https://shop.example"])).tenant_id
    key = admin.create_api_key(tenant, ["enrol"]).api_key

    def caller(identity: Path | None) -> Tenant:
        return Tenant(strict.url, key, strict.trust_root, ca=strict.ca, identity=identity)

    assert list(caller(CALLERS / "caller.pem").subjects()) == []
    with pytest.raises(Unreachable, match="give yours with its key as `identity`"):
        list(caller(None).subjects())
    for file, why in (("caller-ca.pem", "a certificate and its key"), ("none.pem", "none.pem must be a PEM file")):
        with pytest.raises(ValueError, match=why):
            caller(CALLERS / file)
    with pytest.raises(ValueError, match="ca: nowhere.pem must be a PEM file with certificates"):
        Tenant(strict.url, key, strict.trust_root, ca="nowhere.pem")
