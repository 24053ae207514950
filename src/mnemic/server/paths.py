"""Request paths in one form. Routes, authentication, limits and idempotency all compare this form.

A client may percent-encode any character, and `/%6dcp` is the same path as `/mcp` (RFC 3986, 6.2.2). The
outermost middleware therefore decodes the unreserved characters once, before anything looks at the path.
All other characters stay encoded: `%2F` is part of a name, not a separator. Nothing else is equivalent:
doubled or trailing slashes, dot segments, parameters after `;` and capital letters name other paths, which do
not exist.
"""

import re

from starlette.types import Scope

Target = tuple[str, str]
"""Method and path of a request."""

_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


def normalize_path(scope: Scope) -> None:
    """Replace the path of a request, decoded and raw, by its normalized form."""
    path = normalized(scope["raw_path"].partition(b"?")[0].decode("latin-1"))
    scope["path"], scope["raw_path"] = path, path.encode("latin-1")


def normalized(path: str) -> str:
    """A percent-encoded path with its unreserved characters decoded."""
    return _ENCODED.sub(_decode_unreserved, path)


def target_of(scope: Scope) -> Target:
    """Method and normalized path of a request."""
    return scope["method"], scope["path"]


def is_under(path: str, *roots: str) -> bool:
    """Whether a path is one of these, or below one."""
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _decode_unreserved(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if _UNRESERVED.fullmatch(character) else found[0].upper()
