"""Errors as HTTP responses: problem+json (RFC 9457), and one table from error classes to statuses.

A problem has `type`, `title`, `status`, `detail`, `request_id` (the server's log has the same) and `error`,
the name of the class in `mnemic.errors`, by which the remote SDK raises the same error. If the server is at
fault, the response says nothing about the cause: the log does.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from mnemic.db.disk import disk_error, explain_unavailable
from mnemic.errors import (
    ChangeConflictError,
    ClosedError,
    ConfigurationError,
    ConflictError,
    DatabaseError,
    DatabaseReadOnlyError,
    DatabaseUnavailableError,
    DeliveryError,
    DiskFullError,
    EmbeddedServerError,
    EmbeddingError,
    ForbiddenError,
    InvalidInputError,
    LanguageModelError,
    MigrationError,
    MnemicError,
    NotAuthenticatedError,
    NotFoundError,
    OwnerRequiredError,
    QueryTimeoutError,
    SpendCapError,
    TooManyRequestsError,
)
from mnemic.sdk.http.connection import OWNER_HEADER
from mnemic.server.paths import is_under

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
FIELD_ERRORS_MAX = 20
CONFLICTS_MAX = 1_000
"""Conflicts of a changeset that a response lists."""
OWNER_REQUIRED = (
    f"No owner: send the header {OWNER_HEADER}, or `owner` as a field of the JSON body (in the query where "
    "the request has no JSON body). Every memory belongs to an owner."
)

STATUSES: dict[type[MnemicError], int] = {
    InvalidInputError: 422,
    NotFoundError: 404,
    ConflictError: 409,
    NotAuthenticatedError: 401,
    ForbiddenError: 403,
    TooManyRequestsError: 429,
    ConfigurationError: 400,
    ClosedError: 503,
    DatabaseUnavailableError: 503,
    DatabaseReadOnlyError: 503,
    DiskFullError: 507,
    QueryTimeoutError: 504,
    DatabaseError: 500,
    MigrationError: 503,
    EmbeddingError: 502,
    SpendCapError: 402,
    LanguageModelError: 502,
    DeliveryError: 424,
    EmbeddedServerError: 503,
    MnemicError: 500,
}
"""An error has the status of its class, or of the nearest base class in this table."""

EXPLAINED = (DiskFullError, DatabaseReadOnlyError)
"""Errors of the server whose messages reveal nothing and help the operator."""

logger = logging.getLogger("mnemic.server")


class FieldError(BaseModel):
    """One invalid field."""

    field: str = Field(description="The field or query parameter, for example `limit` or `types.0`.")
    message: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457)."""

    type: str = Field(description="A URN that names the kind of problem.")
    title: str = Field(description="The phrase of the status.")
    status: int
    detail: str = Field(description="What happened, and what to do about it.")
    error: str = Field(description="The class of the error in `mnemic.errors`.")
    request_id: str = Field(description="The same as in the header X-Request-Id, and in the server's log.")
    errors: list[FieldError] = Field(
        default_factory=list, description="The invalid fields, or the conflicts."
    )


ErrorPage = Callable[[Request, Problem], Response]
"""Renders a problem for people; `app.state.error_pages` has one for each path that browsers visit."""


def problem(
    request: Request,
    status: int,
    detail: str,
    *,
    error: str = "MnemicError",
    headers: Mapping[str, str] | None = None,
    errors: Sequence[FieldError] = (),
) -> Response:
    """The response to a failed request: a page where people look, JSON elsewhere."""
    content = Problem(
        type=f"urn:mnemic:problem:{error}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        error=error,
        request_id=getattr(request.state, "request_id", ""),
        errors=list(errors),
    )
    pages: Mapping[str, ErrorPage] = getattr(request.app.state, "error_pages", {})
    for root, error_page in pages.items():
        if is_under(request.scope["path"], root):
            return error_page(request, content)
    return JSONResponse(content.model_dump(), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem_of(request: Request, error: Exception) -> Response:
    """The response to a request that raised this error."""
    if isinstance(error, OSError):
        error = disk_error(error) or error
    if isinstance(error, DatabaseUnavailableError | EmbeddedServerError):
        folder: Path | None = request.app.state.data_folder
        error = explain_unavailable(error, folder) if folder is not None else error
    if isinstance(error, MnemicError):
        return ours(request, error, status_of(error))
    if isinstance(error, RequestValidationError):
        return _of_validation(request, error)
    if isinstance(error, HTTPException):
        return _of_http(request, error)
    logger.error("request %s failed", request.state.request_id, exc_info=error)
    return problem(request, 500, _our_fault(request))


def status_of(error: MnemicError) -> int:
    """The HTTP status of an error."""
    return next(STATUSES[base] for base in type(error).__mro__ if base in STATUSES)


def ours(request: Request, error: MnemicError, status: int) -> Response:
    """The response with this status to a request that raised this error."""
    is_explained = status < HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, EXPLAINED)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("request %s failed: %s", request.state.request_id, error)
    detail = _detail_of(error) if is_explained else _our_fault(request)
    return problem(
        request,
        status,
        detail,
        error=type(error).__name__,
        headers=_headers_of(error, status),
        errors=_conflicts_of(error),
    )


def _detail_of(error: MnemicError) -> str:
    """The message; where the SDK speaks of Python, the header or field to send instead."""
    return OWNER_REQUIRED if isinstance(error, OwnerRequiredError) else str(error)


def _conflicts_of(error: MnemicError) -> list[FieldError]:
    """What stands in the way of each change of a changeset."""
    if not isinstance(error, ChangeConflictError):
        return []
    return [FieldError(field="change_ids", message=each) for each in error.conflicts[:CONFLICTS_MAX]]


def _headers_of(error: MnemicError, status: int) -> dict[str, str]:
    if isinstance(error, NotAuthenticatedError):
        return {"WWW-Authenticate": 'Bearer realm="mnemic"'}
    if isinstance(error, TooManyRequestsError):
        return {"Retry-After": str(max(1, math.ceil(error.retry_after_s)))}
    return {"Retry-After": str(RETRY_AFTER_S)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}


def _of_validation(request: Request, error: RequestValidationError) -> Response:
    """Names the fields but not their values, which may be private."""
    errors = [
        FieldError(field=".".join(str(part) for part in each["loc"][1:]), message=each["msg"])
        for each in error.errors()[:FIELD_ERRORS_MAX]
    ]
    detail = "; ".join(f"{each.field}: {each.message}" for each in errors) or "The request is invalid."
    return problem(request, 422, detail, error="InvalidInputError", errors=errors)


def _of_http(request: Request, error: HTTPException) -> Response:
    details: dict[int, tuple[str, str]] = {
        400: (
            "InvalidInputError",
            "The body cannot be read. It must be JSON in UTF-8 that is not nested too deeply.",
        ),
        404: ("NotFoundError", "There is no such path. /docs lists all of them."),
        405: ("InvalidInputError", "This path does not take this method. The header Allow names another."),
    }
    name, default = details.get(error.status_code, ("InvalidInputError", error.detail))
    return problem(request, error.status_code, default, error=name, headers=error.headers)


def _our_fault(request: Request) -> str:
    return f"The server failed. Its log has the cause, under request {request.state.request_id}."


def handlers() -> dict[Any, Any]:
    """Exception handlers for FastAPI that return a problem."""

    async def handle(request: Request, error: Exception) -> Response:
        return problem_of(request, error)

    return dict.fromkeys((MnemicError, RequestValidationError, HTTPException), handle)
