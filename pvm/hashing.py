"""keccak256, as Ethereum and the CIPs use it (D5): before NIST changed the padding.

One place, so that the virtual machine and the chain cannot come to use two. The
hash lives in pycryptodome; `hashlib.sha3_256` is a different function.
"""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """The 32-byte keccak-256 digest of `data`."""
    digest: bytes = keccak.new(digest_bits=256, data=data).digest()
    return digest
