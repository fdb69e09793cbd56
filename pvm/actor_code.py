"""A compiled actor, as the compiler leaves it and an execution takes it."""

from types import CodeType

from msgspec import Struct


class ActorCode(Struct, frozen=True):
    """A compiled actor: immutable, shared by all its executions."""

    module: CodeType
    """The module's body, a function of the three cells of a meter."""
    handlers: tuple[str, ...]
    """Public names that messages can reach, in source order, for display."""
    functions: frozenset[str]
    """Those of them that are functions of the module."""
    methods: frozenset[str]
    """Public methods of the actor's class, inherited ones included."""
    actor_class: str | None
    """The class marked `@actor`, else the one named `Actor`, else the only class that
    is no exception and derives from no library."""
    constructors: frozenset[str]
    """Of `deploy`, `init` and `upgrade` the methods that messages can reach, too."""
    nodes: int
    """Of its syntax, and those written out: what a deployment paid for compiling it
    (D6), and what making it ready to run takes, follow them."""
    is_unchanging: bool
    """Whether what its body makes serves one message after another (`namespaces`)."""
    hint: str = ""
    """For the author, in the receipt of the deployment."""
