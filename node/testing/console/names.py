"""Names that a prompt offers: the chain, its accounts, and whatever has a label.

An actor's label is its name where that is one in Python: `counter`, and `counter_2` for
"counter 2". Another address with a label is its 20 bytes.
"""

import keyword
import re
from collections.abc import Callable, Mapping

from node.client._sync.actor import Actor, Chain
from node.client.exceptions import InvalidArgument
from node.primitives.types import Address

__all__ = ["IMPORTED", "OF_THE_CHAIN", "LabelOffer", "labelled"]

OF_THE_CHAIN: Mapping[str, str] = {"accounts": "accounts"}
"""Names → attributes of the chain."""

IMPORTED: Mapping[str, str] = {
    "Path": "pathlib",
    "assert_event": "node.testing",
    "assert_fires_at": "node.testing",
}
"""Names → the modules that they are imported from."""

_ACCOUNT = re.compile(r"account \d+$")


class LabelOffer:
    """What a label offers: the name, and how a test says what it is."""

    __slots__ = ("expression", "value")

    def __init__(self, chain: Chain, address: Address) -> None:
        digits = address.hex()
        self.value: Actor | bytes
        try:
            self.value = chain.actor(address)
            self.expression = f'chain.actor("0x{digits}")'
        except InvalidArgument:  # no actor is there
            self.value, self.expression = address, f'bytes.fromhex("{digits}")'


def labelled(chain: Chain, is_wanted: Callable[[str], bool]) -> dict[str, LabelOffer]:
    """What the labels of a chain offer, by names that are wanted."""
    found = {}
    for address, label in list(chain.labels.items()):
        name = re.sub(r"\W", "_", label)
        is_name = name.isidentifier() and not keyword.iskeyword(name)
        if is_name and not _ACCOUNT.match(label) and is_wanted(name):
            found[name] = LabelOffer(chain, Address(address))
    return found
