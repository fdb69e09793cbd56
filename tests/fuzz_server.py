"""Try a node's ports and the commands for a time: `python -m tests.fuzz_server`.

Round i of seed S is the round of seed S + i: `make fuzz-server SEED=i SECONDS=0`
repeats one, on a fresh node. A round sends calls of the API that are random or broken,
frames of HTTP/2, requests to the HTTP port, or words to the command line. Then the
judge looks: the node lives and says that it serves, its log has no traceback, and each
refusal is one of the table in docs/api.md, over gRPC and over HTTP.

Header blocks are of ASCII alone: a `:path` that is not UTF-8 ends gRPC's whole server,
which the node opens again (docs/security.md).
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import chdir, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random

import click
import grpc
from click.testing import CliRunner
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc

from node.cli import main as command_line
from node.rpc.errors import table
from node.rpc.v1 import (
    dev_pb2,
    queries_pb2,
    streams_pb2,
    timers_pb2,
    transactions_pb2,
)

ROOT = Path(__file__).parents[1]
START_SECONDS = 60
CALL_SECONDS = 1.0
HEALTH_SECONDS = 20
"""A bound of what lives, not of what is fast."""

FILES = (dev_pb2, queries_pb2, streams_pb2, timers_pb2, transactions_pb2)
METHODS = sorted(
    (
        method
        for file in FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ),
    key=lambda method: method.full_name,
)
REASONS = frozenset(row[0] for row in table())
OF_GRPC = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
"""What gRPC itself answers, without a reason of ours."""

INTEGERS = (0, 1, 2, 10, 255, 1_000, 1_001, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
TEXTS = (
    "",
    "0",
    "1",
    "-1",
    "5 CBY",
    "9" * 100,
    "a",
    "\0",
    "…" * 99,
    "latest",
    "x" * 9999,
)
OFFERED_MAX = 5 << 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
UNBOUNDED = {
    "console",
    "coverage",
    "dev",
    "explore",
    "open",
    "start",
    "replay",
    "--follow",
    "watch",
    "output",
    "--url",
    "--help",
}
"""Words of commands that end only when they are told to, speak with no node or with
another of its ports, or execute its whole chain."""


class LawBroken(Exception):  # noqa: N818 - what the judge says
    """What the node did that no node may."""


# --- the node, and its judge ---------------------------------------------------------


class Node:
    """A process that serves on ports of its own."""

    def __init__(self, process, ready, log):
        self.process, self.ready, self.log = process, ready, log
        self.channel = grpc.insecure_channel(ready["grpc"])

    def judge(self):
        """Raise unless it lives, serves and has nothing to complain of itself."""
        if self.process.poll() is not None:
            raise LawBroken(f"the node ended with {self.process.returncode}")
        health = health_pb2_grpc.HealthStub(self.channel)
        try:
            answer = health.Check(
                health_pb2.HealthCheckRequest(), timeout=HEALTH_SECONDS
            )
        except grpc.RpcError as error:
            raise LawBroken(f"its health: {error.code()}") from error
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise LawBroken(f"its health: {answer.status}")
        said = self.log.read_text(errors="replace")
        if "Traceback" in said:
            raise LawBroken(f"its log: {said[said.index('Traceback') - 200 :]}")


@contextmanager
def node():
    """One in memory, on free ports of this machine."""
    with tempfile.TemporaryDirectory() as name:
        ready, log = Path(name, "ready.json"), Path(name, "log")
        with log.open("wb") as file:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "node", "start", "--data-dir", ":memory:"),
                    *("--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"),
                    *("--mining", "instant", "--ready-file", str(ready)),
                    *("--log-format", "json", "--memory-max", "1GiB"),
                ],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise LawBroken(f"no node: {log.read_text()}")
                os.sched_yield()
            yield Node(process, json.loads(ready.read_text()), log)
        finally:
            process.kill()
            process.wait()


def require_typed(error):
    """Raise unless a refusal has a reason of the table, or is one of gRPC's own."""
    code = error.code()
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in Status.FromString(value).details:
                info = ErrorInfo()
                if detail.Unpack(info):
                    if info.reason in REASONS and info.reason != "INTERNAL":
                        return
                    raise LawBroken(f"a refusal: {info.reason}: {error.details()}")
    if code not in OF_GRPC:
        raise LawBroken(f"a refusal without a reason: {code}: {error.details()}")


# --- calls of the API ----------------------------------------------------------------


def message(random, descriptor, depth=0):
    """A message with some of its fields, each of the type that it has."""
    made = GetMessageClass(descriptor)()
    for field in descriptor.fields:
        if random.random() < 0.4 or depth > 6:
            continue
        values = [value(random, field, depth) for _ in range(random.choice((1, 1, 3)))]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        if field.is_repeated:
            for one in values:
                if field.message_type is not None:
                    getattr(made, field.name).add().CopyFrom(one)
                else:
                    getattr(made, field.name).append(one)
        elif field.message_type is not None:
            getattr(made, field.name).CopyFrom(values[0])
        else:
            setattr(made, field.name, values[0])
    return made


def value(random, field, depth):
    """One that the field can hold, of all sizes."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        return message(random, field.message_type, depth + 1)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random.randbytes(random.choice((0, 1, 19, 20, 21, 32, 32, 65, 999)))
    if field.cpp_type in _CHOICES:
        return random.choice(_CHOICES[field.cpp_type])
    bits, is_signed = _INTEGERS[field.cpp_type]
    chosen = random.choice((*INTEGERS, random.getrandbits(bits)))
    chosen = min(chosen, 2 ** (bits - is_signed) - 1)
    return -chosen if is_signed and random.random() < 0.3 else chosen


_CHOICES = {
    FieldDescriptor.CPPTYPE_STRING: TEXTS,
    FieldDescriptor.CPPTYPE_BOOL: (False, True),
    FieldDescriptor.CPPTYPE_ENUM: (0, 1, 2, 3, 99, 2**31 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: (0.0, -1.0, float("inf"), float("nan")),
    FieldDescriptor.CPPTYPE_FLOAT: (0.0, -1.0, float("inf"), float("nan")),
}

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (32, True),
    FieldDescriptor.CPPTYPE_INT64: (64, True),
    FieldDescriptor.CPPTYPE_UINT32: (32, False),
    FieldDescriptor.CPPTYPE_UINT64: (64, False),
}
"""Bits, and whether there are negative ones."""


def broken(random, data):
    """The bytes, or what is left of them."""
    data = bytearray(data)
    for _ in range(random.choice((0, 0, 1, 1, 4))):
        at = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0:
                del data[at:]
            case 1:
                data[at:at] = random.randbytes(random.randrange(9))
            case 2:
                data[at : at + 1] = random.randbytes(1)
            case 3:
                data[at:at] = b"\x0a" + b"\xff" * random.randrange(12)
            case _:
                data *= 2
    if random.random() < 0.02:
        data += b"\x0a\x80\x80\xc0\x02" + bytes(OFFERED_MAX)
    return bytes(data[: OFFERED_MAX + 99])


def call(random, served):
    """A few calls of one method."""
    method = random.choice(METHODS)
    path = f"/{method.containing_service.full_name}/{method.name}"
    kinds = {False: "unary", True: "stream"}
    name = f"{kinds[method.client_streaming]}_{kinds[method.server_streaming]}"
    stub = getattr(served.channel, name)(path)
    for _ in range(random.randrange(1, 6)):
        requests = [
            broken(random, message(random, method.input_type).SerializeToString())
            for _ in range(random.randrange(4) if method.client_streaming else 1)
        ]
        sent = iter(requests) if method.client_streaming else requests[0]
        read_max = random.randrange(20)
        try:
            answer = stub(sent, timeout=CALL_SECONDS)
            if method.server_streaming:
                for number, _ in enumerate(answer):
                    if number >= read_max:
                        answer.cancel()
        except grpc.RpcError as error:
            require_typed(error)


# --- the same over HTTP --------------------------------------------------------------

TYPES = (
    *("application/json", "application/proto"),
    *("application/connect+json", "application/connect+proto"),
)
WITHOUT_REASON = frozenset(
    {
        *("deadline_exceeded", "permission_denied", "resource_exhausted"),
        *("invalid_argument", "unimplemented"),
    }
)
"""Codes that a refusal may have without a reason: what is no call, and what gRPC
itself would say."""

ENVELOPE_BYTES = 5


def body(random, method, content_type):
    """A request of a method, in some form or other; or what is left of it."""
    made = message(random, method.input_type)
    if "json" in content_type:
        with suppress(ValueError):  # an enum without a name
            text = json_format.MessageToJson(made, preserving_proto_field_name=True)
            data = text.encode()
            if random.random() < 0.5:
                data = broken(random, data)
            return in_envelope(random, data, content_type)
    return in_envelope(random, broken(random, made.SerializeToString()), content_type)


def in_envelope(random, data, content_type):
    """The bytes as a stream's request has them, whose envelope may lie."""
    if "connect+" not in content_type or random.random() < 0.05:
        return data
    flags = random.choice((0, 0, 0, 0, 0, 1, 2, 255))
    length = random.choice((len(data),) * 6 + (0, len(data) + 1, 2**32 - 1))
    return bytes((flags,)) + length.to_bytes(4, "big") + data


def call_over_http(random, served):
    """A few calls of one method on one connection."""
    method = random.choice(METHODS)
    path = f"/{method.containing_service.full_name}/{method.name}"
    fitting = TYPES[2:] if method.server_streaming else TYPES[:2]
    host, _, port = served.ready["http"].rpartition(":")
    with closing(HTTPConnection(host, int(port), timeout=HEALTH_SECONDS)) as connection:
        for _ in range(random.randrange(1, 6)):
            content_type = random.choice((*fitting * 4, *TYPES, "text/plain", ""))
            headers = {"Connect-Timeout-Ms": "300", "Content-Type": content_type}
            if random.random() < 0.3:
                headers |= random.choice(ODD_HEADERS)
            verb = random.choice(("POST",) * 12 + ("GET", "OPTIONS", "PUT", "HEAD"))
            data = body(random, method, content_type)
            try:
                connection.request(verb, path, data, headers)
                answer = connection.getresponse()
                require_told(answer, verb, answer.read())
            except (OSError, HTTPException):
                connection.close()  # what it sent was refused half-way


ODD_HEADERS = (
    {"Connect-Timeout-Ms": "soon"},
    {"Connect-Timeout-Ms": "0"},
    {"Connect-Timeout-Ms": "9999999999", "Connect-Protocol-Version": "9"},
    {"Content-Encoding": "gzip"},
    {"Connect-Content-Encoding": "br"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost:1"},
    {"Host": "evil.example"},
    {"Authorization": "Bearer x"},
    {"Expect": "100-continue"},
    {"Accept-Encoding": "gzip"},
    {"Content-Type": "application/json; charset=utf-16"},
)


def require_told(answer, verb, data):
    """Raise unless an answer is whole, and a refusal says why in the form of one."""
    content_type = answer.getheader("Content-Type", "").partition(";")[0]
    if verb == "HEAD" or answer.status == 204:
        return
    if content_type in TYPES[2:]:
        flags = 0
        while flags != 2:
            flags, size = data[0], int.from_bytes(data[1:ENVELOPE_BYTES], "big")
            end, data = data[ENVELOPE_BYTES:][:size], data[ENVELOPE_BYTES + size :]
        if data:
            raise LawBroken(f"after the end of a stream: {data[:99]}")
        error = json.loads(end).get("error")
    elif answer.status == 200:
        error = None
    else:
        error = json.loads(data)
    if error is not None:
        require_reason(error)


def require_reason(error):
    """Raise unless an error in JSON has a reason of the table, or needs none."""
    reasons = {detail["debug"]["reason"] for detail in error.get("details", ())}
    if not reasons <= REASONS - {"INTERNAL"}:
        raise LawBroken(f"a refusal over HTTP: {error}")
    if not reasons and error["code"] not in WITHOUT_REASON:
        raise LawBroken(f"a refusal over HTTP without a reason: {error}")


# --- raw bytes -----------------------------------------------------------------------


def frame(random, kind, flags, stream, payload):
    """A frame of HTTP/2, whose length may lie."""
    length = len(payload)
    if random.random() < 0.1:
        length = random.choice((0, length + 1, 2**24 - 1))
    return (
        length.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    ) + payload


def ascii_bytes(random, size):
    """Noise in which no string is anything but ASCII."""
    return bytes(random.randrange(128) for _ in range(size))


def header_block(random):
    """Headers of a call, each written out; or noise."""
    if random.random() < 0.3:
        return ascii_bytes(random, random.randrange(60))
    method = random.choice(METHODS)
    headers = [
        (b":method", random.choice((b"POST", b"POST", b"GET", b""))),
        (b":scheme", b"http"),
        (b":path", f"/{method.containing_service.full_name}/{method.name}".encode()),
        (b":authority", random.choice((b"localhost", b"", b"x" * 100))),
        (b"content-type", random.choice((b"application/grpc", b"text/plain", b""))),
        (b"te", b"trailers"),
        (b"grpc-timeout", random.choice((b"1S", b"0n", b"-1S", b"99999999H", b"x"))),
        (b"grpc-encoding", random.choice((b"identity", b"gzip", b"none"))),
        (ascii_bytes(random, 4).lower(), ascii_bytes(random, random.randrange(99))),
    ]
    if random.random() < 0.3:
        random.shuffle(headers)
    headers = headers[: random.choice((9, 9, 9, 6, 3))]
    return b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(text)]) + text
        for name, text in headers
    )


def frames(random, served):
    """A connection to the port of the API, from its preface on."""
    parts = [
        random.choice((PREFACE, PREFACE, PREFACE, PREFACE[:9], b"GET / HTTP/1.1\r\n"))
    ]
    parts.append(frame(random, 4, 0, 0, b""))
    for _ in range(random.randrange(1, 30)):
        stream = random.choice((0, 1, 1, 3, 5, 2, 2**31 - 1))
        kind = random.choice((0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255))
        if kind in (1, 5, 9):
            flags = random.choice((4, 5, 0, 12))
            payload = header_block(random)
        else:
            flags = random.choice((0, 1, random.randrange(256)))
            size = random.choice((0, 4, 6, 8, 8, random.randrange(200)))
            payload = random.choice((random.randbytes(size), b"\0\0\0\0\0"))
        parts.append(frame(random, kind, flags, stream, payload))
    talk(random, served.ready["grpc"], b"".join(parts))


def requests(random, served):
    """A connection to the HTTP port."""
    line = random.choice(
        (
            *(b"GET /metrics HTTP/1.1", b"GET /healthz HTTP/1.1", b"HEAD / HTTP/1.0"),
            *(b"POST /metrics HTTP/1.1", b"GET http://a/b HTTP/1.1", b"GET / HTTP/9.9"),
            b"POST /cowboy.devnet.v1.QueryService/GetStatus HTTP/1.1",
            b"POST /cowboy.devnet.v1.StreamService/StreamBlocks HTTP/1.1",
            *(b"", b"GET", b"\0\xff", b"GET /" + b"a" * 99_999 + b" HTTP/1.1"),
            random.randbytes(random.randrange(200)),
        )
    )
    headers = random.choices(
        (
            *(b"Host: 127.0.0.1", b"Host: elsewhere", b"Host:", b"Connection: close"),
            *(b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 9" * 9),
            *(b"Transfer-Encoding: chunked", b"Expect: 100-continue", b"Upgrade: h2c"),
            *(b"Content-Type: application/json", b"Origin: null", b"Host: localhost"),
            *(b"Content-Type: application/connect+proto", b"Connect-Timeout-Ms: 9"),
            *(b"X: " + b"y" * 20_000, b": no name", b"\xff\0: z", b" folded"),
            random.randbytes(random.randrange(99)),
        ),
        k=random.choice((0, 1, 3, 200)),
    )
    data = b"\r\n".join((line, *headers, b"", b""))
    data += random.choice((b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"zz\r\n"))
    talk(random, served.ready["http"], data * random.choice((1, 1, 1, 3)))


def talk(random, place, data):
    """Send in pieces, read some of what comes, and go."""
    host, _, port = place.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), 5) as end:
        end.settimeout(0.2)
        at = 0
        stop = len(data) if random.random() < 0.8 else random.randrange(len(data) + 1)
        while at < stop:
            size = random.choice((1, 9, 100, 70_000))
            end.sendall(data[at : min(stop, at + size)])
            at += size
        for _ in range(random.randrange(3)):
            if not end.recv(65_536):
                break


# --- the command line ----------------------------------------------------------------


def commands(command, words=()):
    """Every command that ends by itself, as (words, what it takes)."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if name not in UNBOUNDED and (*words, name) != ("bundle", "check"):
            yield from commands(command.get_command(context, name), (*words, name))


def typed(random, served):
    """A command with words that it may or may not take, in a folder of its own."""
    words, command = random.choice(list(commands(command_line)))
    flags = [
        flag
        for option in command.params
        for flag in (*option.opts, *option.secondary_opts)
        if flag.startswith("-") and flag not in UNBOUNDED
    ]
    texts = [text for text in TEXTS if "\0" not in text and len(text) < 999]
    texts += [
        "0x" + random.randbytes(random.choice((20, 32, 3))).hex(),
        "@file",
        "file",
    ]
    texts += [str(random.choice(INTEGERS)), "json:{", "0xz", "\udcff", "1s", "name"]
    given = [
        random.choice((*flags, *texts, *texts)) for _ in range(random.randrange(6))
    ]
    runner = CliRunner(env={"COWBOY_DEVNET_URL": served.ready["grpc"]})
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("file").write_bytes(random.randbytes(random.randrange(200)))
        line = [*words, *given]
        if "--timeout" in flags:
            line += ["--timeout", "2"]
        done = runner.invoke(command_line, line, prog_name="cowboy-devnet")
    if done.exit_code not in (0, 1, 2) or not isinstance(
        done.exception, SystemExit | None
    ):
        raise LawBroken(f"{line}: exit code {done.exit_code}: {done.output}") from (
            done.exception
        )


# --- for a time ----------------------------------------------------------------------

ROUNDS = (call, call, call, call_over_http, call_over_http, frames, requests, typed)


def attack(seed, served):
    """What the seed chooses, and the judge afterwards."""
    random = Random(seed)
    random.choice(ROUNDS)(random, served)
    served.judge()


def run(seed, seconds):
    """Rounds until the time is over, at least one; 1 if a law was broken, else 0."""
    ends, tried = time.monotonic() + seconds, 0
    with node() as served:
        while not tried or time.monotonic() < ends:
            try:
                attack(seed + tried, served)
            except Exception:  # noqa: BLE001 - whatever a law lets through
                traceback.print_exc()
                number = seed + tried
                sys.stderr.write(
                    f"repeat it: make fuzz-server SEED={number} SECONDS=0\n"
                )
                sys.stderr.write(
                    f"or all: make fuzz-server SEED={seed} SECONDS={seconds:g}\n"
                )
                return 1
            tried += 1
    sys.stdout.write(f"seeds {seed} to {seed + tried - 1}: the node withstood all\n")
    return 0


def main():
    """Exit code: 0 every law held, 1 one did not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=None, help="random if not given")
    arguments = parser.parse_args()
    seed = arguments.seed
    if seed is None:
        seed = int.from_bytes(os.urandom(5), "big")
    return run(seed, arguments.seconds)


if __name__ == "__main__":
    sys.exit(main())
