"""What inserted code calls: one literal table of helpers and native names.

Names begin with one underscore, which no actor's can. A helper is bound to the
execution when it is used; a native name is the same object for everybody, and has no
attribute that could be set.
"""

from collections.abc import Mapping

from pvm import language
from pvm.errors import HostMemoryExhausted
from pvm.runtime import (
    access_rules,
    arithmetic,
    comparison,
    containers,
    dict_keys,
    exceptions,
    initializers,
    strings,
)
from pvm.runtime.classes import CLASS_OF, class_name
from pvm.runtime.enums import Enum, MissingArgument, make_members
from pvm.runtime.execution import Helper, VmExecution
from pvm.runtime.methods import lookup


def halt(vm: VmExecution) -> None:
    """A counter fell below zero."""
    vm.meter.halt_by_counters()


def pay(vm: VmExecution, cycles: int, bytes_: int) -> None:
    """Enter a lambda that is a leaf; returns None, on which `or` goes on."""
    vm.charge(cycles)
    if bytes_:
        vm.allocate(bytes_)


def enter(vm: VmExecution, cycles: int, bytes_: int) -> object:
    """Enter a lambda that may call: pay, and take one of depth."""
    vm.charge(cycles)
    if bytes_:
        vm.allocate(bytes_)
    return vm.deeper()


def leave(vm: VmExecution, depth: object, result: object) -> object:
    """Leave a lambda: give the depth back."""
    vm.meter.depth.cell_contents = depth
    return result


HELPERS: Mapping[str, Helper] = {
    "_added": arithmetic.added,
    "_add": arithmetic.add,
    "_in_place": arithmetic.in_place,
    "_sub": arithmetic.sub,
    "_mul": arithmetic.mul,
    "_floordiv": arithmetic.floordiv,
    "_mod": arithmetic.mod,
    "_pow": arithmetic.power,
    "_lshift": arithmetic.lshift,
    "_rshift": arithmetic.rshift,
    "_or": arithmetic.or_,
    "_xor": arithmetic.xor,
    "_and": arithmetic.and_,
    "_iadd": arithmetic.iadd,
    "_imul": arithmetic.imul,
    "_eq": comparison.eq,
    "_ne": comparison.ne,
    "_lt": comparison.lt,
    "_le": comparison.le,
    "_gt": comparison.gt,
    "_ge": comparison.ge,
    "_in": containers.contains,
    "_key": dict_keys.key,
    "_getter": dict_keys.getter,
    "_new_key": dict_keys.new_key,
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
    "_format": strings.format_field,
    "_inherited": strings.inherited,
    "_initializer": initializers.initializer,
    "_make_error": initializers.make_error,
    "_class_name": class_name,
    "_members": make_members,
    "_above": lookup.above,
    "_bind": lookup.bind,
    "_native": lookup.native,
    "_receiver": lookup.receiver,
    "_enter_method": access_rules.enter,
    "_leave_method": access_rules.leave,
    "_getattr": lookup.get_attribute,
    "_hasattr": lookup.has_attribute,
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
    **lookup.CALLERS,
}

NATIVES: Mapping[str, object] = {
    "_Enum": Enum,
    "_missing": MissingArgument(),
    "_len": len,
    "_isinstance": isinstance,
    "_enumerate": enumerate,
    "_zip": zip,
    "_reversed": reversed,
    "_property": property,
    "_staticmethod": staticmethod,
    "_classmethod": classmethod,
    "_super": super,
    "_RecursionError": RecursionError,
    "_MemoryError": MemoryError,
    "_HostMemoryExhausted": HostMemoryExhausted,
    **{
        f"_{name}": CLASS_OF[name]
        for name in language.CLASSES.union(
            language.CLASSES_NEVER,
            language.EXCEPTIONS,
            *language.MODULE_ERRORS.values(),
        )
    },
    **{
        f"_owners_{name}": next(iter(owners)) if len(owners) == 1 else owners
        for name, owners in lookup.OWNERS.items()
    },
    **{f"_readers_{name}": kinds for name, kinds in lookup.READERS.items()},
}
