"""Finds the addresses of the dashboard by following links: new pages are tested without being listed.

Addresses of the same shape, which have the same view and the same fields in the URL, are visited once. A view
that no link leads to is missing in `Map.unreached`.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx
from starlette.routing import compile_path

from mnemic.dashboard.page_list import PAGES
from mnemic.dashboard.visit import ROOT

ADDRESSES_MAX = 300
TABS = ("tab", "state")
"""Fields of the URL whose every value shows something else."""
FRAGMENT_ATTRIBUTES = ("data-swap", "data-append")
Attributes = dict[str, str]


@dataclass
class Form:
    """A form as a browser sends it when nothing is changed in it."""

    method: str
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def shape(self) -> tuple[str, str, tuple[str, ...]]:
        return (
            self.method,
            view_path(urlsplit(self.action).path),
            tuple(sorted({name for name, _ in self.fields})),
        )


@dataclass
class Found:
    """An address with what is on its page."""

    url: str
    view: str
    html: str
    forms: list[Form]
    fragments: set[str]
    """The parts of the page, such as "#found", that the script asks for by themselves."""


@dataclass
class Map:
    """All shapes of addresses."""

    found: list[Found] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Links that lead to an error."""
    others: set[str] = field(default_factory=set)
    """Views that answer no page: downloads and streams."""

    def one_for_each_view(self) -> list[Found]:
        """The first address of every view: the plainest."""
        return list({each.view: each for each in reversed(self.found)}.values())[::-1]

    @property
    def unreached(self) -> set[str]:
        """Views that answer GET and that no page links to; a form leads to those that also answer POST."""
        return {ROOT + path for path in GET_PATHS} - {each.view for each in self.found} - self.others


VIEWS = [view for page in PAGES for view in page.views]
GET_PATHS = {view.path for view in VIEWS if view.method == "GET"} - {
    view.path
    for view in VIEWS
    if view.method == "POST" and view.path not in {page.views[0].path for page in PAGES}
}
PATTERNS = [(ROOT + view.path, compile_path(ROOT + view.path)[0]) for page in PAGES for view in page.views]


def explore(client: httpx.Client, *, per_shape: int = 1) -> Map:
    """Visit everything that links lead to, beginning with the pages of the navigation.

    Of single memories, entities and jobs, `per_shape` each are visited.
    """
    explored, seen, counts = Map(), set[str](), Counter[object]()
    waiting = deque(ROOT + page.views[0].path for page in PAGES)
    while waiting:
        url = waiting.popleft()
        shape = _shape(url)
        is_detail = "{" in shape[0] and not shape[1]
        if url in seen or counts[shape] >= (per_shape if is_detail else 1):
            continue
        seen.add(url)
        counts[shape] += 1
        assert len(seen) <= ADDRESSES_MAX, f"the addresses do not end: {sorted(seen)[-5:]}"
        answer = client.get(url)
        if not answer.headers.get("content-type", "").startswith("text/html"):
            explored.others.add(shape[0])
            continue
        if answer.status_code != 200:
            explored.broken.append(f"{url} answers {answer.status_code}: {main_text(answer.text)}")
            continue
        reader = Reader(url)
        reader.feed(answer.text)
        explored.found.append(
            Found(url, view_path(urlsplit(url).path), answer.text, reader.forms, reader.fragments)
        )
        waiting.extend(reader.links)
        explored.others.update(view_path(path) for path in reader.not_pages)
    return explored


def view_path(path: str) -> str:
    """The path of the view that serves an address: `/ui/memories/{memory_id}`."""
    return next((template for template, pattern in PATTERNS if pattern.match(path)), path)


def _shape(url: str) -> tuple[str, tuple[str, ...]]:
    parts = urlsplit(url)
    fields = {f"{name}={value}" if name in TABS else name for name, value in parse_qsl(parts.query)}
    return view_path(parts.path), tuple(sorted(fields - {"owner"}))


class Reader(HTMLParser):
    """Reads the links, the forms and the parts of a page."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.fragments: set[str] = set()
        self.not_pages: set[str] = set()
        """Paths of downloads and of streams of events."""
        self._form: Form | None = None
        self._select: tuple[str, list[tuple[str, bool]]] | None = None
        self._text_area: tuple[str, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.fragments.update(given[name] for name in FRAGMENT_ATTRIBUTES if name in given)
        if "data-refresh" in given or "data-follow" in given:
            self.fragments.add(f"#{given['id']}")
        self._read_address(tag, given)
        if tag == "form":
            self._form = Form(given.get("method", "get"), urljoin(self.url, given.get("action") or self.url))
            self.forms.append(self._form)
        elif self._form is not None:
            self._read_field(tag, given, self._form)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif self._form is not None and tag == "select" and self._select is not None:
            name, options = self._select
            chosen = [value for value, is_selected in options if is_selected] or [
                value for value, _ in options[:1]
            ]
            self._form.fields.extend((name, value) for value in chosen[:1])
            self._select = None
        elif self._form is not None and tag == "textarea" and self._text_area is not None:
            name, texts = self._text_area
            self._form.fields.append((name, "".join(texts)))
            self._text_area = None

    def handle_data(self, data: str) -> None:
        if self._text_area is not None:
            self._text_area[1].append(data)

    def _read_address(self, tag: str, given: Attributes) -> None:
        for name in ("data-live", "data-follow", "data-from"):
            if name in given:
                self.not_pages.add(urlsplit(given[name]).path)
        if tag != "a" or "href" not in given:
            return
        url = urljoin(self.url, given["href"])
        if "download" in given:
            self.not_pages.add(urlsplit(url).path)
        elif url.startswith(f"{ROOT}/") and "#" not in url:
            self.links.append(url)

    def _read_field(self, tag: str, given: Attributes, form: Form) -> None:
        name, kind = given.get("name", ""), given.get("type", "text")
        if tag == "select":
            self._select = (name, [])
        elif tag == "option" and self._select is not None:
            self._select[1].append((given.get("value", ""), "selected" in given))
        elif tag == "textarea":
            self._text_area = (name, [])
        elif tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in given):
            form.fields.append((name, given.get("value", "on" if kind == "checkbox" else "")))
        elif tag == "button" and name:
            form.fields.append((name, given.get("value", "")))


def main_text(html: str) -> str:
    """What the page says, without its frame."""
    return html[html.find("<main") :][:2_000]
