"""A request of the operators' port, as the library is made to see it.

Imported with the library, when the port begins to answer.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeAlias

from aiohttp import hdrs
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from aiohttp.web import BaseRequest, StreamResponse
from aiohttp.web_protocol import RequestHandler
from typing_extensions import override

__all__ = ["make_requests", "port_logger"]

_Factory: TypeAlias = Callable[
    [
        RawRequestMessage,
        StreamReader,
        RequestHandler,
        AbstractStreamWriter,
        "asyncio.Task[None]",
    ],
    BaseRequest,
]


def make_requests(note_answer: Callable[[int], None]) -> _Factory:
    """Requests whose answers do not name the software, and are told by status."""
    loop = asyncio.get_running_loop()

    class Request(BaseRequest):
        @override
        async def _prepare_hook(self, response: StreamResponse) -> None:
            """What the library calls before it writes any answer, its own ones, too."""
            response.headers.pop(hdrs.SERVER, None)
            note_answer(response.status)

    return lambda message, payload, protocol, writer, task: Request(
        message, payload, protocol, writer, task, loop
    )


def port_logger() -> logging.Logger:
    """A log of defects: what is no request is none of them."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_is_defect)
    return logger


def _is_defect(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)
