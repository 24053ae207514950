"""Numbers as coordinates, for templates that draw them as SVG. Nothing here knows colours."""

import math

STEPS = (1, 2, 2.5, 5, 10)


def axis_top(value: float) -> float:
    """The number at the top of an axis: 1, 2, 2.5 or 5 times a power of ten, at least `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in STEPS if step * power >= value * (1 - 1e-9))


def share(value: float, most: float) -> float:
    """How much of a track of 100 a value fills."""
    return round(100 * value / most, 1) if most > 0 else 0.0
