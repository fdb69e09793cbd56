"""`cowboy-devnet open`: a running node's page in the browser."""

import json
import ssl
import webbrowser
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, build_opener

import click

from node.cli.connection import EXIT_REFUSED, EXIT_UNREACHABLE, endpoint_of
from node.cli.output import Output

__all__ = ["open_page"]

_SECONDS = 5
_USUAL_PORT = 8080
_READ_BYTES = 4_096
_MARK = b"<title>cowboy-devnet</title>"


@click.command(name="open")
@click.argument("what", required=False)
@click.option(
    "--url",
    default="127.0.0.1:50051",
    metavar="HOST:PORT",
    help="Where the node is, as for all commands: its page is at port 8080 there.",
)
@click.option(
    "--page",
    metavar="URL",
    help="Where the page is, if it is elsewhere: the node's banner says it.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of the node, which says where its page is; instead of --page.",
)
def open_page(
    what: str | None, url: str, page: str | None, ready_file: Path | None
) -> None:
    """Open a node's page in the browser.

    WHAT is a height, an address or an id to look at. Where there is no browser, the
    URL is printed for one elsewhere.
    """
    output = Output()
    page = _usual_page(url) if page is None else page
    page = page if ready_file is None else _named_in(ready_file)
    if not _is_of_a_host(page):
        raise click.UsageError(
            f"{page!r} is no page: write it as `http://HOST:PORT/`, or name "
            "the node by --url HOST:PORT"
        )
    page = page.partition("#")[0].rstrip("/") + "/"
    _require_page(page, output)
    if what is not None:
        page += f"#/search/{quote(what, safe='')}"
    output.line(page)
    if not webbrowser.open(page):
        output.error("no browser was found here: open this URL in one")


def _usual_page(url: str) -> str:
    """The page of a node that serves HTTP where nodes do it by themselves."""
    endpoint = endpoint_of(url, None, None)
    host = endpoint.target.rpartition(":")[0] or endpoint.target
    scheme = "http" if endpoint.credentials is None else "https"
    return f"{scheme}://{host}:{_USUAL_PORT}/"


def _named_in(ready_file: Path) -> str:
    try:
        page = json.loads(ready_file.read_bytes())["page"]
    except OSError as error:
        raise click.UsageError(f"{ready_file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise click.UsageError(f"{ready_file} is no ready file of a node") from error
    if not isinstance(page, str):
        raise click.UsageError(f"the node of {ready_file} serves no page")
    return page


def _is_of_a_host(url: str) -> bool:
    """Whether it is a URL of HTTP, as the library takes it."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises what a port cannot be
    except ValueError:
        return False
    is_written = url.isprintable() and " " not in url
    return is_written and parts.scheme in ("http", "https") and bool(parts.netloc)


def _require_page(url: str, output: Output) -> None:
    """End the command unless the page is there."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=_SECONDS) as answer:
            is_page = _MARK in answer.read(_READ_BYTES)
    except (HTTPError, HTTPException):  # it is no page, or speaks no HTTP
        is_page = False
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLError):
            return  # the browser asks its user whom to trust
        output.error(
            f"no node answers at {url} ({reason}): start one with `cowboy-devnet "
            "start`, or give its --page"
        )
        raise click.exceptions.Exit(EXIT_UNREACHABLE) from error
    if not is_page:
        output.error(
            f"what answers at {url} is no page of a node: it may run with --no-http-api"
        )
        raise click.exceptions.Exit(EXIT_REFUSED)
