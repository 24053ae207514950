"""Every error class has a status; errors of webhook receivers keep their reason."""

import json

import httpx
from fastapi import FastAPI, Request

from mnemic import errors
from mnemic.errors import DeliveryError, MnemicError, PermanentJobError, ServerError, SpendCapError
from mnemic.sdk.http.connection import BUSY_STATUSES, error_from_response
from mnemic.server.problems import STATUSES, problem_of


def test_every_kind_of_error_is_in_the_table() -> None:
    """A request never raises the errors of a remote memory or of a job's handler."""
    kinds = {kind for kind in vars(errors).values() if MnemicError in getattr(kind, "__bases__", ())}
    assert kinds - {ServerError, PermanentJobError} <= STATUSES.keys()


def a_request() -> Request:
    return Request({"type": "http", "path": "/v1/x", "app": FastAPI(), "state": {"request_id": "r"}})


def test_the_error_of_a_webhook_receiver_is_returned() -> None:
    """It has its reason, and a status that no client retries."""
    request = a_request()
    answer = problem_of(request, DeliveryError("The host is not known."))
    told = json.loads(bytes(answer.body))
    assert (answer.status_code, told["error"], told["detail"]) == (
        424,
        "DeliveryError",
        "The host is not known.",
    )
    assert told["type"] == "urn:mnemic:problem:DeliveryError"
    assert answer.status_code not in BUSY_STATUSES


def test_a_spend_cap_keeps_its_reason_and_class_on_the_way_to_the_client() -> None:
    request = a_request()
    answer = problem_of(request, SpendCapError("The spend cap of $5.00 for a day stops this call."))
    assert answer.status_code == 402
    assert answer.status_code not in BUSY_STATUSES
    raised = error_from_response(httpx.Response(402, content=bytes(answer.body)))
    assert isinstance(raised, SpendCapError)
    assert str(raised) == "The spend cap of $5.00 for a day stops this call."
