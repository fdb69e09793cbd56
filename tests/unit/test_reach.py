"""Nothing of the machine is in an actor's reach (sandbox-internals.md §3).

A walk that can find nothing holds nothing: leaks are planted, which it must find.
"""

from functools import partial
from types import MappingProxyType

import pytest

from pvm.driver import library_loader
from pvm.modules.hashlib import Hash
from pvm.runtime import initializers, strings
from pvm.runtime.execution import PricedMethod
from pvm.runtime.freezing import SealedFunction
from pvm.runtime.storage import StorageView
from tests import reach


def test_what_actors_hold_is_on_the_list_and_the_list_is_what_they_hold():
    """A new kind needs a line and a reason; one that is gone needs no line."""
    walks = [reach.roots(), reach.forms(), reach.table()]
    assert [walk.leaks for walk in walks] == [{}, {}, {}]
    assert set().union(*(walk.kinds for walk in walks)) == reach.GIVEN.keys()


@pytest.mark.slow
def test_no_expression_of_any_program_gives_anything_else():
    walk = reach.corpus()
    assert walk.leaks == {}
    assert len(walk.found) > 400


def test_a_function_of_a_library_that_shows_what_it_seals_is_found(monkeypatch):
    monkeypatch.delattr(SealedFunction, "func")
    leaks = reach.roots().leaks
    assert leaks["a function of a library, unsealed"].endswith(".func")


def test_a_module_among_the_members_of_one_is_found(monkeypatch):
    native = dict(library_loader.NATIVE)
    make = native["math"]
    native["math"] = lambda context: {**make(context), "numbers": pytest}
    monkeypatch.setattr(library_loader, "NATIVE", MappingProxyType(native))
    assert reach.roots().leaks == {"builtins.module": "math.numbers"}


def test_a_priced_method_that_shows_its_machine_is_found(monkeypatch):
    shown = property(lambda self: self._vm)
    monkeypatch.setattr(PricedMethod, "vm", shown, raising=False)
    source = reach.FIXTURE + "def run():\n    return str([].append)\n"
    assert reach.expressions_of(source).leaks.keys() == {
        "pvm.runtime.execution.VmExecution"
    }
    assert "pvm.runtime.execution.VmExecution" in reach.table(1).leaks


def test_a_hash_that_shows_its_meter_is_found(monkeypatch):
    shown = property(lambda self: self._meter)
    monkeypatch.setattr(Hash, "meter", shown, raising=False)
    source = "import hashlib\ndef run():\n    return hashlib.sha256().digest()\n"
    assert reach.expressions_of(source).leaks.keys() == {"pvm.meter.Meter"}
    assert "pvm.meter.Meter" in reach.table(2).leaks


def test_a_view_of_the_storage_that_shows_its_host_is_found(monkeypatch):
    shown = property(lambda self: self._host)
    monkeypatch.setattr(StorageView, "host", shown, raising=False)
    source = (
        "class Own:\n    def run(self):\n        self.storage['a'] = 1\n"
        "        return self.storage['a']\n"
    )
    kind = "pvm.testing.DictionaryHost"
    assert reach.expressions_of(source).leaks.keys() == {kind}
    assert kind in reach.table(1).leaks


def test_a_partial_for_a_method_of_the_class_above_is_found(monkeypatch):
    """It was handed out once: its arguments were the machine and the object."""

    def bare(vm, method):
        return partial(method.__func__.__func__, vm, method.__self__)

    monkeypatch.setattr(strings, "PricedMethod", bare)
    (above,) = reach.form_sources("Base")
    leaks = reach.expressions_of(above).leaks
    assert leaks.keys() == {"functools.partial"}
    assert "super" in leaks["functools.partial"]


def test_an_initializer_of_the_interpreter_is_found(monkeypatch):
    monkeypatch.setattr(initializers, "Initializer", lambda method: method)
    (above,) = reach.form_sources("KeyError")
    assert reach.expressions_of(above).leaks.keys() == {"builtins.method-wrapper"}
