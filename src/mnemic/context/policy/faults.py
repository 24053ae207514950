"""Faults: what comes back, and what is pinned.

micro    A question is answered by a passage. The object keeps its level.
restore  The full text is appended at the end of the prompt, with everything that the object depends on
         within two hops and that is not shown in full.
edit     A file is to be edited whose full text is not shown: a restore of this file alone.
"""

from collections.abc import Iterable, Mapping

from mnemic.context.levels.level import FULL
from mnemic.context.piece import Piece
from mnemic.context.step import Relation

HOPS_MAX = 2
RESTORED_MAX = 8
"""At most so many objects come back by one fault."""
PASSAGE_TOKENS_MAX = 400


def dependencies(key: str, related: Iterable[tuple[str, str, Relation]]) -> tuple[str, ...]:
    """What an object depends on within two hops, nearest first, without itself."""
    needs: dict[str, list[str]] = {}
    for one, other, relation in related:
        if relation == "depends_on":
            needs.setdefault(one, []).append(other)
    found, edge = {key: None}, [key]
    for _ in range(HOPS_MAX):
        edge = [other for one in edge for other in needs.get(one, []) if other not in found]
        found |= dict.fromkeys(edge)
    return tuple(found)[1:]


def restored_by(
    key: str, pieces: Mapping[str, Piece], related: Iterable[tuple[str, str, Relation]]
) -> tuple[str, ...]:
    """Keys of the objects that a restore appends: the object itself, and dependencies below full text."""
    lowered = (
        other for other in dependencies(key, related) if other in pieces and pieces[other].level != FULL
    )
    return (key, *lowered)[:RESTORED_MAX]
