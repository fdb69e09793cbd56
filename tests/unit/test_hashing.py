"""keccak256 (D5): Ethereum's, not the SHA-3 that NIST made of it."""

import hashlib
import random

from pvm import hashing
from pvm.hashing import keccak256

EMPTY = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
ABC = "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"


def test_keccak256_of_known_inputs():
    assert keccak256(b"").hex() == EMPTY
    assert keccak256(b"abc").hex() == ABC


def test_keccak256_of_inputs_around_the_block_of_136_bytes_differ():
    digests = {keccak256(bytes(n)) for n in range(130, 280)}
    assert len(digests) == 150
    assert {len(digest) for digest in digests} == {32}


def test_keccak256_is_not_sha3():
    assert keccak256(b"abc") != hashlib.sha3_256(b"abc").digest()


def test_both_libraries_give_the_same_bytes(monkeypatch):
    """Which of them is there must not show."""
    source = random.Random(256)
    inputs = [source.randbytes(length) for length in range(600)]
    digests = [keccak256(data) for data in inputs]
    assert [hashing.portable(data) for data in inputs] == digests
    monkeypatch.setattr(hashing, "keccak_256", None)
    assert [keccak256(data) for data in inputs] == digests
