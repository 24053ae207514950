"""Documents to ingest: made-up words, the same in every run."""

import random
from collections.abc import Iterator

_LETTERS = "abcdefghijklmnop"


def paragraphs(characters: int, seed: int = 1) -> list[str]:
    """Paragraphs of one to eight sentences, about so many characters in all."""
    return list(_paragraphs(characters, random.Random(seed)))


def _paragraphs(characters: int, chance: random.Random) -> Iterator[str]:
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 9))) for _ in range(3_000)]
    made = 0
    while made < characters:
        sentences = (
            " ".join(chance.choices(words, k=chance.randint(5, 15))) for _ in range(chance.randint(1, 8))
        )
        paragraph = " ".join(f"{sentence.capitalize()}." for sentence in sentences)
        made += len(paragraph) + 2
        yield paragraph
