"""The page reads what actors store as the node does: two readers, one truth."""

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.primitives import codec
from node.query.trace.text import value_text

pytestmark = pytest.mark.browser

READ = """async (texts) => {
  const shell = document.querySelector("script[type=module]").src;
  const {storedText} = await import(new URL("lib/values.js", shell).href);
  return texts.map(storedText);
}"""
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
KEYS = PLAIN | st.binary(max_size=8) | st.integers(-(2**59), 2**59)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
PAIRS = st.tuples(KEYS, VALUES, KEYS, VALUES)
MAPS = PAIRS.map(lambda four: b"\xa2" + b"".join(map(codec.encode, four)))
"""Of two keys in either order, or of the same one twice: half of them are none."""
BYTES = VALUES.map(codec.encode) | MAPS | st.binary(min_size=1, max_size=12)
SHORT = 100
"""Letters of a text that neither of both cuts."""


@pytest.fixture(scope="module")
def read(worlds, new_tab):
    """How the page writes bytes that an actor stored."""
    tab = new_tab(worlds("fifo").origin)

    def read_all(stored: list[bytes]) -> list[str]:
        texts = [base64.b64encode(data).decode() for data in stored]
        return tab.page.evaluate(READ, texts)

    yield read_all
    tab.close()


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(stored=st.lists(BYTES, min_size=100, max_size=150))
def test_what_an_actor_stored_reads_alike_on_the_page_and_in_a_trace(read, stored):
    """Values of every kind, and bytes that are the canonical form of none."""
    theirs = read(stored)
    ours = [value_text(data, is_cbor=True) for data in stored]
    for mine, other in zip(ours, theirs, strict=True):
        if len(mine) < SHORT and mine.isascii():
            assert other == mine
