"""Amounts as people write and read them: `5 CBY`, or base units.

One CBY is 10^9 base units; everything else in the project counts base units.
"""

import re

from node.primitives.types import Amount

CBY_DECIMALS = 9
BASE_UNITS_PER_CBY = 10**CBY_DECIMALS
_UNITS_MAX = 2**128 - 1

_AMOUNT = re.compile(r"(\d[\d_,]*)(?:\.(\d+))?\s*(cby)?", re.IGNORECASE | re.ASCII)


def parse_amount(text: str) -> Amount:
    """Base units of `5 CBY`, `0.25CBY` or, without the unit, of base units.

    Raises:
        ValueError: Something else, more than nine decimals, or above u128.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is no amount: write `5 CBY`, `0.25 CBY`, or base units (`1000`)"
        )
    whole, decimals, unit = match.groups()
    units = int(re.sub("[_,]", "", whole))
    if unit is None and decimals is not None:
        raise ValueError(f"{text!r}: base units are whole; write `{text.strip()} CBY`")
    if decimals is not None and len(decimals) > CBY_DECIMALS:
        raise ValueError(f"{text!r}: CBY has {CBY_DECIMALS} decimals")
    if unit is not None:
        fraction = int((decimals or "").ljust(CBY_DECIMALS, "0"))
        units = units * BASE_UNITS_PER_CBY + fraction
    if units > _UNITS_MAX:
        raise ValueError(f"{text!r} is more than an amount can hold (2^128 base units)")
    return Amount(units)


def format_amount(amount: int) -> str:
    """`1.5 CBY (1,500,000,000 base units)`."""
    return f"{cby_text(amount)} ({amount:,} base units)"


def cby_text(amount: int) -> str:
    """`1.5 CBY`, exactly."""
    sign, units = ("-" if amount < 0 else ""), abs(amount)
    whole, fraction = divmod(units, BASE_UNITS_PER_CBY)
    decimals = f".{fraction:0{CBY_DECIMALS}}".rstrip("0").rstrip(".")
    return f"{sign}{whole:,}{decimals} CBY"
