"""`self.storage` (host-api.md §3)."""

import pytest

from pvm import cbor, costs
from pvm.errors import HostError, HostErrorCode, OutOfCycles, ReadOnlyViolation
from pvm.runtime.storage import STORAGE_PREFIX, StorageView, attach, storage_key
from pvm.runtime.values import to_cbor


@pytest.fixture
def host(make_host):
    return make_host()


def view_of(host):
    view = StorageView()
    attach(view, host, host.meter)
    return view


@pytest.fixture
def storage(host):
    return view_of(host)


def refused(error):
    return (error.value.code, error.value.name) == (17, "StorageError")


@pytest.mark.parametrize("value", [0, -5, 2**200, "x", b"x", True, None, [1, [2]], {}])
def test_what_is_written_is_read(storage, value):
    storage["k"] = value
    assert storage["k"] == value
    assert type(storage["k"]) is type(value)


def test_values_are_canonical_cbor_under_a_prefix_of_their_own(host, storage):
    storage["key"] = {"b": 1, "a": [2]}
    assert host.state == {b"storage:key": cbor.encode({"b": 1, "a": [2]})}
    assert storage_key("key") == STORAGE_PREFIX + b"key" == b"storage:key"


def test_a_missing_key_raises_key_error_with_the_key(storage):
    for read in (storage.__getitem__, storage.pop, storage.__delitem__):
        with pytest.raises(KeyError) as error:
            read("absent")
        assert error.value.args == ("absent",)


def test_get_contains_pop_and_setdefault(host, storage):
    assert storage.get("k") is None
    assert storage.get("k", 5) == 5
    assert "k" not in storage
    assert storage.setdefault("k", [1]) == [1]
    assert storage.setdefault("k", [2]) == [1]
    assert "k" in storage
    assert storage.get("k") == [1]
    assert storage.pop("k") == [1]
    assert storage.pop("k", None) is None
    assert storage.pop("k", default=7) == 7
    assert host.state == {}


def test_none_is_a_value(storage):
    storage["k"] = None
    assert "k" in storage
    assert storage.get("k", 5) is None
    assert storage.setdefault("k", 5) is None
    assert storage.pop("k", 5) is None
    assert "k" not in storage


def test_del_removes(host, storage):
    storage["k"] = 1
    del storage["k"]
    assert host.state == {}


def test_item_assignment_with_an_operator(storage):
    storage["n"] = 1
    storage["n"] += 2
    assert storage["n"] == 3


def test_a_read_gives_a_copy(storage):
    storage["d"] = {"k": 0}
    storage["d"]["k"] = 1
    assert storage["d"] == {"k": 0}


def test_keys_are_a_list_in_ascending_order(host, storage):
    for key in ("b", "a", "é", "ab", ""):
        storage[key] = 1
    host.state[b"other"] = b""
    assert storage.keys() == ["", "a", "ab", "b", "é"]
    assert storage.keys("a") == ["a", "ab"]
    assert storage.keys(prefix="z") == []


def test_keys_are_at_most_1000(host, storage):
    for n in range(1_005):
        host.state[storage_key(f"{n:04}")] = b"\x00"
    assert storage.keys() == [f"{n:04}" for n in range(1_000)]


def test_a_list_of_keys_takes_memory(host, storage):
    storage["k"] = 1
    before = host.meter.memory.cell_contents
    storage.keys()
    assert before - host.meter.memory.cell_contents == 56 + 8 + 56 + 4


@pytest.mark.parametrize("key", [b"k", 1, True, None, ("k",), object()])
def test_keys_are_str(host, storage, key):
    for use in (
        storage.__getitem__,
        storage.__delitem__,
        storage.__contains__,
        storage.get,
        storage.pop,
        storage.setdefault,
        storage.keys,
        lambda key: storage.__setitem__(key, 1),
    ):
        with pytest.raises(HostError, match="key must be str") as error:
            use(key)
        assert refused(error)
    assert host.state == {}


def test_keys_are_at_most_200_bytes_of_utf8(storage):
    for key in ("x" * 200, "é" * 100):
        storage[key] = 1
        assert storage[key] == 1
    for key in ("x" * 201, "é" * 101, "\ud800"):
        with pytest.raises(HostError) as error:
            storage[key] = 1
        assert refused(error)


@pytest.mark.parametrize(
    "value", [1.5, {1}, object(), [object()], {b"k": 1}, 2**4096, "\ud800"]
)
def test_values_that_cannot_be_encoded_are_refused(host, storage, value):
    with pytest.raises(HostError, match="value") as error:
        storage["k"] = value
    assert refused(error)
    with pytest.raises(HostError):
        storage.setdefault("k", value)
    assert host.state == {}


def test_values_are_at_most_64_kib(host, storage):
    storage["k"] = b"x" * (65_536 - 3)  # a head of three bytes
    assert len(host.state[b"storage:k"]) == 65_536
    with pytest.raises(HostError, match="65536") as error:
        storage["k"] = b"y" * (65_536 - 2)
    assert refused(error)
    assert storage["k"][:1] == b"x"


def test_a_value_that_was_written_past_the_view(host, storage):
    host.state[b"storage:k"] = b"\xff"
    for read in (storage.__getitem__, storage.get, storage.pop):
        with pytest.raises(HostError) as error:
            read("k")
        assert refused(error)
    host.state[b"storage:\xff"] = b"\x00"
    with pytest.raises(HostError) as error:
        storage.keys()
    assert refused(error)


def test_reading_and_writing_cost_get_and_set_plus_cbor(make_meter, host, storage):
    value = [1, "abc"]
    encoding = make_meter()
    size = len(to_cbor(value, encoding))
    storage["k"] = value
    assert host.meter.cycles_used == costs.SET_STATE + encoding.cycles_used
    assert host.meter.cells_used == len(b"storage:k") + size
    before = host.meter.cycles_used, host.meter.cells_used
    assert storage["k"] == value
    assert host.meter.cycles_used - before[0] == costs.GET_STATE + encoding.cycles_used
    assert host.meter.cells_used - before[1] == size


def test_a_refused_use_is_charged_like_the_call_it_would_have_become(host, storage):
    for use, base in (
        (lambda: storage[1], costs.GET_STATE),
        (lambda: storage.__setitem__(1, 1), costs.SET_STATE),
        (lambda: storage.__setitem__("x" * 201, 1), costs.SET_STATE),
        (lambda: storage.__setitem__("k", {1}), costs.SET_STATE),
        (lambda: storage.__delitem__(1), costs.DELETE_STATE),
        (lambda: storage.keys(1), costs.SCAN_STATE),
    ):
        before = host.meter.cycles_used
        with pytest.raises(HostError):
            use()
        assert host.meter.cycles_used - before >= base


MUTATING = [
    lambda storage: storage.__setitem__("k", 1),
    lambda storage: storage.__delitem__("k"),
    lambda storage: storage.pop("k"),
    lambda storage: storage.setdefault("k", 1),
]
READING = [
    lambda storage: storage["k"],
    lambda storage: storage.get("k"),
    lambda storage: "k" in storage,
    lambda storage: storage.keys(),
]


@pytest.mark.parametrize("use", MUTATING)
def test_a_read_only_execution_halts_on_what_would_change(make_host, make_meter, use):
    """D15."""
    host = make_host(make_meter(read_only=True))
    host.state[b"storage:k"] = b"\x01"
    with pytest.raises(ReadOnlyViolation):
        use(view_of(host))
    assert host.state == {b"storage:k": b"\x01"}
    assert isinstance(host.meter.halted, ReadOnlyViolation)


@pytest.mark.parametrize("use", READING)
def test_a_read_only_execution_may_read(make_host, make_meter, use):
    host = make_host(make_meter(read_only=True))
    host.state[b"storage:k"] = b"\x01"
    assert use(view_of(host)) in (1, True, ["k"])


@pytest.mark.parametrize("use", MUTATING + READING)
def test_a_halted_execution_reaches_nothing(make_host, make_meter, use):
    host = make_host(make_meter())
    host.state[b"storage:k"] = b"\x01"
    with pytest.raises(OutOfCycles):
        host.meter.charge_cycles(10**9)
    with pytest.raises(OutOfCycles):
        use(view_of(host))
    assert host.state == {b"storage:k": b"\x01"}


def test_nothing_can_be_assigned_to_a_view(storage):
    """sandbox-internals.md §2: everything that executions share is immutable."""
    for name in ("x", "get", "pop", "keys", "setdefault", "private_host"):
        with pytest.raises(AttributeError):
            setattr(storage, name, 1)
        with pytest.raises(AttributeError):
            delattr(storage, name)
    assert not hasattr(storage, "__dict__")


def test_public_names_are_the_documented_ones(storage):
    public = {name for name in dir(storage) if not name.startswith("_")}
    assert public == {"get", "keys", "pop", "setdefault"}


def test_a_view_is_not_iterable(storage):
    with pytest.raises(TypeError):
        iter(storage)
    with pytest.raises(TypeError):
        list(storage)


def test_the_code_is_stable():
    assert HostErrorCode.StorageError == 17
