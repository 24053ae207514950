"""Who may do what: the one decision for routes, event streams, MCP and the dashboard.

An API key may make a call if its role includes the role of the call's route. A key that is bound to an owner
works for that owner only: it may name no other owner, neither as an argument nor in the scope, and may not
make calls that concern the whole tenant.
"""

from collections.abc import Collection

from mnemic.errors import ForbiddenError
from mnemic.sdk.http.surface import LOCAL_ONLY, ROUTES, Route
from mnemic.types.key import ApiKey, allows


def authorise(key: ApiKey, route: Route, owners: Collection[str | None] = ()) -> None:
    """ForbiddenError unless a key may make a call that names these owners; None names nobody."""
    if not allows(key.role, route.role):
        raise ForbiddenError(f"This call needs a key with the role {route.role}; this one has {key.role}.")
    if key.owner is None:
        return
    if route.reach == "tenant":
        raise ForbiddenError(f"{route.call} concerns all owners; this API key is bound to one owner.")
    if set(owners) - {None, key.owner}:
        raise ForbiddenError("This API key is bound to another owner.")


def may(key: ApiKey, call: str) -> bool:
    """Whether a key may make a call at all, such as "memories.forget", for its own owner or for any."""
    try:
        authorise(key, route_of(call))
    except ForbiddenError:
        return False
    return True


def route_of(call: str) -> Route:
    """The route of a call; ForbiddenError if it is available only in the process of the database."""
    if call in LOCAL_ONLY:
        raise ForbiddenError(f"memory.{call} is not available here: {LOCAL_ONLY[call]}.")
    return ROUTES[call]
