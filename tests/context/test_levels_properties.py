"""What holds for every text at every level."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.context.levels.kinds import kind_of, source_key
from mnemic.context.levels.level import Level, ObjectType, Source
from mnemic.context.levels.names import count_names, key_names
from mnemic.context.levels.passages import find_passage
from mnemic.context.levels.shortening import make_level

TYPES: tuple[ObjectType, ...] = ("file", "command", "search", "diff", "data", "prose", "message", "other")
LEVELS: tuple[Level, ...] = (0, 1, 2, 3, 4)

# Any character: lone surrogates and NUL, too.
_anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=400)
_lines = st.sampled_from(
    (
        *("def load_settings(path):", "    return json.loads(path.read_text())", "class Window:", "", "\t"),
        *("   12→func Sum(a, b int) int {", "   13→}", "src/app/main.py:12:import settings_loader", "--"),
        *("src/app/main.py", "diff --git a/x.py b/x.py", "@@ -1,2 +1,3 @@ def old_name", "+added_line = 1"),
        *(
            '{"identifier": [1, 2, {"nested_key": null}]}',
            "[",
            "{",
            "# Heading of a part",
            "ERROR: not found",
        ),
        *("A sentence about paging. Another one follows!", "2026-01-08 16:25 checkpoint 5c581f0c1465 saved"),
        *("İstanbul'daki \udc80 lone", "\x00\x01", "x" * 500, "names: of memory_restore"),
    )
)
_texts = st.one_of(_anything, st.lists(st.one_of(_lines, _anything), max_size=60).map("\n".join))
_repeated = st.tuples(_texts, st.integers(1, 40)).map(lambda pair: "\n".join([pair[0]] * pair[1]))
_keys = st.sampled_from(
    ("", "a.py", "src/b.go:3-9", "c.ts", "d.rs", "e.cpp", "f.rb", "g.php", "h.sh", "i.txt")
)
_sources = st.builds(Source, st.one_of(_texts, _repeated), st.sampled_from(TYPES), st.just("Read"), _keys)


@settings(max_examples=300, deadline=None)
@given(_sources, st.sampled_from(LEVELS))
def test_a_level_is_never_longer_than_the_source_and_always_the_same(source: Source, level: Level) -> None:
    made = make_level(source, level)
    assert len(made.text) <= len(source.text)
    assert made.level == level
    assert made == make_level(source, level)
    assert made.text == source.text or made.lost


@settings(max_examples=300, deadline=None)
@given(_sources, st.sampled_from((1, 2)))
def test_every_name_below_the_header_occurs_in_the_source(source: Source, level: Level) -> None:
    made = make_level(source, level)
    body = made.text if made.text == source.text else made.text.partition("\n")[2]
    for name in count_names(body):
        assert name in source.text


@settings(max_examples=200, deadline=None)
@given(_texts, st.one_of(_anything, _lines), st.integers(60, 500))
def test_a_passage_keeps_its_budget_and_gives_only_lines_of_the_text(
    text: str, question: str, tokens: int
) -> None:
    passage = find_passage(text, question, tokens)
    assert passage.tokens <= tokens or not text
    assert passage == find_passage(text, question, tokens)
    assert 0 <= passage.lines_left_out <= text.count("\n") + 1 + len(text) // 400


@settings(max_examples=200, deadline=None)
@given(_texts)
def test_key_names_are_unique_and_occur_in_the_text(text: str) -> None:
    names = key_names(text)
    assert len(set(names)) == len(names)
    assert all(name in text for name in names)


_arguments = st.dictionaries(
    st.sampled_from(("file_path", "command", "pattern", "offset", "limit", "view_range", "url", "path")),
    st.one_of(st.none(), st.integers(), _anything, st.lists(_anything, max_size=4), st.booleans()),
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("Read", "Bash", "mcp__x__list_issues", "", "apply_patch")), _arguments, _texts)
def test_any_call_has_a_kind_and_a_short_key_of_one_line(
    tool: str, arguments: dict[str, object], text: str
) -> None:
    assert kind_of(tool, arguments, text) in TYPES
    key = source_key(tool, arguments)
    assert len(key) <= 200
    assert "\n" not in key
