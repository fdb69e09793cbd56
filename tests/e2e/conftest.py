"""A devnet in containers, seen from outside: Docker's commands and the public client.

One image, one project of Compose, two free ports for the whole session; nothing of it
is left behind. Docker is whatever the shell reaches, or what a tool beside the checkout
makes.
"""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console_blocks import blocks
from tests.e2e.project import ROOT, Devnet, free_ports

ENGINE_TOOL = ROOT.parent / "shared" / "tools" / "docker-engine"
"""Where there is no registry or no Docker, this makes an engine and a base image."""

BUILD_SECONDS = 900

PACE_MS = 20
"""Fifty blocks a second: what is killed is killed within one."""

NO_DOCKER = (
    "make e2e needs Docker 25 or later with Compose 2.24 or later, and reaches none "
    "({why}): install Docker, or let DOCKER_HOST name one that runs"
)


@pytest.fixture(scope="session")
def engine() -> dict[str, str]:
    """The variables by which Docker is reached, and the base image it has."""
    if ENGINE_TOOL.exists():
        done = subprocess.run(
            [str(ENGINE_TOOL), "up"],
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_SECONDS,
        )
        if done.returncode != 0:
            pytest.exit(NO_DOCKER.format(why=done.stderr.strip()), returncode=1)
        lines = (line.removeprefix("export ") for line in done.stdout.splitlines())
        return dict(line.split("=", 1) for line in lines if "=" in line)
    for command in (["docker", "version"], ["docker", "compose", "version"]):
        try:
            subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=30
            )
        except (OSError, subprocess.SubprocessError) as error:
            why = getattr(error, "stderr", None) or error
            pytest.exit(NO_DOCKER.format(why=str(why).strip()), returncode=1)
    return {}


@pytest.fixture(scope="session")
def devnet(engine: dict[str, str]) -> Iterator[Devnet]:
    """The project with its image built, and nothing running yet."""
    grpc_port, http_port = free_ports(2)
    name = f"devnet-e2e-{uuid.uuid4().hex[:8]}"
    ours = ("COWBOY_DEVNET_", "COMPOSE_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    project = Devnet(
        kept
        | engine
        | {
            "COMPOSE_FILE": str(ROOT / "docker-compose.yml"),
            "COMPOSE_PROJECT_NAME": name,
            "COMPOSE_ENV_FILES": os.devnull,
            "COWBOY_DEVNET_IMAGE": f"cowboy-devnet:{name}",
            "COWBOY_DEVNET_GRPC_PORT": str(grpc_port),
            "COWBOY_DEVNET_HTTP_PORT": str(http_port),
            "COWBOY_DEVNET_PACE": f"{PACE_MS}ms",
        },
        grpc_port,
        http_port,
    )
    try:
        project.run("docker", "compose", "build", timeout=BUILD_SECONDS)
        yield project
    finally:
        project.compose("--profile", "*", "down", "--volumes", "--remove-orphans")
        project.run("docker", "image", "rm", "--force", project.image)


@pytest.fixture
def node(devnet: Devnet) -> Devnet:
    """The same, with a node that is healthy."""
    devnet.up()
    return devnet


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's actor and nothing else, as a container may read it."""
    sources = [code for name, code in blocks((ROOT / "README.md").read_text())]
    (actor,) = (code for code in sources if code.startswith("class Heartbeat"))
    here = tmp_path / "here"
    here.mkdir(mode=0o755)
    (here / "heartbeat.py").write_text(actor)
    return here
