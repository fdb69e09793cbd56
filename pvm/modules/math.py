"""`math` for actors: the functions of integers.

Rules (sandbox.md §3, §5): integers of at most 4,096 bits in and out. A bound of the
result is checked before the work: beyond it `OverflowError`. The work is priced by
that bound, w being words of 64 bits.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from pvm import costs
from pvm.modules.arguments import require_int
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.exceptions import refused
from pvm.runtime.values import INT_BITS_MAX

EXPORTS: Final = frozenset({"comb", "factorial", "gcd", "isqrt", "lcm", "perm"})

_BOUND_BITS_MAX = 2 * INT_BITS_MAX  # bounds are loose: the result is looked at after


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `math` for one execution."""
    functions = _Math(context)
    return {name: getattr(functions, name) for name in EXPORTS}


class _Math(Bound):
    """The functions of the module."""

    __slots__ = ()

    def gcd(self, *integers: object) -> int:
        """The greatest common divisor of all, 0 of none."""
        return self._fold(integers, math.gcd, 0)

    def lcm(self, *integers: object) -> int:
        """The least common multiple of all, 1 of none; `OverflowError`."""
        return self._fold(integers, math.lcm, 1)

    def isqrt(self, n: object) -> int:
        """The floor of the square root; `ValueError` below 0."""
        n = self._natural(n)
        words = _words(n.bit_length())
        self._meter.charge_cycles(words * words)
        return math.isqrt(n)

    def factorial(self, n: object) -> int:
        """1 · 2 · … · n; `OverflowError` beyond 4,096 bits."""
        n = self._natural(n)
        return self._bounded(lambda: math.factorial(n), n, n * n.bit_length())

    def perm(self, n: object, k: object = None) -> int:
        """Ordered choices of `k` out of `n`, without `k` of all."""
        n = self._natural(n)
        k = n if k is None else self._natural(k)
        if k > n:
            return 0
        return self._bounded(lambda: math.perm(n, k), k, k * n.bit_length())

    def comb(self, n: object, k: object) -> int:
        """Choices of `k` out of `n`, order aside."""
        n, k = self._natural(n), self._natural(k)
        if k > n:
            return 0
        k = min(k, n - k)
        # n^k / k!, and log2(k!) ≥ k · (log2(k) - 1.45) ≥ k · (bit_length(k) - 3).
        bits = min(n, k * (n.bit_length() - max(0, k.bit_length() - 3)))
        return self._bounded(lambda: math.comb(n, k), k, bits)

    def _natural(self, value: object) -> int:
        self._meter.charge_cycles(costs.NUMBER_WORK)
        number = require_int(value)
        if number < 0:
            raise refused(ValueError("an int of 0 or more is wanted"))
        return number

    def _bounded(self, work: Callable[[], int], factors: int, bits: int) -> int:
        """Do `work`: `factors` multiplications with a result of at most `bits`."""
        if bits > _BOUND_BITS_MAX:
            raise refused(OverflowError("more than 4,096 bits"))
        words = _words(bits)
        self._meter.charge_cycles(factors * (1 + words // 8))
        self._meter.charge_memory(bits // 8)
        return self._result(work())

    def _result(self, result: int) -> int:
        if result.bit_length() > INT_BITS_MAX:
            raise refused(OverflowError("more than 4,096 bits"))
        return result

    def _fold(
        self, integers: tuple[object, ...], step: Callable[[int, int], int], start: int
    ) -> int:
        self._meter.charge_cycles(costs.NUMBER_WORK)
        result = start
        for value in integers:
            integer = require_int(value)
            words = _words(result.bit_length()) + _words(integer.bit_length())
            self._meter.charge_cycles(costs.NUMBER_WORK + words * words)
            self._meter.charge_memory(8 * words)
            result = self._result(step(result, integer))
        return result


def _words(bits: int) -> int:
    return (bits + 63) // 64
