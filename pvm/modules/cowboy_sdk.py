"""`cowboy_sdk.native`: what of the SDK cannot be said in the actor language.

Ownership writes a key that no actor can; an `ActorRef` has a method for every name;
an `Address` is called like a class and gives plain bytes. All else of the package is
in `pvm/library/cowboy_sdk`, which imports this.
"""

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from pvm import costs
from pvm.cbor import MalformedCbor, UnencodableValue, Value
from pvm.errors import HostError, HostErrorCode, ReadOnlyViolation
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.owner import owner_of, store_owner
from pvm.runtime.values import from_cbor, to_cbor, type_name
from pvm.types import Entry

EXPORTS: Final = frozenset(
    {
        "ActorRef",
        "Address",
        "assume_ownership_if_unowned",
        "get_owner",
        "is_initialized",
        "renounce_ownership",
        "transfer_ownership",
    }
)

ATTRIBUTES: Final = frozenset({"from_hex", "to_hex", "ZERO"})
"""Public names of `Address`."""

CYCLES_LIMIT: Final = 100_000
"""What a call may use where nothing is said."""

_ADDRESS_BYTES: Final = 20
_TEXT_LENGTH_MAX: Final = len("0x") + 2 * _ADDRESS_BYTES
_REMOTE_BYTES: Final = 128


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of the module."""
    functions = _Functions(context)
    names: dict[str, object] = {
        name: getattr(functions, name)
        for name in EXPORTS
        if name not in ("ActorRef", "Address")
    }
    return {**names, "ActorRef": functions.actor_ref, "Address": Address(context)}


def _invalid(message: str) -> NoReturn:
    raise HostError(HostErrorCode.InvalidInput, message)


def to_address(value: object, name: str) -> bytes:
    """20 bytes, from bytes or from their hexadecimal form with or without `0x`."""
    if type(value) is bytes and len(value) == _ADDRESS_BYTES:
        return value
    if type(value) is str and value.isascii() and len(value) <= _TEXT_LENGTH_MAX:
        digits = value.removeprefix("0x")
        if len(digits) == 2 * _ADDRESS_BYTES and digits.isalnum():
            try:
                return bytes.fromhex(digits)
            except ValueError:
                pass
    _invalid(
        f"{name}: an address is 20 bytes or their hexadecimal form, "
        f"not {type_name(value)}"
    )


class Address(Bound):
    """`Address(value)`: the 20 bytes, checked."""

    __slots__ = ()

    ZERO = bytes(_ADDRESS_BYTES)

    def __call__(self, value: object) -> bytes:
        """The address as bytes, which every host call takes."""
        self._charge()
        return to_address(value, "value")

    def from_hex(self, text: object) -> bytes:
        """The address that a text names."""
        self._charge()
        if type(text) is not str:
            _invalid(f"text must be str, not {type_name(text)}")
        return to_address(text, "text")

    def to_hex(self, address: object) -> str:
        """`0x` and 40 small digits."""
        self._charge()
        return "0x" + to_address(address, "address").hex()

    def _charge(self) -> None:
        self._meter.raise_if_halted()
        self._meter.charge_cycles(costs.READ_CONTEXT)


class _Functions(Bound):
    """Ownership, and references to other actors."""

    __slots__ = ()

    def get_owner(self) -> bytes:
        """The owner: the deployer until transferred; zeros once renounced."""
        self._meter.raise_if_halted()
        return owner_of(self._context)

    def assume_ownership_if_unowned(self) -> bytes:
        """The owner: every actor has one from its deployment on."""
        return self.get_owner()

    def transfer_ownership(self, new_owner: object) -> None:
        """Make somebody else the owner; for the owner and the actor itself."""
        self._require_writable()
        self._meter.charge_cycles(costs.READ_CONTEXT)
        owner = to_address(new_owner, "new_owner")
        if owner == Address.ZERO:
            _invalid("new_owner: nobody has the zero address; renounce_ownership()")
        store_owner(self._context, owner)

    def renounce_ownership(self) -> None:
        """Leave the actor without an owner for good."""
        self._require_writable()
        store_owner(self._context, Address.ZERO)

    def is_initialized(self) -> bool:
        """Whether the deployment is over: what lives on the chain has been deployed."""
        self._meter.raise_if_halted()
        self._meter.charge_cycles(costs.READ_CONTEXT)
        return self._context.message.entry is not Entry.DEPLOYMENT

    def actor_ref(
        self, target: object, cycles_limit: object = CYCLES_LIMIT
    ) -> "_ActorRef":
        """An object whose every method is a `call` of the actor."""
        self._meter.raise_if_halted()
        self._meter.charge_cycles(costs.READ_CONTEXT)
        self._meter.charge_memory(_REMOTE_BYTES)
        return _ActorRef(self._context, to_address(target, "target"), cycles_limit)

    def _require_writable(self) -> None:
        self._meter.raise_if_halted()
        if self._meter.read_only:
            self._meter.halt(ReadOnlyViolation())


class _ActorRef(Bound):
    """Another actor: `ref.name(args)` calls its handler `name`."""

    __slots__ = ("_cycles_limit", "_target")

    def __init__(
        self, context: ModuleContext, target: bytes, cycles_limit: object
    ) -> None:
        super().__init__(context)
        self._target = target
        self._cycles_limit = cycles_limit

    def __getattr__(self, name: str) -> Callable[..., Value]:  # type: ignore[explicit-any] # what a handler takes is its own business
        if name.startswith("_"):
            raise AttributeError(name)
        self._meter.charge_cycles(costs.METHOD_BOUND)
        self._meter.charge_memory(_REMOTE_BYTES)

        def method(*arguments: object, **named: object) -> Value:
            return self._call(name, arguments, named)

        return _Method(method)

    def _call(
        self, name: str, arguments: tuple[object, ...], named: dict[str, object]
    ) -> Value:
        """Arguments by name are a dict, by position a list; none are no payload."""
        meter = self._meter
        meter.raise_if_halted()
        if arguments and named:
            _invalid(f"{name}: arguments by position or by name are wanted, not both")
        payload = b""
        try:
            if arguments or named:
                payload = to_cbor(named or list(arguments), meter)
        except UnencodableValue as error:
            _invalid(f"{name}: {error}")
        returned = self._context.host.call_actor(
            self._target, name, payload, self._cycles_limit
        )
        if not returned:
            return None
        try:
            return from_cbor(returned, meter)
        except MalformedCbor:
            _invalid(f"{name} answered something else than canonical CBOR")


class _Method:
    """A method of an `ActorRef` as a value; nothing can be set on it."""

    __slots__ = ("_method",)

    def __init__(self, method: Callable[..., Value]) -> None:  # type: ignore[explicit-any] # as above
        self._method = method

    def __call__(self, *arguments: object, **named: object) -> Value:
        """Call the other actor."""
        return self._method(*arguments, **named)
