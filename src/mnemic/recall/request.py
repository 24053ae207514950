"""A validated recall request: query, filters, limits, techniques."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import InvalidInputError
from mnemic.types.checks import (
    check_choice,
    check_flag,
    check_local_time,
    check_share,
    check_text,
    check_time,
    check_window,
)
from mnemic.types.memory import CATEGORIES, SOURCES, STATUSES
from mnemic.types.recalled import INCLUDES, TECHNIQUES
from mnemic.types.scope import GLOBAL_CHANNEL, Scope, check_name
from mnemic.types.tags import check_tags

QUERY_MAX_CHARACTERS = 4_000
"""A longer query is truncated, and a note says so."""

LIMIT_MAX = 1_000
MAX_TOKENS_MAX = 1_000_000
CHANNELS_MAX = 32
METADATA_MAX_BYTES = 4_096
"""As JSON. Metadata to filter by names a few keys; every candidate is compared with it."""
DOCUMENT_KEY = "document"
"""The key under which the metadata of a chunk has the name of its document."""
SEARCHING_TECHNIQUES = ("vector", "text", "graph", "time")


@dataclass(frozen=True)
class Filter:
    """Which memories may be found; None does not restrict. The same fields as mnemic.recall_filter in SQL.

    In a `branch`, each of `past_channels` is read as of the time at the same place in `past_times`.
    """

    channels: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    any_tags: tuple[str, ...] | None = None
    conversation: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float | None = None
    statuses: tuple[str, ...] = ("active",)
    role: str | None = None
    name: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] | None = None
    branch: str | None = None
    past_channels: tuple[str, ...] | None = None
    past_times: tuple[datetime, ...] | None = None

    @property
    def leaves_few(self) -> bool:
        """Whether so few memories probably pass that the filter should be searched first.

        Only filters that an index finds: `role`, `name` and `source` are checked on what other searches find.
        """
        labels = (self.tags, self.any_tags, self.metadata)
        return any((*labels, self.conversation, self.since, self.until, self.categories))

    def in_branch(
        self, branch: str, past_channels: Sequence[str], past_times: Sequence[datetime]
    ) -> "Filter":
        """The filter of a recall in a branch: all other channels are read as of the fork."""
        others = [name for name in self.channels or () if name != branch and name not in past_channels]
        return replace(
            self,
            channels=(branch, *past_channels, *others),
            branch=branch,
            past_channels=(*past_channels, *others),
            past_times=(*past_times, *(min(past_times) for _ in others)),
        )


@dataclass(frozen=True)
class Request:
    """One recall. `names_channels` says that the caller named channels.

    `min_score` leaves out hits; `strict` refuses unless the hits probably answer the query; without `record`
    the call is neither counted nor logged.
    `asked_at` keeps the time zone that the caller gave. `current_conversation` filters nothing: it is the one
    whose working memory `include` adds.
    """

    query: str
    scope: Scope
    filter: Filter
    limit: int
    max_tokens: int | None
    as_of: datetime | None
    asked_at: datetime
    refuse_below: float | None
    techniques: frozenset[str]
    explain: bool
    include: frozenset[str]
    names_channels: bool = False
    notes: tuple[str, ...] = ()
    min_score: float | None = None
    strict: bool = False
    record: bool = True
    current_conversation: str | None = None

    @property
    def moment(self) -> datetime:
        """The moment that the answer is about: `as_of`, or now."""
        return self.as_of or datetime.now(UTC)


def check_request(
    query: object,
    scope: Scope,
    *,
    limit: object,
    max_tokens: object,
    categories: object,
    tags: object,
    channels: object,
    conversation: object,
    since: object,
    until: object,
    as_of: object,
    at: object,
    min_confidence: object,
    statuses: object,
    metadata: object,
    role: object,
    name: object,
    document: object,
    source: object,
    min_score: object,
    refuse_below: object,
    strict: object,
    techniques: Collection[str],
    explain: bool,
    record: object,
    include: object,
    current_conversation: object = None,
) -> Request:
    """Validate the arguments of `recall`. Raises InvalidInputError with the field and what is allowed."""
    text = check_text("query", query)
    window = check_window(since, until)
    request = Request(
        query=text[:QUERY_MAX_CHARACTERS],
        scope=scope,
        filter=Filter(
            channels=channels_of(scope, channels),
            categories=_choices("categories", categories, CATEGORIES),
            tags=(check_tags(tags) or None) if tags is not None else None,
            conversation=_name("conversation", conversation),
            since=window["since"],
            until=window["until"],
            min_confidence=_share("min_confidence", min_confidence),
            statuses=_choices("statuses", statuses, STATUSES) or ("active",),
            role=_name("role", role),
            name=_name("name", name),
            source=check_choice("source", source, SOURCES) if source is not None else None,
            metadata=_metadata(metadata, document),
        ),
        limit=_bounded("limit", limit, LIMIT_MAX),
        max_tokens=_bounded("max_tokens", max_tokens, MAX_TOKENS_MAX) if max_tokens is not None else None,
        as_of=check_time("as_of", as_of) if as_of is not None else None,
        asked_at=check_local_time("at", at) if at is not None else datetime.now(UTC),
        refuse_below=_share("refuse_below", refuse_below),
        techniques=_techniques(techniques),
        explain=explain,
        include=frozenset(_choices("include", include, INCLUDES) or ()),
        names_channels=channels is not None,
        min_score=_share("min_score", min_score),
        strict=check_flag("strict", strict),
        record=check_flag("record", record),
        current_conversation=_name("current_conversation", current_conversation),
    )
    if len(text) > QUERY_MAX_CHARACTERS:
        note = (
            f"The query has {len(text):,} characters; the first {QUERY_MAX_CHARACTERS:,} were searched with."
        )
        return replace(request, notes=(note,))
    return request


def channels_of(scope: Scope, channels: object) -> tuple[str, ...]:
    """The channels that the caller named, by default the active one and `_global`."""
    if channels is None:
        return tuple(dict.fromkeys((scope.channel, GLOBAL_CHANNEL)))
    names = _list("channels", channels)
    if not 1 <= len(names) <= CHANNELS_MAX:
        raise InvalidInputError(f"channels must name 1 to {CHANNELS_MAX} channels.")
    return tuple(check_name("channels", name) for name in names)


def _metadata(metadata: object, document: object) -> Mapping[str, Any] | None:
    """The metadata that a memory must contain; the name of its document is a part of it."""
    wanted: dict[str, Any] = {}
    if metadata is not None:
        as_jsonb_object("metadata", metadata, max_bytes=METADATA_MAX_BYTES)
        assert isinstance(metadata, Mapping), "only a mapping becomes a JSON object"
        wanted.update(metadata)
    if document is not None:
        name = check_name("document", document)
        if wanted.setdefault(DOCUMENT_KEY, name) != name:
            raise InvalidInputError("metadata names another document than document: leave one of them out.")
    return wanted or None


def _techniques(techniques: object) -> frozenset[str]:
    """Checked techniques, at least one of which finds candidates on its own."""
    chosen = frozenset(_choices("techniques", techniques, TECHNIQUES) or ())
    if chosen.isdisjoint(SEARCHING_TECHNIQUES):
        raise InvalidInputError(
            f"techniques must have at least one of {', '.join(SEARCHING_TECHNIQUES)}: "
            "the others find nothing alone."
        )
    return chosen


def _choices(field: str, values: object, allowed: tuple[str, ...]) -> tuple[str, ...] | None:
    if values is None:
        return None
    return tuple(check_choice(field, value, allowed) for value in _list(field, values))


def _list(field: str, values: object) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Collection):
        raise InvalidInputError(f"{field} must be a list of texts, not {type(values).__name__}.")
    return list(values)


def _name(field: str, value: object) -> str | None:
    return check_name(field, value) if value is not None else None


def _share(field: str, value: object) -> float | None:
    return check_share(field, value) if value is not None else None


def _bounded(field: str, value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInputError(f"{field} must be a whole number from 1 to {most:,}.")
    return value
