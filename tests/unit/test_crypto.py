"""Signatures have one form; addresses follow from keys (D5, D9, D42)."""

import pytest

from node.primitives import crypto
from node.primitives.crypto import BadSignature
from node.primitives.types import Address

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
HASH = bytes(range(32))
KEY = (7).to_bytes(32, "big")


def replaced(signature: bytes, *, r=None, s=None, v=None) -> bytes:
    r = signature[:32] if r is None else r.to_bytes(32, "big")
    s = signature[32:64] if s is None else s.to_bytes(32, "big")
    return r + s + (signature[64:] if v is None else bytes([v]))


def test_blake2b256_is_the_published_function():
    assert crypto.blake2b256(b"").hex() == (
        "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"
    )


@pytest.mark.parametrize(
    ("number", "address"),
    [
        (1, "7e5f4552091a69125d5dfcb7b8c2659029395bdf"),
        (2, "2b5ad5c4795c026514f8317c7a215e218dccd6cf"),
    ],
)
def test_an_address_is_the_last_20_bytes_of_the_public_keys_keccak(number, address):
    """D5; Ethereum's well-known addresses of the keys 1 and 2."""
    private_key = number.to_bytes(32, "big")
    assert crypto.public_key_address(private_key).hex() == address


def test_a_signature_is_deterministic_and_has_the_form_of_other_libraries():
    """The example of EIP-155 (RFC 6979 nonce, low s), recovery id 0."""
    message_hash = bytes.fromhex(
        "daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53"
    )
    signature = crypto.sign(message_hash, b"\x46" * 32)
    assert signature.hex() == (
        "28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276"
        "67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
        "00"
    )
    assert crypto.recover(message_hash, signature).hex() == (
        "9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f"
    )


def test_the_signer_is_recovered_and_both_values_of_v_occur():
    seen = set()
    for number in range(1, 30):
        private_key = number.to_bytes(32, "big")
        signature = crypto.sign(HASH, private_key)
        seen.add(signature[64])
        assert len(signature) == crypto.SIGNATURE_BYTES
        assert int.from_bytes(signature[32:64], "big") <= ORDER // 2
        address = crypto.public_key_address(private_key)
        assert crypto.recover(HASH, signature) == address
    assert seen == {0, 1}


@pytest.mark.parametrize("length", [0, 64, 66, 130])
def test_a_signature_of_another_length_is_refused(length):
    signature = (crypto.sign(HASH, KEY) * 2)[:length]
    with pytest.raises(BadSignature, match=f"65 bytes .* not {length}"):
        crypto.recover(HASH, signature)


@pytest.mark.parametrize("v", [2, 3, 27, 28, 255])
def test_v_is_0_or_1(v):
    with pytest.raises(BadSignature, match=f"v is 0 or 1, not {v}"):
        crypto.recover(HASH, replaced(crypto.sign(HASH, KEY), v=v))


def test_the_high_s_of_the_same_signature_is_refused():
    """Low s only (D5): the other value would give the same signer another id."""
    signature = crypto.sign(HASH, KEY)
    s = int.from_bytes(signature[32:64], "big")
    twin = replaced(signature, s=ORDER - s, v=1 - signature[64])
    with pytest.raises(BadSignature, match="low s"):
        crypto.recover(HASH, twin)


@pytest.mark.parametrize("s", [0, ORDER // 2 + 1, ORDER, 2**256 - 1])
def test_s_is_positive_and_in_the_lower_half(s):
    with pytest.raises(BadSignature, match="s is zero or in the upper half"):
        crypto.recover(HASH, replaced(crypto.sign(HASH, KEY), s=s))


def test_the_largest_low_s_is_not_refused_for_its_size():
    signature = replaced(crypto.sign(HASH, KEY), s=ORDER // 2)
    assert len(crypto.recover(HASH, signature)) == 20  # of somebody


@pytest.mark.parametrize("r", [0, ORDER, 2**256 - 1])
def test_r_is_positive_and_below_the_order(r):
    with pytest.raises(BadSignature, match="r is zero or not below"):
        crypto.recover(HASH, replaced(crypto.sign(HASH, KEY), r=r))


def test_an_r_that_is_no_point_of_the_curve_is_refused():
    # x = 5 has no y on y² = x³ + 7 modulo p.
    with pytest.raises(BadSignature, match="no public key"):
        crypto.recover(HASH, replaced(crypto.sign(HASH, KEY), r=5))


@pytest.mark.parametrize(
    "private_key",
    [b"", b"\1" * 31, b"\1" * 33, bytes(32), ORDER.to_bytes(32, "big")],
)
def test_what_is_no_private_key_is_a_value_error(private_key):
    with pytest.raises(ValueError, match=r".+"):
        crypto.sign(HASH, private_key)
    with pytest.raises(ValueError, match=r".+"):
        crypto.public_key_address(private_key)


def test_only_32_bytes_are_signed():
    with pytest.raises(ValueError, match="32 bytes"):
        crypto.sign(b"short", KEY)


def test_an_actors_address_is_that_of_create2():
    """D9 has the form of EIP-1014; its second example."""
    deployer = Address(bytes.fromhex("deadbeef") + bytes(16))
    code_hash = crypto.keccak256(b"\x00")
    assert crypto.derive_actor_address(deployer, bytes(32), code_hash).hex() == (
        "b928f69bb1d91cd65274e3c79d8986362984fda3"
    )


def test_development_keys_are_the_hash_of_their_number_in_decimal():
    """D42: private keys keccak256("cowboy-devnet " ‖ decimal i)."""
    assert crypto.dev_private_key(0) == crypto.keccak256(b"cowboy-devnet 0")
    assert crypto.dev_private_key(10) == crypto.keccak256(b"cowboy-devnet 10")
