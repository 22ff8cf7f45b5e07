"""The service: each method of the protocol on top of the application that HTTP uses too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf import json_format

from furnace.app import App
from furnace.engine.streaming import Stream
from furnace.errors import FurnaceError
from furnace.grpc import faults, tensors
from furnace.grpc.messages import DATA_TYPES, HEALTH_SERVICE, MESSAGES, SERVICE
from furnace.http.messages import Request
from furnace.hub import Version
from furnace.inference import infer
from furnace.protocols import inference_v2
from furnace.protocols.configuration_v2 import model_configuration
from furnace.protocols.inference_v2 import InferRequest, OutputTensor
from furnace.protocols.statistics_v2 import model_statistics

Wanted = list[tuple[int, OutputTensor]]
Method = Callable[["Service", Any, Any], Awaitable[Any]]


class Service:
    """Answers the calls of gRPC clients."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def live(self, request: Any, context: Any) -> Any:
        return MESSAGES["ServerLiveResponse"](live=True)

    async def ready(self, request: Any, context: Any) -> Any:
        return MESSAGES["ServerReadyResponse"](ready=self._is_ready())

    async def model_ready(self, request: Any, context: Any) -> Any:
        return MESSAGES["ModelReadyResponse"](ready=self._version(request).ready)

    async def server_metadata(self, request: Any, context: Any) -> Any:
        return MESSAGES["ServerMetadataResponse"](**inference_v2.server_metadata())

    async def model_metadata(self, request: Any, context: Any) -> Any:
        found = inference_v2.model_metadata(self.app.hub, self._version(request))
        return json_format.ParseDict(found, MESSAGES["ModelMetadataResponse"]())

    async def config(self, request: Any, context: Any) -> Any:
        found = model_configuration(self._version(request))
        for tensor in (*found["input"], *found["output"]):
            tensor["data_type"] = DATA_TYPES.get(
                tensor["data_type"].removeprefix("TYPE_").replace("STRING", "BYTES"), 0
            )
        return json_format.ParseDict({"config": found}, MESSAGES["ModelConfigResponse"](), ignore_unknown_fields=True)

    async def statistics(self, request: Any, context: Any) -> Any:
        found = [self._version(request)] if request.name else self.app.hub.all()
        stats = [model_statistics(each) for each in found if each.ready]
        return json_format.ParseDict({"model_stats": stats}, MESSAGES["ModelStatisticsResponse"]())

    async def index(self, request: Any, context: Any) -> Any:
        models = [each for each in self.app.indexed() if each["state"] == "READY" or not request.ready]
        return MESSAGES["RepositoryIndexResponse"](models=models)

    async def load(self, request: Any, context: Any) -> Any:
        await self._control(self.app.load, request.model_name, "load")
        return MESSAGES["RepositoryModelLoadResponse"]()

    async def unload(self, request: Any, context: Any) -> Any:
        await self._control(self.app.unload, request.model_name, "unload")
        return MESSAGES["RepositoryModelUnloadResponse"]()

    async def infer(self, request: Any, context: Any) -> Any:
        """One inference. The call's deadline, a timeout in its parameters and the server's limit all bound it."""
        version, asked, wanted = self._asked(request)
        arrays = tensors.read_inputs(request)
        job = await infer(version, arrays, self.app.policy, timeout=_timeout(asked, context))
        return _response(request, version, wanted, job.outputs or [])

    def _asked(self, request: Any) -> tuple[Version, InferRequest, Wanted]:
        version = self.app.hub.find(request.model_name, request.model_version or None)
        asked = InferRequest([], request.id, None, tensors.parameters(request.parameters))
        if request.outputs:
            asked.outputs = [OutputTensor(each.name, tensors.parameters(each.parameters)) for each in request.outputs]
        return version, asked, inference_v2.check_outputs(asked, version)

    async def _answers(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """The answers to one request of a stream: several from a model that gives its outputs one after the other."""
        version, _, wanted = self._asked(request)
        if version.model.stream is None:
            yield await self.infer(request, context)
            return
        policy = self.app.policy
        inputs = version.model.signature.checked(
            tensors.read_inputs(request), limit=policy.elements, finite=not policy.allow_non_finite
        )
        steps = Stream(version.serving, inputs)
        try:
            async for outputs in steps:
                yield _response(request, version, wanted, outputs)
        finally:
            await steps.aclose()

    async def stream_infer(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """The answers to each request of a stream, in order; a fault is told in its answer and the stream goes on."""
        try:
            self.app.check_key(_metadata(context))
        except FurnaceError as error:
            await faults.abort(context, error)
        async for request in requests:
            try:
                async for answer in self._answers(request, context):
                    yield MESSAGES["ModelStreamInferResponse"](infer_response=answer)
            except Exception as error:
                fault = faults.fault_of(error, "ModelStreamInfer")
                yield MESSAGES["ModelStreamInferResponse"](
                    error_message=fault.message, infer_response=MESSAGES["ModelInferResponse"](id=request.id)
                )

    async def health(self, request: Any, context: Any) -> Any:
        """For probes: 1 when the server, or the model of that name, answers; 2 when it does not."""
        if request.service in ("", SERVICE):
            return MESSAGES["HealthCheckResponse"](status=1 if self._is_ready() else 2)
        return MESSAGES["HealthCheckResponse"](status=1 if self.app.hub.find(request.service).ready else 2)

    def _is_ready(self) -> bool:
        return self.app.ready

    def _version(self, request: Any) -> Version:
        return self.app.hub.find(request.name, request.version or None)

    async def _control(self, action: Callable[[Request, str], Awaitable[Any]], name: str, what: str) -> None:
        answer = await action(Request("POST", f"/v2/repository/models/{quote(name, safe='')}/{what}", {}), name)
        if answer.status != 200:
            raise FurnaceError(answer.body.decode("utf-8", "replace"))

    def handlers(self) -> list[Any]:
        """What a gRPC server is given."""
        methods = {
            name: grpc.unary_unary_rpc_method_handler(
                self._answered(name, method, name not in _OPEN),
                request_deserializer=MESSAGES[f"{name}Request"].FromString,
                response_serializer=MESSAGES[f"{name}Response"].SerializeToString,
            )
            for name, method in _METHODS.items()
        }
        methods["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
            self.stream_infer,
            request_deserializer=MESSAGES["ModelInferRequest"].FromString,
            response_serializer=MESSAGES["ModelStreamInferResponse"].SerializeToString,
        )
        check = grpc.unary_unary_rpc_method_handler(
            self._answered("Check", Service.health, False),
            request_deserializer=MESSAGES["HealthCheckRequest"].FromString,
            response_serializer=MESSAGES["HealthCheckResponse"].SerializeToString,
        )
        return [
            grpc.method_handlers_generic_handler(SERVICE, methods),
            grpc.method_handlers_generic_handler(HEALTH_SERVICE, {"Check": check}),
        ]

    def _answered(self, name: str, method: Method, keyed: bool) -> Callable[[Any, Any], Awaitable[Any]]:
        async def answer(request: Any, context: Any) -> Any:
            try:
                if keyed:
                    self.app.check_key(_metadata(context))
                return await method(self, request, context)
            except Exception as error:
                await faults.abort(context, faults.fault_of(error, name))

        return answer


def _response(request: Any, version: Version, wanted: Wanted, given: Sequence[Any]) -> Any:
    response = MESSAGES["ModelInferResponse"](model_name=version.name, model_version=version.version, id=request.id)
    outputs = [(output.name, inference_v2.as_array(given[place], output.name)) for place, output in wanted]
    tensors.write_outputs(response, outputs, raw=bool(request.raw_input_contents))
    return response


def _metadata(context: Any) -> dict[str, str]:
    return {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}


def _timeout(asked: InferRequest, context: Any) -> float | None:
    """Seconds that the client grants: the call's deadline, or microseconds in its parameters."""
    remaining: float | None = context.time_remaining()
    given = inference_v2.timeout_parameter(asked)
    found = [each for each in (remaining, given) if each is not None]
    return max(1e-6, min(found)) if found else None


_OPEN = frozenset(("ServerLive", "ServerReady"))
_METHODS: dict[str, Method] = {
    "ServerLive": Service.live,
    "ServerReady": Service.ready,
    "ModelReady": Service.model_ready,
    "ServerMetadata": Service.server_metadata,
    "ModelMetadata": Service.model_metadata,
    "ModelInfer": Service.infer,
    "ModelConfig": Service.config,
    "ModelStatistics": Service.statistics,
    "RepositoryIndex": Service.index,
    "RepositoryModelLoad": Service.load,
    "RepositoryModelUnload": Service.unload,
}
