"""Style, scripts, icons and font, each under an address that holds the hash of its content.

An address never changes its content, so browsers keep a file for good and ask again only after an update. The
files are read and compressed once, when the dashboard is mounted; together they have less than 100 kB.
"""

import gzip
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

ROOT = "/ui/static"
HASH_CHARACTERS = 12
FOREVER = "public, max-age=31536000, immutable"
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "woff2": "font/woff2"}
COMPRESSED_ALREADY = ("woff2",)
ORDER = ("inter.woff2", "icons.svg", "icon.svg", "theme.js", "script.js", "app.css")
"""The style comes last, because it names the font by its address."""

_REFERENCE = re.compile(rb"url\(([a-z0-9.-]+)\)")


@dataclass(frozen=True)
class StaticFile:
    """A file as it is served: `compressed` to browsers that accept gzip, if that makes it smaller."""

    address: str
    content: bytes
    compressed: bytes | None
    media_type: str


@cache
def static_files() -> dict[str, StaticFile]:
    """The files by name."""
    found: dict[str, StaticFile] = {}
    for name in ORDER:
        raw = files("mnemic.dashboard").joinpath("static", name).read_bytes()
        stem, _, suffix = name.rpartition(".")
        content = raw if suffix != "css" else _REFERENCE.sub(lambda each: _url_of(each, found), raw)
        mark = sha256(content).hexdigest()[:HASH_CHARACTERS]
        compressed = gzip.compress(content, mtime=0) if suffix not in COMPRESSED_ALREADY else None
        found[name] = StaticFile(f"{ROOT}/{stem}.{mark}.{suffix}", content, compressed, MEDIA_TYPES[suffix])
    return found


def address_of(name: str) -> str:
    """The address of a file, for templates."""
    return static_files()[name].address


async def serve_static(request: Request) -> Response:
    """Serve a file by its address; nobody needs to be signed in."""
    found = _by_address().get(request.url.path)
    if found is None:
        raise HTTPException(404)
    headers = {"Cache-Control": FOREVER}
    if found.compressed is None:
        return Response(found.content, media_type=found.media_type, headers=headers)
    headers["Vary"] = "Accept-Encoding"
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.content, media_type=found.media_type, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(found.compressed, media_type=found.media_type, headers=headers)


@cache
def _by_address() -> dict[str, StaticFile]:
    return {each.address: each for each in static_files().values()}


def _url_of(reference: re.Match[bytes], found: dict[str, StaticFile]) -> bytes:
    return b"url(%s)" % found[reference[1].decode()].address.encode()
