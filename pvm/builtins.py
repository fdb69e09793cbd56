"""The universe: every builtin name of the language, in one literal table.

`NATIVE` names are C functions and classes whose work is bounded and paid by syntax;
`PRICED` ones are helpers that charge for the rest (sandbox.md §3).
"""

import builtins
from collections.abc import Mapping

from pvm import conversions, iteration, language, operators
from pvm.classes import CLASS_OF
from pvm.execution import Helper

NATIVE: Mapping[str, object] = {
    "len": len,
    "chr": chr,
    "ord": ord,
    "callable": callable,
    # a form, which the policy admits in its place only
    "super": super,
    # what the `class` statement calls
    "__build_class__": builtins.__build_class__,
}

PRICED: Mapping[str, Helper] = {
    "abs": iteration.abs_,
    "range": conversions.range_,
    "isinstance": conversions.isinstance_,
    "issubclass": conversions.issubclass_,
    "int": conversions.int_,
    "str": conversions.str_,
    "repr": conversions.repr_,
    "bytes": conversions.bytes_,
    "bool": conversions.bool_,
    "list": conversions.list_,
    "tuple": conversions.tuple_,
    "dict": conversions.dict_,
    "set": conversions.set_,
    "frozenset": conversions.frozenset_,
    "type": conversions.type_,
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
    "pow": operators.power,
    **{name: conversions.exception_constructor(name) for name in language.EXCEPTIONS},
    "HostError": conversions.not_constructible,
    "RevertError": conversions.not_constructible,
    "JSONDecodeError": conversions.made_by_loads,
}

CLASSES: Mapping[Helper, type] = {
    PRICED[name]: CLASS_OF[name] for name in reversed([*CLASS_OF]) if name in PRICED
}
"""Native classes by the helper that stands for each as a value."""
