"""The devnet from outside: deployed to, killed, stopped, taken down and brought back.

What the node told a client counts: a receipt that was acknowledged, a block that a
stream carried. A kill is no power cut, so empty blocks are never built again either.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from urllib.request import urlopen
from uuid import uuid4

import pytest
import trustme

from node.chain.transaction import Transfer
from node.client import Api, NodeError, NodeUnreachable, TransactionDropped, Wallet
from node.primitives.types import Amount
from node.rpc.v1 import types_pb2
from tests.console_blocks import blocks, is_what_came, sessions
from tests.e2e.project import (
    DEADLINE_SECONDS,
    ROOT,
    Devnet,
    free_ports,
    wait_until,
)

pytestmark = pytest.mark.e2e

README = (ROOT / "README.md").read_text()
DOCKER = (ROOT / "docs" / "docker.md").read_text()
TOKEN = "a-token-of-a-test"
SCRAPED = (ROOT / "docker" / "prometheus.yml").read_text()
SENDERS = range(1, 9)  # account 0 deploys
KILLS = 3
ACKNOWLEDGED_BEFORE_THE_END = 60
FIRES = 3
BLOCKS_PER_FIRE = 10


@dataclass
class Told:
    """What clients were told while there was load."""

    receipts: list[types_pb2.CommittedTransaction] = field(default_factory=list)
    headers: list[types_pb2.Header] = field(default_factory=list)


def send_until_the_end(node, wallet: Wallet, told: Told) -> None:
    with node.client() as client:
        transfer = Transfer(Wallet.dev(0).address, Amount(1))
        try:
            while True:
                told.receipts.append(client.execute(wallet, transfer))
        except (NodeUnreachable, NodeError, TransactionDropped):
            return


def follow_until_the_end(node, told: Told, begun: threading.Event) -> None:
    with node.client() as client:
        try:
            for message in client.stream_blocks():
                told.headers.append(message.block.header)
                begun.set()
        except (NodeUnreachable, NodeError):
            return


@contextmanager
def load(node) -> Iterator[Told]:
    """Eight senders and a stream, until the node ends; nothing is told after that."""
    told, begun = Told(), threading.Event()
    threads = [
        threading.Thread(target=send_until_the_end, args=(node, Wallet.dev(i), told))
        for i in SENDERS
    ]
    threads.append(
        threading.Thread(target=follow_until_the_end, args=(node, told, begun))
    )
    with ExitStack() as joined:
        for thread in threads:
            thread.start()
            joined.callback(thread.join)
        assert begun.wait(DEADLINE_SECONDS)
        yield told


def require_kept(node, told: Told) -> None:
    """The node has everything it ever told."""
    assert len(told.receipts) >= ACKNOWLEDGED_BEFORE_THE_END
    assert told.headers
    with node.client() as client:
        for acknowledged in told.receipts:
            kept = client.transaction(acknowledged.receipt.id).committed
            assert kept.block == acknowledged.block
            assert kept.receipt == acknowledged.receipt
        for header in told.headers:
            assert client.block(header.height).header == header


def deploy_heartbeat(node, folder) -> bytes:
    """Under an address of its own: other tests deploy the same source."""
    wish = ("deploy", "heartbeat.py", "--value", "5 CBY", "--salt", uuid4().hex)
    told = node.cli(*wish, cwd=folder)
    (address,) = re.findall(r"^actor +0x(\w{40})$", told, re.MULTILINE)
    return bytes.fromhex(address)


def wait_for_acknowledgements(told: Told) -> None:
    wait_until(
        lambda: len(told.receipts) >= ACKNOWLEDGED_BEFORE_THE_END,
        "transactions are acknowledged",
    )


# --- using it ----------------------------------------------------------------------


def test_a_deployed_actors_timers_fire_and_are_seen_from_outside(node, folder):
    actor = deploy_heartbeat(node, folder)
    fired = []
    with node.client() as client:
        for message in client.stream_blocks(view=types_pb2.BLOCK_VIEW_FULL):
            fired += [
                message.block.header.height
                for receipt in message.block.receipts
                if receipt.kind == types_pb2.RECEIPT_KIND_FIRE
                and receipt.actor == actor
            ]
            if len(fired) == FIRES:
                break
    first = fired[0]
    assert fired == [first + BLOCKS_PER_FIRE * i for i in range(FIRES)]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/"])
def test_operators_and_browsers_are_answered_from_outside(node, path):
    with urlopen(f"http://127.0.0.1:{node.http_port}{path}", timeout=10) as answer:
        assert answer.status == 200


def test_prometheus_finds_the_chain_where_its_file_says(node):
    """Its image is not pulled here: what it would read is read in its place."""
    config = json.loads(
        node.compose("--profile", "metrics", "config", "--format", "json")
    )
    services = config["services"]
    (where,) = re.findall(r'targets: \["(\w+):(\d+)"\]', SCRAPED)
    (path,) = re.findall(r"metrics_path: (\S+)", SCRAPED)
    assert where[0] in services
    assert int(where[1]) in [each["target"] for each in services["node"]["ports"]]
    code = (
        "from urllib.request import urlopen; "
        f"print(urlopen('http://{':'.join(where)}{path}').read().decode())"
    )
    words = ("run", "--rm", "-T", "--entrypoint", "python", "cli", "-c", code)
    told = node.compose(*words)
    assert re.search(r"^cowboy_devnet_height_blocks [1-9]", told, re.MULTILINE)


def test_a_command_in_a_shell_with_other_settings_leaves_the_node_alone(node):
    before = node.container()["Id"]
    settings = {"COWBOY_DEVNET_MINING": "manual"}
    other = replace(node, environment={**node.environment, **settings})
    assert "interval" in other.cli("status")
    assert node.container()["Id"] == before


def test_docker_does_what_the_readme_shows(devnet, folder):
    (first,) = [code for name, code in blocks(README) if "docker compose up" in code]
    for command, answer in sessions(first):
        done = devnet.run("sh", "-c", command, cwd=folder)
        assert is_what_came(answer, done.stdout + done.stderr), (command, done)


@pytest.fixture
def guarded(devnet, tmp_path):
    """A second project: the override that docs/docker.md prints, a real certificate."""
    authority, files = trustme.CA(), tmp_path / "tls"
    issued = authority.issue_cert("node", "127.0.0.1")
    files.mkdir(mode=0o755)
    (files / "cert.pem").write_bytes(
        b"".join(p.bytes() for p in issued.cert_chain_pems)
    )
    (files / "key.pem").write_bytes(issued.private_key_pem.bytes())
    (files / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (files / "token").write_text(TOKEN)
    (printed,) = [code for _, code in blocks(DOCKER) if "COWBOY_DEVNET_TLS_CA" in code]
    override = tmp_path / "override.yml"
    override.write_text(printed.replace("./tls", str(files)))
    grpc_port, http_port = free_ports(2)
    project = Devnet(
        {
            **devnet.environment,
            "COMPOSE_FILE": f"{devnet.environment['COMPOSE_FILE']}:{override}",
            "COMPOSE_PROJECT_NAME": f"{devnet.project}-guarded",
            "COWBOY_DEVNET_GRPC_PORT": str(grpc_port),
            "COWBOY_DEVNET_HTTP_PORT": str(http_port),
        },
        grpc_port,
        http_port,
    )
    try:
        yield project
    finally:
        project.compose("--profile", "*", "down", "--volumes", "--remove-orphans")


def test_a_certificate_and_a_token_reach_node_health_check_and_command(
    guarded, tmp_path, folder
):
    guarded.up()  # the health check trusts the certificate
    assert "succeeded" in guarded.cli("faucet", "0", "1 CBY", cwd=folder)
    authority = (tmp_path / "tls" / "ca.pem").read_bytes()
    url = f"https://{guarded.url}"
    with Api(url, tls_ca=authority, token=TOKEN) as client:
        assert client.status().chain_id == 100
    with Api(url, tls_ca=authority) as client, pytest.raises(NodeError) as refused:
        client.status()
    assert refused.value.code == "UNAUTHENTICATED"


# --- ending it ---------------------------------------------------------------------


def test_a_node_killed_under_load_is_back_with_all_it_told(node):
    for _ in range(KILLS):
        with load(node) as told:
            wait_for_acknowledgements(told)
            node.kill()
        require_kept(node, told)


def test_a_node_told_to_stop_under_load_exits_with_0_within_two_seconds(node):
    """`docker stop` kills after the time it gives, and the code would be 137."""
    with load(node) as told:
        wait_for_acknowledgements(told)
        node.run("docker", "stop", "--time", "2", node.container()["Id"])
    state = node.container()["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 0)
    node.up()
    require_kept(node, told)


def test_down_and_up_keep_the_chain(node, folder):
    actor = deploy_heartbeat(node, folder)
    with load(node) as told:
        wait_for_acknowledgements(told)
        node.compose("down")
    node.up()
    require_kept(node, told)
    with node.client() as client:
        assert client.actor(actor).address == actor


def test_down_with_its_volume_forgets_the_chain(node, folder):
    actor = deploy_heartbeat(node, folder)
    node.compose("down", "--volumes")
    of_project = f"label=com.docker.compose.project={node.project}"
    left = node.run("docker", "volume", "ls", "--quiet", "--filter", of_project)
    assert left.stdout == ""
    node.up()
    with node.client() as client, pytest.raises(NodeError) as refused:
        client.actor(actor)
    assert refused.value.code == "NOT_FOUND"
