"""The decorator of every public call, and the class that `AsyncMemory` and its groups derive from."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from mnemic.runtime.core import Caller
from mnemic.sdk.backend import Backend
from mnemic.sdk.http.surface import LOCAL_ONLY, ROUTES
from mnemic.types.scope import Scope

Group = TypeVar("Group", bound="CallGroup")
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class CallGroup:
    """A group of public calls: the backend that runs them and the scope that they run in.

    A group that concerns one thing has its name in `_arguments`, such as the session of
    `memory.context(session)`. Over HTTP these arguments are in the path of each call.
    """

    _arguments: Mapping[str, str] = MappingProxyType({})

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    @property
    def _caller(self) -> Caller:
        """What the packages below the SDK take: the core and the scope. Only a local backend has a core."""
        return Caller(self._backend.core, self._scope)


def routed(
    name: str,
) -> Callable[
    [Callable[Concatenate[Group, Parameters], Returned]], Callable[Concatenate[Group, Parameters], Returned]
]:
    """Pass a call to the backend of its group, which runs the decorated function or sends it to a server.

    `name` is the call as users write it after `memory.`, such as "state.set"; it must be in `ROUTES` or in
    `LOCAL_ONLY`. The decorated function keeps its signature, its type hints and its docstring.
    """
    if name not in ROUTES and name not in LOCAL_ONLY:
        raise LookupError(f"{name} is neither in ROUTES nor in LOCAL_ONLY of mnemic.sdk.http.surface")

    def decorate(
        body: Callable[Concatenate[Group, Parameters], Returned],
    ) -> Callable[Concatenate[Group, Parameters], Returned]:
        @wraps(body)
        def call(group: Group, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
            return group._backend.call(name, body, group, *arguments, **named)

        # Decorated coroutine functions must stay coroutine functions for code that inspects them.
        @wraps(body)
        async def awaited(group: Group, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Any:
            pending: Any = group._backend.call(name, body, group, *arguments, **named)
            return await pending

        made: Any = awaited if iscoroutinefunction(body) else call
        made.call_name = name
        return cast("Callable[Concatenate[Group, Parameters], Returned]", made)

    return decorate
