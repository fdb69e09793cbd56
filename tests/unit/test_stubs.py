"""The stubs of what actors import say what the modules are: for editors.

host-api.md §2 to §4 is what they describe; a stub is read as a syntax tree, and so is
the library, since nothing of either can be imported here.
"""

import ast
import inspect
import re
from pathlib import Path

import pytest

from pvm import costs
from pvm.driver.library_loader import find_module
from pvm.errors import HostErrorCode
from pvm.host import MUTATING
from pvm.modules import cowboy_sdk as sdk_natives
from pvm.modules import pvm_host
from pvm.output import LEVELS
from pvm.runtime.storage import StorageView

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "stubs"
LIBRARY = ROOT / "pvm" / "library"
FOR_ANNOTATIONS = {"pvm_host": {"Value", "Context", "FireContext", "Timer"}}
"""Names that are in no module: an annotation is never evaluated."""

FILES = {
    ".".join([path.parent.name.removesuffix("-stubs"), path.stem]).removesuffix(
        ".__init__"
    ): path
    for path in sorted(STUBS.rglob("*.pyi"))
}


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def defined(tree):
    """Public names of a stub: what it defines, and what it imports `as` itself."""
    names = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case ast.ImportFrom(names=[ast.alias(name="*")], module=source):
                names |= defined(tree_of(FILES[source]))
            case ast.ImportFrom(names=aliases):
                names |= {one.asname for one in aliases if one.asname}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("module", FILES)
def test_a_stub_has_the_names_of_its_module(module):
    names = defined(tree_of(FILES[module]))
    module = module.replace("pvm_sdk", "cowboy_sdk")
    wanted = find_module(module).exports | FOR_ANNOTATIONS.get(module, set())
    assert names == wanted


def test_every_module_that_only_actors_have_has_a_stub():
    library = {
        ".".join(path.relative_to(LIBRARY).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        for path in LIBRARY.rglob("*.py")
        if path.stem.startswith("pvm_") or path.parent.name == "cowboy_sdk"
    }
    assert library | {"pvm_host", "cowboy_sdk.native"} == {
        name for name in FILES if not name.startswith("pvm_sdk")
    }


# --- parameters --------------------------------------------------------------------


def parameters(node, *, is_method=False):
    """Of a definition: name, kind, and default as a value."""
    arguments = node.args
    every = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(every) - len(arguments.defaults)) + arguments.defaults
    found = [
        (one.arg, "plain", ... if default is None else ast.literal_eval(default))
        for one, default in zip(every, defaults, strict=True)
    ]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "many", ...))
    assert not arguments.kwonlyargs
    assert not arguments.kwarg
    return found[1:] if is_method else found


def parameters_of_native(function):
    kinds = {
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "plain",
        inspect.Parameter.VAR_POSITIONAL: "many",
    }
    every = list(inspect.signature(function).parameters.values())[1:]
    return [
        (one.name, kinds[one.kind], ... if one.default is one.empty else one.default)
        for one in every
    ]


def definitions(body):
    """Functions by name; of one with overloads all of them."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


def natives():
    """Each function of ours with those of its stub."""
    for module, owner in (
        ("pvm_host", pvm_host._Binding),
        ("cowboy_sdk.native", sdk_natives._Functions),
    ):
        for name, stubs in definitions(tree_of(FILES[module]).body).items():
            own = {"ActorRef": "actor_ref"}.get(name, name)
            yield f"{module}.{name}", getattr(owner, own), stubs
    sdk = tree_of(FILES["cowboy_sdk"])
    native = tree_of(FILES["cowboy_sdk.native"])
    for tree, name, owner in (
        (sdk, "_Storage", StorageView),
        (native, "_Address", sdk_natives.Address),
    ):
        (class_,) = (one for one in tree.body if getattr(one, "name", "") == name)
        for method, stubs in definitions(class_.body).items():
            own = getattr(owner, method)
            if callable(own):
                yield f"{name}.{method}", own, stubs


@pytest.mark.parametrize(
    ("own", "stubs"), [pytest.param(*rest, id=name) for name, *rest in natives()]
)
def test_a_stub_of_a_native_function_has_its_parameters(own, stubs):
    wanted = parameters_of_native(own)
    is_method = stubs[0].args.args[:1] and stubs[0].args.args[0].arg == "self"
    given = [parameters(stub, is_method=bool(is_method)) for stub in stubs]
    longest = max(given, key=len)
    assert [one[:2] for one in longest] == [one[:2] for one in wanted]
    for one in given:  # an overload may want what the function could do without
        for (name, _, default), (_, _, own_default) in zip(one, wanted, strict=False):
            assert (
                default in (own_default, ...)
                if len(given) > 1
                else (
                    default == own_default or "_Missing" in type(own_default).__name__
                )
            ), name


def library_definitions():
    for module, path in FILES.items():
        if module.startswith("pvm_sdk") or module in ("pvm_host", "cowboy_sdk.native"):
            continue
        own = LIBRARY.joinpath(*module.split("."))
        own = own / "__init__.py" if own.is_dir() else own.with_suffix(".py")
        yield module, tree_of(path), tree_of(own)


def members(tree):
    """Public functions and methods of a module by qualified name."""
    for name, stubs in definitions(tree.body).items():
        yield name, stubs, False
    for class_ in tree.body:
        if isinstance(class_, ast.ClassDef) and not class_.name.startswith("_"):
            for name, stubs in definitions(class_.body).items():
                yield f"{class_.name}.{name}", stubs, True


@pytest.mark.parametrize(
    ("stub", "own"),
    [pytest.param(stub, own, id=name) for name, stub, own in library_definitions()],
)
def test_a_stub_of_the_library_has_its_functions_and_methods(stub, own):
    shown = {name: (nodes, is_method) for name, nodes, is_method in members(stub)}
    wanted = {
        name: (nodes[0], is_method)
        for name, nodes, is_method in members(own)
        if not re.search(r"(^|\.)_(?!_)", name)
    }
    actor = {f"Actor.{name}" for name in ("storage", "address", "deployer")}
    assert shown.keys() - actor == wanted.keys()
    for name, (node, is_method) in wanted.items():
        nodes, _ = shown[name]
        for one in nodes:
            given = parameters(one, is_method=is_method)
            assert given == parameters(node, is_method=is_method), name


@pytest.mark.parametrize(
    ("stub", "own"),
    [pytest.param(stub, own, id=name) for name, stub, own in library_definitions()],
)
def test_a_stub_of_the_library_has_its_constants_and_bases(stub, own):
    assert constants(stub).items() <= constants(own).items()
    assert {key for key in constants(own) if key.isupper()} <= constants(
        stub
    ).keys() | {"SCHEMA_TYPES"}
    assert bases(stub) == bases(own)


def constants(tree):
    found = {}
    scopes = [("", tree.body)]
    scopes += [
        (f"{one.name}.", one.body) for one in tree.body if isinstance(one, ast.ClassDef)
    ]
    for prefix, body in scopes:
        for node in body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Constant(value)
                ) | ast.AnnAssign(ast.Name(id=name), value=ast.Constant(value)) if (
                    not name.startswith("_")
                ):
                    found[prefix + name] = value
                case _:
                    pass
    return found


def bases(tree):
    return {
        one.name: [
            ast.unparse(base)
            for base in one.bases
            if "Generic" not in ast.unparse(base)
        ]
        for one in tree.body
        if isinstance(one, ast.ClassDef) and not one.name.startswith("_")
    }


# --- what they say -----------------------------------------------------------------


def documented():
    for module, path in FILES.items():
        tree = tree_of(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield f"{module}.{getattr(node, 'name', '')}", node


def test_all_of_them_say_what_they_are():
    silent = [
        name
        for name, node in documented()
        if not ast.get_docstring(node) and not name.endswith(".__init__.")
    ]
    assert silent == []


PRICES = {
    "block_height": "READ_CONTEXT",
    "block_timestamp": "READ_CONTEXT",
    "call_actor": "CALL_ACTOR",
    "cancel_timer": "CANCEL_TIMER",
    "charge_gas": "READ_CONTEXT",
    "context": "CONTEXT",
    "create_deferred_tx": "SEND_MESSAGE",
    "delete_state": "DELETE_STATE",
    "emit_event": "EMIT_EVENT",
    "extend_timer": "EXTEND_TIMER",
    "gas_left": "READ_CONTEXT",
    "get_balance": "GET_BALANCE",
    "get_sender": "READ_CONTEXT",
    "get_state": "GET_STATE",
    "get_timer": "GET_TIMER",
    "keccak256": "KECCAK256",
    "list_timers": "LIST_TIMERS",
    "log": "LOG",
    "randomness": "RANDOMNESS",
    "revert": "READ_CONTEXT",
    "schedule_timer": "SCHEDULE_TIMER",
    "schedule_timer_ex": "SCHEDULE_TIMER",
    "self_address": "READ_CONTEXT",
    "send_message": "SEND_MESSAGE",
    "set_state": "SET_STATE",
    "set_state_watch": "SCHEDULE_TIMER",
    "set_timeout": "SCHEDULE_TIMER",
    "sha256": "SHA",
    "state_scan_prefix": "SCAN_STATE",
    "transfer": "TRANSFER",
    "update_timer": "UPDATE_TIMER",
    "upgrade_self": "UPGRADE_SELF",
    "verify_secp256k1": "VERIFY_SECP256K1",
}
"""Where a price is a number; `cbor_encode` and `cbor_decode` follow what they walk."""


def test_every_host_call_says_its_price():
    """prices.md, host calls."""
    said = {}
    for name, stubs in definitions(tree_of(FILES["pvm_host"]).body).items():
        text = ast.get_docstring(stubs[-1])
        price = re.search(r"^Price: ([\d,]+) cycles", text, re.MULTILINE)
        said[name] = int(price[1].replace(",", "")) if price else None
    assert said == {
        **{name: getattr(costs, constant) for name, constant in PRICES.items()},
        "cbor_encode": None,
        "cbor_decode": None,
    }


def test_a_refusal_that_a_stub_names_exists():
    named = set()
    for _, node in documented():
        text = ast.get_docstring(node) or ""
        for line in re.findall(r"HostError: ((?:.|\n)*)", text):
            named |= set(re.findall(r"`([A-Z][A-Za-z]+)`", line))
    assert named
    assert named <= {code.name for code in HostErrorCode}


def test_what_is_refused_in_a_read_only_execution_says_so():
    """D15, for each host call that changes something."""
    saying = {
        name
        for name, stubs in definitions(tree_of(FILES["pvm_host"]).body).items()
        if "read-only execution halts" in " ".join(ast.get_docstring(stubs[-1]).split())
    }
    assert saying == MUTATING


def test_the_levels_of_a_line_are_those_that_log_takes():
    (log,) = definitions(tree_of(FILES["pvm_host"]).body)["log"]
    level = log.args.args[0].annotation
    assert isinstance(level, ast.Subscript)
    assert set(ast.literal_eval(level.slice)) == set(LEVELS)
