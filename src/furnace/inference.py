"""A request's way from arrays to arrays: checked, queued, run. Every protocol goes through here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from furnace.datatypes import Array
from furnace.engine.batching import batch_key, whole_key
from furnace.engine.caller import Caller
from furnace.engine.delivery import perform
from furnace.engine.job import Job
from furnace.errors import BadRequest, FurnaceError, InvalidInput
from furnace.hub import Version


@dataclass(slots=True)
class Policy:
    """What requests may carry. `timeout` is the longest a request may take, in seconds; None for no limit."""

    elements: int = 64 << 20
    allow_non_finite: bool = False
    timeout: float | None = 60.0

    def allowed(self, asked: float | None) -> float | None:
        """The time of a request that asks for some, or for none in particular."""
        if asked is None or self.timeout is None:
            return self.timeout if asked is None else asked
        return min(asked, self.timeout)


async def infer(
    version: Version,
    arrays: Mapping[str, Array],
    policy: Policy,
    *,
    timeout: float | None = None,
    caller: Caller | None = None,
) -> Job:
    """The finished job of a request; a FurnaceError says what is wrong with it."""
    worker = version.serving
    signature = version.model.signature
    try:
        inputs = signature.checked(arrays, limit=policy.elements, finite=not policy.allow_non_finite)
        rows = _rows(inputs) if worker.joins else 1
        if worker.joins and rows == 0:
            raise InvalidInput(["the batch has no rows"], signature.expected())
    except FurnaceError as error:
        worker.statistics.note_answer(error.code)
        raise
    key = batch_key(inputs) if worker.joins else whole_key(inputs)
    return await perform(worker, inputs, rows, key, timeout=policy.allowed(timeout), caller=caller)


def _rows(inputs: list[Array | None]) -> int:
    return next((each.shape[0] for each in inputs if each is not None), 0)


def requested_timeout(text: str | None) -> float | None:
    """The time a header grants, in milliseconds; None when there is none."""
    if text is None:
        return None
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = -1.0
    if not 0 < milliseconds < 1e9:
        raise BadRequest(f"the header x-request-timeout-ms is {text!r}; give milliseconds above 0")
    return milliseconds / 1e3
