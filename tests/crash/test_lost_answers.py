"""SIGKILL while clients wait for their transactions: each learns its outcome by id."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from node.chain.transaction import Transfer
from node.client import Client, NodeUnreachable, OutcomeUnknown, UnknownId
from tests.crash.processes import running

BOB = bytes(19) + b"\x07"
SENDERS = 4
KILL_AFTER = 40
"""Transfers that are in blocks when the node is killed."""


def restarted(folder, url):
    return running(folder, "--mining", "instant", "--grpc-listen", url)


class Sender(threading.Thread):
    """Sends one transfer after another until the node is gone."""

    def __init__(self, client, number, enough):
        super().__init__()
        self.client, self.enough = client, enough
        self.account = client.accounts[number]
        self.known, self.lost = [], []

    def run(self):
        with suppress(NodeUnreachable):  # what was not sent is nowhere
            while not self.lost:
                self.send()
        self.enough.set()

    def send(self):
        try:
            receipt = self.client.transfer(BOB, 1, sender=self.account)
        except OutcomeUnknown as unknown:
            self.lost.append(unknown.transaction_id)
            return
        self.known.append(receipt.id)
        if len(self.known) >= KILL_AFTER:
            self.enough.set()


@pytest.mark.slow
def test_the_outcome_of_what_was_on_its_way_is_learned_by_its_id(tmp_path):
    """`SubmitAndWait` breaks off; the node comes back, and says what became of each."""
    enough = threading.Event()
    with (
        running(tmp_path, "--mining", "instant") as (process, url),
        Client(url) as client,
    ):
        senders = [Sender(client, number, enough) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        assert enough.wait(60)
        process.kill()
        for sender in senders:
            sender.join(60)
    lost = [one for sender in senders for one in sender.lost]
    assert lost, "somebody waited when the node was killed"
    with restarted(tmp_path, url), Client(url) as client:
        client.api.ready()
        for sender in senders:
            for transaction_id in sender.known:
                assert client.wait_for(transaction_id).is_success
        committed = sum(len(sender.known) for sender in senders)
        committed += sum(is_committed(client, one) for one in lost)
        assert client.balance(BOB) == committed


def is_committed(client, transaction_id):
    """Else the pool alone had it, which promised nothing."""
    with suppress(UnknownId):
        return client.wait_for(transaction_id).is_success
    with pytest.raises(UnknownId, match=r"^transaction_id: "):
        client.wait_for(transaction_id)
    return False


@pytest.mark.slow
def test_what_waited_when_the_node_was_killed_is_said_to_be_unknown(tmp_path):
    """It was in the pool alone; the same bytes are admitted again, once."""
    with (
        running(tmp_path, "--mining", "manual") as (process, url),
        Client(url) as client,
        ThreadPoolExecutor(1) as thread,
    ):
        submitted = client.submit(Transfer(BOB, 5))
        raw = client.api.transaction(submitted).pending.raw
        waiting = thread.submit(client.wait_for, submitted)
        while not waiting.running():
            os.sched_yield()
        process.kill()
        with pytest.raises(OutcomeUnknown, match=submitted.hex()) as lost:
            waiting.result(60)
        assert lost.value.transaction_id == submitted
    with restarted(tmp_path, url), Client(url) as client:
        client.api.ready()
        answer = client.api.submit_and_wait(raw)
        assert answer.WhichOneof("outcome") == "committed"
        assert client.api.submit_and_wait(raw) == answer, "the same, and once"
        assert client.wait_for(submitted).is_success
        assert client.balance(BOB) == 5
