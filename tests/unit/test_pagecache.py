"""A page cache offers pages of the root it is asked for, and of no other."""

from node.primitives.merkle import EMPTY_ROOT
from node.primitives.tree_pages import InnerPage, encode_bucket
from node.primitives.types import Hash32
from node.state.pagecache import PageCache, TreeCaches

ROOT, NEXT, OTHER = (Hash32(bytes([letter]) * 32) for letter in b"rno")
INNER = InnerPage(0, "", 99, [b"h" * 32] * 16).encode()
INNER_NEW = InnerPage(0, "", 98, [b"n" * 32] * 16).encode()
BUCKET = encode_bucket([(b"k", b"l" * 32)])


def cache_at(root: Hash32, *paths: str, pages_max: int = 100) -> PageCache:
    cache = PageCache(pages_max)
    cache.move_to(root)
    for path in paths:
        cache.add(path, INNER)
    return cache


def test_it_remembers_while_the_root_stays():
    cache = cache_at(ROOT, "1")
    cache.move_to(ROOT)
    assert cache.get("1") == INNER
    assert cache.get("2") is None


def test_another_root_makes_it_forget():
    cache = cache_at(ROOT, "1")
    cache.move_to(OTHER)
    assert cache.get("1") is None
    cache.move_to(ROOT)
    assert cache.get("1") is None


def test_an_announced_root_keeps_what_its_update_left():
    cache = cache_at(ROOT, "1", "2", "3", "4")
    cache.announce(NEXT, {"1": INNER_NEW, "2": None, "3": BUCKET, "5": BUCKET})
    assert cache.get("1") == INNER  # the update may yet be thrown away
    cache.move_to(NEXT)
    assert [cache.get(path) for path in "12345"] == [INNER_NEW, None, None, INNER, None]


def test_an_announcement_that_did_not_come_true_is_forgotten():
    cache = cache_at(ROOT, "1")
    cache.announce(NEXT, {"1": INNER_NEW})
    cache.move_to(ROOT)
    assert cache.get("1") == INNER
    cache.move_to(OTHER)
    cache.move_to(NEXT)
    assert cache.get("1") is None


def test_an_announcement_counts_once():
    cache = cache_at(ROOT, "1")
    cache.announce(NEXT, {"1": INNER_NEW})
    cache.move_to(NEXT)
    cache.move_to(OTHER)
    cache.move_to(NEXT)
    assert cache.get("1") is None


def test_it_holds_two_generations_and_keeps_what_is_used():
    cache = cache_at(ROOT, pages_max=10)
    cache.add("used", INNER)
    for number in range(1000):
        cache.add(str(number), INNER)
        assert cache.get("used") == INNER
        assert cache.get(str(number)) == INNER
    assert sum(cache.get(str(number)) is not None for number in range(1000)) <= 20


def test_pages_that_vanish_vanish_from_both_generations():
    cache = cache_at(ROOT, "1", pages_max=1)
    cache.add("2", INNER)  # "1" is of the older generation now
    cache.announce(NEXT, {"1": None, "2": None})
    cache.move_to(NEXT)
    assert cache.get("1") is None
    assert cache.get("2") is None


def test_clearing_forgets_both_trees():
    caches = TreeCaches(pages_max=10)
    for cache in (caches.state, caches.calendar):
        cache.move_to(ROOT)
        cache.add("1", INNER)
        cache.announce(NEXT, {"1": INNER})
    caches.clear()
    for cache in (caches.state, caches.calendar):
        for root in (EMPTY_ROOT, ROOT, NEXT):
            cache.move_to(root)
            assert cache.get("1") is None
