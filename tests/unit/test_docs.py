"""The documents are true as far as a machine can tell: links, prices, errors, flags.

Tables that repeat what the code says are compared with the code, in both directions.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from msgspec.structs import asdict

from node.chain import params
from node.chain.block import Event, Receipt
from node.chain.timers.timer import Timer
from node.cli import main
from node.rpc.errors import table
from pvm import costs, language
from pvm.driver.actors import compile_actor
from pvm.driver.library_loader import find_module
from pvm.errors import CompileError, Halt, HostErrorCode
from pvm.modules import EXPORTS
from pvm.modules.pvm_host import FUNCTIONS

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sorted(path.stem for path in (ROOT / "pvm" / "library").glob("*.py"))
DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("clients/*/README.md")]
)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)


def page(name):
    return (DOCS / name).read_text()


def prose(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """How a heading is linked to."""
    titles = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}


def broken_links(path, text):
    for target in LINK.findall(prose(text)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        aim = (path.parent / name).resolve() if name else path
        is_ours = aim.exists() and ROOT in [aim, *aim.parents]
        if not is_ours or (anchor and anchor not in anchors(aim.read_text())):
            yield target


# --- links and sections --------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name):
    path = ROOT / name
    assert list(broken_links(path, path.read_text())) == []


@pytest.mark.parametrize(
    "link", ["nowhere", "docs/nowhere.txt", "README.md#nowhere", "../elsewhere"]
)
def test_a_link_that_leads_nowhere_is_found(link):
    assert list(broken_links(ROOT / "README.md", f"see [this]({link})")) == [link]


def test_every_section_that_is_cited_exists():
    cited = re.compile(r"\b(sandbox(?:-internals)?|host-api)\.md §(\d+)")
    sources = [*ROOT.glob("pvm/**/*.py"), *ROOT.glob("node/**/*.py"), *PAGES]
    found = {match for path in sources for match in cited.findall(path.read_text())}
    assert found
    for name, number in found:
        assert re.search(rf"^## {number}\. ", page(f"{name}.md"), re.MULTILINE)


def test_every_decision_has_its_paragraph():
    found = re.findall(r"^- \*\*D(\d+)\*\* ", page("decisions.md"), re.MULTILINE)
    assert [int(number) for number in found] == list(range(1, 60))


@pytest.mark.parametrize("name", NAMES)
def test_code_blocks_and_tables_are_closed(name):
    text = (ROOT / name).read_text()
    assert text.count("\n```") % 2 == 0
    for line in prose(text).splitlines():
        if line.startswith("|"):
            assert line.endswith("|"), line


# --- prices --------------------------------------------------------------------------


def documented_prices():
    return {
        name: value.strip()
        for name, value in ROW.findall(page("prices.md"))
        if not name.endswith(")")
    }


def shown(value):
    return f"{value:,}"


def constants(module):
    """Every public number of a module, those in dicts by `NAME["key"]`."""
    found = {}
    for name, value in vars(module).items():
        if name.isupper() and type(value) is int:
            found[name] = shown(value)
        elif name.isupper() and isinstance(value, dict):
            found |= {f'{name}["{key}"]': shown(n) for key, n in value.items()}
    return found


def test_the_prices_are_those_of_the_code():
    """One table of prices (sandbox.md §4), printed whole."""
    documented, real = documented_prices(), constants(costs)
    assert {name: documented.get(name) for name in real} == real


def test_the_parameters_are_those_of_the_code():
    defaults = [
        params.TimerConfig(),
        params.BasefeeConfig(),
        params.BiddingConfig(),
        params.ChainParams(),
    ]
    fields = {
        name: shown(value)
        for config in defaults
        for name, value in asdict(config).items()
        if type(value) is int
    }
    known = constants(params) | fields | constants(costs)
    wrong = {n: v for n, v in documented_prices().items() if known.get(n) != v}
    assert wrong == {}


# --- errors --------------------------------------------------------------------------


def test_the_errors_are_those_of_the_code():
    """One table maps refusals to statuses and is printed into the documentation."""
    begin, end = "<!-- errors begin -->", "<!-- errors end -->"
    text = page("api.md").split(begin)[1].split(end)[0]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", text, re.MULTILINE)
    assert rows == table()


def test_the_host_errors_are_those_of_the_code():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", page("host-api.md"), re.MULTILINE)
    assert rows == [(str(int(code)), code.name) for code in HostErrorCode]


def test_the_halts_are_those_of_the_code():
    section = page("host-api.md").split("Halts, which nothing")[1].split(".")[0]
    names = {name for name in re.findall(r"[A-Z]\w+", section) if name != "Halts"}
    assert names == {kind.__name__ for kind in Halt.__subclasses__()}


# --- the host and the language -------------------------------------------------------


def test_every_host_function_is_described():
    section = page("host-api.md").split("## 2. ")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)\(", section)) >= FUNCTIONS


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", python_blocks(page("language.md")))
def test_every_example_of_the_language_is_in_it(code):
    ast.parse(code)
    assert compile_actor(code.encode())


def refused_rows():
    """Rows of `what | why | instead`, without the head."""
    section = page("language.md").split("<!-- refused begin -->")[1]
    return section.split("<!-- refused end -->")[0].strip().splitlines()[2:]


@pytest.mark.parametrize("row", refused_rows())
def test_everything_that_is_said_to_be_refused_is(row):
    """With the advice that the page shows."""
    code, advice = re.fullmatch(r"\| `([^`]+)` \| .+ \| (.+) \|", row).groups()
    source = code.replace("\\|", "|").replace("⏎", "\n")
    with pytest.raises(CompileError) as error:
        compile_actor(source.encode())
    shown = error.value.refusals[0].instead
    assert shown
    assert shown.replace("`", "") in advice.replace("`", "")


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("builtins", language.FUNCTIONS),
        ("exceptions", language.EXCEPTIONS.union(*language.MODULE_ERRORS.values())),
        ("modules", {name for name in EXPORTS if "." not in name}),
        ("refused modules", set(language.REFUSED_MODULES)),
        ("names of the compiler", set().union(*language.COMPILER_MODULES.values())),
        ("library modules", set(LIBRARY)),
        *((f"names of {name}", find_module(name).exports) for name in LIBRARY),
        *((f"methods of {name}", names) for name, names in language.METHODS.items()),
    ],
)
def test_the_universe_is_that_of_the_code(heading, names):
    row = re.search(rf"^\| {heading} \| (.+?) \|", page("language.md"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row[1])) == names


def test_the_limits_of_a_source_are_those_of_the_code():
    for value in (
        language.SOURCE_BYTES_MAX,
        language.NODES_MAX,
        language.NESTING_MAX,
        language.FUNCTIONS_MAX,
        language.CLASSES_MAX,
        language.ANCESTORS_MAX,
        language.DESCENDANTS_MAX,
        language.ENCLOSING_MAX,
        language.COMPARISONS_MAX,
        language.SCOPES_NESTED_MAX,
        language.PARAMETERS_MAX,
        language.VARIABLES_MAX,
        language.INT_BITS_MAX,
    ):
        section = page("language.md").split("## Limits")[1].split("\n## ")[0]
        assert re.search(rf"(?<![\d,]){shown(value)}(?!,?\d)", section)


# --- the client ----------------------------------------------------------------------


def test_the_client_works_as_printed(tmp_path):
    ready = tmp_path / "ready.json"
    flags = ["--mining", "instant", "--data-dir", ":memory:", "--ready-file", ready]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    node = subprocess.Popen(
        [sys.executable, "-m", "node", "start", "--grpc-listen", "127.0.0.1:0", *flags],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert node.stdout.readline()  # the banner comes when it serves
        (code,) = python_blocks(page("api.md"))
        address = json.loads(ready.read_text())["grpc"]
        done = subprocess.run(
            [sys.executable, "-c", code.replace("127.0.0.1:50051", address)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    finally:
        node.terminate()
        node.communicate(timeout=60)
    paid, still = done.stdout.splitlines()
    fee, balance = map(int, paid.split())
    assert still == "time stands still at 1"
    assert fee > 0
    assert balance == 1_000_005 * 10**9


# --- the command line ----------------------------------------------------------------


@pytest.mark.parametrize("kind", [Receipt, Event, Timer])
def test_the_fields_of_answers_are_described(kind):
    text = (ROOT / "docs" / "api.md").read_text()
    table = text.partition(f"| field of `{kind.__name__}` |")[2].partition("\n\n")[0]
    names = re.findall(
        r"`(\w+)`", "\n".join(r.split("|")[1] for r in table.split("\n")[2:])
    )
    assert sorted(names) == sorted(kind.__struct_fields__)


def test_every_command_is_described():
    section = page("api.md").split("## Command line")[1]
    described = set(re.findall(r"^\| `([a-z-]+)[^|]*` \|", section, re.MULTILINE))
    assert described == set(main.list_commands(click.Context(main)))


# --- what users must be told ---------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        "gas_limit",
        "three such fires",
        "1.1 CBY",
        "WARNING_EXPIRES_BEFORE_DUE",
        "fee_payer",
        "max_fee_per_cycle",
    ],
)
def test_the_surprises_about_timers_stand_where_authors_look(told):
    section = (
        page("language.md").split("## Timers: what surprises")[1].split("\n## ")[0]
    )
    assert told in section
