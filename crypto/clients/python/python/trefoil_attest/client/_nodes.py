"""The nodes of a fleet for callers that reach each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def nodes_in_order(names: Iterable[str], handle: bytes) -> list[str]:
    """The nodes of a fleet in the order in which to ask them about the subject with this handle.

    A name is any text that all callers use for the node, such as its address. Every node answers for every subject, and one that has the
    subject's template in memory answers a little sooner: ask the first, and the next if it cannot be reached. A node that leaves or joins
    moves its own subjects only. Nothing is sent for it. Rendezvous hashing (Thaler and Ravishankar, 1998): by descending SHA3-256 of
    domain, length of the name, name and handle.
    """

    def weight(name: str) -> bytes:
        text = name.encode()
        return hashlib.sha3_256(b"trefoil/node/1" + len(text).to_bytes(8, "little") + text + handle).digest()

    return sorted(names, key=weight, reverse=True)
