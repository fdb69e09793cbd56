"""The container's health check: exit code 0 when, and only when, the node serves."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from node.cli.health import EXIT_SERVING, EXIT_UNHEALTHY, main

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
VARIABLE = "COWBOY_DEVNET_GRPC_LISTEN"


@pytest.fixture
def served():
    """A health service on a free port of every address of this machine."""
    servicer = health.HealthServicer()
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, port
    server.stop(None).wait()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_a_node_that_serves_is_healthy(served, monkeypatch, capsys, host):
    servicer, port = served
    servicer.set("", SERVING)
    monkeypatch.setenv(VARIABLE, f"{host}:{port}")
    assert main() == EXIT_SERVING == 0
    assert capsys.readouterr().out.endswith(f":{port}: SERVING\n")


def test_a_node_that_starts_or_stops_is_not(served, monkeypatch, capsys):
    servicer, port = served
    servicer.set("", NOT_SERVING)
    monkeypatch.setenv(VARIABLE, f"127.0.0.1:{port}")
    assert main() == EXIT_UNHEALTHY == 1
    assert capsys.readouterr().out == f"127.0.0.1:{port}: NOT_SERVING\n"


def test_where_no_node_answers_it_says_where_it_looked(monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, "[::]:1")
    assert main() == EXIT_UNHEALTHY
    assert capsys.readouterr().out == "no node answers at [::1]:1: UNAVAILABLE\n"


def test_it_asks_where_a_node_listens_that_was_told_nothing(monkeypatch):
    def connect(address, **_):
        raise ConnectionError(address)

    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr("grpc.insecure_channel", connect)
    with pytest.raises(ConnectionError, match=r"^127\.0\.0\.1:50051$"):
        main()
