"""Numbers as sentences say them."""

from node.primitives.types import PPM

__all__ = ["counted", "ordinal", "ppm_text"]


def ppm_text(number: int) -> str:
    """Parts per million as a decimal: 1,500,000 is 1.5."""
    whole, part = divmod(number, PPM)
    return f"{whole:,}" + (f".{part:06}".rstrip("0") if part else "")


def counted(number: int, what: str) -> str:
    """1 timer, 2 timers, and so on."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, and so on."""
    teens = 10 <= number % 100 <= 20  # noqa: PLR2004 - 11th, 12th, 13th
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
