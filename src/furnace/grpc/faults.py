"""Faults as gRPC statuses: whose fault it is, the sentence, and in the trailing metadata the code for programs."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import grpc

from burn.errors import BurnError
from furnace.errors import FurnaceError, Overloaded, Unready

log = logging.getLogger("furnace")

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    415: grpc.StatusCode.INVALID_ARGUMENT,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


def fault_of(error: Exception, method: str) -> FurnaceError:
    """Any exception as a fault that may be told; what is not ours is logged and not told."""
    if isinstance(error, FurnaceError):
        return error
    if isinstance(error, BurnError):
        return FurnaceError(str(error))
    log.error("gRPC %s failed", method, exc_info=error)
    return FurnaceError("the server failed on this request; its log says why")


async def abort(context: Any, fault: FurnaceError) -> NoReturn:
    """End a call with the status of a fault."""
    trailing = [("furnace-code", fault.code)]
    if isinstance(fault, Overloaded | Unready):
        trailing.append(("retry-after", str(max(1, round(fault.retry_after)))))
    await context.abort(_CODES.get(fault.status, grpc.StatusCode.UNKNOWN), fault.message, tuple(trailing))
    raise AssertionError("abort returned")
