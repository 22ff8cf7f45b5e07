"""Faults as answers over HTTP: one form for every path."""

from __future__ import annotations

from furnace.errors import FurnaceError, MethodNotAllowed, Overloaded, Unauthorized, Unready
from furnace.http.messages import Response, json_response
from furnace.protocols.furnace_json import now

_CODES = {408: "TIMEOUT", 413: "TOO_LARGE", 414: "TOO_LARGE", 431: "TOO_LARGE", 503: "OVERLOADED"}


def error_response(error: FurnaceError) -> Response:
    """A fault in the form that every path uses."""
    headers = {}
    if isinstance(error, Overloaded | Unready):
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    body = {"error": error.message, "code": error.code, "details": error.details, "timestamp": now()}
    return json_response(body, error.status, headers)


def refusal(status: int, message: str) -> Response:
    """A fault that the connection finds before there is a request."""
    error = FurnaceError(message)
    error.status, error.code = status, _CODES.get(status, "INVALID_REQUEST")
    return error_response(error)
