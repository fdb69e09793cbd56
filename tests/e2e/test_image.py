"""The image and its container: locked down, and with nothing they do not need."""

import json

import psutil
import pytest

from tests.e2e.project import ROOT

pytestmark = pytest.mark.e2e

BUILDERS = "gcc cc c++ g++ clang make ld as rustc cargo go"


def configuration(node):
    (image,) = json.loads(node.run("docker", "inspect", node.image).stdout)
    return image["Config"]


def test_the_image_says_how_it_is_run_checked_and_stopped(node):
    config = configuration(node)
    assert config["User"] == "10001:10001"
    assert config["Entrypoint"] == ["cowboy-devnet"]
    assert config["Cmd"] == ["start"]
    assert config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "python", "-m", "node.cli.health"]
    assert set(config["ExposedPorts"]) == {"50051/tcp", "8080/tcp"}
    assert config["Labels"]["org.opencontainers.image.title"] == "cowboy-devnet"
    assert config["Labels"]["org.opencontainers.image.licenses"] == "MIT"


def test_the_image_listens_on_every_address_by_itself(node):
    variables = configuration(node)["Env"]
    assert "COWBOY_DEVNET_GRPC_LISTEN=0.0.0.0:50051" in variables
    assert "COWBOY_DEVNET_HTTP_LISTEN=0.0.0.0:8080" in variables


def test_the_node_is_the_wheel_of_the_checkout(node):
    where = 'python -c "import node, pvm; print(node.__file__, pvm.__file__)"'
    files = node.inside(where).split()
    assert all(file.startswith("/opt/venv/lib/python3.11/") for file in files)


def test_every_dependency_is_the_locked_one(node):
    """Exactly those of requirements/runtime.lock, and the node itself."""
    code = (
        "from importlib.metadata import distributions; "
        "print(*(d.name.lower().replace('_', '-') + '==' + d.version for d in "
        "distributions(path=__import__('sysconfig').get_path('purelib').split())))"
    )
    lock = (ROOT / "requirements" / "runtime.lock").read_text()
    pinned = {
        line.split(" ;")[0].split()[0]
        for line in lock.splitlines()
        if "==" in line and "sys_platform == 'win32'" not in line
    }
    found = set(node.inside(f'python -c "{code}"').split())
    assert {name for name in found if not name.startswith("cowboy-devnet==")} == pinned


def test_the_image_holds_no_compiler_and_no_cache_of_pip(node):
    assert node.inside(f"for b in {BUILDERS}; do command -v $b; done; true") == ""
    for path in ("~/.cache", "/cache", "/src", "/wheel"):
        assert node.inside(f"test ! -e {path} && echo none", user="0") == "none"
    assert node.inside("ls /opt") == "venv"
    assert node.inside("ls /opt/venv/bin | grep -c '^pip' || true") == "0"


def test_the_bytecode_lies_beside_the_sources_as_it_cannot_be_written_later(node):
    folder = "/opt/venv/lib/python3.11/site-packages/node/runtime"
    sources = node.inside(f"ls {folder}/*.py | wc -l")
    assert node.inside(f"ls {folder}/__pycache__/*.pyc | wc -l") == sources


def test_no_process_is_root(node):
    assert node.inside("cat /proc/[0-9]*/status | grep -h ^Uid: | sort -u") == (
        "Uid:\t10001\t10001\t10001\t10001"
    )


def test_no_process_has_a_capability_or_can_gain_one(node):
    lines = node.inside("grep -hE '^(Cap|NoNewPrivs)' /proc/1/status", user="0")
    rights = dict(line.split(":\t") for line in lines.splitlines())
    assert rights.pop("NoNewPrivs") == "1"
    assert set(rights) == {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
    assert {int(value, 16) for value in rights.values()} == {0}


@pytest.mark.parametrize("path", ["/", "/opt/venv/bin", "/etc", "/usr/local/bin"])
def test_the_root_file_system_is_read_only(node, path):
    """Also for root, whom permissions would not stop."""
    said = node.inside(f"touch {path}/new 2>&1 || true", user="0")
    assert said.endswith("Read-only file system")


def test_what_can_be_written_is_the_volume_and_a_folder_in_memory(node):
    mounts = node.inside(
        "grep -E '^[^ ]+ / ' /proc/mounts; df --output=target -t tmpfs"
    )
    root, *rest = mounts.splitlines()
    assert root.split()[3].split(",")[0] == "ro"
    assert "/tmp" in rest
    (volume,) = node.container()["Mounts"]
    assert (volume["Type"], volume["Destination"]) == ("volume", "/data")
    assert node.inside("touch /data/.new /tmp/.new && rm /data/.new /tmp/.new") == ""


def test_only_this_machine_reaches_the_ports(node):
    ports = node.container()["NetworkSettings"]["Ports"]
    published = {
        (inside, where["HostIp"], int(where["HostPort"]))
        for inside, bindings in ports.items()
        for where in bindings
    }
    assert published == {
        ("50051/tcp", "127.0.0.1", node.grpc_port),
        ("8080/tcp", "127.0.0.1", node.http_port),
    }
    listening = {
        (each.laddr.ip, each.laddr.port)
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
        and each.laddr.port in {node.grpc_port, node.http_port}
    }
    assert listening <= {("127.0.0.1", node.grpc_port), ("127.0.0.1", node.http_port)}


def test_the_command_line_service_sees_the_current_folder_alone(node, folder):
    config = json.loads(
        node.compose("--profile", "cli", "config", "--format", "json", cwd=folder)
    )
    (mount,) = config["services"]["cli"]["volumes"]
    assert (mount["source"], mount["target"]) == (str(folder), "/here")
    assert mount["read_only"] is True
    listed = node.compose("run", "--rm", "-T", "--entrypoint", "ls", "cli", cwd=folder)
    assert listed.split() == ["heartbeat.py"]


def test_the_health_check_asks_the_node(node):
    command = "python -m node.cli.health"
    assert node.inside(command) == "127.0.0.1:50051: SERVING"
    other = f"COWBOY_DEVNET_GRPC_LISTEN=0.0.0.0:1 {command}"
    assert node.inside(f"{other} || echo code $?") == (
        "no node answers at 127.0.0.1:1: UNAVAILABLE\ncode 1"
    )


def test_the_node_confines_itself_inside_the_container(node):
    """All walls, where the engine and the kernel let them through."""
    status = json.loads(node.cli("status", "--json"))
    assert status["walls"] == [
        *("files", "network", "signals", "programs", "memory", "tripwire")
    ]


def test_what_lies_in_the_chains_folder_is_never_imported(node):
    node.inside(
        "echo 'raise SystemExit(9)' > /data/click.py && cp /data/click.py /data/grpc.py"
    )
    try:
        assert "SERVING" in node.inside("cd /data && python -m node.cli.health")
    finally:
        node.inside("rm /data/click.py /data/grpc.py")
