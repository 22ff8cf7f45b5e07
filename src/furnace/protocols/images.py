"""`POST /predict` with a PNG or JPEG as the body."""

from __future__ import annotations

import asyncio
import time

from furnace.errors import UnsupportedContent
from furnace.http.messages import Request, Response
from furnace.hub import Version
from furnace.inference import Policy, infer, requested_timeout
from furnace.models.preprocessing import declared
from furnace.protocols.furnace_json import answer, one


async def predict_image(request: Request, version: Version, policy: Policy) -> Response:
    """The outputs for one picture."""
    begin = time.perf_counter()
    model = version.model
    steps = declared(model.preprocessing, model.signature.inputs)
    if steps is None:
        raise UnsupportedContent(
            f"model {model.name!r} does not say how pictures become its inputs; declare `preprocessing` in its .json"
        )
    array = await asyncio.to_thread(steps.apply, request.body, request.content_type)
    timeout = requested_timeout(request.headers.get("x-request-timeout-ms"))
    job = await infer(version, {steps.input: array}, policy, timeout=timeout, caller=request)
    return answer({"output": one(job, version)}, begin, job.rows)
