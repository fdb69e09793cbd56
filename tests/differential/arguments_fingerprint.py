"""Prints what native functions make of every kind of argument, in every place.

Run under every supported interpreter: a line for each function, position and keyword.
What CPython reads differently by its version shows as a line that differs.
"""

import hashlib
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pvm import Worker, language
from pvm.driver import execution_pool, library_loader
from pvm.errors import Halt
from pvm.runtime.classes import CLASS_OF, name_of_class
from pvm.runtime.exceptions import caught
from pvm.runtime.initializers import Initializer, make_error
from pvm.runtime.methods import lookup
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.strings import to_repr
from tests.reach import execution, module_names, refill

SOURCE = """
class Plain:
    pass

class Sized:
    def __len__(self):
        return 1
    def __iter__(self):
        return iter([1])
    def __getitem__(self, key):
        return key
    def __call__(self, *others):
        return 1
    def __contains__(self, item):
        return True

def plain(*others):
    return others

def stepping():
    yield 1

def kinds():
    return [
        None, True, False, 0, 1, -1, 255, 1 << 40, 1 << 62, -(1 << 64), 1 << 300,
        "", "a", "ab cd\\nef", "\\u00e9", "utf-8", "big", "12",
        b"", b"a", b"ab cd\\n", [], [1, 2], ["a"], [b"a"], [[1, 2]], (), (1,), ("a",),
        (b"a", "a"), {}, {"a": 1}, {1: 2}, {1}, frozenset([1]), range(2), {1: 2}.keys(),
        {"a": "b"}.values(), {1: 2}.items(), Plain, Plain(), Sized(), plain, stepping(),
        len, int, ValueError, ValueError("a"), [].append, iter([1]),
    ]

def run():
    pass
"""

RECEIVERS = (
    0, 5, True, 1 << 70, "", "ab cd\nef", "\u00e9", b"", b"ab cd\n", [3, 1], ["a"],
    (1, 2), (), {"a": 1}, {}, OrderedSet(), OrderedSet([3, "a"]), FrozenOrderedSet([3]),
)  # fmt: skip

KEYWORDS = language.words(
    "base byteorder count default encoding end errors fillchar func index items "
    "iterable keepends key length maxsplit mod name name_from obj object path reverse "
    "sep signed start step stop strict suffix table value width"
)


def functions(vm):
    """Name, what gives it, whether it is native: every function that actors reach."""
    yield from _constructors(vm)
    for receiver in RECEIVERS:
        for method in sorted(lookup.TABLES[type(receiver)]):
            yield (
                f"{_told_of(receiver)}.{method}",
                lambda one=receiver, method=method: lookup.find(
                    vm, _fresh(one), method
                ),
                True,
            )
    for (class_, method), helper in lookup.CLASS_METHODS.items():
        yield f"{class_}.{method}", lambda helper=helper: vm.bind(helper), True
    yield from _objects(vm)
    for module in module_names():
        for name, value in sorted(vars(library_loader.module(vm, module)).items()):
            if callable(value):
                is_native = module in library_loader.NATIVE
                yield f"{module}.{name}", lambda value=value: value, is_native


def _objects(vm):
    """Methods of the objects that native modules and the VM itself give."""
    for method in sorted(language.METHODS["storage"]):
        yield f"storage.{method}", lambda one=method: getattr(vm.view, one), True
    for method in ("update", "digest", "hexdigest"):
        for name in ("sha256", "sha3_256"):
            yield f"{name}.{method}", _of_hash(vm, name, method), True
    for method in ("from_hex", "to_hex"):
        yield f"Address.{method}", lambda one=method: getattr(_address(vm), one), True


def _told_of(receiver):
    if isinstance(receiver, OrderedSet):
        return f"{name_of_class(type(receiver))} of {len(receiver)}"
    return f"{receiver!r:.9}"


def _of_hash(vm, name, method):
    return lambda: getattr(
        getattr(library_loader.module(vm, "hashlib"), name)(b""), method
    )


def _address(vm):
    return library_loader.module(vm, "cowboy_sdk.native").Address


def _constructors(vm):
    for name, helper in sorted(execution_pool.PRICED.items()):
        yield name, lambda helper=helper: vm.bind(helper), True
    for name in sorted(language.EXCEPTIONS):
        class_ = CLASS_OF[name]
        made = vm.bind(make_error)

        def error(*arguments, _class=class_, _made=made, **named):
            return _made(_class, *arguments, **named)

        yield f"{name}(…)", lambda error=error: error, True
        yield f"{name}.__init__", lambda one=class_: _initializer(one), True


def _fresh(receiver):
    if isinstance(receiver, OrderedSet):
        return type(receiver)(receiver)
    return receiver.copy() if isinstance(receiver, list | dict) else receiver


def _initializer(class_):
    if class_ is UnicodeDecodeError:
        return Initializer(class_("utf-8", b"a", 0, 1, "").__init__)
    return Initializer(class_("a").__init__)


def _lines_of(vm, kinds, name, make, is_wide):
    """One argument in each place, two of any kinds, three of some, and by keyword."""
    size = range(len(_made(vm, kinds)))
    few = range(0, len(size), 1 if is_wide else 5)
    given = {"none": [()], "one": [(one,) for one in size]}
    given["two"] = [*itertools.product(few, few)]
    some = (0, 1, 3, 4, 12, 19)
    if is_wide:
        given["three"] = [*itertools.product(some, size, some)]
        given["third"] = [*itertools.product(some[2:5], some, size)]
    for label, choices in given.items():
        yield name, label, _digest(vm, kinds, make, choices, None)
    if is_wide:
        for keyword in sorted(KEYWORDS):
            choices = [*given["one"], *itertools.product((4, 12, 19), size[::3])]
            yield name, keyword, _digest(vm, kinds, make, choices, keyword)


def _made(vm, kinds):
    refill(vm)
    return kinds()


def _digest(vm, kinds, make, choices, keyword):
    found = hashlib.sha256()
    for choice in choices:
        told = _told(vm, kinds, make, choice, keyword)
        if "-v" in sys.argv:
            sys.stdout.write(f"    {choice} {keyword} {told}\n")
        found.update(told.encode())
    return found.hexdigest()[:12]


def _told(vm, kinds, make, choice, keyword):
    every = _made(vm, kinds)
    arguments = [every[index] for index in choice]
    named = {keyword: arguments.pop()} if keyword else {}
    refill(vm)
    function = make()
    try:
        return f"{_shown(vm, function(*arguments, **named))} {_used(vm)}"
    except Halt as halt:
        return type(halt).__name__
    except Exception as error:  # noqa: BLE001 - an actor can catch it
        used = _used(vm)
        refill(vm)
        error = caught(vm, error)
        return f"{name_of_class(type(error))} {_shown(vm, error.args)} {used}"


def _used(vm):
    return [cell.cell_contents for cell in (vm.cycles, vm.memory)]


def _shown(vm, value):
    """A value as an actor can print it, whatever was left of the account."""
    used = _used(vm)
    refill(vm)
    vm.cycles.cell_contents = vm.memory.cell_contents = 1 << 28
    try:
        text = f"{name_of_class(type(value))} {to_repr(vm, value)}"
    except Exception as error:  # noqa: BLE001 - too deep, or an actor's
        text = type(error).__name__
    vm.cycles.cell_contents, vm.memory.cell_contents = used
    return text


def main():
    """Every line, or those of the functions whose name begins as the first argument."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with execution(SOURCE) as (vm, names):
        for name, make, is_wide in functions(vm):
            if name.startswith(wanted):
                for line in _lines_of(vm, names["kinds"], name, make, is_wide):
                    sys.stdout.write(ascii(" ".join(line))[1:-1] + "\n")


if __name__ == "__main__":
    Worker().run(main)
