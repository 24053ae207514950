"""Proof that the program on a port is the Mnemic server of this database.

`mnemic ui` makes a link for a server that is already running. Before it shows the link, it asks the server to
sign a random challenge together with its port. Only processes with access to the database have the key; the
port keeps another program from passing the challenge on to the real server.
"""

import hmac
import re
import secrets

import httpx
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from mnemic.db.tenancy import SigningKey
from mnemic.errors import InvalidInputError
from mnemic.server.authentication import Authenticator

PATH = "/ui/proof"
CHALLENGE = re.compile(r"[0-9a-f]{64}")
CHALLENGE_BYTES = 32
TIMEOUT_S = 5.0


def answer_challenge(request: Request, authenticator: Authenticator) -> Response:
    """The challenge of the request, signed."""
    challenge = request.query_params.get("challenge", "")
    if CHALLENGE.fullmatch(challenge) is None:
        raise InvalidInputError("challenge must be 64 hexadecimal digits.")
    # The port of the socket, not of the Host header, which clients choose.
    _, port = request.scope["server"]
    return PlainTextResponse(_proof(authenticator.database.access.key, challenge, port))


async def serves_database(url: str, port: int, key: SigningKey) -> bool:
    """Whether a server of the database with this key listens at a URL; False if another program does."""
    challenge = secrets.token_hex(CHALLENGE_BYTES)
    try:
        async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S, trust_env=False) as client:
            answer = await client.get(PATH, params={"challenge": challenge})
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return hmac.compare_digest(answer.content, _proof(key, challenge, port).encode())


def _proof(key: SigningKey, challenge: str, port: int) -> str:
    return key.signature("prove server", challenge, process=str(port))
