"""KServe's first protocol: `POST /v1/models/NAME:predict` with rows in "instances" or whole inputs in "inputs"."""

from __future__ import annotations

from typing import Any

from furnace.datatypes import Array
from furnace.errors import BadRequest, InvalidInput
from furnace.http.messages import Request, Response, json_response
from furnace.hub import Version
from furnace.inference import Policy, infer, requested_timeout
from furnace.protocols.json_tensors import decode_object, shaped, to_array, to_lists
from furnace.signature import TensorSpec


async def predict_v1(request: Request, version: Version, policy: Policy) -> Response:
    """The predictions for rows, or the outputs for whole inputs."""
    body = decode_object(request.body)
    if ("instances" in body) == ("inputs" in body):
        raise BadRequest('write {"instances": [row, ...]}, or {"inputs": values}')
    by_rows = "instances" in body
    arrays = _rows(body["instances"], version) if by_rows else _whole(body["inputs"], version)
    timeout = requested_timeout(request.headers.get("x-request-timeout-ms"))
    job = await infer(version, arrays, policy, timeout=timeout, caller=request)
    outputs = {spec.name: value for spec, value in zip(version.model.signature.outputs, job.outputs or [])}
    if not by_rows:
        only = next(iter(outputs.values())) if len(outputs) == 1 else outputs
        return json_response({"outputs": to_lists(only)})
    if len(outputs) == 1:
        return json_response({"predictions": to_lists(next(iter(outputs.values())))})
    lists = {name: to_lists(value) for name, value in outputs.items()}
    count = min((len(each) for each in lists.values()), default=0)
    return json_response({"predictions": [{name: each[row] for name, each in lists.items()} for row in range(count)]})


def _rows(instances: Any, version: Version) -> dict[str, Array]:
    if not isinstance(instances, list) or not instances:
        raise BadRequest("instances: give a list of rows with at least one")
    specs = version.model.signature.inputs
    if all(isinstance(each, dict) for each in instances):
        names = {name for each in instances for name in each}
        columns = {name: [each.get(name) for each in instances] for name in names}
        return {name: _array(values, _spec(name, version)) for name, values in columns.items()}
    if len(specs) != 1:
        raise InvalidInput(
            [f"the model takes {len(specs)} inputs; each instance is an object with one value for each"],
            version.model.signature.expected(),
        )
    return {specs[0].name: _array(instances, specs[0])}


def _whole(inputs: Any, version: Version) -> dict[str, Array]:
    if isinstance(inputs, dict):
        return {name: _array(value, _spec(name, version)) for name, value in inputs.items()}
    specs = version.model.signature.inputs
    if len(specs) != 1:
        raise InvalidInput(["inputs: give an object with the inputs by name"], version.model.signature.expected())
    return {specs[0].name: _array(inputs, specs[0])}


def _array(values: Any, spec: TensorSpec) -> Array:
    return shaped(to_array(values, spec.datatype or "FP32", f"input {spec.name!r}"), spec, True)


def _spec(name: str, version: Version) -> TensorSpec:
    for spec in version.model.signature.inputs:
        if spec.name == name:
            return spec
    known = ", ".join(repr(each.name) for each in version.model.signature.inputs)
    raise InvalidInput([f"there is no input {name!r}; the model takes {known}"], version.model.signature.expected())
