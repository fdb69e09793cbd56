"""Line charts as SVG, in the plainest form: same numbers, same bytes.

The pictures of the documentation are compared byte by byte, on two interpreters; so
they are written here, as that of the calendar is, with a tenth of a pixel as the unit.
"""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

Points = Sequence[tuple[float, float]]

_COLOURS = ("#c0392b", "#2471a3", "#7d8791", "#1e8449", "#b7950b", "#6c3483")
_WIDTH, _HEIGHT, _LEFT, _TOP = 430, 250, 62, 34
_RIGHT, _BOTTOM, _LINE = 14, 44, 16
_TICKS = 5
_MARKS_MAX = 16
"""Points of a series that get a dot each."""
_PLAIN_MAX = 10_000


class Panel(Struct, frozen=True):
    """One chart; axes reach as far as its points."""

    title: str
    x_label: str
    y_label: str
    series: tuple[tuple[str, Points], ...]
    is_x_log: bool = False
    is_y_log: bool = False


class _Axis(Struct, frozen=True):
    low: float
    high: float
    pixels: float
    is_log: bool

    def place(self, value: float) -> float:
        """Pixels from the axis' begin."""
        low, high, at = (self._scale(v) for v in (self.low, self.high, value))
        return self.pixels * (at - low) / (high - low)

    def _scale(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.is_log else value

    def ticks(self) -> list[float]:
        if self.is_log:
            first, last = (round(math.log10(v)) for v in (self.low, self.high))
            every = max(1, (last - first) // _TICKS)
            return [10.0**i for i in range(first, last + 1, every)]
        step = _nice((self.high - self.low) / _TICKS)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [step * i for i in range(first, last + 1)]


def draw(panels: Sequence[Panel]) -> str:
    """The panels side by side, with their legends below."""
    legend = max(len(panel.series) for panel in panels) * _LINE
    width, height = _WIDTH * len(panels), _HEIGHT + legend + 6
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="sans-serif" font-size="11"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, panel in enumerate(panels):
        lines.append(f'<g transform="translate({_WIDTH * number},0)">')
        lines += _draw_panel(panel)
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def _draw_panel(panel: Panel) -> Iterator[str]:
    x, y = _axes(panel)
    base = _TOP + y.pixels
    yield (
        f'<text x="{_LEFT}" y="18" font-size="13" fill="#222222">'
        f"{_escape(panel.title)}</text>"
    )
    for tick in y.ticks():
        at = _px(base - y.place(tick))
        yield (
            f'<line x1="{_LEFT}" x2="{_px(_LEFT + x.pixels)}" y1="{at}" y2="{at}" '
            'stroke="#e3e6e8"/>'
        )
        yield _text(_LEFT - 6, base - y.place(tick) + 4, _number(tick), "end")
    for tick in x.ticks():
        yield _text(_LEFT + x.place(tick), base + 16, _number(tick), "middle")
    yield (
        f'<polyline points="{_LEFT},{_TOP} {_LEFT},{_px(base)} '
        f'{_px(_LEFT + x.pixels)},{_px(base)}" fill="none" stroke="#7d8791"/>'
    )
    yield _text(_LEFT + x.pixels / 2, base + 32, panel.x_label, "middle")
    yield _text(6, _TOP - 5, panel.y_label, "start")
    for number, (label, points) in enumerate(panel.series):
        colour = _COLOURS[number % len(_COLOURS)]
        placed = [(_px(_LEFT + x.place(a)), _px(base - y.place(b))) for a, b in points]
        path = " ".join(f"{a},{b}" for a, b in placed)
        yield (
            f'<polyline points="{path}" fill="none" stroke="{colour}" '
            'stroke-width="1.5"/>'
        )
        if len(placed) <= _MARKS_MAX:
            for cx, cy in placed:
                yield f'<circle cx="{cx}" cy="{cy}" r="3" fill="{colour}"/>'
        low = _HEIGHT + _LINE * number + 8
        yield (
            f'<rect x="{_LEFT}" y="{low - 5}" width="12" height="4" fill="{colour}"/>'
        )
        yield _text(_LEFT + 18, low, label, "start")


def _axes(panel: Panel) -> tuple[_Axis, _Axis]:
    xs = [a for _, points in panel.series for a, _ in points]
    ys = [b for _, points in panel.series for _, b in points]
    x_pixels, y_pixels = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    x = _axis(xs, x_pixels, is_log=panel.is_x_log, is_from_zero=False)
    return x, _axis(ys, y_pixels, is_log=panel.is_y_log, is_from_zero=True)


def _axis(
    values: list[float], pixels: float, *, is_log: bool, is_from_zero: bool
) -> _Axis:
    low, high = min(values), max(values)
    if is_log:
        low = 10.0 ** math.floor(math.log10(max(low, 1)))
        high = 10.0 ** math.ceil(math.log10(max(high, 10)))
        return _Axis(low, high, pixels, is_log)
    low = min(low, 0) if is_from_zero else low
    return _Axis(low, high if high > low else low + 1, pixels, is_log)


def _nice(step: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below it."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= step * (1 - 1e-9))


def _number(value: float) -> str:
    if value and abs(value) >= _PLAIN_MAX:
        digits = f"{value:.0e}"
        mantissa, _, exponent = digits.partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _px(value: float) -> str:
    return f"{value:.1f}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{_px(x)}" y="{_px(y)}" text-anchor="{anchor}"'
    return f'<text {place} fill="#222222">{_escape(text)}</text>'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
