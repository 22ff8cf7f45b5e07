"""Which path is answered by what: a table, the handlers that have no protocol of their own beside it.

A handler takes the app, the request and what its path names (`name`, `version`), and gives an answer or the promise of
one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from burn.version import __version__
from furnace.errors import NotFound
from furnace.http.messages import Request, Response, json_response
from furnace.hub import Version
from furnace.protocols import furnace_json, inference_v2, kserve_v1, prometheus

if TYPE_CHECKING:
    from furnace.app import App

Handler = Callable[..., Awaitable[Response] | Response]


def health(app: App, request: Request) -> Response:
    """Healthy only when every model answers and the server is not ending."""
    models = [{"name": each.name, "version": each.version, "ready": each.ready} for each in app.hub.all()]
    body = {"status": "healthy" if app.ready else "unready", "model_loaded": app.hub.ready, "models": models,
            "version": __version__, "uptime_seconds": round(time.time() - app.started, 3),
            "timestamp": furnace_json.now()}  # fmt: skip
    return json_response(body, 200 if app.ready else 503)


async def predict(app: App, request: Request, name: str | None = None) -> Response:
    """One item or several, in JSON or as an image."""
    version = app.hub.find(name)
    if request.content_type.startswith("image/"):
        from furnace.protocols.images import predict_image

        return await predict_image(request, version, app.policy)
    return await furnace_json.predict(request, version, app.policy)


async def generate_stream(app: App, request: Request, name: str, version: str | None = None) -> Response:
    """The outputs of a generator one by one, as server-sent events."""
    from furnace.protocols.streaming import generate_stream

    return await generate_stream(request, app.hub.find(name, version), app.policy)


def info(app: App, request: Request, name: str | None = None) -> Response:
    """The card of a model; of all when there are several and none is named."""
    if name is None and len({each.name for each in app.hub.all()}) > 1:
        return json_response({"models": [furnace_json.model_info(each) for each in app.hub.all() if each.ready]})
    return json_response(furnace_json.model_info(app.hub.find(name)))


async def metrics(app: App, request: Request) -> Response:
    """Numbers for Prometheus, summed over all workers."""
    text = prometheus.exposition(app.hub, uptime=time.time() - app.started, connections=app.connections())
    if app.peers is not None and not request.from_peer:
        others = [each.body.decode() for each in await app.peers.ask(request) if each.status == 200]
        text = prometheus.summed([text, *others])
    return Response(200, text.encode(), prometheus.CONTENT_TYPE)


def ready(app: App, request: Request) -> Response:
    """Whether all models answer."""
    return json_response({"ready": app.ready}, 200 if app.ready else 503)


def model_ready(app: App, request: Request, name: str, version: str | None = None) -> Response:
    """Whether one model answers, and why not."""
    found = app.hub.find(name, version)
    body = {"name": name, "ready": found.ready}
    return json_response(body if found.ready else {**body, "error": found.reason}, 200 if found.ready else 503)


def infer(app: App, request: Request, name: str, version: str | None = None) -> Awaitable[Response]:
    """An inference of the Open Inference Protocol."""
    return inference_v2.infer_v2(request, app.hub.find(name, version), app.policy)


def statistics(app: App, request: Request, name: str | None = None, version: str | None = None) -> Response:
    """Counts and times of one model or of all."""
    from furnace.protocols.statistics_v2 import model_statistics

    found = app.hub.all() if name is None else [app.hub.find(name, version)]
    return json_response({"model_stats": [model_statistics(each) for each in found if each.ready]})


def configuration(app: App, request: Request, name: str, version: str | None = None) -> Response:
    """How a model is served."""
    from furnace.protocols.configuration_v2 import model_configuration

    return json_response(model_configuration(app.hub.find(name, version)))


def page(app: App, request: Request) -> Response:
    """The page for people, and its parts."""
    from furnace.page import page

    return page(request.path[1:] or "index.html")


def openapi(app: App, request: Request) -> Response:
    """What this server answers to, for tools."""
    from furnace.protocols.openapi import document

    return json_response(document(app.hub))


def _of_server(value: Callable[[App], Any]) -> Handler:
    """Something about the server, as JSON."""
    return lambda app, request: json_response(value(app))


def _of_model(value: Callable[[App, Version], Any]) -> Handler:
    """Something about a model, as JSON."""
    return lambda app, request, name, version=None: json_response(value(app, app.hub.find(name, version)))


_METADATA = {"GET": _of_server(lambda app: inference_v2.server_metadata())}
_INDEX = _of_server(lambda app: app.indexed())

FIXED: dict[str, dict[str, Handler]] = {
    "/": {"GET": page},
    "/page.js": {"GET": page},
    "/page.css": {"GET": page},
    "/openapi.json": {"GET": openapi},
    "/predict": {"POST": predict},
    "/health": {"GET": health},
    "/healthz": {"GET": health},
    "/model/info": {"GET": info},
    "/metrics": {"GET": metrics},
    "/v2": _METADATA,
    "/v2/": _METADATA,
    "/v2/health/live": {"GET": _of_server(lambda app: {"live": True})},
    "/v2/health/ready": {"GET": ready},
    "/v2/models/stats": {"GET": statistics},
    "/v2/repository/index": {"POST": _INDEX, "GET": _INDEX},
    "/v1/models": {"GET": _of_server(lambda app: {"models": sorted({each.name for each in app.hub.all()})})},
}
_MODEL = r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?"
PATTERNS: list[tuple[re.Pattern[str], dict[str, Handler]]] = [
    (re.compile(_MODEL + "/infer"), {"POST": infer}),
    (re.compile(_MODEL + "/generate_stream"), {"POST": generate_stream}),
    (re.compile(_MODEL + "/ready"), {"GET": model_ready}),
    (re.compile(_MODEL + "/stats"), {"GET": statistics}),
    (re.compile(_MODEL + "/config"), {"GET": configuration}),
    (re.compile(_MODEL), {"GET": _of_model(lambda app, version: inference_v2.model_metadata(app.hub, version))}),
    (
        re.compile(r"/v2/repository/models/(?P<name>[^/]+)/load"),
        {"POST": lambda app, request, name: app.load(request, name)},
    ),
    (
        re.compile(r"/v2/repository/models/(?P<name>[^/]+)/unload"),
        {"POST": lambda app, request, name: app.unload(request, name)},
    ),
    (
        re.compile(r"/v1/models/(?P<name>[^/:]+):predict"),
        {"POST": lambda app, request, name: kserve_v1.predict_v1(request, app.hub.find(name), app.policy)},
    ),
    (
        re.compile(r"/v1/models/(?P<name>[^/:]+)"),
        {"GET": _of_model(lambda app, version: {"name": version.name, "ready": version.ready})},
    ),
    (re.compile(r"/models/(?P<name>[^/]+)/predict"), {"POST": predict}),
    (re.compile(r"/models/(?P<name>[^/]+)/generate_stream"), {"POST": generate_stream}),
    (re.compile(r"/models/(?P<name>[^/]+)/info"), {"GET": info}),
]


@lru_cache(256)
def matched(path: str) -> tuple[dict[str, Handler], dict[str, str]]:
    """The handlers of a path by method, and what it names."""
    for pattern, methods in PATTERNS:
        found = pattern.fullmatch(path)
        if found is not None:
            return methods, {key: value for key, value in found.groupdict().items() if value is not None}
    raise NotFound(f"there is nothing at {path[:200]!r}; /openapi.json lists the paths")
