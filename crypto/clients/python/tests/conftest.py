from collections.abc import Iterator

import pytest
from service import Member, Service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    # Credit for two invalid proofs, back within a few seconds.
    variables = {"TREFOIL_PROOFS_CREDIT_MAX": "100", "TREFOIL_PROOFS_CREDIT_PER_S": "20"}
    service = Service(tmp_path_factory.mktemp("service"), variables)
    yield service
    service.close()


@pytest.fixture(scope="session")
def ann(service: Service) -> Member:
    return Member(service, "ann")
