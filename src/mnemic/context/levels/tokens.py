"""Estimated tokens of a text: quick, and calibrated by the usage that providers report."""

from math import ceil

TOKENS_PER_CHAR = 0.35
"""Before any usage was reported; the default of `SavedWindow.tokens_per_char`."""


def tokens_of(text: str, tokens_per_char: float = TOKENS_PER_CHAR) -> int:
    """Estimated tokens; at least 1 unless empty.

    A character beyond ASCII counts once per byte of its UTF-8 form: a Chinese character or an arrow is
    about one token.
    """
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return ceil(size * tokens_per_char)
