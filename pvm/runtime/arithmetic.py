"""Arithmetic: integers of at most 4,096 bits, texts and sequences paid by length.

Each helper gives what the plain operator gives; it charges before it works, or, where
the work is at most twice the size of its operands, right after
(sandbox-internals.md, rule 1).
"""

import operator
from types import UnionType

from pvm import costs, language
from pvm.runtime.containers import listed, pay_for_built
from pvm.runtime.dict_keys import charge_keys, dict_from_keys, key
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import VmExecution
from pvm.runtime.ordered_set import SET_LIKE, OrderedSet

_INTS = (int, bool)
_SEQUENCES = (str, bytes, list, tuple)
_NOT_BY_ITSELF: tuple[type, ...] = (*SET_LIKE, type({}.items()))
"""CPython would hash what they hold, unpaid, and give a set of unstable order."""
_POWER_BITS_MAX = 8_192
_SHIFT_MAX = language.INT_BITS_MAX


def checked(vm: VmExecution, result: int) -> int:
    """An integer that was made: within the bound, and paid when long."""
    bits = result.bit_length()
    if bits > costs.INT_FREE_BITS:
        if bits > language.INT_BITS_MAX:
            raise refused(OverflowError("an integer of more than 4,096 bits"))
        vm.charge(costs.INT_LONG + bits // 64)
        vm.allocate(bits // 8)
    return result


def words(value: int) -> int:
    """64-bit words of an integer's magnitude."""
    return (value.bit_length() + 63) // 64


def added(vm: VmExecution, result: object) -> object:
    """What `a + b` gave, where syntax alone may not have paid."""
    kind = type(result)
    if kind is int:
        return checked(vm, result)  # type: ignore[arg-type] # exactly an int
    if kind is list or kind is tuple or kind is bytes:
        vm.charge(costs.OPERATION)
    pay_for_built(vm, result)
    return result


def add(vm: VmExecution, left: object, right: object) -> object:
    """`left + right`."""
    return added(vm, operator.add(left, right))


def sub(vm: VmExecution, left: object, right: object) -> object:
    """`left - right`; views and sets never subtract by themselves.

    Nor from the right: a list minus a view would be a set of CPython's.
    """
    if isinstance(left, _NOT_BY_ITSELF) or isinstance(right, _NOT_BY_ITSELF):
        return _combine(vm, left, right, "sub")
    if type(left) is bool:
        vm.charge(costs.OPERATION)
    result: object = operator.sub(left, right)
    return checked(vm, result) if type(result) is int else result


def mul(vm: VmExecution, left: object, right: object) -> object:
    """`left * right`: looks before it multiplies."""
    if isinstance(left, _INTS) and isinstance(right, _INTS):
        if type(left) is bool or type(right) is bool:  # of ints it is done in place
            vm.charge(costs.OPERATION)
        _charge_product(vm, left, right)
        return checked(vm, left * right)
    if isinstance(left, _SEQUENCES) and isinstance(right, _INTS):
        _charge_repetition(vm, left, right)
    elif isinstance(right, _SEQUENCES) and isinstance(left, _INTS):
        _charge_repetition(vm, right, left)
    return operator.mul(left, right)


def _charge_product(vm: VmExecution, left: int, right: int) -> None:
    bits = max(left.bit_length(), right.bit_length())
    if bits > costs.INT_FREE_BITS:
        vm.charge(costs.INT_LONG + bits // 64 + words(left) * words(right) // 8)


def _charge_repetition(vm: VmExecution, items: object, times: int) -> None:
    vm.charge(costs.OPERATION)
    length = len(items) * max(0, times)  # type: ignore[arg-type] # a sequence
    if isinstance(items, str | bytes):
        vm.text(length, is_ascii=isinstance(items, bytes) or items.isascii())
    else:
        vm.sequence(length)


def floordiv(vm: VmExecution, left: object, right: object) -> object:
    """`left // right`."""
    if isinstance(left, _INTS) and isinstance(right, _INTS):
        if type(left) is bool:
            vm.charge(costs.OPERATION)
        _charge_product(vm, left, right)
        return checked(vm, left // right)
    return operator.floordiv(left, right)


def mod(vm: VmExecution, left: object, right: object) -> object:
    """`left % right`; never formatting."""
    if isinstance(left, _INTS) and isinstance(right, _INTS):
        if type(left) is bool:
            vm.charge(costs.OPERATION)
        _charge_product(vm, left, right)
        return checked(vm, left % right)
    if isinstance(left, str | bytes):
        raise refused(TypeError("text has no %; use an f-string"))
    return operator.mod(left, right)


def power(
    vm: VmExecution, left: object, right: object, modulus: object = None
) -> object:
    """`left ** right` and `pow(left, right, modulus)`."""
    if not isinstance(left, _INTS) or not isinstance(right, _INTS):
        raise refused(TypeError("powers are of integers"))
    if right < 0:
        raise refused(ValueError("a negative exponent would give a float"))
    if modulus is None:
        bits = left.bit_length() * right
        if bits > _POWER_BITS_MAX:
            raise refused(OverflowError("an integer of more than 4,096 bits"))
        width = (bits + 63) // 64
        vm.charge(right.bit_length() * (costs.POWER_STEP + width * width))
        return checked(vm, left**right)
    if not isinstance(modulus, _INTS):
        raise refused(TypeError("powers are of integers"))
    width = words(modulus)
    vm.charge(right.bit_length() * (costs.POWER_STEP + width * width))
    return checked(vm, pow(left, right, modulus))


def lshift(vm: VmExecution, left: object, right: object) -> object:
    """`left << right`."""
    if not isinstance(left, _INTS) or not isinstance(right, _INTS):
        return operator.lshift(left, right)
    if right > _SHIFT_MAX and left:
        raise refused(OverflowError("an integer of more than 4,096 bits"))
    return checked(vm, left << (right if left else 0))


def rshift(vm: VmExecution, left: object, right: object) -> object:
    """`left >> right`."""
    if isinstance(right, int):
        vm.charge(right.bit_length() // costs.SHIFTED_BITS_PER)
    result: object = operator.rshift(left, right)
    return checked(vm, result) if type(result) is int else result


def or_(vm: VmExecution, left: object, right: object) -> object:
    """`left | right`."""
    if isinstance(left, _NOT_BY_ITSELF) or isinstance(right, _NOT_BY_ITSELF):
        return _combine(vm, left, right, "or")
    if type(left) is dict and type(right) is dict:
        size = len(left) + len(right)
        vm.charge(costs.SET_OPERATION + costs.PER_KEY * size)
        vm.mapping(size)
        charge_keys(vm, [*left, *right], size)
    if type(left) is bool:
        vm.charge(costs.OPERATION)
    return _bits(vm, operator.or_(left, right))


def xor(vm: VmExecution, left: object, right: object) -> object:
    """`left ^ right`."""
    if isinstance(left, _NOT_BY_ITSELF) or isinstance(right, _NOT_BY_ITSELF):
        return _combine(vm, left, right, "xor")
    if type(left) is bool:
        vm.charge(costs.OPERATION)
    return _bits(vm, operator.xor(left, right))


def and_(vm: VmExecution, left: object, right: object) -> object:
    """`left & right`."""
    if isinstance(left, _NOT_BY_ITSELF) or isinstance(right, _NOT_BY_ITSELF):
        return _combine(vm, left, right, "and")
    if type(left) is bool:
        vm.charge(costs.OPERATION)
    return _bits(vm, operator.and_(left, right))


def _bits(vm: VmExecution, result: object) -> object:
    if isinstance(result, UnionType):
        raise refused(TypeError("classes cannot be combined"))
    return checked(vm, result) if type(result) is int else result


def _combine(
    vm: VmExecution, left: object, right: object, operation: str
) -> OrderedSet:
    """A set operation in the order of insertion: left items, then right ones."""
    if not isinstance(left, SET_LIKE) or not isinstance(right, SET_LIKE):
        raise refused(TypeError("a set combines with a set"))
    vm.charge(costs.SET_OPERATION + costs.PER_KEY * (len(left) + len(right)))
    vm.mapping(len(left) + len(right))
    kind = type(left) if isinstance(left, OrderedSet) else OrderedSet
    if operation == "or":
        return kind(dict_from_keys(vm, [*left, *right]))
    if operation == "and":
        both = [item for item in left if key(vm, right, item) in right]
        return kind(dict_from_keys(vm, both))
    rest = [item for item in left if key(vm, right, item) not in right]
    if operation == "xor":
        rest += [item for item in right if key(vm, left, item) not in left]
    return kind(dict_from_keys(vm, rest))


def in_place(vm: VmExecution, name: str, left: object, right: object) -> object:
    """`left |= right` and its like: a set or a dict changes in place."""
    vm.charge(costs.IN_PLACE)
    result = _IN_PLACE[name](vm, left, right)
    if type(left) is OrderedSet and isinstance(result, OrderedSet):
        left._items = result._items  # noqa: SLF001 - helpers change our sets
        return left
    if type(left) is dict and type(right) is dict:
        left.update(right)
        return left
    return result


_IN_PLACE = {"or": or_, "xor": xor, "and": and_, "sub": sub}


def iadd(vm: VmExecution, left: object, right: object) -> object:
    """`left += right`: a list grows in place."""
    if type(left) is list:
        vm.charge(costs.OPERATION)
        items = listed(vm, right)
        vm.charge(len(items))
        vm.allocate(8 * len(items))
        left.extend(items)
        return left
    result: object = operator.add(left, right)
    if type(result) is not int:
        vm.charge(costs.OPERATION)
    return added(vm, result)


def imul(vm: VmExecution, left: object, right: object) -> object:
    """`left *= right`: a list grows in place."""
    vm.charge(costs.IN_PLACE)
    if type(left) is list and isinstance(right, _INTS):
        _charge_repetition(vm, left, right)
        left *= right
        return left
    return mul(vm, left, right)
