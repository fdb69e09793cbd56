"""The container's health check: exit code 0 when, and only when, the node serves."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
import trustme
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from node.cli.health import EXIT_SERVING, EXIT_UNHEALTHY, main

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
VARIABLE = "COWBOY_DEVNET_GRPC_LISTEN"
CERTIFICATE = "COWBOY_DEVNET_TLS_CERT"


@pytest.fixture(autouse=True)
def no_certificate(monkeypatch):
    monkeypatch.delenv(CERTIFICATE, raising=False)


@contextmanager
def serving(credentials=None):
    """A health service on a free port, and that port."""
    servicer = health.HealthServicer()
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield servicer, port
    finally:
        server.stop(None).wait()


@pytest.fixture
def served():
    with serving() as made:
        yield made


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


def test_it_asks_where_a_node_listens_that_was_told_nothing(monkeypatch, capsys):
    def connect(address, **_):
        raise ConnectionError(f"asked for {address}")

    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr("grpc.insecure_channel", connect)
    assert main() == EXIT_UNHEALTHY
    assert "asked for 127.0.0.1:50051\n" in capsys.readouterr().out


# --- a node with TLS -----------------------------------------------------------------


@pytest.fixture
def issue(tmp_path):
    """A certificate for another machine's name, of an authority nobody trusts."""
    authority = trustme.CA()

    def write(name):
        leaf = authority.issue_cert(name)
        path = tmp_path / f"{name}.pem"
        path.write_bytes(b"".join(b.bytes() for b in leaf.cert_chain_pems))
        key = leaf.private_key_pem.bytes()
        return path, grpc.ssl_server_credentials([(key, path.read_bytes())])

    return write


@pytest.mark.parametrize("name", ["devnet.example", "192.0.2.7"])
def test_a_node_with_a_certificate_is_known_by_it(issue, monkeypatch, capsys, name):
    path, credentials = issue(name)
    with serving(credentials) as (servicer, port):
        servicer.set("", SERVING)
        monkeypatch.setenv(VARIABLE, f"0.0.0.0:{port}")
        monkeypatch.setenv(CERTIFICATE, str(path))
        assert main() == EXIT_SERVING
    assert capsys.readouterr().out == f"127.0.0.1:{port}: SERVING\n"


def test_what_has_another_certificate_is_not_the_node(issue, monkeypatch, capsys):
    _, credentials = issue("other.example")
    path, _ = issue("devnet.example")
    with serving(credentials) as (servicer, port):
        servicer.set("", SERVING)
        monkeypatch.setenv(VARIABLE, f"127.0.0.1:{port}")
        monkeypatch.setenv(CERTIFICATE, str(path))
        assert main() == EXIT_UNHEALTHY
    assert "certificate verify failed" in capsys.readouterr().out


def test_a_certificate_that_is_missing_is_told(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv(VARIABLE, "127.0.0.1:1")
    monkeypatch.setenv(CERTIFICATE, str(tmp_path / "none.pem"))
    assert main() == EXIT_UNHEALTHY
    assert "No such file" in capsys.readouterr().out
