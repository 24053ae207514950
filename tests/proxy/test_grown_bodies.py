"""A body that repeats an earlier one is read from what is new; the result is that of reading it whole."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.apis import APIS
from mnemic.proxy.grown_bodies import (
    KEPT_PER_CLIENT_MAX,
    ClientKey,
    KeptBodies,
    KeptBody,
    ReadBody,
    keep,
    read_grown,
    read_whole,
)
from mnemic.proxy.json_spans import NoSpansError, element_ends, list_span
from mnemic.proxy.open_sessions import SessionName
from mnemic.proxy.protocol import Body, Unsure
from tests.proxy.anthropic.streams import assistant, call, request, result, user
from tests.proxy.recorded import recorded_requests

API = AnthropicApi()
NAME = SessionName("tenant", "owner", "session")
ODD: tuple[Any, ...] = (
    "plain",
    "ümläut 🙂",
    '"quoted" \\ ]}',
    "\ud800 alone",
    1.0,
    2**60,
    10**30,
    -0.0,
    1e22,
)


def turns(count: int, first: int = 0) -> list[Body]:
    """Calls and results."""
    numbers = range(first, first + count)
    return [
        message
        for number in numbers
        for message in (assistant(call(f"c{number}")), user(result(f"c{number}", f"text {number} \u20ac")))
    ]


def dumped(body: Body, **options: Any) -> bytes:
    return json.dumps(body, **options).encode("utf-8", "surrogatepass")


def grown(kept: KeptBody, text: bytes) -> ReadBody | None:
    added = kept.added(text)
    return read_grown(API, text, kept, added) if added is not None else None


def kept_of(body: Body, **options: Any) -> KeptBody:
    kept = keep(API, read_whole(API, dumped(body, **options)), NAME)
    assert kept is not None
    return kept


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    odd=st.sampled_from(ODD),
    is_first=st.booleans(),
    options=st.sampled_from(
        [
            {},
            {"indent": 2},
            {"separators": (",", ":")},
            {"ensure_ascii": False},
            {"separators": (" , ", " : ")},
        ]
    ),
)
@settings(max_examples=60)
def test_a_grown_body_gives_the_same_as_a_whole_one(
    sizes: list[int], odd: Any, is_first: bool, options: dict[str, Any]
) -> None:
    if isinstance(odd, str) and not odd.isascii() and "\ud800" in odd:
        options = {**options, "ensure_ascii": True}
    fields = {"temperature": odd, "system": "after the messages"}
    messages = [user("Begin."), *turns(4)]
    kept: KeptBody | None = None
    for number, size in enumerate(sizes):
        said = [assistant(f"Words {number}."), user(str(odd))]
        messages += [*said, *turns(size, 100 * (number + 1))]
        body = request(*messages, **fields)
        ordered = body if is_first else {"messages": body.pop("messages"), **body}
        text = dumped(ordered, **options)
        whole = read_whole(API, text)
        read = whole
        if kept is not None:
            found = grown(kept, text)
            assert found is not None, "the body repeats the one before"
            read = found
        assert json.dumps(read.body) == json.dumps(whole.body)
        assert read.conversation == whole.conversation
        kept = keep(API, read, NAME)
        assert kept is not None
        assert kept.start + (kept.added(text) or b"") + kept.end == text


def test_requests_of_real_agents_are_read_alike(subtests: pytest.Subtests) -> None:
    kept: dict[str, KeptBody] = {}
    repeated = 0
    for recorded in recorded_requests():
        if recorded.is_side_request:
            continue
        api, text = APIS[recorded.api], dumped(recorded.body)
        agent = recorded.name.rpartition(" ")[0]
        with subtests.test(recorded.name):
            whole = read_whole(api, text)
            before = kept.get(agent)
            added = before.added(text) if before is not None else None
            read = read_grown(api, text, before, added) if before and added is not None else None
            if read is not None:
                repeated += 1
                assert read.body == whole.body
                assert read.conversation == whole.conversation
                assert (read.compaction is None) == (whole.compaction is None)
            found = keep(api, read or whole, NAME)
            if found is not None:
                kept[agent] = found
    assert repeated > 0


def test_what_does_not_only_grow_is_read_whole() -> None:
    messages = [user("Begin."), *turns(8)]
    kept = kept_of(request(*messages))
    for other in (
        request(*[user("Begin?"), *turns(8)]),
        request(*messages, max_tokens=11),
        request(*messages, extra=1),
        request(*messages[:9], assistant("Other words."), user("x"), stream=True),
        request(*messages[:3]),
    ):
        assert grown(kept, dumped(other)) is None
    rewound = request(*messages[: len(kept.items)], user("Something else."))
    assert kept.added(dumped(rewound)) is not None
    assert grown(kept, dumped(rewound)) is None, "the last message goes on"
    same_end = request(*messages[: len(kept.items)])
    found = grown(kept, dumped(same_end))
    assert found is not None
    assert found.conversation == API.read(same_end)


@pytest.mark.parametrize(
    "added",
    [
        b",",
        b" , ",
        b", 1",
        b"{}",
        b', {"role": "assistant", "content": "x"},',
        b', {"role": "assistant", "content": "x"}], "stream": [true',
        b', {"role": "assistant", "content": "x"}] , "messages": [{"role": "user", "content": "y"}',
        b', {"role": "assistant", "content": "x"} {"role": "user", "content": "y"}',
        b", \xff",
        b', {"role": "assistant", "content": NaN}',
    ],
)
def test_added_text_that_is_no_list_of_items_is_not_joined(added: bytes) -> None:
    kept = kept_of(request(user("Begin."), *turns(8)))
    assert grown(kept, kept.start + added + kept.end) is None


def test_unknown_items_leave_a_grown_body_unsure() -> None:
    messages = [user("Begin."), *turns(8)]
    kept = kept_of(request(*messages))
    for wrong in (
        [assistant(call("c1"))],
        [assistant(call("c1")), user(result("c1"))],
        [assistant(call("new")), user("no result")],
        [assistant("the end")],
        [assistant("x"), {"role": "robot", "content": "x"}],
    ):
        text = dumped(request(*messages, *wrong))
        with pytest.raises(Unsure):
            grown(kept, text)
        with pytest.raises(Unsure):
            read_whole(API, text)
        # A reader that stopped in the middle leaves what is kept as it was.
        assert grown(kept, dumped(request(*messages, *turns(1, 500)))) is not None


def test_texts_whose_items_cannot_be_placed_are_not_kept() -> None:
    body = dumped(request(user("Begin."), *turns(8)))
    twice = body[:-1] + b', "messages": ' + json.dumps([user("Begin."), *turns(8)]).encode() + b"}"
    assert keep(API, read_whole(API, twice), NAME) is None
    assert keep(API, read_whole(API, dumped(request(user("Begin.")))), NAME) is None


def test_spans_count_bytes() -> None:
    text = '{"a": "\u20ac]", "list" : [ {"x": "\U0001f642"} , [1, 2],"\u00fc" ] , "b": {}}'.encode()
    span = list_span(text, "list")
    assert text[span.end : span.end + 1] == b"]"
    assert [text[:end].decode()[-1] for end in span.ends] == ["}", "]", '"']
    more = ' , {"\u20ac": 1}, "\u00fc"'.encode()
    assert element_ends(more) == (len(' , {"\u20ac": 1}'.encode()), len(more))
    assert element_ends(b"  ") == ()
    for wrong in (b'{"list": 1}', b'{"other": []}', b'{"list": [], "list": []}', b"[]", b"\xff"):
        with pytest.raises(NoSpansError):
            list_span(wrong, "list")


def test_kept_bodies_are_bounded_and_belong_to_one_client() -> None:
    one = kept_of(request(user("Begin."), *turns(8)))
    bodies = KeptBodies(bytes_max=3 * one.size_bytes)
    clients = [ClientKey("t", "o", "anthropic", bytes([number])) for number in range(5)]
    for number, client in enumerate(clients):
        assert not bodies.of(client)
        bodies.add(client, one)
        assert bodies.of(client) == (one,)
        assert bodies.size_bytes == min(3, number + 1) * one.size_bytes
    assert [bool(bodies.of(client)) for client in clients] == [False, False, True, True, True]
    for other in (
        ClientKey("u", "o", "anthropic", clients[4].client),
        ClientKey("t", "p", "anthropic", clients[4].client),
        ClientKey("t", "o", "chat", clients[4].client),
    ):
        assert not bodies.of(other)


def test_many_tiny_values_count_with_the_memory_that_they_take() -> None:
    """A text of `{}` takes 64 bytes of memory for each 3 of its own."""
    values: tuple[object, ...] = ({}, [], {"a": {}}, "ab", 1.5)
    for tiny in values:
        text = dumped(request(user("Begin."), *turns(8)) | {"metadata": {"tiny": [tiny] * 50_000}})
        tracemalloc.start()
        kept = keep(API, read_whole(API, text), NAME)
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept is not None
        assert taken <= kept.size_bytes


def test_a_client_has_one_kept_body_for_each_session_and_few_sessions() -> None:
    bodies, client = KeptBodies(), ClientKey("t", "o", "anthropic", b"")
    read = read_whole(API, dumped(request(user("Begin."), *turns(8))))
    sessions = [SessionName("t", "o", f"s{number}") for number in range(KEPT_PER_CLIENT_MAX + 2)]
    for session in (*sessions, sessions[-1], sessions[-2]):
        kept = keep(API, read, session)
        assert kept is not None
        bodies.add(client, kept)
    names = [each.session for each in bodies.of(client)]
    assert names[:2] == [sessions[-2], sessions[-1]]
    assert len(names) == len(set(names)) == KEPT_PER_CLIENT_MAX
    assert bodies.size_bytes == sum(each.size_bytes for each in bodies.of(client))
