"""The application: paths to handlers, keys, and errors in one form, apart from how requests travel."""

from __future__ import annotations

import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from burn.errors import BurnError
from burn.version import __version__
from furnace.errors import FurnaceError, MethodNotAllowed, NotFound, Overloaded, Unauthorized, Unready
from furnace.http.messages import Request, Response, json_response
from furnace.hub import Hub, Version
from furnace.inference import Policy
from furnace.peers import Peers, summed
from furnace.protocols import furnace_json, inference_v2, kserve_v1, prometheus
from furnace.repository import Repository

log = logging.getLogger("furnace")

Handle = Callable[..., Awaitable[Response] | Response]
_PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "*",
    "access-control-max-age": "600",
}
_OPEN = frozenset(("/", "/page.js", "/page.css", "/health", "/healthz", "/v2/health/live", "/v2/health/ready"))


@dataclass(slots=True)
class App:
    """Answers requests for the models of a hub. `keys` empty means that nobody is asked for one."""

    hub: Hub
    policy: Policy = field(default_factory=Policy)
    keys: tuple[bytes, ...] = ()
    cors_origins: tuple[str, ...] = ()
    repository: Repository | None = None
    allow_repository_control: bool = False
    started: float = field(default_factory=time.time)
    closing: bool = False
    connections: Callable[[], int] = lambda: 0
    peers: Peers | None = None
    """The other workers of this server, when there are several."""

    async def handle(self, request: Request) -> Response:
        """The answer to any request; faults are answers too."""
        try:
            response = await self._handled(request)
        except FurnaceError as error:
            response = error_response(error)
        except BurnError as error:
            response = error_response(FurnaceError(str(error)))
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            response = error_response(FurnaceError("the server failed on this request; its log says why"))
        if self.cors_origins:
            self._allow_origin(request, response)
        return response

    async def handle_peer(self, request: Request) -> Response:
        """The answer of this worker alone, to another worker."""
        request.from_peer = True
        return await self.handle(request)

    async def _handled(self, request: Request) -> Response:
        path = request.path
        if request.method == "OPTIONS" and self.cors_origins:
            return Response(204, headers=_PREFLIGHT)
        if self.keys and path not in _OPEN and not request.from_peer:
            self.check_key(request.headers)
        methods = _FIXED.get(path)
        captured: dict[str, str] = {}
        if methods is None:
            methods, captured = _matched(path)
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            allowed = sorted(methods)
            raise MethodNotAllowed(f"{path} takes {', '.join(allowed)}, not {request.method}", allowed)
        found = handler(self, request, **captured)
        return found if isinstance(found, Response) else await found

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Unauthorized when keys are asked for and the headers (or the metadata of a call) carry none of them."""
        if not self.keys:
            return
        given = headers.get("x-api-key")
        if given is None:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            given = token.strip() if scheme.lower() == "bearer" else None
        if given is None:
            raise Unauthorized("this server asks for a key; send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`")
        data = given.encode("utf-8", "replace")
        # every key is compared, in constant time, so that the time tells nothing
        if not sum(hmac.compare_digest(data, key) for key in self.keys):
            raise Unauthorized("the key is not one of this server's")

    def _allow_origin(self, request: Request, response: Response) -> None:
        origin = request.headers.get("origin")
        if origin and ("*" in self.cors_origins or origin in self.cors_origins):
            response.headers["access-control-allow-origin"] = origin
            response.headers["vary"] = "origin"
            response.head = None

    # Furnace's own paths

    def health(self, request: Request) -> Response:
        """Healthy only when every model answers and the server is not ending."""
        healthy = self.hub.ready and not self.closing
        models = [{"name": each.name, "version": each.version, "ready": each.ready} for each in self.hub.all()]
        body = {"status": "healthy" if healthy else "unready", "model_loaded": self.hub.ready, "models": models,
                "version": __version__, "uptime_seconds": round(time.time() - self.started, 3),
                "timestamp": furnace_json.now()}  # fmt: skip
        return json_response(body, 200 if healthy else 503)

    async def predict(self, request: Request, name: str | None = None) -> Response:
        """One item or several, in JSON or as an image."""
        version = self.hub.find(name)
        if request.content_type.startswith("image/"):
            from furnace.protocols.images import predict_image

            return await predict_image(request, version, self.policy)
        return await furnace_json.predict(request, version, self.policy)

    async def generate_stream(self, request: Request, name: str, version: str | None = None) -> Response:
        """The outputs of a generator one by one, as server-sent events."""
        from furnace.protocols.streaming import generate_stream

        return await generate_stream(request, self.hub.find(name, version), self.policy)

    def info(self, request: Request, name: str | None = None) -> Response:
        """The card of a model; of all when there are several and none is named."""
        if name is None and len({each.name for each in self.hub.all()}) > 1:
            return json_response({"models": [furnace_json.model_info(each) for each in self.hub.all() if each.ready]})
        return json_response(furnace_json.model_info(self.hub.find(name)))

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus, summed over all workers."""
        text = prometheus.exposition(self.hub, uptime=time.time() - self.started, connections=self.connections())
        if self.peers is not None and not request.from_peer:
            others = [each.body.decode() for each in await self.peers.ask(request) if each.status == 200]
            text = summed([text, *others])
        return Response(200, text.encode(), prometheus.CONTENT_TYPE)

    # the Open Inference Protocol

    def server_metadata(self, request: Request) -> Response:
        return json_response(inference_v2.server_metadata())

    def live(self, request: Request) -> Response:
        return json_response({"live": True})

    def ready(self, request: Request) -> Response:
        ready = self.hub.ready and not self.closing
        return json_response({"ready": ready}, 200 if ready else 503)

    def model_metadata(self, request: Request, name: str, version: str | None = None) -> Response:
        return json_response(inference_v2.model_metadata(self.hub, self.hub.find(name, version)))

    def model_ready(self, request: Request, name: str, version: str | None = None) -> Response:
        found = self.hub.find(name, version)
        body = {"name": name, "ready": found.ready}
        return json_response(body if found.ready else {**body, "error": found.reason}, 200 if found.ready else 503)

    async def infer(self, request: Request, name: str, version: str | None = None) -> Response:
        return await inference_v2.infer_v2(request, self.hub.find(name, version), self.policy)

    def statistics(self, request: Request, name: str | None = None, version: str | None = None) -> Response:
        from furnace.protocols.statistics_v2 import model_statistics

        found = self.hub.all() if name is None else [self.hub.find(name, version)]
        return json_response({"model_stats": [model_statistics(each) for each in found if each.ready]})

    def configuration(self, request: Request, name: str, version: str | None = None) -> Response:
        from furnace.protocols.configuration_v2 import model_configuration

        return json_response(model_configuration(self.hub.find(name, version)))

    def index(self, request: Request) -> Response:
        return json_response(self.indexed())

    def indexed(self) -> list[dict[str, Any]]:
        """What the repository holds and what of it is ready."""
        entries = {(each.name, each.version): _indexed(each) for each in self.hub.all()}
        if self.repository is not None:
            for name, version in self.repository.scan():
                entries.setdefault((name, version), {"name": name, "version": version, "state": "UNAVAILABLE",
                                                     "reason": "unloaded"})  # fmt: skip
        return list(entries.values())

    async def load(self, request: Request, name: str) -> Response:
        await self._controlled().load(name)
        return await self._with_peers(request)

    async def unload(self, request: Request, name: str) -> Response:
        await self._controlled().unload(name)
        return await self._with_peers(request)

    async def _with_peers(self, request: Request) -> Response:
        """Done here; the other workers do the same, and the first that cannot says why."""
        if self.peers is not None and not request.from_peer:
            for answer in await self.peers.ask(request):
                if answer.status != 200:
                    return Response(answer.status, answer.body)
        return json_response({})

    def _controlled(self) -> Repository:
        from furnace.errors import Forbidden

        if self.repository is None or not self.allow_repository_control:
            raise Forbidden("models are loaded and unloaded by clients only with --model-repository and "
                            "--allow-repository-control")  # fmt: skip
        return self.repository

    # KServe v1

    def models_v1(self, request: Request) -> Response:
        return json_response({"models": sorted({each.name for each in self.hub.all()})})

    def model_v1(self, request: Request, name: str) -> Response:
        return json_response({"name": name, "ready": self.hub.find(name).ready})

    async def predict_v1(self, request: Request, name: str) -> Response:
        return await kserve_v1.predict_v1(request, self.hub.find(name), self.policy)

    # for people and tools

    def page(self, request: Request) -> Response:
        from furnace.page import page

        return page(request.path[1:] or "index.html")

    def openapi(self, request: Request) -> Response:
        from furnace.protocols.openapi import document

        return json_response(document(self.hub))


def error_response(error: FurnaceError) -> Response:
    """A fault in the form that every path uses."""
    headers = {}
    if isinstance(error, Overloaded | Unready):
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    body = {"error": error.message, "code": error.code, "details": error.details, "timestamp": furnace_json.now()}
    return json_response(body, error.status, headers)


def refusal(status: int, message: str) -> Response:
    """A fault that the connection finds before there is a request."""
    error = FurnaceError(message)
    error.status, error.code = status, _CODES.get(status, "INVALID_REQUEST")
    return error_response(error)


def _indexed(version: Version) -> dict[str, Any]:
    state = "READY" if version.ready else "UNAVAILABLE"
    return {"name": version.name, "version": version.version, "state": state, "reason": version.reason}


@lru_cache(256)
def _matched(path: str) -> tuple[dict[str, Handle], dict[str, str]]:
    for pattern, methods in _PATTERNS:
        found = pattern.fullmatch(path)
        if found is not None:
            return methods, {key: value for key, value in found.groupdict().items() if value is not None}
    raise NotFound(f"there is nothing at {path[:200]!r}; /openapi.json lists the paths")


_CODES = {408: "TIMEOUT", 413: "TOO_LARGE", 414: "TOO_LARGE", 431: "TOO_LARGE", 503: "OVERLOADED"}
_FIXED: dict[str, dict[str, Handle]] = {
    "/": {"GET": App.page},
    "/page.js": {"GET": App.page},
    "/page.css": {"GET": App.page},
    "/openapi.json": {"GET": App.openapi},
    "/predict": {"POST": App.predict},
    "/health": {"GET": App.health},
    "/healthz": {"GET": App.health},
    "/model/info": {"GET": App.info},
    "/metrics": {"GET": App.metrics},
    "/v2": {"GET": App.server_metadata},
    "/v2/": {"GET": App.server_metadata},
    "/v2/health/live": {"GET": App.live},
    "/v2/health/ready": {"GET": App.ready},
    "/v2/models/stats": {"GET": App.statistics},
    "/v2/repository/index": {"POST": App.index, "GET": App.index},
    "/v1/models": {"GET": App.models_v1},
}
_MODEL = r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?"
_PATTERNS: list[tuple[re.Pattern[str], dict[str, Handle]]] = [
    (re.compile(_MODEL + "/infer"), {"POST": App.infer}),
    (re.compile(_MODEL + "/generate_stream"), {"POST": App.generate_stream}),
    (re.compile(_MODEL + "/ready"), {"GET": App.model_ready}),
    (re.compile(_MODEL + "/stats"), {"GET": App.statistics}),
    (re.compile(_MODEL + "/config"), {"GET": App.configuration}),
    (re.compile(_MODEL), {"GET": App.model_metadata}),
    (re.compile(r"/v2/repository/models/(?P<name>[^/]+)/load"), {"POST": App.load}),
    (re.compile(r"/v2/repository/models/(?P<name>[^/]+)/unload"), {"POST": App.unload}),
    (re.compile(r"/v1/models/(?P<name>[^/:]+):predict"), {"POST": App.predict_v1}),
    (re.compile(r"/v1/models/(?P<name>[^/:]+)"), {"GET": App.model_v1}),
    (re.compile(r"/models/(?P<name>[^/]+)/predict"), {"POST": App.predict}),
    (re.compile(r"/models/(?P<name>[^/]+)/generate_stream"), {"POST": App.generate_stream}),
    (re.compile(r"/models/(?P<name>[^/]+)/info"), {"GET": App.info}),
]
