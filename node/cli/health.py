"""`python -m node.cli.health`: exit code 0 when the node of this machine serves.

For the container's HEALTHCHECK and other probes; no command of `cowboy-devnet`, since
`status` tells people more. Rules: it asks gRPC's own health service, which says SERVING
once the head is loaded and no longer from the first SIGTERM on; it finds the node by
the variables that told the node where to listen and by which certificate; and it
imports little, as it runs every few seconds beside the node.
"""

import os
import socket
import ssl
import sys
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

__all__ = ["EXIT_SERVING", "EXIT_UNHEALTHY", "main"]

EXIT_SERVING = 0
EXIT_UNHEALTHY = 1

ANSWER_SECONDS = 3.0
"""To wait for an answer: more than a busy node takes, less than the probe's timeout."""

_OPTIONS = [("grpc.enable_http_proxy", 0)]
_LISTEN_DEFAULT = "127.0.0.1:50051"
_OWN_ADDRESS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not a bind
"""Where a node that listens on every address is reached from beside it."""


def main() -> int:
    """Ask the node whether it serves; the exit code."""
    address = _address(os.environ.get("COWBOY_DEVNET_GRPC_LISTEN") or _LISTEN_DEFAULT)
    request = health_pb2.HealthCheckRequest()
    try:
        with _connect(address, os.environ.get("COWBOY_DEVNET_TLS_CERT")) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                request, timeout=ANSWER_SECONDS
            )
    except (OSError, grpc.RpcError) as error:
        reason = error.code().name if isinstance(error, grpc.Call) else error
        sys.stdout.write(f"no node answers at {address}: {reason}\n")
        return EXIT_UNHEALTHY
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    sys.stdout.write(f"{address}: {status}\n")
    is_serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    return EXIT_SERVING if is_serving else EXIT_UNHEALTHY


def _connect(address: str, certificate: str | None) -> grpc.Channel:
    """A channel; where the node has a certificate, to whoever has the same.

    Raises:
        OSError: The certificate cannot be read, or is not what answers.
    """
    if not certificate:
        return grpc.insecure_channel(address, options=_OPTIONS)
    name = _name_in_certificate(address, certificate)
    return grpc.secure_channel(
        address,
        grpc.ssl_channel_credentials(Path(certificate).read_bytes()),
        options=[*_OPTIONS, ("grpc.ssl_target_name_override", name)],
    )


def _name_in_certificate(address: str, certificate: str) -> str:
    """The first name that a certificate is for, which is hardly a loopback address.

    Nothing in the standard library reads a certificate but a connection that trusts it.
    """
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    place = (host.strip("[]"), int(port))
    with (
        socket.create_connection(place, ANSWER_SECONDS) as plain,
        context.wrap_socket(plain) as secured,
    ):
        names = (secured.getpeercert() or {}).get("subjectAltName", ())
    return next((str(kind_and_name[1]) for kind_and_name in names), host)


def _address(listen: str) -> str:
    """Where to connect to what listens on `HOST:PORT`."""
    host, _, port = listen.rpartition(":")
    return f"{_OWN_ADDRESS.get(host, host)}:{port}"


if __name__ == "__main__":
    sys.exit(main())
