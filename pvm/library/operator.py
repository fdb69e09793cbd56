"""`operator`: the operators as functions, and `itemgetter`.

Not `truediv`, `matmul`, `attrgetter` and `methodcaller`: the language has none of what
they do. `is_` and `is_not` are missing likewise.
"""


def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def floordiv(a, b):
    return a // b


def mod(a, b):
    return a % b


def pow(a, b):
    return a**b


def lshift(a, b):
    return a << b


def rshift(a, b):
    return a >> b


def and_(a, b):
    return a & b


def or_(a, b):
    return a | b


def xor(a, b):
    return a ^ b


def neg(a):
    return -a


def pos(a):
    return +a


def inv(a):
    return ~a


def invert(a):
    return ~a


def not_(a):
    return not a


def truth(a):
    return bool(a)


def eq(a, b):
    return a == b


def ne(a, b):
    return a != b


def lt(a, b):
    return a < b


def le(a, b):
    return a <= b


def gt(a, b):
    return a > b


def ge(a, b):
    return a >= b


def concat(a, b):
    return a + b


def contains(a, b):
    return b in a


def countOf(a, b):
    """How often `b` is among the items of `a`."""
    count = 0
    for item in a:
        if item == b:
            count += 1
    return count


def indexOf(a, b):
    """The first place of `b` among the items of `a`."""
    for index, item in enumerate(a):
        if item == b:
            return index
    raise ValueError("not among the items")


def getitem(a, b):
    return a[b]


def setitem(a, b, c):
    a[b] = c


def delitem(a, b):
    del a[b]


def itemgetter(item, *items):
    """A function that reads an item, or several as a tuple."""
    if not items:

        def get(value):
            return value[item]

        return get
    wanted = (item, *items)

    def get_all(value):
        return tuple([value[one] for one in wanted])

    return get_all
