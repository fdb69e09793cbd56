"""What inserted code calls: one literal table of helpers and native names.

Names begin with one underscore, which no actor's can. A helper is bound to the
execution when it is used; a native name is the same object for everybody, and has no
attribute that could be set.
"""

from collections.abc import Mapping

from pvm import (
    comparison,
    constructors,
    containers,
    costs,
    exceptions,
    keys,
    language,
    methods,
    operators,
    permission,
    text,
)
from pvm.classes import CLASS_OF, class_name
from pvm.enums import Enum, Missing, make_members
from pvm.errors import HostMemoryExhausted
from pvm.execution import Execution, Helper
from pvm.libraries import module


def halt(vm: Execution) -> None:
    """A counter fell below zero."""
    vm.meter.halt_by_counters()


def pay(vm: Execution, cycles: int, bytes_: int) -> None:
    """Enter a lambda that is a leaf; returns None, on which `or` goes on."""
    vm.charge(cycles)
    if bytes_:
        vm.allocate(bytes_)


def enter(vm: Execution, cycles: int, bytes_: int) -> object:
    """Enter a lambda that may call: pay, and take one of depth."""
    vm.charge(cycles)
    if bytes_:
        vm.allocate(bytes_)
    return vm.deeper()


def leave(vm: Execution, depth: object, result: object) -> object:
    """Leave a lambda: give the depth back."""
    vm.meter.depth.cell_contents = depth
    return result


def import_module(vm: Execution, name: str) -> object:
    """`import name`; the policy has checked that there is one."""
    is_first = name not in vm.imported
    vm.charge(costs.IMPORT_FIRST if is_first else costs.IMPORT_AGAIN)
    vm.imported.add(name)
    return module(vm, name)


def import_from(vm: Execution, name: str, attribute: str) -> object:
    """`from name import attribute`."""
    found: object = getattr(import_module(vm, name), attribute)
    return found


HELPERS: Mapping[str, Helper] = {
    "_added": operators.added,
    "_add": operators.add,
    "_in_place": operators.in_place,
    "_sub": operators.sub,
    "_mul": operators.mul,
    "_floordiv": operators.floordiv,
    "_mod": operators.mod,
    "_pow": operators.power,
    "_lshift": operators.lshift,
    "_rshift": operators.rshift,
    "_or": operators.or_,
    "_xor": operators.xor,
    "_and": operators.and_,
    "_iadd": operators.iadd,
    "_imul": operators.imul,
    "_eq": comparison.eq,
    "_ne": comparison.ne,
    "_lt": comparison.lt,
    "_le": comparison.le,
    "_gt": comparison.gt,
    "_ge": comparison.ge,
    "_in": containers.contains,
    "_key": keys.key,
    "_getter": keys.getter,
    "_new_key": keys.new_key,
    "_getitem": containers.getitem,
    "_slice": containers.slice_,
    "_set_slice": containers.set_slice,
    "_delete": containers.delete,
    "_delete_slice": containers.delete_slice,
    "_star": containers.star,
    "_spread_dict": containers.spread_dict,
    "_keywords": containers.keywords,
    "_pre": containers.pre,
    "_dict_of": containers.dict_of,
    "_set_of": containers.set_of,
    "_format": text.format_field,
    "_inherited": text.inherited,
    "_initializer": constructors.initializer,
    "_make_error": constructors.make_error,
    "_class_name": class_name,
    "_members": make_members,
    "_above": methods.above,
    "_bind": methods.bind,
    "_native": methods.native,
    "_receiver": methods.receiver,
    "_enter_method": permission.enter,
    "_leave_method": permission.leave,
    "_getattr": methods.get_attribute,
    "_hasattr": methods.has_attribute,
    "_said": exceptions.said,
    "_made": exceptions.made,
    "_failed": exceptions.failed,
    "_caught": exceptions.caught,
    "_again": exceptions.again,
    "_fatal": exceptions.fatal,
    "_enter_context": exceptions.enter_context,
    "_exit_context": exceptions.exit_context,
    "_halt": halt,
    "_pay": pay,
    "_enter": enter,
    "_leave": leave,
    "_import": import_module,
    "_import_from": import_from,
    **methods.CALLERS,
}

NATIVES: Mapping[str, object] = {
    "_Enum": Enum,
    "_missing": Missing(),
    "_len": len,
    "_isinstance": isinstance,
    "_enumerate": enumerate,
    "_zip": zip,
    "_reversed": reversed,
    "_property": property,
    "_staticmethod": staticmethod,
    "_classmethod": classmethod,
    "_RecursionError": RecursionError,
    "_MemoryError": MemoryError,
    "_HostMemoryExhausted": HostMemoryExhausted,
    **{
        f"_{name}": CLASS_OF[name]
        for name in language.CLASSES | language.CLASSES_NEVER | language.EXCEPTIONS
    },
    **{
        f"_owners_{name}": next(iter(owners)) if len(owners) == 1 else owners
        for name, owners in methods.OWNERS.items()
    },
    **{f"_readers_{name}": kinds for name, kinds in methods.READERS.items()},
}
