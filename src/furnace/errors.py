"""What a client is told when a request cannot be served: a status, a code for programs and a sentence for people."""

from __future__ import annotations

from typing import Any

from burn.errors import BurnError


class FurnaceError(BurnError):
    """A fault with the HTTP status that says whose it is. `details` goes into the answer as it is.

    A served function may raise one:

    >>> from furnace import FurnaceError
    >>> class TooDark(FurnaceError):
    ...     status, code = 422, "TOO_DARK"
    >>> TooDark("the image is black", details={"mean": 0.0}).status
    422
    """

    status = 500
    code = "INTERNAL_ERROR"

    def __init__(self, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class BadRequest(FurnaceError):
    """The request cannot be understood."""

    status = 400
    code = "INVALID_REQUEST"


class InvalidInput(FurnaceError):
    """The request is well formed, but its tensors are not what the model takes. All faults are in `details`."""

    status = 400
    code = "INVALID_INPUT"

    def __init__(self, faults: list[str], expected: Any = None) -> None:
        super().__init__("; ".join(faults), {"faults": faults, "expected": expected})


class Unauthorized(FurnaceError):
    """No key, or a wrong one."""

    status = 401
    code = "UNAUTHORIZED"


class Forbidden(FurnaceError):
    """Something that this server was not started to allow."""

    status = 403
    code = "FORBIDDEN"


class NotFound(FurnaceError):
    """No such model, version or path."""

    status = 404
    code = "NOT_FOUND"


class MethodNotAllowed(FurnaceError):
    """The path is there, for other methods."""

    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, message: str, allowed: list[str]) -> None:
        super().__init__(message, {"allowed": allowed})
        self.allowed = allowed


class TooLarge(FurnaceError):
    """A body or tensor above a limit."""

    status = 413
    code = "TOO_LARGE"


class UnsupportedContent(FurnaceError):
    """A body of a kind that nothing here reads."""

    status = 415
    code = "UNSUPPORTED_MEDIA_TYPE"


class Overloaded(FurnaceError):
    """More requests than the queue holds; `retry_after` is in seconds."""

    status = 503
    code = "OVERLOADED"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message, {"retry_after_seconds": retry_after})
        self.retry_after = retry_after


class Unready(FurnaceError):
    """The model is not loaded, or the server is shutting down."""

    status = 503
    code = "UNREADY"
    retry_after = 1.0


class DeadlineExceeded(FurnaceError):
    """The time that the client gave has passed before the result was there."""

    status = 504
    code = "DEADLINE_EXCEEDED"


class InferenceFailed(FurnaceError):
    """The model raised on these inputs."""

    status = 500
    code = "INFERENCE_FAILED"


class ModelError(BurnError, ValueError):
    """A model that cannot be loaded; raised at start, never hidden behind a stand-in.

    >>> from pathlib import Path
    >>> from furnace import ModelError, open_model
    >>> try:
    ...     open_model(Path("mnist_burn.mpk"), burn.NdArray())
    ... except ModelError as error:
    ...     print(str(error).split(":")[0])
    model
    """
