"""The application: requests to handlers, keys, and errors in one form, apart from how requests travel."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from burn.errors import BurnError
from furnace.errors import Forbidden, FurnaceError, MethodNotAllowed, Unauthorized
from furnace.http.messages import Request, Response, json_response
from furnace.hub import Hub, Version
from furnace.inference import Policy
from furnace.peers import Peers
from furnace.protocols.faults import error_response
from furnace.repository import Repository
from furnace.routes import FIXED, matched

log = logging.getLogger("furnace")

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
        methods = FIXED.get(path)
        captured: dict[str, str] = {}
        if methods is None:
            methods, captured = matched(path)
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

    @property
    def ready(self) -> bool:
        """Whether all models answer and the server is not ending."""
        return self.hub.ready and not self.closing

    def indexed(self) -> list[dict[str, Any]]:
        """What the repository holds and what of it is ready."""
        entries = {(each.name, each.version): _indexed(each) for each in self.hub.all()}
        if self.repository is not None:
            for name, version in self.repository.scan():
                entries.setdefault((name, version), {"name": name, "version": version, "state": "UNAVAILABLE",
                                                     "reason": "unloaded"})  # fmt: skip
        return list(entries.values())

    async def load(self, request: Request, name: str) -> Response:
        """Load a model of the repository, in every worker."""
        await self._controlled().load(name)
        return await self._with_peers(request)

    async def unload(self, request: Request, name: str) -> Response:
        """Unload a model, in every worker."""
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
        if self.repository is None or not self.allow_repository_control:
            raise Forbidden("models are loaded and unloaded by clients only with --model-repository and "
                            "--allow-repository-control")  # fmt: skip
        return self.repository


def _indexed(version: Version) -> dict[str, Any]:
    state = "READY" if version.ready else "UNAVAILABLE"
    return {"name": version.name, "version": version.version, "state": state, "reason": version.reason}
