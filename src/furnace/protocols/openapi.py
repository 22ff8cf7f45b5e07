"""The OpenAPI document: every path of the server, with the shapes of the models that it holds."""

from __future__ import annotations

from typing import Any

from burn.version import __version__
from furnace import datatypes
from furnace.hub import Hub
from furnace.signature import TensorSpec

_NUMBERS = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"},
                      {"type": "array", "items": {"$ref": "#/components/schemas/Values"}}]}  # fmt: skip


def document(hub: Hub) -> dict[str, Any]:
    """The whole document."""
    versions = [each for each in hub.all() if each.ready]
    names = sorted({each.name for each in versions})
    paths: dict[str, Any] = {
        "/predict": {"post": _post("Infer one item or several", "PredictRequest", "PredictResponse", "predict")},
        "/health": {"get": _get("Whether every model answers", "Health", "health", unready=True)},
        "/healthz": {"get": _get("Whether every model answers", "Health", "healthz", unready=True)},
        "/model/info": {"get": _get("What the model takes and gives, and what it has done", "Object", "model_info")},
        "/metrics": {"get": _text("Numbers for Prometheus", "metrics")},
        "/openapi.json": {"get": _get("This document", "Object", "openapi")},
        "/v2": {"get": _get("The server's name and extensions", "Object", "server_metadata")},
        "/v2/health/live": {"get": _get("Whether the process answers", "Object", "live")},
        "/v2/health/ready": {"get": _get("Whether every model answers", "Object", "ready", unready=True)},
        "/v2/repository/index": {"post": _post("The models of the repository", None, "List", "index")},
        "/v2/models/stats": {"get": _get("Counts and times of all models", "Object", "stats")},
        "/v1/models": {"get": _get("The names of the models", "Object", "models_v1")},
    }
    named = {
        "/v2/models/{name}": {"get": _get("What the model takes and gives", "Object", "model_metadata")},
        "/v2/models/{name}/ready": {"get": _get("Whether the model answers", "Object", "model_ready", unready=True)},
        "/v2/models/{name}/stats": {"get": _get("Counts and times of the model", "Object", "model_stats")},
        "/v2/models/{name}/config": {"get": _get("How the model is served", "Object", "model_config", unready=True)},
        "/v2/repository/models/{name}/load": {"post": _post("Load the model again", None, "Object", "load")},
        "/v2/repository/models/{name}/unload": {"post": _post("Let the model go", None, "Object", "unload")},
        "/v2/models/{name}/infer": {"post": _post("Infer", "InferRequest", "InferResponse", "infer")},
        "/v1/models/{name}": {"get": _get("Whether the model answers", "Object", "model_v1")},
        "/v1/models/{name}:predict": {"post": _post("Infer", "InstancesRequest", "Object", "predict_v1")},
        "/models/{name}/predict": {"post": _post("Infer", "PredictRequest", "PredictResponse", "predict_named")},
        "/models/{name}/generate_stream": {"post": _events("generate_stream")},
        "/v2/models/{name}/generate_stream": {"post": _events("generate_stream_v2")},
        "/models/{name}/info": {"get": _get("What the model is", "Object", "info_named")},
    }
    parameter = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": names or ["model"]},
    }
    for path, methods in named.items():
        paths[path] = {"parameters": [parameter], **methods}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Furnace", "version": __version__, "description": _described(hub)},
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _described(hub: Hub) -> str:
    lines = ["Models:"]
    for version in hub.all():
        if version.ready:
            signature = version.model.signature
            lines.append(f"- {version.name}: {_list(signature.inputs)} -> {_list(signature.outputs)}")
    return "\n".join(lines)


def _list(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(map(str, specs))


def _responses(name: str, *, unready: bool = False, body: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"200": _json(name, "The answer"), "404": _json("Error", "No such model")}
    for status in ("401", "405"):
        found[status] = _json("Error", "A key is missing, or the method is another")
    if unready:
        found["503"] = _json("Object", "Not ready")
    if body:
        found |= {
            "400": _json("Error", "What is wrong, all of it, and what was expected"),
            "403": _json("Error", "This server was not started to allow it"),
            "413": _json("Error", "The body is too large"),
            "415": _json("Error", "No such kind of body"),
            "500": _json("Error", "The model failed on these inputs"),
            "503": _json("Error", "Too many requests wait; Retry-After says when to come again"),
            "504": _json("Error", "The time that the request allows is over"),
        }
    return found


def _json(name: str, text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


def _get(text: str, answer: str, name: str, *, unready: bool = False) -> dict[str, Any]:
    return {"summary": text, "operationId": name, "responses": _responses(answer, unready=unready)}


def _text(text: str, name: str) -> dict[str, Any]:
    answers = _responses("Object") | {
        "200": {"description": text, "content": {"text/plain": {"schema": {"type": "string"}}}}
    }
    return {"summary": text, "operationId": name, "responses": answers}


def _post(text: str, body: str | None, answer: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": text, "operationId": name, "responses": _responses(answer, body=True)}
    if body is not None:
        schema = {"$ref": f"#/components/schemas/{body}"}
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _events(name: str) -> dict[str, Any]:
    found = _post("Infer with a generator, output by output", "PredictRequest", "Object", name)
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    found["responses"]["200"] = {"description": "Server-sent events: outputs, then done or error", "content": content}
    return found


def _schemas() -> dict[str, Any]:
    values = {"$ref": "#/components/schemas/Values"}
    item = {"anyOf": [values, {"type": "object", "additionalProperties": values}]}
    tensor = {
        "type": "object",
        "required": ["name", "shape", "datatype"],
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "datatype": {"type": "string", "enum": list(datatypes.NAMES)},
            "data": values,
            "parameters": {"type": "object"},
        },
    }
    output = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
                                                                      "parameters": {"type": "object"}}}  # fmt: skip
    return {
        "Values": _NUMBERS,
        "Object": {"type": "object"},
        "List": {"type": "array", "items": {"type": "object"}},
        "Health": {"type": "object", "required": ["status"]},
        "PredictRequest": {
            "oneOf": [
                {"type": "object", "required": ["input"], "not": {"required": ["inputs"]},
                 "properties": {"input": item}},
                {"type": "object", "required": ["inputs"], "not": {"required": ["input"]},
                 "properties": {"inputs": {"anyOf": [{"type": "array", "items": item, "minItems": 1},
                                                     {"type": "object", "additionalProperties": values}]}}},
            ]
        },
        "PredictResponse": {
            "type": "object",
            "required": ["status", "inference_time_ms", "timestamp", "batch_size"],
            "properties": {"status": {"type": "string"}, "inference_time_ms": {"type": "number"},
                           "timestamp": {"type": "string"}, "batch_size": {"type": "integer"}},
        },
        "InferRequest": {
            "type": "object",
            "required": ["inputs"],
            "properties": {"id": {"type": "string"}, "inputs": {"type": "array", "items": tensor},
                           "outputs": {"type": "array", "items": output}, "parameters": {"type": "object"}},
        },
        "InferResponse": {"type": "object", "required": ["model_name", "outputs"]},
        "InstancesRequest": {"type": "object", "properties": {"instances": {"type": "array", "items": item},
                                                              "inputs": item}},
        "Error": {
            "type": "object",
            "required": ["error", "code", "timestamp"],
            "properties": {"error": {"type": "string"}, "code": {"type": "string"}, "timestamp": {"type": "string"}},
        },
    }  # fmt: skip
