"""A command's connection to a node: where it is, how long to wait, how to answer.

Rules: every failure ends with a sentence on standard error and an exit code: 1 for
what the chain refuses, 3 when no node answers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import (
    Concatenate,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)

import click
import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from node.cli import arguments
from node.cli.labels import labels_option
from node.cli.output import JsonForm, Output
from node.client.channels import Endpoint, open_channel, tls_trouble
from node.client.labels import Labels
from node.rpc.access import AccessError, read_authorities, read_token

__all__ = [
    "EXIT_REFUSED",
    "EXIT_UNREACHABLE",
    "Command",
    "Connection",
    "client_command",
    "endpoint_of",
    "tls_ca_option",
    "token_file_option",
]

EXIT_REFUSED = 1
EXIT_UNREACHABLE = 3

Parameters = ParamSpec("Parameters")
Command: TypeAlias = Callable[[], None]
"""What click makes a command of: it alone knows the arguments, and gives them."""

_STATUS_KEY = "grpc-status-details-bin"


tls_ca_option = click.option(
    "--tls-ca",
    type=click.Path(path_type=Path),
    help="Authorities to trust with TLS, PEM.  [default: the system's]",
)
token_file_option = click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="The token that the node wants.",
)


class _Failure(Protocol):
    """What a failed call knows; gRPC's types do not say that its error does."""

    def code(self) -> grpc.StatusCode: ...

    def details(self) -> str | None: ...

    def trailing_metadata(self) -> Sequence[tuple[str, str | bytes]] | None: ...


class _PageRequest(Protocol):
    page_token: str


class _Page(Protocol):
    @property
    def next_page_token(self) -> str: ...


AnyRequest = TypeVar("AnyRequest", bound=_PageRequest)
AnyPage = TypeVar("AnyPage", bound=_Page)


class Connection:
    """A channel to a node, and how to answer the user."""

    __slots__ = ("channel", "output", "timeout", "url")

    def __init__(self, endpoint: Endpoint, timeout: float, output: Output) -> None:
        self.url = endpoint.target
        self.timeout = timeout
        self.output = output
        self.channel = open_channel(endpoint)

    def refuse(self, message: str) -> NoReturn:
        """End the command: the chain said no."""
        self.output.error(message)
        raise click.exceptions.Exit(EXIT_REFUSED)

    def pages(
        self,
        method: "grpc.UnaryUnaryMultiCallable[AnyRequest, AnyPage]",
        request: AnyRequest,
    ) -> Iterator[AnyPage]:
        """The pages of a list, from the one that is asked for to the last."""
        while True:
            page = method(request, timeout=self.timeout)
            yield page
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    @contextmanager
    def failures_told(self) -> Iterator[None]:
        """End the command with a sentence when a call fails."""
        try:
            yield
        except grpc.RpcError as error:
            failure = cast("_Failure", error)
            raise click.exceptions.Exit(self._tell(failure)) from error
        finally:
            self.channel.close()

    def _tell(self, error: _Failure) -> int:
        code, details = error.code(), error.details() or ""
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            self.output.error(
                f"no answer within {self.timeout:g} s: the transaction may still be "
                "pending; ask again with `tx`, or give a longer --timeout"
            )
            return EXIT_REFUSED
        reason = _reason(error)
        if code is grpc.StatusCode.UNIMPLEMENTED:
            self.output.error(
                f"the node at {self.url} does not serve this ({details}): it runs with "
                "--no-dev, has a chain without development, or is of another version"
            )
            return EXIT_REFUSED
        trouble = tls_trouble(details)
        if reason is None and trouble is not None:
            self.output.error(f"no node answers at {self.url} with TLS: {trouble}")
            return EXIT_UNREACHABLE
        if reason is None and code is grpc.StatusCode.UNAVAILABLE:
            self.output.error(
                f"no node answers at {self.url} ({details}): start one with "
                "`cowboy-devnet start`, or give another --url"
            )
            return EXIT_UNREACHABLE
        self.output.error(f"{reason or code.name}: {details}")
        return EXIT_REFUSED


def _reason(error: _Failure) -> str | None:
    """The stable name of a refusal, if the node gave one."""
    for key, value in error.trailing_metadata() or ():
        if key == _STATUS_KEY and isinstance(value, bytes):
            for detail in Status.FromString(value).details:
                info = ErrorInfo()
                if detail.Unpack(info):
                    return str(info.reason)
    return None


def endpoint_of(url: str, tls_ca: Path | None, token_file: Path | None) -> Endpoint:
    """Where a node is, and what it wants, as options say it."""
    try:
        endpoint = Endpoint(
            url,
            None if tls_ca is None else read_authorities(tls_ca),
            None if token_file is None else read_token(token_file),
        )
    except AccessError as error:
        raise click.UsageError(str(error)) from error
    if not endpoint.target:
        raise click.UsageError("--url is empty: write HOST:PORT")
    return endpoint


def client_command(
    function: Callable[Concatenate[Connection, Parameters], None],
) -> Command:
    """Give a command its connection, and the flags that all clients have."""

    def connected(
        url: str,
        timeout: float,
        form: JsonForm | None,
        labels: Labels,
        tls_ca: Path | None,
        token_file: Path | None,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> None:
        endpoint = endpoint_of(url, tls_ca, token_file)
        connection = Connection(endpoint, timeout, Output(form, labels))
        with connection.failures_told():
            function(connection, *args, **kwargs)

    connected.__doc__ = function.__doc__
    connected.__name__ = function.__name__
    decorated = connected
    for option in (
        arguments.json_option,
        labels_option,
        click.option(
            "--timeout",
            type=click.FloatRange(min=0.001),
            default=30.0,
            metavar="SECONDS",
            help="How long to wait for the answer.",
        ),
        click.option(
            "--url",
            default="127.0.0.1:50051",
            metavar="HOST:PORT",
            help="Where the node is; https://HOST:PORT, if it speaks TLS.",
        ),
        tls_ca_option,
        token_file_option,
    ):
        decorated = option(decorated)
    return cast("Command", decorated)
