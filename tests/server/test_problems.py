"""Every error has a status of its own, and those that others caused say so."""

import json
from types import SimpleNamespace
from typing import cast

from fastapi import Request

from mnemic import errors
from mnemic.errors import DeliveryError, MnemicError, ServerError
from mnemic.sdk.http.connection import BUSY_STATUSES
from mnemic.server.problems import STATUSES, problem_of


def test_every_kind_of_error_is_in_the_table() -> None:
    """The errors of a remote memory are none of a server's."""
    kinds = {kind for kind in vars(errors).values() if MnemicError in getattr(kind, "__bases__", ())}
    assert kinds - {ServerError} <= STATUSES.keys()


def test_what_a_receiver_did_is_told() -> None:
    """Its reason goes along, and no client takes it for a server that is busy and asks again."""
    request = cast(Request, SimpleNamespace(state=SimpleNamespace(request_id="r")))
    answer = problem_of(request, DeliveryError("The host is not known."))
    told = json.loads(bytes(answer.body))
    assert (answer.status_code, told["error"], told["detail"]) == (
        424,
        "DeliveryError",
        "The host is not known.",
    )
    assert told["type"] == "urn:mnemic:problem:DeliveryError"
    assert answer.status_code not in BUSY_STATUSES
