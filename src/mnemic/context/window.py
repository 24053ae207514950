"""The state of one session in memory: what was sent for every object, and what is sent next.

A window is pure: it reads no clock and does no input or output. The proxy, the library and the benchmark
run the same code. `saved` gives what a store has to keep; a window made from it decides the same.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from mnemic.context.entry import Entry
from mnemic.context.levels.kinds import file_of, kind_of, source_key
from mnemic.context.levels.level import FULL, Level, LevelText, Source
from mnemic.context.levels.shortening import make_level
from mnemic.context.names import listed_names, names_of
from mnemic.context.piece import DIGEST_HEX, HANDLE_HEX, Piece, free_handle, handle_of
from mnemic.context.policy.admission import admit
from mnemic.context.policy.costs import Change, Start, best_start, prices_of
from mnemic.context.policy.epochs import (
    SHORTENED_MIN_CHARS,
    Moment,
    Target,
    horizon_calls,
    may_begin,
    pays,
    target_of,
    targets_of,
)
from mnemic.context.policy.faults import PASSAGE_TOKENS_MAX, restored_by
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.policy.supersession import (
    file_name,
    file_path,
    handles_files,
    is_editing,
    shows_all,
    supersedes,
)
from mnemic.context.policy.thrashing import is_thrashing, protected_calls
from mnemic.context.policy.zones import Pressure, pressure_of
from mnemic.context.step import (
    Admission,
    Epoch,
    Fault,
    FaultKind,
    Relation,
    SavedWindow,
    Step,
    Transition,
)
from mnemic.errors import NotFoundError

LevelMaker = Callable[[Source, Level], LevelText]
Loss = Literal["cold cache", "client compacted", "model changed"]
_CALIBRATION_WEIGHT = 0.3
"""Weight of the newest report in the running mean of tokens per character."""
_TOKENS_PER_CHAR = (0.1, 1.0)
"""Bounds of the calibration: reports outside of them are not believed."""
_FAULT_CALLS_MAX = 100
STUB_CHARS = 100
LEVEL_SHARES: dict[Level, float] = {1: 0.3, 2: 0.15, 3: 0.08, 4: 0.0}
"""Expected share of the full text that is left at a level, names included."""


class Window:
    """One session. `observe` is called for every request, in order."""

    def __init__(
        self,
        settings: PagingSettings | None = None,
        saved: SavedWindow | None = None,
        *,
        make_level: LevelMaker = make_level,
    ) -> None:
        saved = saved or SavedWindow()
        self.settings = settings or PagingSettings()
        self._make_level = make_level
        self._prices = prices_of(self.settings)
        self._pieces: list[Piece] = []
        self._entries: list[Entry] = []
        self._by_key: dict[str, Piece] = {}
        self._handles: dict[str, str] = {}
        self._replaced: dict[str, str] = {}
        self._unsettled: list[int] = []
        self._lengths: list[int] = []
        self._saved = {each.key: each for each in saved.objects}
        self._related = list(saved.related)
        self._shown_names: Counter[str] = Counter()
        self._uncounted: list[Piece] = []
        self._by_source: dict[str, list[Piece]] = {}
        self._by_path: dict[str, list[Piece]] = {}
        self._file_names: dict[str, set[str]] = {}
        self._edited = dict(saved.edited)
        self._fault_calls = list(saved.fault_calls)
        self._appended_tokens = saved.appended_tokens
        self._fixed_tokens = 0
        self._chars = 0
        self._full_chars = 0
        self._sent_pieces = saved.sent_entries
        self._epoch = saved.epoch
        self._calls = saved.calls
        self._tokens_per_char = saved.tokens_per_char
        self._sent_at = saved.sent_at
        self._model = saved.model
        self._saved_usd = saved.saved_usd

    def observe(
        self,
        entries: Sequence[Entry],
        *,
        fixed_tokens: int,
        now: datetime,
        at_user_turn: bool,
        model: str = "",
    ) -> Step:
        """Decide what is sent for the entries of a request. `fixed_tokens`: instructions and tools."""
        self._fixed_tokens = fixed_tokens
        loss = self._loss(now, model)
        first_new = self._match(entries) if self._pieces else min(self._sent_pieces, len(entries))
        if first_new < min(self._sent_pieces, len(self._pieces)) or len(self._pieces) > len(entries):
            loss = loss or "client compacted"
            self._drop_after(first_new)
        cached = 0 if loss in ("cold cache", "model changed") else min(first_new, self._sent_pieces)
        known = 0 if self._pieces else first_new
        new = enumerate(entries[len(self._pieces) :])
        admissions = [self._add(entry, is_known=position < known) for position, entry in new]
        moment = self._moment(is_cold=loss is not None, at_user_turn=at_user_turn)
        epoch, transitions = self._begin_epoch(moment, cached, loss)
        self._saved_usd += (self._full_chars - self._chars) * self._tokens_per_char * self._prices.read
        step = Step(
            call=self._calls,
            tokens=self.tokens,
            zone=self.pressure().zone,
            admissions=tuple(each for each in admissions if each),
            transitions=transitions,
            epoch=epoch,
            replaced=dict(self._replaced),
        )
        self._calls += 1
        self._sent_pieces = len(self._pieces)
        self._sent_at, self._model = now, model
        return step

    def fault(self, key: str, kind: FaultKind, question: str = "", *, now: datetime | None = None) -> Fault:
        """Record that text was needed which the window no longer showed.

        The caller appends what `restored` names (or, for a micro-fault, a passage) at the end of the prompt.
        """
        piece = self._piece(key)
        key = piece.key
        restored = (
            (key,)
            if kind == "edit"
            else ()
            if kind == "micro"
            else restored_by(key, self._by_key, self._related)
        )
        chars = sum(len(self._by_key[each].entry.text) for each in restored)
        tokens = round(chars * self._tokens_per_char) if restored else self._passage_tokens(piece)
        for each in (key, *restored):
            self._by_key[each].last_use = self._calls
        piece.faults += 1
        if piece.faults >= self.settings.pin_faults:
            self.pin(key)
        self._fault_calls = [*self._fault_calls, self._calls][-_FAULT_CALLS_MAX:]
        self._appended_tokens += tokens
        return Fault(key=key, kind=kind, question=question, tokens=tokens, restored=restored)

    def pin(self, key: str) -> None:
        """Keep an object at its full text; if it fell, the next epoch brings it back."""
        piece = self._piece(key)
        if not piece.is_pinned:
            piece.is_pinned = True
            self._find_unsettled()

    def unpin(self, key: str) -> None:
        """Let an object fall again."""
        self._piece(key).is_pinned = False

    def relate(self, key: str, other: str, relation: Relation) -> None:
        """Record that an object depends on, supersedes or mentions another one."""
        self._piece(key)
        if relation == "supersedes":
            self._piece(other).superseded_by = key
        if (key, other, relation) not in self._related:
            self._related.append((key, other, relation))

    def calibrate(self, estimated_tokens: int, reported_tokens: int) -> None:
        """Correct the estimate of tokens per character by the usage that the provider reported."""
        if estimated_tokens <= 0 or reported_tokens <= 0:
            return
        low, high = _TOKENS_PER_CHAR
        reported = min(high, max(low, self._tokens_per_char * reported_tokens / estimated_tokens))
        self._tokens_per_char += _CALIBRATION_WEIGHT * (reported - self._tokens_per_char)

    @property
    def tokens_per_char(self) -> float:
        """Estimated tokens per character, as calibrated so far."""
        return self._tokens_per_char

    @property
    def tokens(self) -> int:
        """Estimated tokens of the prompt as it was last sent, appended passages included."""
        return round(self._fixed_tokens + self._appended_tokens + self._chars * self._tokens_per_char)

    @property
    def entry_count(self) -> int:
        """Number of all entries."""
        return len(self._pieces)

    @property
    def full_chars(self) -> int:
        """Characters of the full texts of all entries."""
        return self._full_chars

    def pressure(self) -> Pressure:
        """How full the window is."""
        return pressure_of(self.tokens, self.settings.budget_tokens)

    def may_page(self, *, now: datetime, at_user_turn: bool, model: str = "") -> bool:
        """Whether an epoch may begin with the next request, as far as the last one tells: that takes time."""
        is_cold = self._loss(now, model) is not None
        return may_begin(self._moment(is_cold=is_cold, at_user_turn=at_user_turn))

    def text_of(self, key: str) -> str:
        """The full text of an object."""
        return self._piece(key).entry.text

    def count_names(self) -> None:
        """Find the names of new entries, before a request needs them. It takes time, and few requests do."""
        for piece in self._uncounted:
            self._shown_names.update(piece.shown_names)
        self._uncounted.clear()

    def saved(self) -> SavedWindow:
        """What a store has to keep, to continue after a restart."""
        return SavedWindow(
            objects=tuple(piece.saved(self._tokens_per_char) for piece in self._pieces if piece.is_object),
            related=tuple(self._related),
            epoch=self._epoch,
            calls=self._calls,
            tokens_per_char=self._tokens_per_char,
            sent_at=self._sent_at,
            model=self._model,
            saved_usd=self._saved_usd,
            edited=tuple(self._edited.items()),
            fault_calls=tuple(self._fault_calls),
            appended_tokens=self._appended_tokens,
            sent_entries=self._sent_pieces,
        )

    def _piece(self, key: str) -> Piece:
        piece = self._by_key.get(self._handles.get(key, key)) or self._by_digest(key)
        if piece is None:
            raise NotFoundError(
                f"No object {key!r} in this window. Use the key of an entry of the last request."
            )
        return piece

    def _by_digest(self, handle: str) -> Piece | None:
        """An object by a longer handle than it needs, now that the one with the same short handle is gone."""
        if len(handle) <= 1 + HANDLE_HEX:
            return None
        objects = (piece for piece in self._pieces if piece.is_object)
        return next((each for each in objects if handle_of(each.key, DIGEST_HEX).startswith(handle)), None)

    def _loss(self, now: datetime, model: str) -> Loss | None:
        """Why the provider's cache is lost before anything is decided."""
        if self._sent_at is None:
            return None
        if model != self._model and self._model:
            return "model changed"
        return "cold cache" if (now - self._sent_at).total_seconds() > self.settings.cache_s else None

    def _match(self, entries: Sequence[Entry]) -> int:
        """How many entries are those of the last request, from the start. Their texts are held once."""
        for position, (known, entry) in enumerate(zip(self._entries, entries, strict=False)):
            if known is not entry:
                if known.key != entry.key or known.text != entry.text:
                    return position
                self._entries[position] = self._pieces[position].entry = entry
        return min(len(self._pieces), len(entries))

    def _drop_after(self, position: int) -> None:
        self.count_names()
        for piece in self._pieces[position:]:
            self._shown_names.subtract(piece.shown_names)
            self._chars -= len(piece.shown)
            self._full_chars -= len(piece.entry.text)
            if piece.is_object:
                self._by_source[piece.source_key].remove(piece)
            if piece.path:
                self._by_path[piece.path].remove(piece)
            del self._by_key[piece.key]
            self._replaced.pop(piece.key, None)
        del self._pieces[position:], self._entries[position:], self._lengths[position:]
        self._find_unsettled()

    def _find_unsettled(self) -> None:
        """Positions of the objects that an epoch may change; the others cost no time in later calls."""
        self._unsettled = [
            position
            for position, piece in enumerate(self._pieces)
            if piece.is_object and not piece.is_settled
        ]

    def _add(self, entry: Entry, *, is_known: bool) -> Admission | None:
        """Take an entry. A known one was sent before a restart: its uses are counted already."""
        is_object = entry.is_pageable and len(entry.text) >= self.settings.page_min_chars
        piece = Piece(entry=entry, is_object=is_object, first_call=self._calls, last_use=self._calls)
        admission = None
        if entry.role in ("assistant", "call") and not is_known:
            self._notice_use(entry)
        if is_object:
            piece.handle = free_handle(entry.key, self._handles)
            self._handles[piece.handle] = entry.key
            admission = self._add_object(piece)
            if not piece.is_settled:
                self._unsettled.append(len(self._pieces))
        self._pieces.append(piece)
        self._entries.append(entry)
        self._by_key[entry.key] = piece
        if piece.sent_text is not None:
            self._replaced[entry.key] = piece.sent_text
        self._lengths.append(len(piece.shown))
        self._chars += len(piece.shown)
        self._full_chars += len(entry.text)
        self._uncounted.append(piece)
        return admission

    def _notice_use(self, entry: Entry) -> None:
        """A file is used when the assistant writes its name, or edits it."""
        used = {path for name, paths in self._file_names.items() if name in entry.text for path in paths}
        if entry.role == "call" and is_editing(entry.tool):
            path = file_path(entry.tool, entry.arguments)
            self._edited[path] = self._calls
            used.add(path)
        for path in used:
            for piece in self._by_path.get(path, ()):
                piece.last_use = self._calls

    def _add_object(self, piece: Piece) -> Admission | None:
        entry = piece.entry
        piece.type = entry.type or kind_of(entry.tool, entry.arguments, entry.text)
        piece.source_key = entry.source_key or source_key(entry.tool, entry.arguments)
        piece.path = file_path(entry.tool, entry.arguments)
        if not piece.path and entry.source_key and (entry.type == "file" or handles_files(entry.tool)):
            piece.path = file_of(entry.source_key)
        self._by_source.setdefault(piece.source_key, []).append(piece)
        if piece.path:
            self._by_path.setdefault(piece.path, []).append(piece)
            self._file_names.setdefault(file_name(piece.path), set()).add(piece.path)
        saved = self._saved.pop(piece.key, None)
        if saved and saved.content_hash == piece.content_hash:
            piece.take(saved)
            return None
        self._supersede(piece)
        admission = admit(
            piece,
            tokens=len(entry.text) * self._tokens_per_char,
            is_edited=piece.path in self._edited,
            settings=self.settings,
        )
        if admission.level != FULL:
            self._set_level(piece, admission.level)
            if piece.sent_text is None:
                return replace(admission, level=FULL, reason="a shorter text would save too little")
        return admission

    def _supersede(self, piece: Piece) -> None:
        """Find the copies that the object supersedes, or the one that already shows its text."""
        copies = (
            self._by_path.get(piece.path, ()) if piece.path else self._by_source.get(piece.source_key, ())
        )
        current = [each for each in copies if each is not piece and not each.superseded_by]
        piece.repeats = self._shown_by(piece, [each for each in current if each.level == FULL])
        if piece.repeats:
            self._by_key[piece.repeats].last_use = self._calls
            return
        for older in current:
            if supersedes(piece, older):
                older.superseded_by = piece.key
                self._related.append((piece.key, older.key, "supersedes"))

    def _shown_by(self, piece: Piece, copies: Sequence[Piece]) -> str | None:
        """The newest full copy, if the copies together already show what the object holds."""
        if not copies or piece.entry.is_error:
            return None
        if piece.path and not is_editing(piece.entry.tool):
            return copies[-1].key if shows_all(copies, piece) else None
        return next((each.key for each in copies if each.entry.text == piece.entry.text), None)

    def _set_level(self, piece: Piece, level: Level) -> None:
        """Choose what is sent for an object. The caller keeps the counts of the window."""
        if level == FULL:
            piece.level, piece.sent_text = FULL, None
            return
        text = self._level_text(piece, level)
        if piece.repeats:
            text = f"{text}\nalready shown above, unchanged: {self._by_key[piece.repeats].handle}"
        names = self._hidden_names(piece, text)
        if names:
            text = f"{text}\nnames: {names}"
        if len(text) + SHORTENED_MIN_CHARS <= len(piece.shown):
            piece.level, piece.sent_text = level, text

    def _level_text(self, piece: Piece, level: Level) -> str:
        text = piece.level_texts.get(level)
        if text is None:
            text = piece.level_texts[level] = self._make_level(piece.source, level).text
        return text

    def _hidden_names(self, piece: Piece, text: str) -> str:
        """Names that nothing else in the window shows, so that the agent knows where to ask for them."""
        self.count_names()
        shown = set(names_of(text))
        hidden = tuple(name for name in piece.names if self._shown_names[name] <= 0 and name not in shown)
        return listed_names(hidden, round(self.settings.names_share * len(piece.entry.text)))

    def _moment(self, *, is_cold: bool, at_user_turn: bool) -> Moment:
        return Moment(
            call=self._calls,
            zone=self.pressure().zone,
            is_cold=is_cold,
            at_user_turn=at_user_turn,
            is_thrashing=is_thrashing(self._fault_calls, self._calls, self.settings),
            protected_calls=protected_calls(self._fault_calls, self._calls, self.settings),
            tokens_per_char=self._tokens_per_char,
            edited=self._edited,
        )

    def _begin_epoch(
        self, moment: Moment, cached: int, loss: Loss | None
    ) -> tuple[Epoch | None, tuple[Transition, ...]]:
        if not may_begin(moment):
            return None, ()
        targets = targets_of(
            self._pieces, self._unsettled, lambda piece: target_of(piece, moment, self.settings)
        )
        start = self._start(targets, cached, horizon_calls(moment, self.settings))
        returns = moment.is_cold and any(target.level == FULL for target in targets.values())
        if not returns and not pays(start, moment, self.tokens, self._prices, self.settings):
            return None, ()
        before = self.tokens
        first = 0 if moment.is_cold else start.position
        chosen = {position: target for position, target in targets.items() if position >= first}
        transitions = tuple(each for each in map(self._change, chosen, chosen.values()) if each)
        self._find_unsettled()
        self._epoch += 1
        self._saved_usd += start.saving_usd - start.freed_tokens * self._prices.read * start.horizon_calls
        reason = loss or ("emergency" if moment.zone == "emergency" else "pressure")
        epoch = Epoch(
            number=self._epoch,
            reason=reason,
            tokens_before=before,
            tokens_after=self.tokens,
            saving_usd=start.saving_usd,
        )
        return epoch, transitions

    def _start(self, targets: dict[int, Target], cached: int, horizon: int) -> Start:
        changes = [
            Change(position, (len(piece.shown) - self._length(piece, target.level)) * self._tokens_per_char)
            for position, target in targets.items()
            for piece in [self._pieces[position]]
        ]
        tokens = [length * self._tokens_per_char for length in self._lengths] if changes else []
        return best_start(tokens, changes, cached=cached, prices=self._prices, horizon_calls=horizon)

    def _length(self, piece: Piece, level: Level) -> int:
        """Expected length at a level. Levels are made only for objects that really change."""
        chars = len(piece.entry.text)
        return chars if level == FULL else round(min(chars, STUB_CHARS + LEVEL_SHARES[level] * chars))

    def _change(self, position: int, target: Target) -> Transition | None:
        """Move an object to its new level, and keep the counts of the window."""
        self.count_names()
        piece = self._pieces[position]
        before, from_level = piece.shown, piece.level
        self._shown_names.subtract(piece.shown_names)
        self._set_level(piece, target.level)
        self._shown_names.update(piece.shown_names)
        self._lengths[position] = len(piece.shown)
        self._chars += len(piece.shown) - len(before)
        self._replaced.pop(piece.key, None)
        if piece.sent_text is not None:
            self._replaced[piece.key] = piece.sent_text
        if piece.level == from_level:
            return None
        return Transition(key=piece.key, from_level=from_level, to_level=piece.level, reason=target.reason)

    def _passage_tokens(self, piece: Piece) -> int:
        return min(PASSAGE_TOKENS_MAX, round(len(piece.entry.text) * self._tokens_per_char))
