"""`python -m node.cli.health`: exit code 0 when the node of this machine serves.

For the container's HEALTHCHECK and other probes; no command of `cowboy-devnet`, since
`status` tells people more. Rules: it asks gRPC's own health service, which says SERVING
once the head is loaded and no longer from the first SIGTERM on; it finds the node by
the variable that told the node where to listen; and it imports little, as it runs every
few seconds beside the node.
"""

import os
import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

__all__ = ["EXIT_SERVING", "EXIT_UNHEALTHY", "main"]

EXIT_SERVING = 0
EXIT_UNHEALTHY = 1

ANSWER_SECONDS = 3.0
"""To wait for an answer: more than a busy node takes, less than the probe's timeout."""

_LISTEN_DEFAULT = "127.0.0.1:50051"
_OWN_ADDRESS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not a bind
"""Where a node that listens on every address is reached from beside it."""


def main() -> int:
    """Ask the node whether it serves; the exit code."""
    address = _address(os.environ.get("COWBOY_DEVNET_GRPC_LISTEN") or _LISTEN_DEFAULT)
    request = health_pb2.HealthCheckRequest()
    options = [("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(address, options=options) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                request, timeout=ANSWER_SECONDS
            )
        except grpc.RpcError as error:
            sys.stdout.write(f"no node answers at {address}: {error.code().name}\n")
            return EXIT_UNHEALTHY
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    sys.stdout.write(f"{address}: {status}\n")
    is_serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    return EXIT_SERVING if is_serving else EXIT_UNHEALTHY


def _address(listen: str) -> str:
    """Where to connect to what listens on `HOST:PORT`."""
    host, _, port = listen.rpartition(":")
    return f"{_OWN_ADDRESS.get(host, host)}:{port}"


if __name__ == "__main__":
    sys.exit(main())
