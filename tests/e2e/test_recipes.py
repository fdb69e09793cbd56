"""docs/ci.md, tried for real: each file as it is printed, each command as it is typed.

What is not ours to run is done as its documentation says: GitHub starts the services of
a job and waits for their health, checks out, sets Python up, and runs the steps.
"""

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.doc_runner import commands, files, page, save, type_in
from tests.e2e.project import ROOT, free_ports, wait_until

pytestmark = pytest.mark.e2e

CI = page("ci.md")
PRINTED_URL = "127.0.0.1:50051"
SDK_TESTS = "11 passed"


@pytest.fixture
def project(tmp_path):
    """The small SDK, checked out into a folder of its own."""
    here = tmp_path / "project"
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "examples" / "sdk-project", here, ignore=ignored)
    return here


@pytest.fixture
def variables(devnet):
    """What reaches Docker and the image, and the interpreter of these tests."""
    own = Path(sys.executable).parent
    return dict(devnet.environment) | {
        "PATH": f"{own}:{devnet.environment['PATH']}",
        "TESTCONTAINERS_RYUK_DISABLED": "true",
    }


def require_done(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def service(devnet, wanted):
    """A container as GitHub starts it for a job: published, and healthy."""
    (port,) = free_ports(1)
    (mapping,) = wanted["ports"]
    inside = mapping.partition(":")[2]
    words = [f"--env={name}={value}" for name, value in wanted["env"].items()]
    words.append(f"--publish=127.0.0.1:{port}:{inside}")
    name = devnet.run("docker", "run", "--detach", *words, devnet.image).stdout.strip()

    def is_healthy():
        (known,) = json.loads(devnet.run("docker", "inspect", name).stdout)
        return known["State"]["Health"]["Status"] == "healthy"

    try:
        wait_until(is_healthy, "the service is healthy")
        yield f"127.0.0.1:{port}"
    finally:
        devnet.run("docker", "rm", "--force", "--volumes", name)


def test_the_workflow_runs_the_tests_of_a_small_sdk(devnet, project, tmp_path):
    """On an index that has the wheel of this checkout."""
    job = yaml.safe_load(files(CI)[".github/workflows/tests.yml"])["jobs"]["tests"]
    wheels = tmp_path / "wheels"
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    uses = [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
    assert uses == ["actions/checkout", "actions/setup-python"]
    subprocess.run([sys.executable, "-m", "venv", project / ".venv"], check=True)
    variables = {"PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    said = ""
    with service(devnet, job["services"]["devnet"]) as url:
        for step in job["steps"]:
            if "run" in step:
                assert "50051" not in step["run"] or PRINTED_URL in step["run"]
                command = step["run"].replace(PRINTED_URL, url)
                said = require_done(type_in(command, project, variables))
    assert SDK_TESTS in said


def test_containers_that_the_tests_start(variables, tmp_path):
    for name, code in files(CI).items():
        if name.startswith("containers/"):
            save(tmp_path, name, code)
    (command,) = [c for c, _ in commands(CI) if "containers" in c]
    assert "1 passed" in require_done(type_in(command, tmp_path, variables))


def test_compose_with_an_override_for_tests(variables, project, tmp_path):
    save(tmp_path, "override.yml", files(CI)["docker-compose.override.yml"])
    variables["COMPOSE_FILE"] += f":{tmp_path / 'override.yml'}"
    variables["COMPOSE_PROJECT_NAME"] += "-recipe"
    grpc_port, http_port = free_ports(2)
    variables["COWBOY_DEVNET_GRPC_PORT"] = str(grpc_port)
    variables["COWBOY_DEVNET_HTTP_PORT"] = str(http_port)
    section = CI.split("\n## Compose\n")[1].split("\n## ")[0]
    up, test, down = [command for command, _ in commands(section)]
    try:
        require_done(type_in(up, project, variables))
        command = test.replace(PRINTED_URL, f"127.0.0.1:{grpc_port}")
        assert command != test
        assert SDK_TESTS in require_done(type_in(command, project, variables))
    finally:
        require_done(type_in(down, project, variables))
