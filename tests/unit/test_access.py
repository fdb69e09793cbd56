"""Token and certificate files: what is taken, and the sentence for what is not."""

from pathlib import Path

import pytest
import trustme

from node.config import ConfigError, parse_access
from node.rpc.access import (
    Access,
    AccessError,
    Certificate,
    authorization,
    is_authorized,
    read_authorities,
    read_token,
)

TOKEN = "0123456789abcdef"
WANTED = authorization(TOKEN).encode()


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def pair(tmp_path: Path, authority) -> tuple[Path, Path]:
    """Files of a certificate and its key."""
    issued = authority.issue_cert("127.0.0.1")
    chain, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.private_key_pem.write_to_path(key)
    for number, part in enumerate(issued.cert_chain_pems):
        part.write_to_path(chain, append=number > 0)
    return chain, key


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_token_is_read_without_the_white_space_around_it(tmp_path):
    assert read_token(write(tmp_path / "t", f"\n {TOKEN}\r\n".encode())) == TOKEN


@pytest.mark.parametrize(
    "data",
    [b"", b"short", b"two words of a token", b"t\xc3\xb6ken" * 9, b"t" * 1_025],
)
def test_what_could_be_guessed_or_not_be_sent_is_no_token(tmp_path, data):
    with pytest.raises(AccessError, match="holds no token"):
        read_token(write(tmp_path / "t", data))


def test_a_file_that_is_not_there_or_too_large_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nowhere cannot be read"):
        parse_access(None, None, tmp_path / "nowhere")
    with pytest.raises(AccessError, match="more than 1048576 bytes"):
        read_token(write(tmp_path / "t", b"t" * (1 << 20) + b"t"))


def test_a_certificate_and_its_key_are_taken_together(pair):
    access = parse_access(*pair, None)
    assert access.certificate == Certificate(pair[0].read_bytes(), pair[1].read_bytes())
    for chain, key in ((pair[0], None), (None, pair[1])):
        with pytest.raises(ConfigError, match="give both"):
            parse_access(chain, key, None)


def test_a_certificate_that_cannot_be_served_is_refused(tmp_path, pair, authority):
    chain, key = pair
    foreign = tmp_path / "foreign.pem"
    authority.issue_cert("localhost").private_key_pem.write_to_path(foreign)
    nonsense = write(tmp_path / "nonsense.pem", b"nonsense")
    for wrong in ((chain, foreign), (nonsense, key), (chain, nonsense), (key, chain)):
        with pytest.raises(ConfigError, match="cannot be used"):
            parse_access(*wrong, None)


def test_authorities_are_certificates(tmp_path, authority):
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    assert read_authorities(path) == path.read_bytes()
    with pytest.raises(AccessError, match="no certificate"):
        read_authorities(write(path, b"nonsense"))


def test_secrets_are_in_no_repr():
    """A token is a secret: no log shows it."""
    access = Access(TOKEN, Certificate(b"chain", b"secret key"))
    assert TOKEN not in repr(access)
    assert "secret" not in repr(access)


@pytest.mark.parametrize(
    ("metadata", "is_good"),
    [
        ([("authorization", f"Bearer {TOKEN}")], True),
        ([("other", "1"), ("authorization", f"Bearer {TOKEN}".encode())], True),
        ([("authorization", f"bearer {TOKEN}")], False),
        ([("authorization", TOKEN)], False),
        ([("authorization", f"Bearer {TOKEN}x")], False),
        ([("authorization", "")], False),
        ([("authorization", "x"), ("authorization", f"Bearer {TOKEN}")], False),
        ([], False),
        (None, False),
    ],
)
def test_only_the_token_opens(metadata, is_good):
    assert is_authorized(metadata, WANTED) is is_good
