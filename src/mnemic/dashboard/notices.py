"""Notices: what a form did, in a cookie that the next page shows once, with the form that undoes it.

Any server on the same host, or another site of the same domain, can plant a cookie. A planted notice could
hide any act behind the button Undo, so a notice counts only with the signature of the session. It is
compressed, because browsers drop a cookie of more than 4,096 bytes.
"""

import hmac
import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from starlette.requests import Request

from mnemic.dashboard.pages import Redirected
from mnemic.server.browser_sessions import cookie_name, signature

COOKIE = "mnemic_notice"
COOKIE_MAX_CHARACTERS = 3_800
TEXT_MAX_CHARACTERS = 300
CONTENT_MAX_BYTES = 64 << 10


def write_notice(request: Request, redirected: Redirected) -> str:
    """The value of the cookie. An undo that does not fit is left out; the pages offer it, too."""
    undo = redirected.undo
    text = redirected.notice
    if len(text) > TEXT_MAX_CHARACTERS:
        text = f"{text[: TEXT_MAX_CHARACTERS - 1]}…"
    form = None if undo is None else {"action": undo.action, "fields": dict(undo.fields)}
    value = _signed(request, {"text": text, "undo": form})
    return value if len(value) <= COOKIE_MAX_CHARACTERS else _signed(request, {"text": text, "undo": None})


def read_notice(request: Request) -> dict[str, Any] | None:
    """The notice of the last act of this session."""
    mark, _, content = request.cookies.get(cookie_name(request, COOKIE), "").partition(".")
    if not content or not hmac.compare_digest(mark.encode(), signature(request, content).encode()):
        return None
    packed = zlib.decompressobj().decompress(urlsafe_b64decode(f"{content}=="), CONTENT_MAX_BYTES)
    found: dict[str, Any] = json.loads(packed)
    return found


def _signed(request: Request, notice: dict[str, Any]) -> str:
    packed = zlib.compress(json.dumps(notice, ensure_ascii=False).encode(), 9)
    content = urlsafe_b64encode(packed).decode().rstrip("=")
    return f"{signature(request, content)}.{content}"
