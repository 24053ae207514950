"""The contrast of text, computed from the colours in the style sheet: at least 5 in light, 6 in dark."""

import re
from importlib.resources import files

import pytest

STYLE = files("mnemic.dashboard").joinpath("static/app.css").read_text("utf-8")
COLOURS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", STYLE)
}
LEAST = {"light": 5.0, "dark": 6.0}
BACKGROUNDS = ("bg", "surface", "sunken")
TEXTS = ("ink", "ink-2", "ink-3", "accent", "good", "warn", "bad")
# Text that stands on a colour of its own.
PAIRS = [
    *((text, background) for text in TEXTS for background in BACKGROUNDS),
    ("accent-ink", "accent"),
    *((tone, f"{tone}-soft") for tone in ("accent", "good", "warn", "bad")),
    *(("ink", f"{tone}-soft") for tone in ("accent", "good", "warn", "bad")),
]
LINE_LEAST = 3.0
"""For the borders of fields (WCAG 1.4.11)."""


def test_text_has_enough_contrast(subtests: pytest.Subtests) -> None:
    for text, background in PAIRS:
        for mode, least in LEAST.items():
            with subtests.test(text=text, background=background, mode=mode):
                assert contrast(COLOURS[text][mode], COLOURS[background][mode]) >= least


def test_borders_of_fields_are_visible(subtests: pytest.Subtests) -> None:
    for background in BACKGROUNDS:
        for mode in LEAST:
            with subtests.test(background=background, mode=mode):
                assert contrast(COLOURS["line-strong"][mode], COLOURS[background][mode]) >= LINE_LEAST


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG defines it: 1 to 21."""
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
