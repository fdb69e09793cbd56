"""A client and its connection: parallel senders, lost answers, streams that resume."""

from concurrent import futures
from itertools import islice

import grpc
import pytest

from node.chain.transaction import Transfer
from node.client import Client, EventFilter, NodeUnreachable, OutcomeUnknown, UnknownId
from node.rpc.v1 import queries_pb2, queries_pb2_grpc, types_pb2

BOB = bytes(19) + b"\x07"
SENT, EACH = 8, 5


def test_parallel_senders_share_a_client_and_a_key(client, node_process):
    """Each transaction has a nonce of its own, also where two clients race."""
    alice = client.accounts[0]
    with (
        node_process.client() as other,
        futures.ThreadPoolExecutor(SENT) as threads,
    ):

        def send(number):
            using = client if number % 2 else other
            for _ in range(EACH):
                assert using.transfer(BOB, 1, sender=alice).is_success

        list(threads.map(send, range(SENT)))
    assert client.nonce(alice) == SENT * EACH
    assert client.balance(BOB) == SENT * EACH


@pytest.fixture
def manual(client):
    client.api.set_mining(queries_pb2.MINING_MODE_MANUAL)
    yield client
    client.api.set_mining(queries_pb2.MINING_MODE_INSTANT)


def test_whoever_lost_the_answer_learns_the_outcome_by_id(manual):
    with pytest.raises(OutcomeUnknown) as lost:
        manual.execute(Transfer(BOB, 5), timeout=0.2)
    transaction_id = lost.value.transaction_id
    assert transaction_id.hex() in str(lost.value)
    assert manual.balance(BOB) == 0
    with pytest.raises(OutcomeUnknown):
        manual.wait_for(transaction_id, timeout=0.2)
    manual.mine()
    assert manual.wait_for(transaction_id).is_success
    assert manual.balance(BOB) == 5, "it is in the chain once"
    with pytest.raises(UnknownId, match=r"^transaction_id: "):
        manual.wait_for(bytes(32))


def test_a_node_that_goes_away_leaves_the_id(manual, monkeypatch):
    def go_away(*_, **__):
        raise NodeUnreachable("127.0.0.1:1", "gone")

    monkeypatch.setattr(manual.api, "submit_and_wait", go_away)
    with pytest.raises(OutcomeUnknown) as lost:
        manual.transfer(BOB, 5)
    manual.mine()
    assert manual.wait_for(lost.value.transaction_id).is_success


@pytest.mark.parametrize("kind", ["stream_blocks", "stream_events", "stream_timers"])
def test_a_stream_goes_on_where_it_was(client, monkeypatch, kind):
    """Without gaps or repeats, however often the connection is lost."""
    source = "import pvm_host\ndef go(payload):\n    n = pvm_host.block_height()\n"
    source += "    pvm_host.emit_event('e', str(n).encode())\n"
    source += "    pvm_host.schedule_timer(n + 1000, b'')\n"
    actor = client.deploy(source, value="5 CBY")
    whole = getattr(client.api, kind)
    opened = []

    def broken(*arguments, **named):
        opened.append(arguments)
        yield next(whole(*arguments, **named))
        raise NodeUnreachable(client.api.url, "lost")

    monkeypatch.setattr(client.api, kind, broken)
    wanted = [EventFilter(topics=("e",))] if kind == "stream_events" else []
    stream = getattr(client, kind)(*wanted)
    with futures.ThreadPoolExecutor(1) as thread:
        first = thread.submit(next, stream)
        while not opened:
            pass
        heights = []
        for _ in range(5):
            actor.call("go")
            heights.append(client.height)
        messages = [first.result(), *islice(stream, 4)]
    stream.close()
    if kind == "stream_blocks":
        assert [m.block.header.height for m in messages] == heights
    elif kind == "stream_events":
        assert [m.event.height for m in messages] == heights
    else:
        assert [m.change.decision.height for m in messages] == heights
    assert len(opened) == 5


class _Flaky(queries_pb2_grpc.QueryServiceServicer):
    """Twice not there, or ended while it answers; then there."""

    def __init__(self, code):
        self.code = code
        self.calls = 0

    def GetStatus(self, request, context):  # noqa: N802, ARG002 - named by gRPC
        self.calls += 1
        if self.calls < 3:
            context.abort(self.code, "not yet")
        return queries_pb2.GetStatusResponse(head=types_pb2.Header(height=9))


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED]
)
def test_reads_are_repeated_while_the_node_is_not_there(code):
    service = _Flaky(code)
    server = grpc.server(futures.ThreadPoolExecutor(1))
    queries_pb2_grpc.add_QueryServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with Client(f"127.0.0.1:{port}", timeout=20) as client:
            assert client.height == 9
    finally:
        server.stop(None).wait()
    assert service.calls == 3
