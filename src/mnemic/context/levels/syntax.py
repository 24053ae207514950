"""Definitions in code by tree-sitter, for languages whose grammar is installed (extra ``context``).

The grammars accept broken code, so a part of a file works, too. Parsing a text of hostile nesting or size is
not worth its time: such a text, and any language without a grammar, is read by rules (`definition_rules`).
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from mnemic.context.levels.definitions import Definition
from mnemic.context.levels.grammars import CONTAINERS, GRAMMARS, ROUTINES, TRANSPARENT

CODE_BYTES_MAX = 200_000
"""Larger files are read by rules. A parser needs 0.1 to 0.3 s per megabyte of natural code."""
DEPTH_OF_BRACKETS_MAX = 100
STATEMENT_CHARS_MAX = 8_000
"""Parsers have no limit of time, and take the square of the size for a long ambiguous expression."""
NODES_MAX = 20_000
DEFINITIONS_MAX = 5_000
DEPTH_MAX = 8
SIGNATURE_ROWS_MAX = 6
NAMES_PER_DEFINITION_MAX = 20

_LINE_LANGUAGES = frozenset({".py", ".pyi", ".rb", ".sh", ".bash", ".zsh", ".go"})
_ENDS_OF_LINES = re.compile(r"\n")
_ENDS_OF_STATEMENTS = re.compile(r"[;{}]")
_BRACKET = re.compile(r"[(\[{)\]}]|\w<|>")


def has_grammar(extension: str) -> bool:
    """Whether the language of an extension is known and its grammar is installed."""
    return _language(extension) is not None


def parse_definitions(code: str, extension: str) -> list[Definition] | None:
    """Definitions in the order of the text; None if the code cannot or should not be parsed."""
    language = _language(extension)
    if language is None or len(code) > CODE_BYTES_MAX or not _is_natural(code, extension):
        return None
    source = code.encode(errors="replace")
    if len(source) > CODE_BYTES_MAX:
        return None
    parser = import_module("tree_sitter").Parser(language)  # A parser belongs to one thread.
    found: list[Definition] = []
    for definition in _definitions(parser.parse(source).root_node):
        found.append(definition)
        if len(found) >= DEFINITIONS_MAX:
            break
    return sorted(found, key=lambda definition: (definition.row, definition.depth))


@cache
def _language(extension: str) -> Any:
    module, function = GRAMMARS.get(extension, ("", ""))
    if not module:
        return None
    try:
        tree_sitter = import_module("tree_sitter")
        grammar = import_module(module)
    except ImportError:
        return None
    return tree_sitter.Language(getattr(grammar, function)())


def _is_natural(code: str, extension: str) -> bool:
    """Whether nesting and statements are such as people write: others may take the square of their size."""
    ends = _ENDS_OF_LINES if extension in _LINE_LANGUAGES else _ENDS_OF_STATEMENTS
    if max(map(len, ends.split(code))) > STATEMENT_CHARS_MAX:
        return False
    depth = angles = 0
    for match in _BRACKET.finditer(code):
        bracket = match[0][-1]
        if bracket == "<":
            angles += 1
        elif bracket == ">":
            angles = max(0, angles - 1)
        elif bracket in "([{":
            depth += 1
        else:
            depth = max(0, depth - 1)
        if bracket in "{}":  # A generic type ends with its statement.
            angles = 0
        if depth > DEPTH_OF_BRACKETS_MAX or angles > DEPTH_OF_BRACKETS_MAX:
            return False
    return True


def _definitions(root: Any) -> Iterator[Definition]:
    # Node, depth, and the row of a decorator or `export` before it, or -1.
    pending: list[tuple[Any, int, int]] = [(node, 0, -1) for node in reversed(root.children[:NODES_MAX])]
    seen = 0
    while pending and seen < NODES_MAX:
        node, depth, prefix_row = pending.pop()
        seen += 1
        row = prefix_row if prefix_row >= 0 else node.start_point[0]
        is_definition = node.type in ROUTINES or node.type in CONTAINERS
        if is_definition:
            yield _definition(node, row, depth)
        elif node.type == "expression_statement" and depth == 0 and _is_assignment(node):
            yield _definition(node.children[0], row, depth)
        if depth < DEPTH_MAX and (node.type in CONTAINERS or node.type in TRANSPARENT):
            prefix = row if node.type in ("decorated_definition", "export_statement") else -1
            room = max(0, NODES_MAX - seen - len(pending))
            children = reversed(node.children[:room])
            pending.extend((child, depth + is_definition, prefix) for child in children)


def _is_assignment(node: Any) -> bool:
    return bool(node.children) and node.children[0].type == "assignment"


def _definition(node: Any, row: int, depth: int) -> Definition:
    body = node.child_by_field_name("body")
    start = node.start_point[0]
    signature_end = start
    if body is not None:
        # A body without a bracket (Python, Ruby) begins below the signature.
        has_bracket = body.child_count > 0 and body.children[0].type == "{"
        signature_end = max(start, body.start_point[0] - (not has_bracket))
    end = node.end_point[0]
    return Definition(_names(node), row, min(signature_end, row + SIGNATURE_ROWS_MAX, end), end, depth)


def _names(node: Any) -> tuple[str, ...]:
    found = [text for owner in [node, *node.children[:NAMES_PER_DEFINITION_MAX]] if (text := _name(owner))]
    return tuple(dict.fromkeys(found))[:NAMES_PER_DEFINITION_MAX]


def _name(node: Any) -> str:
    for field in ("name", "declarator", "left"):
        named = node.child_by_field_name(field)
        for _ in range(DEPTH_MAX):
            if named is None:
                break
            inner = named.child_by_field_name("declarator") or named.child_by_field_name("name")
            if inner is None:
                return (named.text or b"")[:200].decode(errors="replace") if named.child_count == 0 else ""
            named = inner
    if node.type == "impl_item":
        named = node.child_by_field_name("type")
        return "" if named is None else (named.text or b"")[:200].decode(errors="replace")
    return ""
