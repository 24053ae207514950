"""Split HTML into tags and text, in time that grows with the length of the text only.

This is the tokenizer of the HTML standard without what reading a text does not need: comments, declarations
and processing instructions are skipped, and a tag that never ends is dropped together with what follows, as
browsers do. Each step either moves on behind what it has read or ends the text, so nothing is read twice.

`html.parser` takes time that grows with the square of the length in many supported releases of Python
(CVE-2025-6069): 40 KB of `<a ` take 15 s.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

# Elements whose content is text up to their own end tag; in the second group, character references count.
_RAW = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes"})
_ESCAPABLE_RAW = frozenset({"title", "textarea"})
_RAW_END = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in _RAW | _ESCAPABLE_RAW}
_COMMENT_END = re.compile(r"--!?>")
_TAG_NAME = re.compile(r"[A-Za-z][^\t\n\f\r />]*")
_BEFORE_ATTRIBUTE = re.compile(r"[\t\n\f\r /]*")
_ATTRIBUTE_NAME = re.compile(r"=?[^\t\n\f\r />=]*")
_EQUALS = re.compile(r"[\t\n\f\r ]*=[\t\n\f\r ]*")
_UNQUOTED = re.compile(r"[^\t\n\f\r >]*")
# Longer ones name no character, and `unescape` would convert each digit.
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8}[0-9]*|[xX][0-9a-fA-F]{7}[0-9a-fA-F]*);?")


@dataclass(frozen=True, slots=True)
class StartTag:
    """A start tag; of attributes of the same name the first counts. `is_empty`: it ends with `/>`."""

    name: str
    attributes: dict[str, str]
    is_empty: bool


@dataclass(frozen=True, slots=True)
class EndTag:
    """An end tag."""

    name: str


Token = StartTag | EndTag | str
"""A tag, or text with its character references replaced."""


def tokens_of(markup: str) -> Iterator[Token]:
    """The tags and texts of a page in order."""
    position = 0
    while position < len(markup):
        tag_start = markup.find("<", position)
        tag_start = tag_start if tag_start >= 0 else len(markup)
        if tag_start > position:
            yield _unescaped(markup[position:tag_start])
        if tag_start == len(markup):
            return
        token, position = _after_less_than(markup, tag_start)
        if token is not None:
            yield token
        if isinstance(token, StartTag) and not token.is_empty and token.name in _RAW_END:
            text, position = _raw_text(markup, position, token.name)
            if text:
                yield text


def _after_less_than(markup: str, start: int) -> tuple[Token | None, int]:
    """What begins with the `<` at `start`, and where it ends."""
    following = markup[start + 1 : start + 2]
    if following.isascii() and following.isalpha():
        return _tag(markup, start + 1, is_end=False)
    if following == "/":
        letter = markup[start + 2 : start + 3]
        if letter.isascii() and letter.isalpha():
            return _tag(markup, start + 2, is_end=True)
        return (None, _behind(markup, ">", start + 2)) if letter else ("</", len(markup))
    if markup.startswith("<!--", start):
        return None, _end_of_comment(markup, start + 4)
    if following and following in "!?":
        return None, _behind(markup, ">", start + 2)
    return "<", start + 1


def _tag(markup: str, start: int, *, is_end: bool) -> tuple[Token | None, int]:
    """The tag whose name begins at `start`; None if the text ends before the tag does."""
    name = _TAG_NAME.match(markup, start)
    assert name is not None
    attributes: dict[str, str] = {}
    end = name.end()
    position = _end_of(_BEFORE_ATTRIBUTE, markup, end)
    while position < len(markup) and markup[position] != ">":
        attribute = _ATTRIBUTE_NAME.match(markup, position)
        assert attribute is not None
        value, end = _attribute_value(markup, attribute.end())
        attributes.setdefault(attribute[0].lower(), value)
        position = _end_of(_BEFORE_ATTRIBUTE, markup, end)
    if position >= len(markup):
        return None, len(markup)
    if is_end:
        return EndTag(name[0].lower()), position + 1
    is_empty = position > end and markup[position - 1] == "/"
    return StartTag(name[0].lower(), attributes, is_empty), position + 1


def _attribute_value(markup: str, position: int) -> tuple[str, int]:
    """The value behind the name of an attribute, empty if it has none, and where it ends."""
    equals = _EQUALS.match(markup, position)
    if equals is None:
        return "", position
    quote = markup[equals.end() : equals.end() + 1]
    if quote and quote in "\"'":
        end = _behind(markup, quote, equals.end() + 1)
        return _unescaped(markup[equals.end() + 1 : end - 1]), end
    end = _end_of(_UNQUOTED, markup, equals.end())
    return _unescaped(markup[equals.end() : end]), end


def _raw_text(markup: str, start: int, name: str) -> tuple[str, int]:
    """The content of an element without markup in it, and where its end tag begins."""
    end_tag = _RAW_END[name].search(markup, start)
    end = end_tag.start() if end_tag is not None else len(markup)
    text = markup[start:end]
    return (_unescaped(text) if name in _ESCAPABLE_RAW else text), end


def _end_of_comment(markup: str, start: int) -> int:
    """Behind a comment; `<!-->` and `<!--->` are whole ones."""
    for short in (">", "->"):
        if markup.startswith(short, start):
            return start + len(short)
    end = _COMMENT_END.search(markup, start)
    return end.end() if end is not None else len(markup)


def _behind(markup: str, sign: str, start: int) -> int:
    """Behind the next `sign`, or at the end of the text."""
    found = markup.find(sign, start)
    return found + 1 if found >= 0 else len(markup)


def _end_of(pattern: re.Pattern[str], markup: str, start: int) -> int:
    match = pattern.match(markup, start)
    return match.end() if match is not None else start


def _unescaped(text: str) -> str:
    """The text with its character references replaced."""
    return unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
