"""The clients without an event loop are what the generator makes of those with one."""

import importlib.util
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gensync.py"
SOURCES = {
    "one.py": "async def one():\n    await two()\n",
    "two.py": "class AsyncTwo:\n    async def two(self): ...\n",
}
WORDS = ((r"\basync def\b", "def"), (r"\bawait ", ""), (r"\bAsync(\w+)", r"\1"))


@pytest.fixture(scope="module")
def gensync():
    spec = importlib.util.spec_from_file_location("gensync", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_word_is_exchanged_in_every_source(gensync):
    assert gensync.exchanged(SOURCES, WORDS) == {
        "one.py": "def one():\n    two()\n",
        "two.py": "class Two:\n    def two(self): ...\n",
    }


@pytest.mark.parametrize("place", range(len(WORDS) + 1))
def test_a_word_that_occurs_nowhere_is_an_error(gensync, place):
    words = [*WORDS[:place], (r"\basync with\b", "with"), *WORDS[place:]]
    with pytest.raises(gensync.UselessWord, match="async with"):
        gensync.exchanged(SOURCES, words)


def test_a_word_that_another_one_has_exchanged_is_an_error(gensync):
    with pytest.raises(gensync.UselessWord, match="await two"):
        gensync.exchanged(SOURCES, [*WORDS, (r"await two", "two")])


def test_a_check_that_finds_a_useless_word_fails(gensync, monkeypatch, capsys):
    monkeypatch.setattr(gensync, "WORDS", [*gensync.WORDS, ("awaits it not", "")])
    monkeypatch.setattr("sys.argv", ["gensync.py", "--check"])
    assert gensync.main() == 1
    assert "'awaits it not' matches nothing" in capsys.readouterr().out


def test_every_module_has_its_twin_and_no_twin_waits(gensync):
    names = {path.name for path in gensync.SOURCES.glob("*.py")}
    assert names == {path.name for path in gensync.TARGETS.glob("*.py")}
    for path in gensync.TARGETS.glob("*.py"):
        text = path.read_text().replace("gensync.py from _async/", "")
        assert not re.search(r"\b(async|await|asyncio|Async\w+|_async)\b", text), path
