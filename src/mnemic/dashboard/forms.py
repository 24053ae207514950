"""Forms that browsers send: read within limits of size and time."""

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from mnemic.dashboard.fields import Fields
from mnemic.errors import InvalidInputError

FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
FORM_MAX_BYTES = 4 << 20
FORM_FIELDS_MAX = 2_000
FORM_PAUSE_S = 10.0
"""How long a client may pause while it sends a form."""


async def read_form(
    request: Request, *, max_bytes: int = FORM_MAX_BYTES, on_part: Callable[[int], None] = lambda size: None
) -> Fields:
    """The fields of the form that was sent. `on_part` may refuse the size of a part of it."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM_MEDIA_TYPE:
        raise HTTPException(415, f"A form is sent as {FORM_MEDIA_TYPE}.")
    body = await _read_body(request, max_bytes, on_part)
    try:
        pairs = parse_qsl(body.decode(), max_num_fields=FORM_FIELDS_MAX, errors="strict")
    except ValueError:
        raise InvalidInputError(
            f"The form cannot be read: it must be UTF-8 with at most {FORM_FIELDS_MAX:,} fields."
        ) from None
    return Fields(pairs)


async def _read_body(request: Request, max_bytes: int, on_part: Callable[[int], None]) -> bytearray:
    body = bytearray()
    parts = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(FORM_PAUSE_S):
                part = await anext(parts)
        except StopAsyncIteration:
            return body
        except TimeoutError:
            raise HTTPException(408, "The form came too slowly. Send it again.") from None
        on_part(len(part))
        body += part
        if len(body) > max_bytes:
            raise HTTPException(413, f"The form is larger than {max_bytes:,} bytes, the limit.")
