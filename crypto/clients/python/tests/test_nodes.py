"""The order of a fleet's nodes for a subject."""

import json

from service import REPOSITORY
from trefoil_attest.client import nodes_in_order

VECTORS = json.loads((REPOSITORY / "server/api/testdata/nodes.json").read_text(encoding="utf-8"))


def test_the_order_is_that_of_the_vectors_however_the_nodes_are_listed() -> None:
    assert len(VECTORS["cases"]) >= 12
    for case in VECTORS["cases"]:
        handle = bytes.fromhex(case["handle"])
        assert nodes_in_order(case["names"], handle) == case["order"]
        assert nodes_in_order(reversed(case["names"]), handle) == case["order"]
