"""Furnace's own JSON: `POST /predict`, `GET /health`, `GET /model/info`.

{"input": [0.0, ...]}                  one item: flat in the right number, or nested
{"input": {"tokens": [...], "mask": [...]}}    one item of a model with several inputs
{"inputs": [item, item, ...]}          several items, answered by "outputs" in the same order
{"inputs": {"tokens": [...], ...}}     whole inputs by name, batch and all
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np

from furnace.datatypes import Array
from furnace.engine.job import Job
from furnace.errors import BadRequest, InvalidInput
from furnace.http.messages import Request, Response, json_response
from furnace.hub import Version
from furnace.inference import Policy, infer, requested_timeout
from furnace.protocols.json_tensors import decode_object, shaped, to_array, to_lists
from furnace.signature import TensorSpec


async def predict(request: Request, version: Version, policy: Policy) -> Response:
    """The answer to `/predict`."""
    begin = time.perf_counter()
    body = decode_object(request.body)
    timeout = requested_timeout(request.headers.get("x-request-timeout-ms"))
    if ("input" in body) == ("inputs" in body):
        raise BadRequest('write {"input": values} for one item, or {"inputs": [values, ...]} for several')
    if "input" in body:
        arrays = read_single(body, version)
        job = await infer(version, arrays, policy, timeout=timeout, caller=request)
        return answer({"output": one(job, version)}, begin, job.rows)
    given = body["inputs"]
    if isinstance(given, dict):
        arrays = read_single(body, version)
        job = await infer(version, arrays, policy, timeout=timeout, caller=request)
        return answer({"outputs": _by_name(job, version)}, begin, job.rows)
    if not isinstance(given, list) or not given:
        raise BadRequest("inputs: give a list of items with at least one, or an object of inputs by name")
    outputs = await _several(given, version, policy, timeout, request)
    return answer({"outputs": outputs}, begin, len(given))


def read_single(body: dict[str, Any], version: Version) -> dict[str, Array]:
    """The arrays of a body with one `input`, or with whole `inputs` by name."""
    if "input" in body:
        return _item(body["input"], version)
    if not isinstance(body["inputs"], dict):
        raise BadRequest("inputs: give an object of inputs by name")
    return {name: _array(value, spec) for name, value, spec in _named(body["inputs"], version)}


async def _several(
    items: list[Any], version: Version, policy: Policy, timeout: float | None, request: Request
) -> list[Any]:
    joined = _stacked(items, version) if version.serving.joins else None
    if joined is not None:
        job = await infer(version, joined, policy, timeout=timeout, caller=request)
        return [_picked(job, version, row) for row in range(len(items))]
    results = []
    for item in items:
        job = await infer(version, _item(item, version), policy, timeout=timeout, caller=request)
        results.append(one(job, version))
    return results


def _stacked(items: list[Any], version: Version) -> dict[str, Array] | None:
    """All items in one batch; None when they are of different sizes and have to go one by one."""
    specs = version.model.signature.inputs
    if len(specs) == 1 and not isinstance(items[0], dict):
        spec = specs[0]
        arrays = [shaped(_array(item, spec), spec, False) for item in items]
        columns = {spec.name: arrays}
    else:
        rows = [_item(item, version) for item in items]
        if any(row.keys() != rows[0].keys() for row in rows):
            return None
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    for name, arrays in columns.items():
        if len({(each.shape[1:], each.dtype) for each in arrays}) > 1 or any(
            each.ndim == 0 or len(each) != 1 for each in arrays
        ):
            return None
        columns[name] = arrays
    return {name: np.concatenate(arrays) for name, arrays in columns.items()}


def _item(value: Any, version: Version) -> dict[str, Array]:
    specs = version.model.signature.inputs
    if isinstance(value, dict):
        return {name: shaped(_array(given, spec), spec, False) for name, given, spec in _named(value, version)}
    if len(specs) != 1:
        names = ", ".join(repr(each.name) for each in specs)
        raise InvalidInput([f"the model takes {len(specs)} inputs; give an object with {names}"],
                           version.model.signature.expected())  # fmt: skip
    spec = specs[0]
    array = shaped(_array(value, spec), spec, False)
    _check_count(array, spec, version)
    return {spec.name: array}


def _check_count(array: Array, spec: TensorSpec, version: Version) -> None:
    """A flat list of another length is told how many elements the shape has."""
    if spec.shape is None or array.ndim == len(spec.shape) or array.ndim != 1:
        return
    sizes = [size if isinstance(size, int) else 1 for size in spec.shape]
    if all(isinstance(size, int) for size in spec.shape[1:]):
        count = int(np.prod(sizes))
        raise InvalidInput(
            [f"input {spec.name!r} has {array.size} values, expected {count} for shape {list(spec.shape)}"],
            version.model.signature.expected(),
        )


def _named(given: dict[str, Any], version: Version) -> list[tuple[str, Any, TensorSpec]]:
    specs = {each.name: each for each in version.model.signature.inputs}
    unknown = [name for name in given if name not in specs]
    if unknown:
        faults = [f"there is no input {name!r}; the model takes {', '.join(map(repr, specs))}" for name in unknown]
        raise InvalidInput(faults, version.model.signature.expected())
    return [(name, value, specs[name]) for name, value in given.items() if value is not None]


def _array(value: Any, spec: TensorSpec) -> Array:
    return to_array(value, spec.datatype or "FP32", f"input {spec.name!r}")


def one(job: Job, version: Version) -> Any:
    """The outputs of one item, without the batch dim where the model has one."""
    return _picked(job, version, 0) if job.rows == 1 and _has_batch(job, version) else _by_name_or_only(job, version)


def _has_batch(job: Job, version: Version) -> bool:
    return all(isinstance(each, np.ndarray) and each.ndim > 0 and each.shape[0] == 1 for each in job.outputs or [])


def _picked(job: Job, version: Version, row: int) -> Any:
    return _unwrapped([each[row] for each in job.outputs or []], version)


def _by_name_or_only(job: Job, version: Version) -> Any:
    return _unwrapped(list(job.outputs or []), version)


def _unwrapped(values: list[Any], version: Version) -> Any:
    if len(values) == 1:
        return to_lists(np.asarray(values[0]) if isinstance(values[0], np.generic) else values[0])
    return {spec.name: to_lists(value) for spec, value in zip(version.model.signature.outputs, values)}


def _by_name(job: Job, version: Version) -> dict[str, Any]:
    return {spec.name: to_lists(value) for spec, value in zip(version.model.signature.outputs, job.outputs or [])}


def answer(results: dict[str, Any], begin: float, batch: int) -> Response:
    """Results in the form of `/predict`."""
    return json_response(
        {
            **results,
            "status": "success",
            "inference_time_ms": round((time.perf_counter() - begin) * 1e3, 4),
            "timestamp": now(),
            "batch_size": batch,
        }
    )


def now() -> str:
    """The time of an answer."""
    return datetime.now(UTC).isoformat()


def model_info(version: Version) -> dict[str, Any]:
    """What `/model/info` tells."""
    worker, model = version.serving, version.model
    statistics = worker.statistics
    return {
        "name": model.name,
        "version": model.version,
        "platform": model.platform,
        "device": model.device,
        "parameters": model.parameters,
        "inputs": [each.described() for each in model.signature.inputs],
        "outputs": [each.described() for each in model.signature.outputs],
        "batching": {"enabled": worker.joins, "max_batch_size": worker.sizes[-1], "sizes": worker.sizes},
        "preprocessing": model.preprocessing,
        "metadata": model.metadata,
        "stats": {
            "inference_count": statistics.inferences,
            "request_count": sum(statistics.answers.values()),
            "answers": dict(statistics.answers),
            "queue_depth": worker.pending,
            "total_compute_ms": round(statistics.compute.sum * 1e3, 3),
            "p50_compute_ms": round(statistics.compute.quantile(0.5) * 1e3, 3),
            "p99_compute_ms": round(statistics.compute.quantile(0.99) * 1e3, 3),
            "p50_queue_ms": round(statistics.queue.quantile(0.5) * 1e3, 3),
            "mean_batch_size": round(statistics.batches.sum / max(1, statistics.batches.count), 2),
        },
    }
