"""Print the answer of a recall: a line per hit, explanations as tables, a footer; or one clear refusal.

Memories hold text of others. It is printed without markup and control characters, which could move the cursor
or recolour the terminal.
"""

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mnemic.cli.output import one_line, out, print_line, table
from mnemic.mind.bundle_text import pack_bundle
from mnemic.recall.packing import INDENT, Packing, passage_of, weakness
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Explanation, Hit, Recalled, without_text

HEADS = ("", "score", "when", "who")
WHO_MAX_CELLS = 24
CONTENT_MIN_CELLS = 20
GAP_CELLS = 2
PART_CELLS = 22
VALUE_CELLS = 8
# The only score that is no part of the sum: it replaces it.
RERANKER = "reranker"

# A hit's place, 1 for the best, and its explanation.
Explained = tuple[int, Explanation]


def print_found(found: Recalled, reader: str | None) -> None:
    """Print the hits, after a warning if they are weak, or the refusal."""
    if found.refused:
        print_refusal(found)
        return
    if found.outcome == "weak":
        out.print(f"[bold yellow]Weak.[/] {weakness(found.confidence)}")
    print_hits(found.hits, reader)


def print_included(found: Recalled) -> None:
    """Print goals, working memory, profile and strategies that were included, as the text has them."""
    included = without_text(found, hits=())
    text = pack_bundle(included, Packing(None, found.outcome, found.confidence), None).text
    for line in text.splitlines():
        print_line(f"{INDENT if line.startswith(INDENT) else ''}{one_line(line)}")
    if text:
        out.print()


def print_hits(hits: Sequence[Hit], reader: str | None) -> None:
    """Print one line per hit, best first: score, when, who, and as much of the content as fits.

    If a hit belongs to another owner than the reader, each line names its owner.
    """
    names_owners = any(hit.memory.owner != reader for hit in hits)
    rows = [_row(place, hit, names_owners=names_owners) for place, hit in enumerate(hits, 1)]
    widths = [max(map(cell_len, column)) for column in zip(HEADS, *rows, strict=True)]
    left = out.width - sum(widths) - GAP_CELLS * len(widths)
    listing = table(*HEADS, "what")
    for hit, row in zip(hits, rows, strict=True):
        content = _shortened(hit.memory.content, max(CONTENT_MIN_CELLS, left))
        listing.add_row(*(Text(cell, no_wrap=True) for cell in row), content)
    out.print(listing)


def print_refusal(found: Recalled) -> None:
    """Print that recall refuses to answer, and why."""
    out.print(f"[bold yellow]Refused.[/] {escape(one_line(found.reason or ''))}")


def print_explanations(hits: Sequence[Hit]) -> None:
    """Print why each hit was found, then the parts of its score, largest first."""
    explained = [(place, hit.explain) for place, hit in enumerate(hits, 1) if hit.explain is not None]
    if not explained:
        return
    out.print(_reasons(explained))
    for group in _groups(explained):
        out.print()
        out.print(_parts(group, {place: hits[place - 1].score for place, _ in group}))


def print_footer(found: Recalled, *, stages: bool) -> None:
    """Print the number of hits and the time taken, notes, and with `stages` the time of each stage."""
    for note in found.notes:
        out.print(f"Note: {one_line(note)}", style="yellow", markup=False)
    plural = "" if len(found) == 1 else "s"
    total = f"{len(found)} hit{plural} in {found.timings['total']:.0f} ms, confidence {found.confidence:.2f}"
    out.print(f"\n[dim]{total}[/]")
    if stages:
        parts = [f"{name} {value:+.2f}" for name, value in (found.confidence_parts or {}).items()]
        why = ", ".join(parts) or "decided by a rule"
        out.print(f"[dim]refuses below {found.threshold:.2f}; confidence: {why}[/]")
        spent = [f"{name} {time_ms:.1f}" for name, time_ms in found.timings.items() if name != "total"]
        out.print(f"[dim]milliseconds: {', '.join(spent)}[/]")
        counted = [f"{name} {count:,}" for name, count in found.counts.items()]
        out.print(f"[dim]candidates: {', '.join(counted)}[/]")


def _row(place: int, hit: Hit, *, names_owners: bool) -> tuple[str, str, str, str]:
    memory = hit.memory
    who = memory.name or memory.role or passage_of(memory) or ""
    owned = f"{memory.owner}: {who}" if names_owners else who
    return str(place), f"{hit.score:.2f}", _day(memory), _shortened(owned, WHO_MAX_CELLS).plain


def _day(memory: MemoryRecord) -> str:
    """The day that the text for a prompt shows, too."""
    return f"{memory.at or memory.valid_from or memory.created_at:%Y-%m-%d}"


def _shortened(text: str, cells: int) -> Text:
    shortened = Text(one_line(text), no_wrap=True)
    shortened.truncate(cells, overflow="ellipsis")
    return shortened


def _reasons(explained: Sequence[Explained]) -> Table:
    """A line per hit; some columns are there only if a hit has a value in them."""
    rows = [
        {
            "found by": ", ".join(why.found_by),
            "cosine": "" if why.cosine is None else f"{why.cosine:.2f}",
            "word stems": ", ".join(why.words),
            "corrected": ", ".join(why.corrections),
            "conversation": _conversation(why),
            "evidence": ", ".join(why.evidence),
            "grant": "" if why.grant_id is None else str(why.grant_id),
        }
        for _, why in explained
    ]
    optional = {"corrected", "conversation", "evidence", "grant"}
    columns = [name for name in rows[0] if name not in optional or any(row[name] for row in rows)]
    listing = table("", *columns)
    for (place, _), row in zip(explained, rows, strict=True):
        listing.add_row(str(place), *(Text(one_line(row[name])) for name in columns))
    return listing


def _conversation(why: Explanation) -> str:
    """Which conversation it is from, and the words of the query that occur anywhere in it."""
    if why.conversation is None:
        return ""
    return f"{why.conversation} ({', '.join(why.conversation_words) or 'none of the words'})"


def _groups(explained: Sequence[Explained]) -> Iterator[Sequence[Explained]]:
    """Hits in groups that fit side by side."""
    size = max(1, (out.width - PART_CELLS) // VALUE_CELLS)
    return (explained[start : start + size] for start in range(0, len(explained), size))


def _parts(group: Sequence[Explained], scores: Mapping[int, float]) -> Table:
    """Hits side by side, one line per part of the score, then the sum and the score."""
    listing = table("part")
    for place, _ in group:
        listing.add_column(f"hit {place}", justify="right", no_wrap=True)
    for name in _by_weight([why.scores for _, why in group]):
        listing.add_row(name, *(_signed(why.scores.get(name)) for _, why in group))
    listing.add_section()
    listing.add_row("sum", *(_signed(why.fused) for _, why in group), style="bold")
    if any(RERANKER in why.scores for _, why in group):
        listing.add_row(RERANKER, *(_signed(why.scores.get(RERANKER)) for _, why in group))
    listing.add_row("score, 0 to 1", *(f"{scores[place]:.2f}" for place, _ in group), style="bold")
    return listing


def _by_weight(scores: Sequence[Mapping[str, float]]) -> list[str]:
    """The names of all parts, largest effect on any hit first."""
    furthest: dict[str, float] = {}
    for parts in scores:
        for name, value in parts.items():
            furthest[name] = max(furthest.get(name, 0.0), abs(value))
    return sorted(furthest.keys() - {RERANKER}, key=lambda name: (-furthest[name], name))


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"
