"""The prompt on a chain: what is typed, what is shown, undone, and saved as a test."""

import ast
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from node.chain.transaction import Transfer
from node.cli import main as command_line
from node.client import Client
from node.config import genesis_folder
from node.testing import Devnet
from node.testing.console.completion import Completer
from node.testing.console.display import check_of
from node.testing.console.failed_test import prompt_on
from node.testing.console.prompt import Prompt
from node.testing.console.statements import LineReader, indented, statements_of

pytest_plugins = ["pytester"]

ACTORS = genesis_folder() / "actors"
COUNTER = f'counter = chain.deploy(Path("{ACTORS / "counter.py"}"))\n'
FAILING = '''
source = """
class Refusing:
    def deploy(self, payload):
        pass
    def refuse(self):
        raise ValueError("never")
"""
refusing = chain.deploy(source)
'''


class Typed:
    """What a console said to lines that came through a pipe."""

    def __init__(self, chain, lines):
        out, err = io.StringIO(), io.StringIO()
        self.code = Prompt(chain, io.StringIO(lines), out, err).run()
        self.out, self.err = out.getvalue(), err.getvalue()


@pytest.fixture
def chain():
    with Devnet(strict=True) as chain:
        yield chain


@pytest.fixture
def typed(chain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda lines: Typed(chain, lines)


# --- statements ----------------------------------------------------------------------


def read(text, *, is_prompt=False):
    reader = LineReader(is_prompt=is_prompt)
    found = [whole for line in text.split("\n") for whole in reader.push(line)]
    return [*found, *reader.end()]


def test_a_block_in_a_pipe_ends_where_the_next_statement_begins():
    text = "if a:\n    b\n\n    c\nelse:\n    d\ne = '''\nx\n'''\n.undo\nf(\n.5)\n"
    assert read(text) == [
        "if a:\n    b\n\n    c\nelse:\n    d",
        "e = '''\nx\n'''",
        ".undo",
        "f(\n.5)",
    ]


@pytest.mark.parametrize(
    "block",
    [
        "if a:\n    b\nelif c:\n    d\nelse:\n    e",
        "try:\n    a\nexcept b:\n    c\nelse:\n    d\nfinally:\n    e",
    ],
)
def test_a_block_in_a_pipe_has_all_its_branches(block):
    assert read(f"{block}\nlast = 1\n") == [block, "last = 1"]


def test_a_block_at_a_prompt_ends_with_an_empty_line():
    assert read("if a:\n    b\n\nc", is_prompt=True) == ["if a:\n    b\n", "c"]


def test_what_can_become_no_statement_is_refused_at_once():
    reader = LineReader(is_prompt=False)
    with pytest.raises(SyntaxError):
        reader.push("x = = 1")
    assert not reader.is_within
    assert reader.push("y = 1") == ["y = 1"]


def test_statements_of_one_line_are_several():
    statements = statements_of("a = 1; b(a); c  # end")
    assert [one.source for one in statements] == ["a = 1", "b(a)", "c"]
    assert [one.is_expression for one in statements] == [False, True, True]


def test_a_text_of_several_lines_is_not_indented():
    source = 'a = """\nb\n"""\nif a:\n    c = f"""{a}\nd"""'
    shown = indented(source, "    ")
    assert shown == ('    a = """\nb\n"""\n    if a:\n        c = f"""{a}\nd"""')


# --- values and failures -------------------------------------------------------------


def test_a_place_in_memory_is_nothing_to_assert():
    """It is another one each time, or by chance the same."""
    assert check_of(object()) is None
    assert check_of([object()]) is None
    assert check_of(range(3)).of("x") == "repr(x) == 'range(0, 3)'"


def test_values_are_shown_as_people_read_them(typed):
    done = typed(
        COUNTER
        + "counter.increment()\ncounter.storage\naccounts[0].index\n_ + 1\nNone\n"
        "counter.increment().changes\n"
    )
    assert done.code == 0
    assert done.err == ""
    first, *rest = done.out.splitlines()
    assert first.startswith("<receipt: succeeded, returned 1; ")
    assert rest[:3] == ["{'value': 1}", "0", "1"]
    assert rest[3].strip() == "storage of counter:"


def test_what_actors_print_is_shown_with_the_statement(typed):
    source = "def deploy(payload):\\n    print('hello')\\n"
    done = typed(f'actor = chain.deploy("{source}")\n')
    assert "hello" in done.out


def test_an_address_that_a_handler_returns_is_shown_as_one(typed, chain):
    done = typed(
        'a = chain.deploy("import pvm_host\\ndef me(): return pvm_host.get_sender()")\n'
        "a.me()\na.me().result\n"
    )
    own = f"0x{chain.accounts[0].address.hex()}"
    assert done.out.startswith(f"<receipt: succeeded, returned {own}; ")
    assert done.out.endswith(f"\n{own}\n")


def test_a_failure_is_a_sentence_without_our_frames(typed):
    done = typed(FAILING + "refusing.refuse()\nchain.height\n")
    assert done.code == 1
    assert done.err.startswith("TransactionFailed: ")
    assert "never" in done.err
    assert "node/" not in done.err
    assert done.out == ""  # nothing after it


def test_a_failure_in_a_function_of_the_users_shows_its_line(typed):
    done = typed("def f(x):\n    return 1 // x\n\nf(0)\n")
    assert "line 2, in f\n    return 1 // x\n" in done.err
    assert done.err.endswith("ZeroDivisionError: integer division or modulo by zero\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x = = 1", "SyntaxError"),
        ("for", "SyntaxError"),
        ("return 1", "SyntaxError: 'return' outside function"),
        ("nothing", "NameError: name 'nothing' is not defined"),
        ("chain.balance(5)", "InvalidArgument: who: an account, an actor"),
        ("'\0'", "SyntaxError"),
        ("(" * 300 + ")" * 300, "SyntaxError"),
        (".what", ".what is no command: .undo, .save, .help, .exit"),
        (".undo", "nothing is undone: no statement of this session changed the chain"),
        (".save", "not saved: the name of a file is wanted"),
        (".save test_it.py", "not saved: nothing was done yet"),
        ("import os\n.save test_it.py", "not saved: nothing was done yet"),
        ("Path('made').mkdir()\n.save test_it.py", "not saved: nothing was done yet"),
        (".save test_\0it.py", "not saved: the name of a file is wanted"),
        ("type('A', (), {'__repr__': lambda a: 1 / 0})()", "ZeroDivisionError: "),
        ("chain.close()", "DevnetClosed: this chain was closed"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(typed, line, said):
    done = typed(f"{line}\n")
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("line", "code"), [("exit()", 0), ("exit(7)", 7), (".exit", 0), ("exit('no')", 1)]
)
def test_the_exit_code_is_the_users(typed, line, code):
    assert typed(f"{line}\nchain.nothing\n").code == code


# --- undo ----------------------------------------------------------------------------


def test_undo_takes_back_the_last_change_and_what_came_after_it(typed, chain):
    done = typed(
        COUNTER + "counter.increment()\ncounter.increment()\nx = 1\n.undo\n"
        "counter.storage\n'x' in globals()\n"
    )
    assert done.code == 0, done.err
    assert "undone: counter.increment()\nundone: x = 1\nthe chain is at height 2\n" in (
        done.out
    )
    assert done.out.splitlines()[-2:] == ["{'value': 1}", "False"]
    assert chain.height == 2


def test_everything_can_be_undone_a_failure_that_changed_the_chain_included(
    chain,
):
    out, err = io.StringIO(), io.StringIO()
    prompt = Prompt(chain, io.StringIO(), out, err)
    prompt._is_terminal = True  # goes on after a failure
    for source in (
        FAILING.strip().split("\nrefusing")[0],
        "refusing = chain.deploy(source)",
    ):
        prompt._all([source])
    before = chain.head
    prompt._all(["refusing.refuse()"])
    assert "TransactionFailed" in err.getvalue()
    assert chain.head != before
    prompt._all([".undo"])
    assert chain.head == before
    prompt._all([".undo"])
    assert chain.height == 0


def test_transactions_that_wait_and_names_that_were_given_are_undone(typed, chain):
    done = typed(
        "from node.chain.transaction import Transfer\n"
        "id_ = chain.submit(Transfer(accounts[1].address, 5))\n"
        "chain.label(accounts[1], 'treasury')\ntreasury\n.undo\n.undo\n"
    )
    assert done.code == 0, done.err
    assert chain.waiting == ()
    assert chain.labels[chain.accounts[1].address] == "account 1"
    assert f"0x{chain.accounts[1].address.hex()}\n" in done.out


def test_an_interrupted_statement_leaves_the_chain_as_it_was(chain):
    prompt = Prompt(chain, io.StringIO(), io.StringIO(), io.StringIO())
    with pytest.raises(KeyboardInterrupt):
        prompt._all(["chain.mine()", "raise KeyboardInterrupt"])
    assert chain.height == 1  # the statement before it
    with pytest.raises(KeyboardInterrupt):
        prompt._all(["if True:\n    chain.mine()\n    raise KeyboardInterrupt"])
    assert chain.height == 1


# --- names ---------------------------------------------------------------------------


def test_labels_are_names(typed):
    done = typed(
        f'x = chain.deploy(Path("{ACTORS / "counter.py"}"))\n'
        "counter.increment()\ncounter.address == x.address\n"
    )
    assert done.out.endswith("True\n")


def test_addresses_and_ids_are_shown_as_everywhere_and_taken_so(typed, chain):
    """docs/loop.md: what `dev`, the command line and the prompt print can be typed."""
    own = f"0x{chain.accounts[0].address.hex()}"
    done = typed(
        f"{COUNTER}[{{accounts[0].address: 5}}]\n"
        f'chain.balance("{own}") == chain.balance(accounts[0])\n'
        'chain.actor(f"0x{counter.address.hex().upper()}").address == counter.address\n'
        'counter.address\nb"twenty bytes of text"\nchain.labels\n.save test_it.py\n'
    )
    shown = done.out.splitlines()
    address = shown[3]
    assert address.startswith("0x")
    assert len(address) == 42
    assert shown[0] == f"[{{{own}: 5}}]"
    assert shown[1:3] == ["True", "True"]
    assert shown[4] == "b'twenty bytes of text'"
    assert shown[5] == f"{{{own}: 'account 0',"
    text = Path("test_it.py").read_text(encoding="utf-8")
    assert f'assert counter.address == bytes.fromhex("{address[2:]}")\n' in text


@pytest.mark.parametrize(
    "stem", ["²", "٣", "日本", "a b", "class", "1", "-", "ﬁ", "x\u200d"]
)
def test_a_file_of_any_name_holds_a_test_that_is_found(typed, stem):
    assert not typed(f"chain.mine()\nchain.height\n.save {stem}.py\n").err
    body = ast.parse(Path(f"{stem}.py").read_text(encoding="utf-8")).body
    (test,) = [one for one in body if isinstance(one, ast.FunctionDef)]
    assert test.name.startswith("test_")


def test_the_tab_key_completes_handlers_and_commands(chain):
    counter = chain.deploy(ACTORS / "counter.py")
    completer = Completer({"counter": counter, "chain": chain})
    assert completer.complete("counter.incr", 0) == "counter.increment("
    assert completer.complete("cha", 0) == "chain"
    assert completer.complete(".s", 0) == ".save "
    assert completer.complete(".s", 1) is None
    assert completer.complete("counter.nothing.", 0) is None


# --- saving --------------------------------------------------------------------------


def run(path: Path, *options):
    """The saved test, as pytest runs it."""
    plugin = ["-p", "no:randomly", "-p", "no:cacheprovider", "-q", *options]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, str(path)],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_session_is_saved_as_a_test_with_asserts_of_what_it_printed(typed, tmp_path):
    done = typed(
        COUNTER
        + "counter.increment()\ncounter.increment()\n.undo\nfor i in range(2):\n"
        "    counter.increment()\ncounter.storage\nimport os\nos.getpid\nchain.height\n"
        "_ - 1\n.save test_case.py\n"
    )
    assert done.code == 0, done.err
    assert done.out.endswith("test_case.py: 8 statements, 5 asserts\n")
    assert (
        (tmp_path / "test_case.py").read_text()
        == f'''\
"""What was done at the prompt of a Cowboy devnet."""

import os
from pathlib import Path

import pytest


@pytest.mark.devnet
def test_case(devnet):
    chain = devnet
    counter = chain.deploy(Path("{ACTORS / "counter.py"}"))
    _ = counter.increment()
    assert _.result == 1
    for i in range(2):
        counter.increment()
    _ = counter.storage
    assert _ == {{'value': 3}}
    _ = os.getpid
    assert repr(_) == '<built-in function getpid>'
    _ = chain.height
    assert _ == 4
    _ = (_ - 1)
    assert _ == 3
'''
    )


SESSION = (
    COUNTER + "counter.increment()\nimport itertools\nnumbers = itertools.count()\n"
    "1 < 2\nnot True\n(1,\n 2)\n"
    "source = '''\ndef deploy(payload):\n    pass\n'''\nplain = chain.deploy(source)\n"
)


@pytest.mark.slow
def test_a_saved_test_passes(typed, tmp_path):
    (tmp_path / "there").write_text("")
    done = typed(
        SESSION + "import os\nos.urandom(8)\nPath('new').mkdir()\n.save test_saved.py\n"
    )
    assert done.code == 0, done.err
    assert "1 assert" not in done.out
    assert "not asserted: 1 value" in done.out
    assert "left out: 1 statement that cannot be repeated" in done.out
    assert "mkdir" not in (tmp_path / "test_saved.py").read_text()
    assert "1 passed" in run(tmp_path / "test_saved.py")


@pytest.mark.slow
def test_a_session_on_a_chain_that_goes_on_brings_that_chain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Devnet(chain_id=7) as chain:
        counter = chain.deploy(ACTORS / "counter.py")
        counter.increment()
        chain.label(chain.accounts[1], "treasury")
        chain.submit(Transfer(chain.accounts[1].address, 5))
        done = Typed(
            chain,
            "counter.increment()\ncounter.storage\nchain.balance(treasury)\n"
            ".save test_on.py\n",
        )
    assert done.code == 0, done.err
    assert "it begins with the chain in test_on.bundle" in done.out
    text = (tmp_path / "test_on.py").read_text()
    assert 'with Devnet.from_bundle(Path(__file__).with_suffix(".bundle")) as' in text
    assert "assert counter.storage == {'value': 2}" in text
    assert "1 passed" in run(tmp_path / "test_on.py")


def test_a_failure_that_changed_the_chain_is_expected_by_the_test(chain, tmp_path):
    out, err = io.StringIO(), io.StringIO()
    prompt = Prompt(chain, io.StringIO(), out, err)
    prompt._is_terminal = True
    source = FAILING.strip().removesuffix("\nrefusing = chain.deploy(source)")
    for text in (
        source,
        "refusing = chain.deploy(source)",
        "refusing.refuse()",
        "1 //0",
    ):
        prompt._all([text])
    prompt._all([f".save {tmp_path / 'test_it.py'}"])
    text = (tmp_path / "test_it.py").read_text()
    assert text.endswith(
        "    with pytest.raises(TransactionFailed):\n        refusing.refuse()\n"
    )
    assert "\nfrom node.testing import TransactionFailed\n" in text


def test_a_name_that_was_let_go_is_offered_again(typed, tmp_path):
    done = typed(
        COUNTER + "del counter\nx = 1\ncounter.increment()\n.save test_it.py\n"
    )
    assert done.code == 0, done.err
    text = (tmp_path / "test_it.py").read_text()
    assert '    del counter\n    x = 1\n    counter = chain.actor("0x' in text
    assert text.endswith("    assert counter.increment().result == 1\n")


def test_a_call_that_returns_nothing_is_saved_as_one_that_succeeded(typed, tmp_path):
    done = typed("chain.transfer(accounts[1], 5)\n.save test_case.py\n")
    assert done.out.endswith("test_case.py: 1 statement, 1 assert\n")
    text = (tmp_path / "test_case.py").read_text()
    assert text.endswith("    assert chain.transfer(accounts[1], 5).is_success\n")


def test_what_changed_the_chain_and_cannot_be_repeated_is_not_saved(typed, tmp_path):
    (tmp_path / "once").write_text("")
    done = typed(
        "if Path('once').exists():\n    Path('once').unlink()\n    chain.mine()\n"
        "else:\n    raise LookupError('it is gone')\n\n.save test_it.py\n"
    )
    assert done.code == 1
    assert (
        "not saved: `if Path('once').exists():` cannot be repeated: the second time it "
        "fails with LookupError: it is gone\n"
    ) in done.err
    assert not (tmp_path / "test_it.py").exists()


def test_no_file_of_others_is_written_over(typed, tmp_path):
    (tmp_path / "test_it.py").write_text("mine")
    done = typed("chain.mine()\n.save test_it.py\n")
    assert "not saved: test_it.py exists already; choose another name" in done.err
    done = typed("chain.mine()\n.save no/where/test_it.py\n")
    assert "No such file or directory" in done.err
    assert (tmp_path / "test_it.py").read_text() == "mine"


def test_a_session_is_saved_again_into_its_own_file(typed, tmp_path):
    done = typed("chain.mine()\n.save test_it.py\nchain.height\n.save test_it.py\n")
    assert done.code == 0, done.err
    assert (tmp_path / "test_it.py").read_text().endswith("chain.height == 1\n")


# --- the command ---------------------------------------------------------------------


def console(*words, lines="chain.height\n", **variables):
    return CliRunner(env=variables).invoke(
        command_line, ["console", *words], input=lines
    )


def test_the_command_is_on_a_new_chain_or_on_that_of_a_bundle(chain, tmp_path):
    assert console().stdout == "0\n"
    chain.deploy(ACTORS / "counter.py")
    chain.advance(blocks=8)
    file = chain.export_bundle(tmp_path / "chain.bundle")
    assert console("--bundle", str(file)).stdout == "9\n"
    done = console("--bundle", str(file), COWBOY_DEVNET_URL="127.0.0.1:1")
    assert done.stdout == "9\n"


def test_a_file_of_labels_names_addresses(chain, tmp_path):
    address = chain.accounts[2].address
    (tmp_path / "names.json").write_text(f'{{"treasury": "0x{address.hex()}"}}')
    done = console("--labels", str(tmp_path / "names.json"), lines="treasury.hex()\n")
    assert done.stdout == f"{address.hex()!r}\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--bundle", "pyproject.toml", "--url", "a:1"], 2, "give one of them"),
        (["--bundle", "pyproject.toml"], 1, "is no bundle"),
        (["--bundle", "nowhere"], 2, "does not exist"),
        (["--url", "127.0.0.1:1"], 3, "no node answers at 127.0.0.1:1"),
        (["--url", ""], 2, "--url is empty"),
    ],
)
def test_a_chain_that_cannot_be_had_is_a_sentence(words, code, said, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    done = console(*words)
    assert done.exit_code == code
    assert said in done.stderr


def test_the_exit_code_of_a_pipe_is_that_of_its_statements():
    done = console(lines="1 // 0\nchain.height\n")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == "ZeroDivisionError: integer division or modulo by zero\n"


class Terminal:
    """A console at a terminal of its own."""

    def __init__(self, folder):
        self._own, theirs = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "node", "console"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"XDG_STATE_HOME": str(folder), "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, keys):
        os.write(self._own, keys.encode())

    def until(self, wanted):
        """All that is shown until something is."""
        shown = ""
        while wanted not in shown:
            shown += os.read(self._own, 4096).decode()
        return shown

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.mark.slow
def test_a_terminal_has_a_prompt_completion_a_history_and_ctrl_c(tmp_path):
    terminal = Terminal(tmp_path)
    try:
        assert ".help tells what there is" in terminal.until(">>> ")
        terminal.type("chain.hei\t\n")
        assert "chain.height\r\n0\r\n" in terminal.until("0\r\n>>> ")
        terminal.type("1 // 0\n")
        terminal.until("by zero\r\n>>> ")  # and goes on
        terminal.type("for i in range(2):\n")
        terminal.until("... ")
        terminal.type("    _ = chain.mine()\n\n")
        terminal.until(">>> ")
        terminal.type("while True: print(chain.mine().header.height)\n\n")
        terminal.until("9\r\n")
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.until("interrupted\r\n>>> ")
        terminal.type("chain.height\n")
        terminal.until("\r\n2\r\n>>> ")
        terminal.type("\x04")
        assert terminal.process.wait() == 0
    finally:
        terminal.close()
    history = (tmp_path / "cowboy-devnet" / "console_history").read_text()
    assert "chain.height" in history.splitlines()


# --- pytest --devnet-console ---------------------------------------------------------

SUITE = f"""
from pathlib import Path

def test_that_passes(devnet):
    devnet.mine()

def test_that_fails(devnet):
    print("said before")
    mine = devnet.deploy(Path("{ACTORS / "counter.py"}"))
    mine.increment()
    assert mine.read.value() == 9

def test_without_a_chain():
    assert False

def test_that_fails_too(devnet):
    devnet.mine(5)
    devnet.nothing
"""
PLUGIN = ("-p", "node.testing.plugin", "-p", "no:cacheprovider", "--devnet-console")


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(SUITE)
    return pytester


@pytest.mark.slow
def test_a_failed_test_has_a_prompt_on_its_chain(suite):
    lines = (
        "counter.storage\ncounter.increment()\nchain.height\n.save test_more.py\n"
        ".exit\nchain.height\n"
    )
    done = suite.run(sys.executable, "-m", "pytest", *PLUGIN, stdin=lines.encode())
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(
        [
            ">>> devnet of *::test_that_fails, which failed with AssertionError",
            "{'value': 1}",
            "<receipt: succeeded, returned 2; *",
            "3",
            "test_more.py: 3 statements, 3 asserts; *.bundle",
            ">>> devnet of *::test_that_fails_too, which failed with AttributeError",
            "5",
        ]
    )
    again = suite.runpytest_subprocess(*PLUGIN[:-1], "test_more.py")
    again.assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_first_failure_is_the_only_prompt_with_x(suite):
    done = suite.run(
        sys.executable, "-m", "pytest", *PLUGIN, "-x", stdin=b"chain.height\n"
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.no_fnmatch_line("*test_that_fails_too*which failed*")


@pytest.mark.parametrize("kind", ["closed", "gone"])
def test_a_chain_that_cannot_be_asked_is_a_sentence(kind, capsys, monkeypatch):
    if kind == "closed":
        chain = Devnet()
        chain.close()
    else:
        chain = Client("127.0.0.1:1")
    monkeypatch.setattr(sys, "stdin", io.StringIO("chain.height\n"))
    plugins = SimpleNamespace(getplugin=lambda _name: None)
    item = SimpleNamespace(
        config=SimpleNamespace(pluginmanager=plugins), nodeid="test_it"
    )
    prompt_on(item, {"devnet": chain}, ValueError())
    chain.close()
    title, told = capsys.readouterr().out.strip().splitlines()
    assert title == ">>> devnet of test_it, which failed with ValueError"
    assert told.startswith("this chain cannot be asked: ")


def test_workers_of_xdist_have_no_prompt(suite):
    done = suite.runpytest_inprocess("-p", "xdist", *PLUGIN, "-n", "2")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--devnet-console needs the terminal*leave out -n*"])
