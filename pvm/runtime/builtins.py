"""The universe: every builtin name of the language, in one literal table.

`NATIVE` names are C functions and classes whose work is bounded and paid by syntax;
`PRICED` ones are helpers that charge for the rest (sandbox.md §3).
"""

import builtins
from collections.abc import Mapping

from pvm import costs, language
from pvm.runtime import arithmetic, constructors, iteration, printing
from pvm.runtime.classes import CLASS_OF
from pvm.runtime.execution import Helper, VmExecution

NATIVE: Mapping[str, object] = {
    "len": len,
    "ord": ord,
    "callable": callable,
    # what the `class` statement calls
    "__build_class__": builtins.__build_class__,
}

PRICED: Mapping[str, Helper] = {
    "abs": iteration.abs_,
    "range": constructors.range_,
    "isinstance": constructors.isinstance_,
    "issubclass": constructors.issubclass_,
    "int": constructors.int_,
    "str": constructors.str_,
    "repr": constructors.repr_,
    "chr": constructors.chr_,
    "bytes": constructors.bytes_,
    "bool": constructors.bool_,
    "list": constructors.list_,
    "tuple": constructors.tuple_,
    "dict": constructors.dict_,
    "set": constructors.set_,
    "frozenset": constructors.frozenset_,
    "type": constructors.type_,
    "sorted": iteration.sorted_,
    "sum": iteration.sum_,
    "min": iteration.min_,
    "max": iteration.max_,
    "any": iteration.any_,
    "all": iteration.all_,
    "map": iteration.map_,
    "filter": iteration.filter_,
    "zip": iteration.zip_,
    "enumerate": iteration.enumerate_,
    "reversed": iteration.reversed_,
    "iter": iteration.iter_,
    "next": iteration.next_,
    "divmod": iteration.divmod_,
    "round": iteration.round_,
    "hex": iteration.hex_,
    "bin": iteration.bin_,
    "pow": arithmetic.power,
    "print": printing.print_,
    "breakpoint": printing.breakpoint_,
    **{name: constructors.exception_constructor(name) for name in language.EXCEPTIONS},
    "HostError": constructors.made_by_host(),
    "RevertError": constructors.made_by_host(),
    "JSONDecodeError": constructors.made_by_loads,
}


def _paying(helper: Helper, cycles: int) -> Helper:
    """The helper as a value: its call by name has paid more than a call."""

    def call(vm: VmExecution, /, *arguments: object, **named: object) -> object:
        vm.charge(cycles)
        return helper(vm, *arguments, **named)

    return call


AS_VALUES: Mapping[str, Helper] = {
    name: _paying(
        PRICED[name], costs.CALL_OF_BUILTIN.get(name, costs.HELPER_CALL) - costs.CALL
    )
    for name in sorted(language.DEAR_FUNCTIONS)
}
"""Builtins whose name costs more than a call: what stands for each as a value."""

CLASSES: Mapping[Helper, type] = {
    helper: CLASS_OF[name]
    for name in reversed([*CLASS_OF])
    for helper in (PRICED.get(name), AS_VALUES.get(name))
    if helper is not None
}
"""Native classes by the helpers that stand for each."""
