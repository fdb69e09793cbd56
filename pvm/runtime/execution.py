"""The execution that is running, as the helpers of inserted code see it.

Every helper is a function whose first parameter is the `VmExecution`; actor code gets
bound methods of it, on which nothing can be set and from which, names being static,
nothing can be reached.
"""

from collections.abc import Callable, Mapping
from types import CellType, MethodType
from typing import Concatenate, ParamSpec, TypeVar

from typing_extensions import override

from pvm import costs
from pvm.actor_code import ActorCode
from pvm.depth import END
from pvm.errors import Halt, HostMemoryExhausted, TooDeepRecursion
from pvm.host import Host
from pvm.meter import Meter
from pvm.runtime.context import ModuleContext
from pvm.runtime.storage import StorageView, attach, detach
from pvm.types import Message

_P = ParamSpec("_P")
_R = TypeVar("_R")

Helper = Callable[..., object]  # type: ignore[explicit-any] # any signature

ACTOR_MODULE = "actor"
"""`__name__` of an actor's namespace, by which its classes are known."""

HEAP_TYPE = 1 << 9
"""Flag of classes made by a `class` statement: actors' ones and few of ours."""


class Namespace:
    """Names of a module whose body has run, and what that took."""

    __slots__ = ("code", "cycles", "given", "memory", "names", "owner")

    def __init__(self, code: ActorCode, names: dict[str, object]) -> None:
        self.code = code
        self.names = names
        self.cycles = 0
        self.memory = 0
        self.owner: tuple[bytes, bytes] | None = None
        """Address and deployer of whose state the actor's class has, once it has."""
        self.given: list[str] = []
        """Attributes of it: those of the state that it does not define itself."""


class VmExecution:
    """Counters and names of one execution after another.

    The cells are free variables of library functions, which are made once, so they
    stay; `begin` puts the counters of a meter into them, `end` gives those back. An
    execution that is nested in another has an object of its own.
    """

    __slots__ = (
        "_homes", "cells", "classes", "context", "cycles", "depth", "holes", "imported",
        "memory", "meter", "modules", "names", "namespaces", "universe", "view",
    )  # fmt: skip

    def __init__(
        self, universe: Mapping[str, Helper], classes: Mapping[Helper, type]
    ) -> None:
        self.cycles = CellType(0)
        self.depth = CellType(END)
        self.memory = CellType(0)
        self.cells = (self.cycles, self.depth, self.memory)
        """In the order of `language.CELLS`."""
        self.context = ModuleContext()
        """The execution that is running, as native modules see it."""
        self.universe = universe
        self.classes = classes
        """Native classes by the helpers of the universe that stand for them."""
        self.modules: dict[str, object] = {}
        """Modules that were made, for the executions to come as well."""
        self.namespaces: dict[int, Namespace] = {}
        """What bodies of actors made that nothing can change, by the code's address."""
        self.view = StorageView()
        """`self.storage` of the execution that is running."""
        self.imported: set[str] = set()
        """Modules that this execution has paid for."""
        self.names: dict[str, object] = {}
        """The builtins of the actor's namespace: universe and helpers."""
        self.holes: dict[int, tuple[int, dict[object, object]]] = {}
        """Deletions since a dict was packed, by its address; the dict, to keep it."""

    def begin(self, meter: Meter, host: Host, message: Message, handler: str) -> None:
        """Run on the counters of `meter` from here on."""
        self.meter = meter
        self.context.begin(meter, host, message, handler)
        attach(self.view, host, meter)
        self._homes = (meter.cycles, meter.depth, meter.memory)
        self.cycles.cell_contents = meter.cycles.cell_contents
        self.depth.cell_contents = meter.depth.cell_contents
        self.memory.cell_contents = meter.memory.cell_contents
        meter.cycles, meter.depth, meter.memory = self.cells

    def end(self) -> None:
        """Give the meter its counters back and forget the execution."""
        meter, (cycles, depth, memory) = self.meter, self._homes
        cycles.cell_contents = self.cycles.cell_contents
        depth.cell_contents = self.depth.cell_contents
        memory.cell_contents = self.memory.cell_contents
        meter.cycles, meter.depth, meter.memory = cycles, depth, memory
        self.context.end()
        detach(self.view)
        del self.meter, self._homes
        self.imported.clear()
        self.holes.clear()

    def charge(self, cycles: int) -> None:
        """Pay for work; halts when it is more than is left."""
        left = self.cycles.cell_contents - cycles
        self.cycles.cell_contents = left
        if left < 0:
            self.meter.halt_by_counters()

    def allocate(self, bytes_: int) -> None:
        """Pay for memory; halts when the account is empty."""
        left = self.memory.cell_contents - bytes_
        self.memory.cell_contents = left
        if left < 0:
            self.meter.halt_by_counters()

    def halt(self, halt: Halt | HostMemoryExhausted) -> None:
        """End the execution for good."""
        self.meter.halt(halt)

    def deeper(self) -> object:
        """Take one of depth; returns what is put back into the cell afterwards.

        Whoever raises in between need not: the actor's function around restores it.
        """
        depth: object = self.depth.cell_contents
        if depth is END:
            self.meter.halt(TooDeepRecursion())
        (self.depth.cell_contents,) = depth  # type: ignore[misc] # a link of the chain
        return depth

    def text(self, length: int, *, is_ascii: bool) -> None:
        """Pay for a text or bytes that was or will be built; short ones are free."""
        if length > costs.TEXT_FREE:
            self.charge(length)
            self.allocate(costs.TEXT_BYTES + (length if is_ascii else 4 * length))

    def sequence(self, items: int) -> None:
        """Pay for a list or tuple that was or will be built."""
        self.charge(items)
        self.allocate(costs.SEQUENCE_BYTES + 8 * items)

    def mapping(self, items: int) -> None:
        """Pay for the memory of a dict or set."""
        self.allocate(costs.MAPPING_BYTES + costs.MAPPING_BYTES_PER_ITEM * items)

    def bind(self, helper: Callable[Concatenate["VmExecution", _P], _R]) -> MethodType:
        """The helper as actor code calls it."""
        return MethodType(helper, self)

    def builtin(self, name: str) -> object:
        """A priced builtin as a value: one object for the whole execution."""
        found = self.names.get(name)
        if found is None:
            found = self.names[name] = MethodType(self.universe[name], self)
        return found


class PricedMethod:
    """A priced method as a value: it shows nothing, and nothing can be set on it."""

    __slots__ = ("_method", "_vm")

    def __init__(self, vm: VmExecution, method: MethodType) -> None:
        self._vm = vm
        self._method = method

    def __call__(self, /, *arguments: object, **named: object) -> object:
        """Call it: one deeper, for it takes more of the stack than an actor's."""
        self._vm.charge(costs.BOUND_CALL)
        depth = self._vm.deeper()
        result: object = self._method(*arguments, **named)
        self._vm.depth.cell_contents = depth
        return result


class SealedModule:
    """A module as an actor sees it: names that cannot be set or deleted."""

    __slots__ = ("__dict__",)

    def __init__(self, names: Mapping[str, object]) -> None:
        self.__dict__.update(names)

    @override
    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a module is the same for everybody."""
        raise AttributeError

    @override
    def __delattr__(self, name: str) -> None:
        """Refuse: a module is the same for everybody."""
        raise AttributeError
