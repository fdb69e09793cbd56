"""Tables of the actor language (sandbox.md §1, §3, §5): what may be said, by name.

Everything here is data. Who reads it: `policy` refuses by it, `desugar` and
`instrument` rewrite by it, `runtime.methods` and `runtime.builtins` are tested against
it. Deny by default: what is in none of these tables is refused.
"""

import ast
from collections.abc import Mapping
from enum import IntFlag
from types import CodeType

from pvm import costs


def words(text: str) -> frozenset[str]:
    """The words of a text: how the tables below are written."""
    return frozenset(text.split())


SOURCE_BYTES_MAX = 65_536
NODES_MAX = 50_000
IDENTIFIER_LENGTH_MAX = 100
"""What the interpreter says of a name, it says for what syntax pays."""
KEY_LENGTH_MAX = 1_024
"""Characters of a str that is a key of a dict (sandbox.md §5)."""
NESTING_MAX = 100
"""Levels of the syntax tree; an `elif` is one level."""
LEVELS_MAX = 300
"""Levels with every `elif` counted: what the steps of the compiler recurse into."""
SCOPES_NESTED_MAX = 16
"""Comprehensions, lambdas or functions inside one another: 80 kill the compiler."""
FUNCTIONS_MAX = 256
PARAMETERS_MAX = 64
FIELDS_MAX = PARAMETERS_MAX - 1
"""Fields of a dataclass, inherited ones included: an `__init__` takes them all."""
COPIED_NODES_MAX = 50_000
"""Nodes of `finally` bodies, as often as the compiler writes each out."""
MANAGERS_MAX = 512
"""Managers of all the `with` of a module: each becomes two `try`."""
HANDLERS_MAX = 16
"""Handlers of a `try`, and classes that one handler names."""
VARIABLES_MAX = 256
"""Variables of one function: each call makes room for all of them."""
ENCLOSING_MAX = 16
"""Variables of the functions around that a function uses: it keeps each."""
COMPARISONS_MAX = 64
"""In one chain: the frame keeps what stands between two of them."""
BASES_MAX = 8
ANCESTORS_MAX = 16
"""Classes of the module that one class derives from, through all its bases: making a
class, and setting an attribute of one, takes the interpreter a walk through them."""
CLASSES_MAX = 256
DESCENDANTS_MAX = 32
"""Classes of the module that derive from one: setting an attribute of it, whoever may
look it up in them, takes a walk through them."""
INT_BITS_MAX = 4_096
FORMAT_WIDTH_MAX = 256
REFUSALS_MAX = 20
"""A source that is wrong everywhere is told so often enough."""

ACTOR_FILE = "<actor>"
"""File name of an actor's code objects; failures are located by it."""


class AuthorsFile(str):
    """Last constant of an actor's code that has, for debuggers, another file name."""

    __slots__ = ()


def is_of_actor(code: CodeType) -> bool:
    """Whether code is an actor's, not a library's and not ours."""
    if code.co_filename == ACTOR_FILE:
        return True
    return bool(code.co_consts) and type(code.co_consts[-1]) is AuthorsFile


DUNDER_METHODS = frozenset(
    f"__{name}__"
    for name in words(
        "init str repr eq lt le gt ge len iter next contains getitem setitem "
        "delitem call bool enter exit add sub mul floordiv mod neg"
    )
)

NODES: frozenset[type[ast.AST]] = frozenset(
    {
        ast.Module, ast.FunctionDef, ast.ClassDef, ast.Return, ast.Delete,
        ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If,
        ast.With, ast.Raise, ast.Try, ast.Assert, ast.Import, ast.ImportFrom,
        ast.Global, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break, ast.Continue,
        ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp,
        ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp,
        ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Compare, ast.Call,
        ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Attribute,
        ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice,
        ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Add, ast.Sub, ast.Mult,
        ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor,
        ast.BitAnd, ast.FloorDiv, ast.Invert, ast.Not, ast.UAdd, ast.USub, ast.Eq,
        ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In,
        ast.NotIn, ast.comprehension, ast.ExceptHandler, ast.arguments, ast.arg,
        ast.keyword, ast.alias, ast.withitem,
    }
)  # fmt: skip

ANNOTATION_NODES: frozenset[type[ast.AST]] = frozenset(
    {
        ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.Tuple,
        ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Call, ast.keyword, ast.Starred,
    }
)  # fmt: skip
"""Of what annotations may be made: of nothing that binds a name or yields."""

REFUSED_NODES: Mapping[str, tuple[str, str]] = {
    "AsyncFunctionDef": ("async functions are not available", "def"),
    "AsyncFor": ("async is not available", "for"),
    "AsyncWith": ("async is not available", "with"),
    "Await": ("await is not available", "an ordinary call"),
    "Match": ("match reads attributes without naming them", "if and elif"),
    "TryStar": ("exception groups are not available", "except Exception:"),
    "TypeAlias": ("the type statement is not available", "an annotation"),
    "Div": ("true division gives floats", "//, on integers of base units"),
    "MatMult": ("matrix multiplication is not available", "a loop"),
}

EXCEPTIONS = words(
    "Exception ArithmeticError AssertionError AttributeError ImportError "
    "IndexError KeyError LookupError NameError NotImplementedError "
    "OverflowError PermissionError RuntimeError StopIteration TypeError "
    "ValueError ZeroDivisionError UnicodeError UnicodeDecodeError"
)
"""May be called, raised, caught, subclassed and named in `isinstance`."""

MODULE_ERRORS: Mapping[str, frozenset[str]] = {
    "json": frozenset({"JSONDecodeError"}),
    "pvm_host": frozenset({"HostError", "RevertError"}),
}
"""Exceptions of native modules: may be caught, and named in `isinstance`."""

FUNCTIONS = words(
    "len abs chr ord callable range isinstance issubclass int str repr "
    "bytes bool list tuple dict set frozenset sorted sum min max any all "
    "map filter zip enumerate reversed iter next pow divmod round hex bin "
    "type print breakpoint"
)
"""Builtins that are values."""

NATIVE_FUNCTIONS = words("callable len ord")
"""Those that are CPython's own: their work is bounded, and paid by syntax."""

DEAR_FUNCTIONS = frozenset(
    name
    for name in FUNCTIONS - NATIVE_FUNCTIONS
    if costs.CALL_OF_BUILTIN.get(name, costs.HELPER_CALL) > costs.CALL
)
"""Those whose call by name has paid more than a call; a value charges the rest."""

CLASSES = words("int str bytes bool list tuple dict set frozenset range")
"""Builtins that stand for a class in `isinstance`, `issubclass`, `type(x) is`."""

CLASSES_NEVER = frozenset({"bytearray", "object", "memoryview"})
"""Public actors write `isinstance(x, (bytes, bytearray))`: allowed there only."""

SPECIAL_NAMES = frozenset({"getattr", "hasattr", "super"})
"""Names with a grammar of their own: a literal name, `super().method`."""

DECORATORS = frozenset({"property", "staticmethod", "classmethod"})
"""As decorators of methods only, never as values (rule 5)."""

IMPLICIT_MODULES = frozenset({"pvm_host"})
"""There without an import (host-api.md §2)."""

COMPILER_MODULES: Mapping[str, frozenset[str]] = {
    "abc": words("ABC abstractmethod"),
    "dataclasses": words("dataclass field"),
    "enum": words("Enum auto"),
}
"""Modules whose names the compiler knows: each stands in its place only."""

COMPILER_PLACES: Mapping[str, str] = {
    "abc.ABC": "a base class only",
    "cowboy_sdk.Actor": "a base class only",
    "abc.abstractmethod": "a decorator of methods only",
    "dataclasses.dataclass": "a decorator of classes only",
    "dataclasses.field": "the value of a field of a dataclass only",
    "enum.Enum": "the one base of an Enum only",
    "enum.auto": "the value of a member of an Enum only",
}

INERT_MODULES = frozenset({"typing", "__future__"})
"""Imported names may stand in annotations, which are never evaluated."""

REFUSED_NAMES: Mapping[str, tuple[str, str]] = {
    "printed": ("the name is reserved", "another name"),
    "eval": ("code cannot be made at run time", "a dict of functions"),
    "exec": ("code cannot be made at run time", "a dict of functions"),
    "compile": ("code cannot be made at run time", "a dict of functions"),
    "open": ("an actor has no files", "self.storage"),
    "input": ("an actor has no input", "the payload"),
    "id": ("addresses differ between machines", "a counter in self.storage"),
    "hash": ("hashes differ between processes", "hashlib or keccak256"),
    "vars": ("names are static", "a dict"),
    "dir": ("names are static", "a dict"),
    "globals": ("names are static", "a dict"),
    "locals": ("names are static", "a dict"),
    "setattr": ("names are static", "o.name = value, or a dict"),
    "delattr": ("names are static", "del o.name, or a dict"),
    "object": ("only as a class in isinstance", "no base class"),
    "bytearray": ("only as a class in isinstance", "bytes or a list"),
    "memoryview": ("only as a class in isinstance", "bytes"),
    "float": ("floats do not exist in actors", "integers of base units"),
    "complex": ("floats do not exist in actors", "integers of base units"),
    "BaseException": ("halts must pass", "Exception"),
    "GeneratorExit": ("halts must pass", "Exception"),
    "KeyboardInterrupt": ("halts must pass", "Exception"),
    "SystemExit": ("halts must pass", "Exception"),
    "UnboundLocalError": ("it differs between versions", "NameError"),
    "slice": ("slices are not values", "x[a:b]"),
    "ascii": ("repr is ASCII already", "repr"),
    "oct": ("not in the language", "an f-string with :o"),
    "format": ("widths must be literal", "an f-string"),
    "__import__": ("imports are static", "import"),
    "__name__": ("an actor is never a script", "nothing: leave the line out"),
}

MODULE_ALIASES: Mapping[str, str] = {
    "random": "pvm_random",
    "time": "pvm_time",
    "pvm_sdk": "cowboy_sdk",
}
"""Other names of a module, or of a package with all its modules."""

_NO_TOKENS = "balances in self.storage, as the example genesis/actors/token.py"
_NO_RUNNERS = "there are no runners here: schedule_timer goes on in a later block"
_HOST_ERROR = "except pvm_host.HostError as error, and its error.name"

ABSENT_FROM_SDK: Mapping[str, str] = {
    "Token": _NO_TOKENS,
    "token": _NO_TOKENS,
    **{
        f"token_{name}": _NO_TOKENS
        for name in words(
            "allowance approve balance_of burn create mint total_supply transfer "
            "transfer_batch transfer_from"
        )
    },
    **dict.fromkeys(
        words(
            "runner continuation capture Capture save_cont load_cont delete_cont "
            "Retry TaskGroup Verify VerifyBuilder submit_job"
        ),
        _NO_RUNNERS,
    ),
    **dict.fromkeys(
        words("PermissionDeniedError PurityViolationError ReentrancyError"), _HOST_ERROR
    ),
    "SoftFloat": "integers of base units: there are no floats here",
    "check_iteration": "for item in BoundedRange(items, max_iterations)",
    "storage": "self.storage",
    "pvm_sys": "runtime.context()",
    **dict.fromkeys(
        words("http routes mount Pays"), "a handler: no HTTP is served here"
    ),
}
"""What the public SDK has and this one has not, and what to write instead."""

REFUSED_MODULES: Mapping[str, str] = {
    "re": "methods of str",
    "decimal": "integers of base units",
    "fractions": "integers of base units",
    "datetime": "pvm_host.block_timestamp()",
    "copy": "list(x), dict(x)",
    "pickle": "json or pvm_host.cbor_encode",
    "os": "nothing: an actor has no files",
    "sys": "nothing",
    "asyncio": "pvm_host.schedule_timer or send_message",
    "contextlib": "a class with __enter__ and __exit__",
    "uuid": "pvm_host.keccak256 or randomness",
    "secrets": "pvm_host.randomness",
    "logging": "pvm_host.log",
    "inspect": "nothing: names are static",
}

ABSENT_NAMES: Mapping[str, str] = {
    "collections.namedtuple": "a dataclass",
    "collections.ChainMap": "{**one, **other}",
    "operator.attrgetter": "lambda x: x.name",
    "operator.methodcaller": "lambda x: x.name()",
    "dataclasses.asdict": "a method that builds the dict",
    "dataclasses.astuple": "a method that builds the tuple",
    "dataclasses.replace": "a call of the class",
    "dataclasses.fields": "a tuple of names",
    "dataclasses.KW_ONLY": "an __init__ of the class",
    "dataclasses.InitVar": "an __init__ of the class",
    "enum.IntEnum": "Enum, and .value",
    "enum.StrEnum": "Enum, and .value",
    "enum.Flag": "constants of the module",
    "enum.IntFlag": "constants of the module",
    "enum.unique": "nothing: one value is one member",
    "abc.ABCMeta": "ABC as a base",
    "abc.abstractproperty": "property and abstractmethod",
    "functools.lru_cache": "cache",
    "functools.total_ordering": "the methods themselves",
    "functools.singledispatch": "isinstance",
    "functools.cached_property": "an attribute set in __init__",
}
"""What CPython's module has and ours has not: what to write instead."""

NEVER_ATTRIBUTES = words(
    "ag_await ag_code ag_frame ag_running ag_suspended cr_await cr_code "
    "cr_frame cr_origin cr_running cr_suspended gi_code gi_frame gi_running "
    "gi_suspended gi_yieldfrom f_back f_builtins f_code f_generator "
    "f_globals f_lasti f_lineno f_locals f_trace f_trace_lines "
    "f_trace_opcodes tb_frame tb_lasti tb_lineno tb_next co_argcount "
    "co_cellvars co_code co_consts co_exceptiontable co_filename "
    "co_firstlineno co_flags co_freevars co_kwonlyargcount co_lines "
    "co_linetable co_lnotab co_name co_names co_nlocals co_positions "
    "co_posonlyargcount co_qualname co_stacksize co_varnames "
    "asend athrow aclose add_note with_traceback mro name_from fget "
    "fset fdel derive subgroup cell_contents"
)
"""Refused even where the module defines them: inspection, and exceptions' insides."""

GUARDED_ATTRIBUTES = words(
    "as_integer_ratio bit_count bit_length conjugate denominator from_bytes "
    "imag is_integer numerator real to_bytes capitalize casefold center "
    "count decode encode endswith expandtabs find format format_map fromhex "
    "hex index isalnum isalpha isascii isdecimal isdigit isidentifier "
    "islower isnumeric isprintable isspace istitle isupper join ljust lower "
    "lstrip maketrans partition removeprefix removesuffix replace rfind "
    "rindex rjust rpartition rsplit rstrip split splitlines startswith "
    "strip swapcase title translate upper zfill append clear copy extend "
    "insert pop remove reverse sort fromkeys get items keys popitem "
    "setdefault update values add difference difference_update discard "
    "intersection intersection_update isdisjoint issubset issuperset "
    "symmetric_difference symmetric_difference_update start "
    "indices setter getter deleter union mapping send throw close "
    "characters_written errno filename filename2 strerror encoding object "
    "reason end msg path obj"
)
"""Public names of native objects: reached through a helper that knows the type."""

OWNED_BY_ONE_TYPE = words(
    "add append casefold characters_written close decode deleter discard encode errno "
    "extend filename filename2 format format_map get getter hex insert isdecimal "
    "isidentifier isnumeric isprintable items keys msg obj path popitem reverse send "
    "setdefault setter sort strerror throw values"
)
"""Those of them that one native type has: the guard compares with it alone."""

EXCEPTION_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "args": EXCEPTIONS.union(*MODULE_ERRORS.values()),
    "characters_written": frozenset({"PermissionError"}),
    "code": frozenset({"HostError"}),
    "doc": frozenset({"JSONDecodeError"}),
    "encoding": frozenset({"UnicodeDecodeError"}),
    "end": frozenset({"UnicodeDecodeError"}),
    "errno": frozenset({"PermissionError"}),
    "filename": frozenset({"PermissionError"}),
    "filename2": frozenset({"PermissionError"}),
    "msg": words("ImportError JSONDecodeError"),
    "name": words("AttributeError HostError ImportError NameError"),
    "obj": frozenset({"AttributeError"}),
    "object": frozenset({"UnicodeDecodeError"}),
    "path": frozenset({"ImportError"}),
    "reason": frozenset({"UnicodeDecodeError"}),
    "start": frozenset({"UnicodeDecodeError"}),
    "strerror": frozenset({"PermissionError"}),
    "value": frozenset({"StopIteration"}),
}
"""Public names of native exceptions → those that have it.

Of an object they are values; of a class they would be CPython's descriptors, through
which anything of the kind is set unseen.
"""

PLAIN_ATTRIBUTES = words("step stop")
"""Public names of native objects that are read as they are: the ints of a `range`.

`start` is none: a UnicodeDecodeError has it, too.
"""

ABSENT_ATTRIBUTES: Mapping[str, str] = {
    "format": "an f-string",
    "format_map": "an f-string",
    "translate": "replace",
    "casefold": "lower",
    "rindex": "rfind",
    "expandtabs": "replace",
    "isdisjoint": "not a & b",
    "symmetric_difference": "a ^ b",
    "intersection_update": "a &= b",
    "difference_update": "a -= b",
    "send": "a class with a method",
    "throw": "a class with a method",
    "__class__": "type(x).__name__, or isinstance",
    "__name__": "type(x).__name__",
    "__dict__": "a dict",
    "__doc__": "a constant",
}
"""Attributes that authors expect and actors have not: what to write instead."""

METHODS: Mapping[str, frozenset[str]] = {
    "int": words("bit_length bit_count to_bytes from_bytes"),
    "str": words(
        "count encode endswith find index join lstrip partition removeprefix "
        "removesuffix replace rfind rpartition rsplit rstrip split splitlines "
        "startswith strip capitalize isalnum isalpha isdecimal isdigit islower "
        "isspace isupper lower swapcase title upper center ljust rjust zfill"
    ),
    "bytes": words(
        "count decode endswith find hex index join replace split startswith "
        "strip fromhex"
    ),
    "list": words(
        "append clear copy count extend index insert pop remove reverse sort"
    ),
    "tuple": frozenset({"count", "index"}),
    "dict": words(
        "clear copy get items keys pop popitem setdefault update values fromkeys"
    ),
    "set": words(
        "add clear copy difference discard intersection issubset issuperset pop "
        "remove union update"
    ),
    "storage": words("get pop setdefault keys"),
}
"""The methods an actor may call on each native type (sandbox.md §3)."""

METHOD_NAMES = frozenset().union(*METHODS.values())

NATIVE_CALLS = words("append get items keys values bit_length bit_count")
"""Called as they are: what they cost is in the block (`pop()` of a list too)."""

UNIVERSAL_ATTRIBUTES = frozenset(
    {"address", "args", "code", "deployer", "digest", "hexdigest", "name", "storage"}
)
"""Readable without the module defining them: of exceptions, instances and hashes."""

CELLS = ("_cycles", "_depth", "_memory")
"""Free variables of a module's function, in the order of their names."""

MODULE_FUNCTION = "_module"
"""The function that `instrument` makes of a module's body."""

INSERTED_FUNCTIONS = frozenset({"_outer", MODULE_FUNCTION, "_generator"})
"""Functions that no actor wrote."""


def public_name(name: str) -> str:
    """What the actor wrote for a name that was rewritten."""
    return name.removeprefix("private") if name.startswith("private_") else name


class Rule(IntFlag):
    """What is checked when a method is entered."""

    LISTED = 1
    """Only by the callers that `callable_by` lists."""
    ITSELF = 2
    """Only by the actor itself: a class with rules, a method without one."""
    PURE = 4
    """As a read-only execution."""
    QUIET = 8
    """No messages and no timers: a class that uses `deferred`, a method without."""
    DEFERRED = 16
    """They are allowed again."""
    GUARDED = 32
    """Not while it runs already, in this chain of calls."""
    PUBLIC = 64
    """By everybody; what it calls is called by the actor."""
