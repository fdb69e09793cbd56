"""Labels: what people call addresses, on one chain.

They are the caller's own: no chain and no node knows them. Accounts and actors have
names from the start, `account 0` and the stem of an actor's file; whoever gives one of
his own replaces that. A label is text for people: what a terminal would obey is shown
by number (`foreign`).
"""

import re
from collections.abc import Callable, Iterator, Mapping

from typing_extensions import override

from node.chain.params import ADDRESS_BYTES
from node.client.exceptions import InvalidArgument
from node.client.inputs import check_text
from node.primitives.hex_repr import foreign
from node.primitives.types import Address

__all__ = ["LABEL_LENGTH_MAX", "Labels"]

LABEL_LENGTH_MAX = 64
"""Characters: a column of a table, not a sentence."""

_ADDRESS = re.compile(rf"0x[0-9a-f]{{{2 * ADDRESS_BYTES}}}(?![0-9a-f])")


class Labels(Mapping[bytes, str]):
    """Names by address, as they are shown; no two addresses have the same."""

    __slots__ = ("_addresses", "_changes", "_names")

    def __init__(self, names: Mapping[Address, str] | None = None) -> None:
        self._names: dict[bytes, str] = {}
        self._addresses: dict[str, Address] = {}
        self._changes: list[tuple[Address, str | None]] = []
        """Each with the name that an address had before, to go back."""
        for address, name in (names or {}).items():
            self.give(address, name)

    @override
    def __getitem__(self, address: bytes) -> str:
        return foreign(self._names[address])

    @override
    def __iter__(self) -> Iterator[bytes]:
        return iter(self._names)

    @override
    def __len__(self) -> int:
        return len(self._names)

    def give(self, address: Address, name: str) -> None:
        """Call an address by a name from now on, instead of the one it has.

        Raises:
            InvalidArgument: no text of 1 to 64 characters, one that reads as an address
                or a number, or the name of another address.
        """
        if not 1 <= len(check_text("name", name)) <= LABEL_LENGTH_MAX:
            wanted = f"a text of 1 to {LABEL_LENGTH_MAX} characters is wanted"
            raise InvalidArgument("name", wanted, name)
        if name.strip() != name or name.startswith("0x") or name.isdecimal():
            wanted = (
                "a name is wanted that is neither an address nor a number, "
                "without spaces around it"
            )
            raise InvalidArgument("name", wanted, name)
        other = self._addresses.get(name, address)
        if other != address:
            wanted = f"a name is wanted that 0x{other.hex()} does not have"
            raise InvalidArgument("name", wanted, name)
        self._change(address, name)

    def suggest(self, address: Address, name: str) -> None:
        """Give an address a name that it may have if it has none, else one like it."""
        if not address or not name or address in self._names:
            return
        name = name[: LABEL_LENGTH_MAX - len(" 999999")]
        number, free = 1, name
        while free in self._addresses:
            number += 1
            free = f"{name} {number}"
        self._change(address, free)

    def address(self, name: str) -> Address | None:
        """Whose name it is."""
        return self._addresses.get(name)

    def show(self, address: bytes) -> str:
        """The name of an address, else the address in hex."""
        return self.get(address) or f"0x{address.hex()}"

    def replaced(self, text: str) -> str:
        """A text with the names of addresses instead of their digits."""
        if not self._names:
            return text
        return _ADDRESS.sub(lambda found: self._name_of(found[0]), text)

    def _name_of(self, digits: str) -> str:
        return self.get(bytes.fromhex(digits[2:]), digits)

    def mark(self) -> Callable[[], None]:
        """What returns to the names of now; taking it costs the same for any number."""
        count = len(self._changes)

        def go_back() -> None:
            while len(self._changes) > count:
                self._set(*self._changes.pop())

        return go_back

    def _change(self, address: Address, name: str) -> None:
        self._changes.append((address, self._names.get(address)))
        self._set(address, name)

    def _set(self, address: Address, name: str | None) -> None:
        before = self._names.pop(address, None)
        if before is not None:
            del self._addresses[before]
        if name is not None:
            self._names[address] = name
            self._addresses[name] = address
