"""keccak256, as Ethereum and the CIPs use it (D5): before NIST changed the padding.

One place, so that the virtual machine and the chain cannot come to use two. The
hash lives in safe-pysha3, a C module without more around it: a call costs about a
microsecond. `hashlib.sha3_256` is a different function.
"""

from sha3 import keccak_256


def keccak256(data: bytes) -> bytes:
    """The 32-byte keccak-256 digest of `data`."""
    digest: bytes = keccak_256(data).digest()
    return digest
