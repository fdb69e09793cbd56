"""Amounts in words: the coin and its base units (D4)."""

CBY_DECIMALS = 9
BASE_UNITS_PER_CBY = 10**CBY_DECIMALS


def cby_text(amount: int) -> str:
    """`1.5 CBY`, exactly."""
    sign, units = ("-" if amount < 0 else ""), abs(amount)
    whole, fraction = divmod(units, BASE_UNITS_PER_CBY)
    decimals = f".{fraction:0{CBY_DECIMALS}}".rstrip("0").rstrip(".")
    return f"{sign}{whole:,}{decimals} CBY"
