"""Levels of each kind of content."""

import json
import sys

import pytest

from mnemic.context.levels import syntax
from mnemic.context.levels.code import definitions_of
from mnemic.context.levels.kinds import kind_of, source_key
from mnemic.context.levels.level import Level, LevelText, ObjectType, Source
from mnemic.context.levels.lines import read_lines
from mnemic.context.levels.shortening import make_level
from mnemic.context.levels.syntax import has_grammar

CODE = {
    ".py": """\
@cached
def load_file(path):
    return path


class Reader(Base):
    def read_all(self) -> str:
        pass
""",
    ".js": """\
export const makeThing = (a) => {
  return a;
};
class Reader {
  readAll() {
    return 1;
  }
}
function load_file() {}
""",
    ".ts": """\
export interface Reader {
  readAll(): string;
}
export function load_file<T>(a: T): T {
  return a;
}
""",
    ".tsx": """\
export function Reader() {
  return <div>{readAll()}</div>;
}
export const load_file = () => <b/>;
""",
    ".go": """\
package x

type Reader struct {
	Name string
}

func (r *Reader) ReadAll() error {
	return nil
}

func load_file() {}
""",
    ".rs": """\
pub struct Reader { a: u8 }
impl Reader {
    pub fn read_all(&self) -> u8 {
        self.a
    }
}
fn load_file() {}
""",
    ".java": """\
public class Reader {
    private int load_file;
    public String readAll(int a) {
        return null;
    }
}
""",
    ".c": """\
struct Reader { int a; };
int load_file(char *path);
static int read_all(struct Reader *r)
{
    return 1;
}
""",
    ".cpp": """\
namespace files {
class Reader {
 public:
  int read_all() const { return 1; }
};
int load_file() { return 2; }
}
""",
    ".cs": """\
namespace Files {
    public class Reader {
        public string ReadAll(int a) {
            return null;
        }
        void load_file() {}
    }
}
""",
    ".rb": """\
module Files
  class Reader
    def read_all(a)
      a
    end
    def self.load_file
    end
  end
end
""",
    ".php": """\
<?php
class Reader {
    public function readAll($a) {
        return 1;
    }
}
function load_file() {}
""",
    ".sh": """\
read_all() {
  cat "$1"
}
function load_file {
  Reader=1
}
""",
}


def made(text: str, kind: ObjectType, level: Level, key: str = "", tool: str = "Read") -> LevelText:
    return make_level(Source(text, kind, tool, key, handle="o7"), level)


def names_defined(code: str, path: str) -> set[str]:
    return {name for definition in definitions_of(read_lines(code), path) for name in definition.names}


def test_grammars_find_definitions_of_every_language(subtests: pytest.Subtests) -> None:
    for extension, code in CODE.items():
        with subtests.test(extension):
            assert has_grammar(extension)
            names = {name.lower().replace("_", "") for name in names_defined(code, f"a{extension}")}
            assert names >= ({"loadfile", "readall"} if extension in (".sh",) else {"loadfile", "reader"})
            if extension not in (".tsx", ".sh"):
                assert "readall" in names


def test_without_grammars_rules_find_definitions(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    syntax._language.cache_clear()
    try:
        for extension, code in CODE.items():
            with subtests.test(extension):
                assert not has_grammar(extension)
                names = {name.lower().replace("_", "") for name in names_defined(code, f"a{extension}")}
                assert "loadfile" in names or "readall" in names
    finally:
        syntax._language.cache_clear()


def python_file(functions: int = 30) -> str:
    """As a tool prints it: numbers before the lines, its own words after them."""
    body = "".join(
        f"def compute_value_{n}(first, second):\n    total = first * {n}\n    checked = validate_{n}(total)\n"
        f"    if not checked:\n        raise ValueError(first)\n    return total + second\n\n\n"
        for n in range(functions)
    )
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(body.split("\n"), 1))
    return f"{numbered}\n\n<system-reminder>\nConsider whether this file is malicious.\n</system-reminder>\n"


def test_a_file_keeps_signatures_with_their_line_numbers() -> None:
    text = python_file()
    excerpt = made(text, "file", 1, "/src/values.py")
    assert "     1→def compute_value_0(first, second):" in excerpt.text
    assert "   233→def compute_value_29(first, second):" in excerpt.text
    assert 0.15 < len(excerpt.text) / len(text) < 0.36
    outline = made(text, "file", 2, "/src/values.py")
    assert "compute_value_3:25" in outline.text
    assert "malicious" not in outline.text
    assert 0.05 < len(outline.text) / len(text) < 0.16
    line = made(text, "file", 3, "/src/values.py")
    assert (
        line.text == "[Read /src/values.py: 246 lines, 30 definitions; rest: memory_query/memory_restore o7]"
    )


def test_facts_are_counted() -> None:
    excerpt = made(python_file(), "file", 1, "/src/values.py")
    assert excerpt.lost[1] == "most of the bodies of 30 definitions"
    assert excerpt.can_answer[0] == "the signatures of 30 definitions"
    assert excerpt.fault_when == ("editing the file", "reading a body")
    shown = sum(1 for line in excerpt.text.split("\n")[1:] if "→" in line)
    assert excerpt.lost[0] == f"{246 - shown} of 246 lines"


def test_output_keeps_both_ends_and_errors_and_counts_repeated_lines() -> None:
    text = "\n".join(
        [
            "starting the build",
            *(f"compiled module {n} in {n * 3} ms" for n in range(400)),
            "src/app.c:12:5: error: unknown type name 'sizet'",
            *(f"note {chr(97 + n % 26)}{chr(97 + n // 26)} about another part" for n in range(200)),
            "build finished with 1 problem",
        ]
    )
    excerpt = made(text, "command", 1, "make", "Bash")
    for kept in ("starting the build", "unknown type name 'sizet'", "build finished with 1 problem", "(×400"):
        assert kept in excerpt.text
    assert "unknown type name" in made(text, "command", 2, "make", "Bash").text


def test_search_results_name_each_file_once_with_its_hits() -> None:
    text = "\n".join(
        f"/home/dev/project/src/module_{file}.py:{10 * hit + 1}:    value = find_setting(name_{file}_{hit})"
        for file in range(8)
        for hit in range(6)
    )
    excerpt = made(text, "search", 1, "find_setting", "Grep")
    assert "in /home/dev/project/src/" in excerpt.text
    for file in range(8):
        assert f"module_{file}.py (6)\n" in excerpt.text
    assert "48 hits in 8 files" in excerpt.text
    assert excerpt.lost[1] == "hits after the first in 8 files"


def test_lines_around_a_hit_belong_to_its_file() -> None:
    text = "\n".join(
        line
        for number in range(10, 200, 10)
        for line in (
            f"/work/src/a.go-{number - 1}-before",
            f"src/a.go:{number}:hit",
            f"/work/src/a.go-{number + 1}-after",
            "--",
        )
    )
    excerpt = made(text, "search", 1, "hit", "Grep")
    assert "19 hits in 1 file;" in excerpt.text
    assert excerpt.text.index(" 10: hit") < excerpt.text.index(" 20: hit")


def test_hits_of_a_search_in_one_file_have_its_path() -> None:
    text = "\n".join(f"{number}:case node_type_{number}:" for number in range(1, 200, 7))
    assert "/src/view.go (29)" in made(text, "search", 2, "node_type in /src/view.go", "Grep").text


def test_a_diff_keeps_files_hunks_and_changed_definitions() -> None:
    hunk = "\n".join(f" unchanged line number {n}" for n in range(60))
    text = (
        f"diff --git a/src/a.py b/src/a.py\nindex 1..2\n--- a/src/a.py\n+++ b/src/a.py\n"
        f"@@ -1,60 +1,61 @@ def outer_function\n{hunk}\n+def added_function(a):\n-removed_call(b)\n{hunk}\n"
    )
    excerpt = made(text, "diff", 1)
    assert "+def added_function(a):" in excerpt.text
    assert "-removed_call(b)" in excerpt.text
    outline = made(text, "diff", 2)
    assert "src/a.py +1 −1" in outline.text
    assert "def outer_function" in outline.text


def test_json_keeps_its_shape_and_first_elements() -> None:
    rows = [
        {"identifier": n, "title_text": f"title {n}", "nested": {"inner_key": "x" * 100}} for n in range(50)
    ]
    text = json.dumps({"issues": rows, "total_count": 50})
    excerpt = made(text, "data", 1)
    assert '{issues: [{identifier: 0, title_text: "title 0"' in excerpt.text
    assert "more]" in excerpt.text
    assert "total_count: 50" in excerpt.text
    assert "JSON object of 2 keys" in excerpt.text
    assert "JSON list of 50 elements" in made("\n".join(map(json.dumps, rows)), "data", 1).text


def test_prose_keeps_headings() -> None:
    part = "Paging moves text out of the window. The weather was fine that day. " * 8
    text = "\n\n".join(
        f"## Part {name}\n\n{part}{name} is the subject." for name in ("alpha", "beta", "gamma", "delta")
    )
    outline = made(text, "prose", 2, "a.md")
    for name in ("alpha", "beta", "gamma", "delta"):
        assert f"## Part {name}" in outline.text


def test_short_texts_stay_whole() -> None:
    for level in (0, 1, 2, 3):
        short = made("ok\n", "command", level)
        assert short.text == "ok\n"
        assert short.lost == ()
    assert made("ok\n", "command", 4).text == ""


def test_kinds_and_keys_of_known_tools(subtests: pytest.Subtests) -> None:
    diff = "diff --git a/x b/x\n@@ -1 +1 @@\n"
    cases: list[tuple[str, dict[str, object], str, ObjectType, str]] = [
        ("Read", {"file_path": "/a/b.py", "offset": 10, "limit": 5}, "", "file", "/a/b.py:10-14"),
        ("read", {"filePath": "/a/b.md"}, "", "prose", "/a/b.md"),
        ("Read", {"file_path": "/a/b.json"}, "", "data", "/a/b.json"),
        ("Bash", {"command": "ls\n  -l"}, "", "command", "ls -l"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "", "command", "make test"),
        ("Bash", {"command": "git diff"}, diff, "diff", "git diff"),
        ("Grep", {"pattern": "x+", "path": "/src"}, "", "search", "x+ in /src"),
        ("Edit", {"file_path": "/a/b.py", "old_string": "a"}, "", "diff", "/a/b.py"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/a.py"}, "", "diff", "/a.py"),
        ("WebFetch", {"url": "https://example.org"}, "", "prose", "https://example.org"),
        ("mcp__tracker__get_issue", {"id": "T-1"}, '{"id": "T-1"}', "data", "T-1"),
        ("unknown", {}, "no sentence here", "other", ""),
    ]
    for tool, arguments, text, kind, key in cases:
        with subtests.test(f"{tool} {key}"):
            assert kind_of(tool, arguments, text) == kind
            assert source_key(tool, arguments) == key


def test_long_commands_keep_different_keys() -> None:
    keys = {source_key("Bash", {"command": f"echo {'x' * 500} {n}"}) for n in range(3)}
    assert len(keys) == 3
