"""The Open Inference Protocol, version 2, over HTTP: metadata and inference in JSON or with binary tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burn.version import __version__
from furnace import datatypes
from furnace.datatypes import Array
from furnace.engine.delivery import perform
from furnace.engine.job import Job
from furnace.errors import BadRequest, InvalidInput
from furnace.http.messages import Body, Request, Response, json_response
from furnace.hub import Hub, Version
from furnace.inference import Policy, infer, requested_timeout
from furnace.protocols import binary
from furnace.protocols.checking import Checker
from furnace.protocols.json_tensors import decode_object, to_array, to_lists
from furnace.protocols.layouts import Layout, remember

EXTENSIONS = ["binary_tensor_data", "model_configuration", "model_repository", "statistics"]
_REFUSED = ("shared_memory_region", "classification")


@dataclass(slots=True)
class InputTensor:
    """One input of a request."""

    name: str
    shape: list[int]
    datatype: str
    data: Any
    parameters: dict[str, Any]


@dataclass(slots=True)
class OutputTensor:
    """One output that a request asks for."""

    name: str
    parameters: dict[str, Any]


@dataclass(slots=True)
class InferRequest:
    """The JSON of a request."""

    inputs: list[InputTensor]
    id: str
    outputs: list[OutputTensor] | None
    parameters: dict[str, Any]


def server_metadata() -> dict[str, Any]:
    """`GET /v2`."""
    return {"name": "furnace", "version": __version__, "extensions": EXTENSIONS}


def model_metadata(hub: Hub, version: Version) -> dict[str, Any]:
    """`GET /v2/models/NAME`."""
    signature = version.model.signature
    return {
        "name": version.name,
        "versions": [each.version for each in hub.versions(version.name)],
        "platform": version.model.platform,
        "inputs": [_described(each) for each in signature.inputs],
        "outputs": [_described(each) for each in signature.outputs],
    }


def _described(spec: Any) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype or "FP32", "shape": spec.wire_shape}


async def infer_v2(request: Request, version: Version, policy: Policy) -> Response:
    """`POST /v2/models/NAME/infer`."""
    length = request.headers.get(binary.HEADER)
    if length is None:
        asked, wanted, job = await _inferred(request, request.body, memoryview(b""), version, policy)
        return _answer(asked, wanted, job, version)
    text, rest = binary.split(request.body, length)
    layout: Layout | None = version.layouts.get(text)
    inputs = None if layout is None else layout.inputs(rest, policy)
    if layout is not None and inputs is not None:
        allowed = policy.allowed(_timeout(layout.timeout, request))
        job = await perform(version.serving, inputs, layout.rows, layout.key, timeout=allowed, caller=request)
        return layout.answer(job) or _learnt(layout, job, version)
    asked, wanted, job = await _inferred(request, text, rest, version, policy)
    layout = remember(text, asked, wanted, timeout_parameter(asked), job, version)
    return _answer(asked, wanted, job, version) if layout is None else _learnt(layout, job, version)


async def _inferred(
    request: Request, text: Body, rest: memoryview, version: Version, policy: Policy
) -> tuple[InferRequest, list[tuple[int, OutputTensor]], Job]:
    asked = decode_request(text)
    arrays = read_inputs(asked, binary.Reader(rest))
    timeout = _timeout(timeout_parameter(asked), request)
    wanted = check_outputs(asked, version)
    return asked, wanted, await infer(version, arrays, policy, timeout=timeout, caller=request)


def _learnt(layout: Layout, job: Job, version: Version) -> Response:
    response = _answer(layout.asked, layout.wanted, job, version)
    layout.learn(job, response)
    return response


def decode_request(text: Body) -> InferRequest:
    """The JSON of a request in its types; BadRequest with everything that does not follow the protocol."""
    body = decode_object(text)
    check = Checker()
    inputs = [
        InputTensor(
            check.text(each, "name", f"inputs[{place}]"),
            check.sizes(each, f"inputs[{place}]"),
            check.text(each, "datatype", f"inputs[{place}]"),
            each.get("data"),
            check.parameters(each, f"inputs[{place}]"),
        )
        for place, each in enumerate(check.objects(body, "inputs"))
    ]
    outputs = None
    if body.get("outputs") is not None:
        outputs = [
            OutputTensor(check.text(each, "name", f"outputs[{place}]"), check.parameters(each, f"outputs[{place}]"))
            for place, each in enumerate(check.objects(body, "outputs"))
        ]
    name = body.get("id", "")
    if not isinstance(name, str):
        check.faults.append("id is not a string")
    asked = InferRequest(inputs, str(name), outputs, check.parameters(body, "the request"))
    check.finish()
    return asked


def read_inputs(asked: InferRequest, reader: binary.Reader) -> dict[str, Array]:
    """The arrays of a request by name."""
    arrays: dict[str, Array] = {}
    for each in asked.inputs:
        if each.name in arrays:
            raise BadRequest(f"input {each.name!r} is given twice")
        if each.datatype not in datatypes.NAMES:
            raise BadRequest(
                f"input {each.name!r}: there is no datatype {each.datatype!r}; there are {', '.join(datatypes.NAMES)}"
            )
        arrays[each.name] = _read(each, reader)
    reader.finish()
    return arrays


def _read(given: InputTensor, reader: binary.Reader) -> Array:
    shape = tuple(given.shape)
    size = given.parameters.get("binary_data_size")
    if size is not None:
        if given.data is not None:
            raise BadRequest(f"input {given.name!r}: give data in JSON or binary, not both")
        try:
            return datatypes.from_bytes(reader.take(size, given.name), given.datatype, shape)
        except ValueError as error:
            raise BadRequest(f"input {given.name!r}: {error}") from None
    if given.data is None:
        raise BadRequest(f"input {given.name!r} has no data; give data, or binary_data_size with bytes after the JSON")
    array = to_array(given.data, given.datatype, f"input {given.name!r}")
    count = 1
    for each in shape:
        count *= each
    if array.size != count:
        raise BadRequest(f"input {given.name!r}: shape {list(shape)} is {count} elements, data has {array.size}")
    if array.ndim > 1 and array.shape != shape:
        raise BadRequest(f"input {given.name!r}: shape says {list(shape)}, data is nested as {list(array.shape)}")
    return array.reshape(shape)


def check_outputs(asked: InferRequest, version: Version) -> list[tuple[int, OutputTensor]]:
    """The outputs that a request wants, with their places; all when it names none."""
    specs = version.model.signature.outputs
    places = {each.name: place for place, each in enumerate(specs)}
    if asked.outputs is None:
        return [(place, OutputTensor(each.name, {})) for place, each in enumerate(specs)]
    unknown = [each.name for each in asked.outputs if each.name not in places]
    if unknown:
        raise InvalidInput([f"there is no output {name!r}; the model gives {', '.join(places)}" for name in unknown])
    refused = [(each.name, key) for each in asked.outputs for key in _REFUSED if each.parameters.get(key)]
    if refused:
        raise BadRequest("; ".join(f"output {name!r}: this server has no {key}" for name, key in refused))
    return [(places[each.name], each) for each in asked.outputs]


def _timeout(given: float | None, request: Request) -> float | None:
    return requested_timeout(request.headers.get("x-request-timeout-ms")) if given is None else given


def timeout_parameter(asked: InferRequest) -> float | None:
    """The seconds that the parameters of a request grant; None when they say nothing."""
    given = asked.parameters.get("timeout")
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or given <= 0:
        raise BadRequest(f"parameters.timeout is {given!r}; give microseconds above 0")
    return given / 1e6


def _answer(asked: InferRequest, wanted: list[tuple[int, OutputTensor]], job: Job, version: Version) -> Response:
    all_binary = asked.parameters.get("binary_data_output") is True
    described: list[dict[str, Any]] = []
    tensors: list[Array] = []
    for place, output in wanted:
        array = as_array((job.outputs or [])[place], output.name)
        name = datatypes.wire_name(array.dtype)
        entry: dict[str, Any] = {"name": output.name, "datatype": name, "shape": list(array.shape)}
        if output.parameters.get("binary_data", all_binary) is True:
            data = np.ascontiguousarray(array)
            size = len(datatypes.pack_strings(data)) if name == "BYTES" else data.nbytes
            entry["parameters"] = {"binary_data_size": size}
            tensors.append(data)
        else:
            entry["data"] = _flat(array)
        described.append(entry)
    header: dict[str, Any] = {"model_name": version.name, "model_version": version.version, "outputs": described}
    if asked.id:
        header["id"] = asked.id
    if not tensors:
        return json_response(header)
    body, headers = binary.joined(header, tensors)
    return Response(200, body, binary.CONTENT_TYPE, headers)


def as_array(value: Any, name: str) -> Array:
    """An output; BadRequest for those that are no tensor."""
    if isinstance(value, np.ndarray):
        return value
    raise BadRequest(f"output {name!r} is a sequence or map, which this protocol has no form for; use /predict")


def _flat(array: Array) -> Any:
    return to_lists(array.reshape(-1))
