"""The README is true: its code runs, its commands answer what it prints.

What it prints of Docker is tried by `make e2e`.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import click
import psutil
import pytest

from node.cli import main
from node.config import GenesisChoice
from tests.console_blocks import blocks, is_what_came, sessions

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = blocks(TEXT)
ACTOR, PYTEST = (code for language, code in BLOCKS if language == "python")
DOCKER, MAKE_RUN = [code for language, code in BLOCKS if language == "console"]
DEADLINE_SECONDS = 60


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COWBOY_DEVNET_")}
    return kept | {"PYTHONPATH": str(ROOT)} | more


def service(name):
    """What the compose file says of a service."""
    text = (ROOT / "docker-compose.yml").read_text()
    found = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    return found[1]


def recipe(target):
    """What `make TARGET` runs, when everything is installed."""
    text = (ROOT / "Makefile").read_text()
    found = re.search(rf"^{target}: .*\n((?:\t.*\n)+)", text, re.MULTILINE)
    return found[1].strip()


def test_every_block_of_the_readme_is_tested_here():
    assert [language for language, _ in BLOCKS] == [
        "python",
        "console",
        "console",
        "python",
    ]
    assert len(TEXT.splitlines()) < 80


def test_docker_comes_first_and_needs_nothing_else():
    assert DOCKER
    for command, _ in sessions(DOCKER):
        assert command.startswith("docker compose ")


def test_what_is_said_of_docker_is_what_compose_does():
    """What it prints is tried by `make e2e`; this needs no Docker."""
    _, deploy, timers = (command for command, _ in sessions(DOCKER))
    told = re.search(
        r"# builds it, then makes a block a second, on (\S+)$", DOCKER, re.MULTILINE
    )
    node = service("node")
    grpc, http = re.findall(r"^      - (\S+):(\d+)$", node, re.MULTILINE)[:2]
    defaults = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", one[0]) for one in (grpc, http)]
    assert told[1] == defaults[0]
    flags = {p.name: p for p in main.get_command(click.Context(main), "start").params}
    listens = [flags[name].default for name in ("grpc_listen", "http_listen")]
    assert "`docker compose down` frees their ports" in TEXT
    assert listens == defaults, "those that `make run` wants, too"
    assert "COWBOY_DEVNET_MINING:-interval}" in node
    assert "COWBOY_DEVNET_PACE:\n" in node, "the pace is that of the chain"
    assert GenesisChoice().read().wanted(None).params.block_interval_ms == 1_000
    assert "working_dir: /here\n" in service("cli")
    assert ":/here:ro\n" in service("cli"), "heartbeat.py is found where one is"
    for command in (deploy, timers):
        words = shlex.split(command)
        assert words[:5] == ["docker", "compose", "run", "--rm", "cli"]
        known = main.get_command(click.Context(main), words[5])
        options = {option for p in known.params for option in p.opts}
        assert {word for word in words[6:] if word.startswith("--")} <= options


@pytest.mark.parametrize(
    ("answer", "output", "is_true"),
    [
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", True),
        ("a …\n", "a b\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n…\nd\n", "a\nb\nc\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_an_answer_is_compared_line_by_line(answer, output, is_true):
    assert is_what_came(answer, output) is is_true


def test_the_actor_has_twelve_lines():
    assert len(ACTOR.splitlines()) == 12


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "heartbeat.py").write_text(ACTOR)
    return tmp_path


def test_the_test_passes_as_printed(folder):
    (folder / "test_heartbeat.py").write_text(PYTEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.fixture
def run(folder):
    """`cowboy-devnet …` as it is typed, against the node that `make run` starts."""
    (make, banner), *_ = sessions(MAKE_RUN)
    words = shlex.split(make)
    assert words[:2] == ["make", "run"]
    assert recipe("run") == '@exec "$(BIN)/cowboy-devnet" start $(ARGS)'
    flags = shlex.split(words[2].removeprefix("ARGS="))
    ready = folder / "ready.json"
    variables = {
        "GRPC_LISTEN": "127.0.0.1:0",
        "HTTP_LISTEN": "127.0.0.1:0",
        "READY_FILE": str(ready),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "node", "start", *flags],
        cwd=folder,
        env=environment(**{f"COWBOY_DEVNET_{k}": v for k, v in variables.items()}),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    output = process.stdout.readline()
    while not output.endswith("\n\n") or "UNSAFE" not in output:
        line = process.stdout.readline()
        assert line, "the node ended before it said what it is"
        output += line
    assert is_what_came(banner, output), output
    url = json.loads(ready.read_text())["grpc"]

    def run_command(words):
        return subprocess.run(
            [sys.executable, "-m", "node", *words],
            cwd=folder,
            env=environment(COWBOY_DEVNET_URL=url),
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE_SECONDS,
        ).stdout

    yield run_command
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0
    assert (folder / "devnet-data").is_dir(), "where the table says that the state is"


def test_whoever_ends_make_ends_the_node(tmp_path):
    """A supervisor, or a script with `make run &`, knows only the number of make."""
    (tmp_path / "Makefile").write_text(f"run:\n\t{recipe('run')}\n")
    ready = tmp_path / "ready.json"
    flags = f"--data-dir :memory: --grpc-listen 127.0.0.1:0 --ready-file {ready}"
    kept = {k: v for k, v in environment().items() if k != "MAKEFLAGS"}
    make = subprocess.Popen(
        ["make", "run", f"BIN={Path(sys.executable).parent}", f"ARGS={flags}"],
        cwd=tmp_path,
        env=kept,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not ready.exists():
        assert make.poll() is None
        assert time.monotonic() < deadline
        os.sched_yield()
    below = psutil.Process(make.pid).children(recursive=True)
    assert below
    make.send_signal(signal.SIGTERM)
    make.wait(DEADLINE_SECONDS)
    left = [each for each in below if each.is_running()]
    for each in left:
        each.kill()
    assert left == []
    assert not ready.exists(), "the node ended in order"


def test_the_commands_answer_what_the_readme_prints(run):
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    _, (activate, _), *typed = sessions(MAKE_RUN)
    assert activate == ". .venv/bin/activate"
    actor = ""
    for command, answer in typed:
        name, *words = shlex.split(command)
        assert name in scripts
        output = run([actor if word == "0x…" else word for word in words])
        assert is_what_came(answer, output), output
        found = re.search(r"^actor +(0x\w{40})$", output, re.MULTILINE)
        actor = found[1] if found else actor
