"""What the project promises about its own sources, as far as a machine can check it.

Every check is a function from text to findings, tried first on text that it must object
to: a check that can find nothing holds nothing.
"""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FUNCTION_LINES_MAX = 70

# Written by a generator, or in the language of actors: neither follows our style.
NOT_OURS = ("node/rpc/v1/", "pvm/library/", "genesis/actors/", "tests/actors/")
PACKAGES = ("node", "pvm")

# What a user or the installed distribution starts from; all else is reached from here.
ENTRY_POINTS = (
    "node.__main__",
    "node.cli",
    "node.cli.health",  # the container's health check
    "node.client",
    "node.primitives.proof",  # for whoever holds a state root and a proof
    "node.testing",
    "node.testing.entry",  # pytest's entry point
    "node.testing.plugin",
    "pvm",
    "pvm.testing",
)

FOLDERS_NOT_READ = {
    "__pycache__",
    "build",
    "devnet-data",
    "dist",
    "node_modules",
}
HIDDEN_READ = {
    ".ci",
    ".github",
    ".dockerignore",
    ".editorconfig",
    ".gitignore",
    ".pre-commit-config.yaml",
}


def unsplit(text: str) -> str:
    """`text` without its `~`, by which this file avoids to hold what it forbids."""
    return text.replace("~", "")


LEFTOVERS = re.compile(
    unsplit(r"\b(?:TO~DO|FIX~ME|XX~X|raise NotImplemented~Error|pragma: no ~cover)\b")
)
MACHINE_PATHS = re.compile(unsplit(r"(?<![\w.$])/~(?:work|root|farm)\b"))
REGISTRY_HOSTS = re.compile(
    unsplit(r"py~pi\.org|python~hosted\.org|deb\.debian~\.org|registry\.npm~js\.org")
)
OUTSIDE_THE_CHECKOUT = re.compile(unsplit(r"\.\./~shared\b"))
IDLE_TESTS = re.compile(
    unsplit(r"\bpytest\.(?:mark\.)?(?:sk~ip|x~fail)|\bunittest\.sk~ip")
    + unsplit(r"|\b(?:time|asyncio)\.sl~eep\((?!0\))")
)

# The first word of a citation, and the sections that its source has.
CIP_SECTIONS = {
    "CIP-1": range(1, 17),
    "CIP-1v1": range(1, 6),
    "CIP-5": range(1, 10),
    "CIP-2": range(0),
    "CIP-3": range(0),
    "CIP-12": range(0),
}
CIP_REFERENCE = re.compile(r"\bCIP-(?P<number>\w*)(?: §(?P<section>\d+))?")
DECISION_REFERENCE = re.compile(r"(?<![\w#%'\"\\(-])D(?P<number>\d+)\b")
PAGE_REFERENCE = re.compile(r"(?<![\w./*-])(?:[\w.-]+/)*[\w-]+\.md\b")


def paths_of_the_checkout() -> Iterator[Path]:
    """Every file that is the project's own; needs no git."""
    for folder, subfolders, names in os.walk(ROOT):
        here = Path(folder)
        subfolders[:] = sorted(
            name
            for name in subfolders
            if name not in FOLDERS_NOT_READ
            and (not name.startswith(".") or name in HIDDEN_READ)
            and not (here / name / "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            if not name.startswith(".") or name in HIDDEN_READ:
                yield here / name


def texts() -> dict[str, str]:
    """Path within the checkout → content, of every file that is text."""
    found = {}
    for path in paths_of_the_checkout():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found[path.relative_to(ROOT).as_posix()] = text
    return found


TEXTS = texts()
SOURCES = {
    path: text
    for path, text in TEXTS.items()
    if path.endswith(".py") and not path.startswith(NOT_OURS)
}
PRODUCT = {
    path: text
    for path, text in SOURCES.items()
    if path.startswith(tuple(f"{package}/" for package in PACKAGES))
}


def find(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    """A check that finds every occurrence of `pattern`."""

    def check(text: str) -> list[str]:
        return [
            f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
            for match in pattern.finditer(text)
        ]

    return check


def long_functions(text: str) -> list[str]:
    return [
        f"{node.name}: {length} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def missing_docstring(text: str) -> list[str]:
    return [] if ast.get_docstring(ast.parse(text)) else ["no module docstring"]


DECISIONS = frozenset(
    re.findall(r"^- \*\*D(\d+)\*\*", TEXTS["docs/decisions.md"], re.MULTILINE)
)


def malformed_references(text: str) -> list[str]:
    """Citations of decisions and CIPs that lead nowhere."""
    found = []
    for line_number, line in enumerate(text.splitlines(), start=1):
        if "noqa" in line:
            continue
        found += [
            f"line {line_number}: {match.group()}"
            for match in DECISION_REFERENCE.finditer(line)
            if match["number"] not in DECISIONS
        ]
        for match in CIP_REFERENCE.finditer(line):
            sections = CIP_SECTIONS.get(f"CIP-{match['number']}")
            section = match["section"]
            if sections is None or (section and int(section) not in sections):
                found.append(f"line {line_number}: {match.group()}")
    return found


def unknown_pages(text: str) -> list[str]:
    """Pages that a reader is sent to and that are not in the checkout."""
    return sorted(
        {
            name
            for name in PAGE_REFERENCE.findall(re.sub(r"(\.\./)+", "", text))
            if name not in TEXTS and f"docs/{name}" not in TEXTS
        }
    )


def partials(text: str) -> list[str]:
    """Every `partial` of `functools`: it shows what it holds to whoever holds it."""
    return [
        f"line {node.lineno}"
        for node in ast.walk(ast.parse(text))
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "functools"
            and any(alias.name in {"*", "partial"} for alias in node.names)
        )
        or (isinstance(node, ast.Attribute) and node.attr.startswith("partial"))
        or (
            isinstance(node, ast.Import)
            and any(alias.name == "functools" for alias in node.names)
        )
    ]


def findings(
    check: Callable[[str], Iterable[str]], files: dict[str, str]
) -> dict[str, list[str]]:
    found = {path: list(check(text)) for path, text in files.items()}
    return {path: items for path, items in found.items() if items}


BAD_SAMPLES = {
    "long function": (
        long_functions,
        "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX,
    ),
    "no docstring": (missing_docstring, "x = 1\n"),
    "decision too high": (malformed_references, "# (D99)\n# as D99 says"),
    "decision zero": (malformed_references, "as D0 says"),
    "unknown CIP": (malformed_references, "as CIP-7 says"),
    "CIP without number": (malformed_references, "as CIP-x says"),
    "unknown section": (malformed_references, "as CIP-5 §12.1 says"),
    "leftover": (find(LEFTOVERS), unsplit("# TO~DO: later")),
    "excluded branch": (find(LEFTOVERS), unsplit("if x:  # pragma: no ~cover")),
    "machine path": (find(MACHINE_PATHS), unsplit("open('/~work/main')")),
    "home of one machine": (find(MACHINE_PATHS), unsplit("cd /~root")),
    "registry": (find(REGISTRY_HOSTS), unsplit("https://py~pi.org/simple")),
    "outside": (find(OUTSIDE_THE_CHECKOUT), unsplit("see ../~shared/design")),
    "skip": (find(IDLE_TESTS), unsplit("@pytest.mark.sk~ip")),
    "sleep": (find(IDLE_TESTS), unsplit("time.sl~eep(1)")),
    "unknown page": (unknown_pages, "see nowhere.md §4"),
    "partial": (partials, "from functools import cache, partial"),
    "partial as": (partials, "from functools import partial as bound"),
    "functools": (partials, "import functools as f"),
    "attribute": (partials, "f.partialmethod(g)"),
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
def test_each_check_objects_to_what_it_forbids(name):
    check, text = BAD_SAMPLES[name]
    assert list(check(text))


def test_the_checks_accept_what_is_right():
    text = (
        '"""Fires (CIP-5 §5.4, D26, D27-D28; CIP-1 §13.2; CIP-1v1 §4.2)."""\n'
        "# noqa: D103 is the linter's, README.md is there, state/root is no path\n"
    )
    assert malformed_references(text) == []
    assert unknown_pages(text) == []
    assert missing_docstring(text) == []
    for pattern in (LEFTOVERS, MACHINE_PATHS, REGISTRY_HOSTS, IDLE_TESTS):
        assert find(pattern)(text) == []


def test_no_function_is_longer_than_70_lines():
    limited = {p: t for p, t in SOURCES.items() if not p.startswith("tests/")}
    assert findings(long_functions, limited) == {}


def test_every_module_says_why_it_exists():
    assert findings(missing_docstring, SOURCES) == {}


def test_every_cited_decision_and_section_exists():
    citing = {p: t for p, t in SOURCES.items() if Path(ROOT / p) != Path(__file__)}
    assert findings(malformed_references, citing) == {}


def test_every_page_that_is_named_is_in_the_checkout():
    citing = {
        path: text
        for path, text in TEXTS.items()
        if path.endswith((".py", ".md", ".proto", ".toml"))
        and ROOT / path != Path(__file__)
    }
    assert findings(unknown_pages, citing) == {}


def test_nothing_is_left_unfinished():
    others = ("node/rpc/v1/", "node/explorer/static/vendor/")
    written = {p: t for p, t in TEXTS.items() if not p.startswith(others)}
    assert findings(find(LEFTOVERS), written) == {}


def test_nothing_names_one_machine():
    assert findings(find(MACHINE_PATHS), TEXTS) == {}
    assert findings(find(OUTSIDE_THE_CHECKOUT), TEXTS) == {}


def test_nothing_names_the_host_of_a_registry():
    assert findings(find(REGISTRY_HOSTS), TEXTS) == {}


def test_every_test_runs_and_none_waits_by_the_clock():
    tests = {p: t for p, t in SOURCES.items() if p.startswith("tests/")}
    assert findings(find(IDLE_TESTS), tests) == {}


def test_the_machine_hands_out_no_partial():
    """What an actor holds is a slotted object, or a method bound to one.

    The functions of libraries are partials underneath, which show nothing of theirs.
    """
    machine = {
        path: text
        for path, text in PRODUCT.items()
        if path.startswith("pvm/") and path != "pvm/runtime/freezing.py"
    }
    assert findings(partials, machine) == {}


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(text: str) -> set[str]:
    """`import a.b` → a.b; `from a import b` → a and a.b, since b may be a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def named_modules(package: str, text: str, known: set[str]) -> set[str]:
    """What a source imports, or names in a string to import it when it is needed.

    Such a name may be short for a module of the source's own package.
    """
    strings = {
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    short = {f"{package}.{name}" for name in strings}
    return (imports(text) | strings | short) & known


def unreached(entry_points: Iterable[str], graph: dict[str, set[str]]) -> set[str]:
    """The modules of `graph` that no import leads to; a module loads its packages."""
    reached: set[str] = set()
    waiting = list(entry_points)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in graph:
            continue
        reached.add(name)
        waiting += graph[name]
        waiting += [name.rpartition(".")[0]]
    return set(graph) - reached


def test_no_module_is_dead():
    modules = {module_name(path): path for path in PRODUCT}
    graph = {
        name: named_modules(
            module_name(Path(path).parent.as_posix()), PRODUCT[path], set(modules)
        )
        for name, path in modules.items()
    }
    assert set(ENTRY_POINTS) <= set(graph)
    assert unreached(ENTRY_POINTS, graph) == set()


def test_a_module_that_only_a_dead_one_imports_is_dead_too():
    graph = {
        "node": set(),
        "node.cli": {"node.app"},
        "node.app": set(),
        "node.old": {"node.older"},
        "node.older": set(),
    }
    assert unreached(["node.cli"], graph) == {"node.old", "node.older"}


def test_every_module_of_the_state_but_the_store_on_disk_is_declared_free_of_io():
    settings = tomllib.loads(TEXTS["pyproject.toml"])["tool"]["importlinter"]
    (contract,) = (c for c in settings["contracts"] if "sans-IO" in c["name"])
    prefix = "node.state."
    declared = {m for m in contract["source_modules"] if m.startswith(prefix)}
    present = {n for n in map(module_name, PRODUCT) if n.startswith(prefix)}
    on_disk = {"leveldb", "trial", "watermark"}
    assert declared == present - {prefix + name for name in on_disk}


# Public in both packages: a block of the chain, and one of an actor's source.
SHARED_NAMES = {"Block"}


def public_classes(text: str) -> set[str]:
    """Names of the classes of a module that do not begin with an underscore."""
    return {
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def classes_of_one_name(files: dict[str, str]) -> dict[str, list[str]]:
    """Name → modules, of every public class name that more than one of them defines."""
    homes: dict[str, list[str]] = {}
    for path, text in sorted(files.items()):
        for name in public_classes(text):
            homes.setdefault(name, []).append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_two_public_classes_of_one_name_are_found():
    files = {
        "node/one.py": "class Place:\n    class Inner: ...\nclass _Hidden: ...\n",
        "node/two.py": "class Inner: ...\nclass _Hidden: ...\n",
        "pvm/three.py": "class Place: ...\n",
    }
    assert classes_of_one_name(files) == {"Place": ["node/one.py", "pvm/three.py"]}


def test_every_public_class_has_a_name_of_its_own():
    """Twins by a generator have two names: `_async` has Async… for what `_sync` has."""
    assert set(classes_of_one_name(PRODUCT)) == SHARED_NAMES


# Distributions whose packages have another name.
IMPORT_NAMES = {
    "googleapis-common-protos": "google.rpc",
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "prometheus-client": "prometheus_client",
    "protobuf": "google.protobuf",
    "pycryptodome": "Crypto",
    "safe-pysha3": "sha3",
    "typing-extensions": "typing_extensions",
}


def declared_packages() -> set[str]:
    """Requirements of the product, `RestrictedPython==9.0`, as names to import."""
    project = tomllib.loads(TEXTS["pyproject.toml"])["project"]
    names = {re.split(r"[^\w-]", item)[0] for item in project["dependencies"]}
    return {IMPORT_NAMES.get(name, name) for name in names}


def imported_packages() -> set[str]:
    """What the product imports beyond itself and the standard library."""
    return {
        name
        for path, text in TEXTS.items()
        if path.startswith(("node/", "pvm/"))
        and path.endswith(".py")
        and not path.startswith("pvm/library/")
        for name in imports(text)
        if name.partition(".")[0] not in {*sys.stdlib_module_names, *PACKAGES}
    }


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_every_dependency_is_imported():
    imported = imported_packages()
    assert {
        package
        for package in declared_packages()
        if not any(is_within(name, package) for name in imported)
    } == set()


def test_every_import_is_of_a_declared_dependency():
    """What loads the plugin has pytest; coverage is of an extra."""
    declared = {*declared_packages(), "pytest", "coverage", "google"}
    assert {
        name
        for name in imported_packages()
        if not any(is_within(name, package) for package in declared)
    } == set()
