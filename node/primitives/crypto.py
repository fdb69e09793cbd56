"""Hashes, secp256k1 signatures and the addresses derived from them.

keccak256 serves where a source prints it: addresses, ids, what is signed. All trees
and roots use blake2b-256, which costs a tenth of it from Python (D38).

Rules: a signature has one form only. Of the two values of `s` that verify, the low
one is accepted; `v` is 0 or 1, never 27 (D5). So nobody can alter a transaction's id
without the key.
"""

from hashlib import blake2b
from typing import Final

from coincurve import PrivateKey, PublicKey

from node.primitives.types import Address, Hash32
from pvm.hashing import keccak256

__all__ = [
    "SIGNATURE_BYTES",
    "BadSignature",
    "blake2b256",
    "derive_actor_address",
    "dev_private_key",
    "keccak256",
    "public_key_address",
    "recover",
    "sign",
]

SIGNATURE_BYTES = 65
"""r ‖ s ‖ v."""

HASH_BYTES = 32
PRIVATE_KEY_BYTES = 32
SALT_BYTES = 32
ADDRESS_BYTES = 20

_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
_ORDER_BYTES = _ORDER.to_bytes(32, "big")
_HALF_ORDER_BYTES = (_ORDER // 2).to_bytes(32, "big")
_ZERO_SCALAR = bytes(32)
_RECOVERY_ID_MAX = 1

_BLAKE2B_32: Final = blake2b(digest_size=HASH_BYTES)
"""Of nothing: to copy it takes two thirds of naming its parameters again."""


class BadSignature(Exception):  # noqa: N818 - a kind of refusal, not of error
    """Not a signature of D5's one form, or not of any key; the text says why."""


def blake2b256(data: bytes) -> Hash32:
    """BLAKE2b with a 32-byte digest: the hash of every tree and root (D38)."""
    hasher = _BLAKE2B_32.copy()
    hasher.update(data)
    return Hash32(hasher.digest())


def sign(message_hash: bytes, private_key: bytes) -> bytes:
    """Sign 32 bytes: r ‖ s ‖ v, low s, v 0 or 1, the same each time (RFC 6979).

    Raises:
        ValueError: `message_hash` or `private_key` is not 32 bytes, or the key is
            zero or not below the order of the curve.
    """
    signature = _key_of(private_key).sign_recoverable(message_hash, hasher=None)
    assert signature[64] <= _RECOVERY_ID_MAX, "r above the order: 1 in 2¹²⁷"
    return signature


def recover(message_hash: bytes, signature: bytes) -> Address:
    """The address whose key signed `message_hash` (D5).

    Any other 32 bytes recover to some other address: what was signed must name all
    that matters.

    Raises:
        BadSignature: Wrong length, v not 0 or 1, s not low, r or s zero or not below
            the order, or no such point on the curve.
    """
    assert len(message_hash) == HASH_BYTES, "callers pass a digest"
    if len(signature) != SIGNATURE_BYTES:
        raise BadSignature(
            f"a signature has {SIGNATURE_BYTES} bytes (r ‖ s ‖ v), not {len(signature)}"
        )
    if signature[64] > _RECOVERY_ID_MAX:
        raise BadSignature(f"v is 0 or 1, not {signature[64]}")
    r, s = signature[:32], signature[32:64]
    if not _ZERO_SCALAR < r < _ORDER_BYTES:
        raise BadSignature("r is zero or not below the order of the curve")
    if not _ZERO_SCALAR < s <= _HALF_ORDER_BYTES:
        raise BadSignature("s is zero or in the upper half of the order: use the low s")
    try:
        public_key = PublicKey.from_signature_and_message(
            signature, message_hash, hasher=None
        )
    except ValueError as error:
        raise BadSignature("no public key has this signature") from error
    return _address_of(public_key)


def public_key_address(private_key: bytes) -> Address:
    """The address of a private key: keccak256(public key)[12:] (D5).

    Raises:
        ValueError: The key is not 32 bytes, zero, or not below the order.
    """
    return _address_of(_key_of(private_key).public_key)


def _key_of(private_key: bytes) -> PrivateKey:
    # The library would pad a shorter key: a truncated one must not sign as another.
    if len(private_key) != PRIVATE_KEY_BYTES:
        raise ValueError(
            f"a private key has {PRIVATE_KEY_BYTES} bytes, not {len(private_key)}"
        )
    return PrivateKey(private_key)


def _address_of(public_key: PublicKey) -> Address:
    # The first byte (0x04, "uncompressed") is a tag of the format, not of the key.
    return Address(keccak256(public_key.format(compressed=False)[1:])[12:])


def derive_actor_address(deployer: Address, salt: bytes, code_hash: bytes) -> Address:
    """keccak256(0xff ‖ deployer ‖ salt32 ‖ keccak256(code))[12:] (D9)."""
    assert len(deployer) == ADDRESS_BYTES
    assert len(salt) == SALT_BYTES
    assert len(code_hash) == HASH_BYTES
    return Address(keccak256(b"\xff" + deployer + salt + code_hash)[12:])


def dev_private_key(index: int) -> bytes:
    """Private key of account `index` of genesis `devnet` (D42): known to everybody."""
    assert index >= 0
    return keccak256(b"cowboy-devnet %d" % index)
