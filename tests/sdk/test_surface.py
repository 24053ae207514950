"""Every public call is routed, and has a line in the table of routes or in a list of exceptions."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from mnemic.sdk.call_groups import CallGroups
from mnemic.sdk.http.surface import CLIENT_SIDE, LOCAL_ONLY, ROUTES, SURFACE
from mnemic.sdk.http.wire import find_call
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.routing import routed
from tools.generate_docs import http_page

USE_OWNER_OF_SCOPE = frozenset({"events.consumers", "events.replay", "events.forget_consumer"})
"""They take no owner and use that of the scope: see tests/conformance/test_bound_keys.py."""


def public_calls() -> Iterator[tuple[str, Any]]:
    """All calls: the name after `memory.` and the function."""
    for name, member in {**vars(CallGroups), **vars(AsyncMemory)}.items():
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            yield name, member
        if (group := _group(member)) is not None:
            yield from (
                (f"{name}.{call}", function)
                for call, function in inspect.getmembers(group)
                if inspect.isfunction(function) and not call.startswith("_")
            )


def _group(member: Any) -> type | None:
    """The group that a property or a method of the memory returns."""
    function = member.fget if isinstance(member, property) else member
    given = get_type_hints(function).get("return")
    is_group = inspect.isclass(given) and given.__name__.startswith("Async")
    return given if is_group and given is not AsyncMemory else None


def test_every_call_has_its_line_in_the_table() -> None:
    known = [*ROUTES, *LOCAL_ONLY, *CLIENT_SIDE]
    assert sorted(name for name, _ in public_calls()) == sorted(known)


def test_every_call_is_routed_under_its_own_name() -> None:
    wrong = {
        name: routed_as
        for name, function in public_calls()
        if (routed_as := getattr(function, "call_name", None)) != (None if name in CLIENT_SIDE else name)
    }
    assert wrong == {}


def test_a_call_without_a_line_in_the_table_cannot_be_declared() -> None:
    with pytest.raises(LookupError, match=r"state\.rename is neither in ROUTES nor in LOCAL_ONLY"):
        routed("state.rename")


def test_a_routed_call_keeps_its_signature_hints_and_docstring() -> None:
    for name, function in public_calls():
        if name not in CLIENT_SIDE:
            body = function.__wrapped__
            assert inspect.signature(function) == inspect.signature(body)
            assert get_type_hints(function) == get_type_hints(body)
            assert function.__doc__ == body.__doc__
            assert inspect.iscoroutinefunction(function) == inspect.iscoroutinefunction(body)


def test_routes_are_unique() -> None:
    shapes = [(route.method, re.sub(r"\{\w+\}", "{}", route.path)) for route in SURFACE]
    assert len(set(shapes)) == len(shapes)


def test_no_literal_path_matches_a_path_with_a_parameter() -> None:
    """Otherwise a name equal to the literal could not be used."""
    hidden = [
        (one.call, other.call)
        for one in SURFACE
        for other in SURFACE
        if one.method == other.method
        and "{" in other.path
        and one is not other
        and "{" not in one.path
        and re.fullmatch(re.sub(r"\{\w+\}", "[^/]*", other.path), one.path)
    ]
    assert hidden == []


def test_every_route_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "http.md"
    assert page.read_text("utf-8") == http_page()


def test_routes_fit_their_calls() -> None:
    for route in SURFACE:
        call = find_call(route, AsyncMemory)
        named = set(re.findall(r"\{(\w+)\}", route.path))
        assert named <= {parameter.name for parameter in call.parameters}, route.call
        assert route.path.startswith("/v1/"), route.call
        assert inspect.getdoc(call.function), route.call


def test_calls_of_reach_owner_take_an_owner() -> None:
    for route in SURFACE:
        names = {parameter.name for parameter in find_call(route, AsyncMemory).parameters}
        takes_owner = "owner" in names or route.call in USE_OWNER_OF_SCOPE
        assert route.reach == "tenant" or takes_owner, route.call


def test_get_requests_need_the_role_read_or_admin() -> None:
    assert {route.role for route in SURFACE if route.method == "GET"} == {"read", "admin"}


def test_a_query_parameter_with_a_distinct_null_does_not_take_any_text() -> None:
    """`null` represents None, so it would be ambiguous with the text."""
    free: list[Any] = [
        (route.call, parameter.name)
        for route in SURFACE
        for parameter in find_call(route, AsyncMemory).parameters
        if parameter.location == "query"
        and parameter.null_is_distinct
        and "str | None" in str(parameter.annotation)
    ]
    assert free == []
