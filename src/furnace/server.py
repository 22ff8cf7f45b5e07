"""A server in one process: models, application and listener put together, run until a signal, ended in order.

import furnace

furnace.Server(model, inputs=[furnace.TensorSpec("x", "FP32", ("batch", 784))]).run()
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import burn
from burn import Device, Module
from burn.errors import BurnError
from burn.packages import missing
from furnace.app import App
from furnace.errors import ModelError
from furnace.http.connection import Limits
from furnace.http.listener import Listener, tls_context
from furnace.hub import Hub
from furnace.inference import Policy
from furnace.models.opening import open_model
from furnace.models.served import ServedModel
from furnace.models.serving import serve_module
from furnace.protocols.faults import refusal
from furnace.repository import Repository
from furnace.settings import MEGABYTE, Settings
from furnace.signature import Signature, TensorSpec
from furnace.watching import watch

log = logging.getLogger("furnace")


class Server:
    """Serves models over HTTP: a module, a path or a function here, or those named by the settings.

    `inputs` and `outputs` (`TensorSpec`s) describe a module or a function, `name` is what clients call it; `settings`
    or single `values`, such as `port=8080`, say how. `run` serves until SIGTERM or SIGINT.

    >>> import furnace
    >>> model = nn.Linear(4, 2)
    >>> server = furnace.Server(model, inputs=[furnace.TensorSpec("x", "FP32", ("batch", 4))], port=8080)
    >>> server.run()  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any = None,
        settings: Settings | None = None,
        *,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        name: str = "model",
        device: Device | str | None = None,
        **values: Any,
    ) -> None:
        self.settings = (settings or Settings()).with_values(values)
        self.device = device if isinstance(device, Device) else find_device(device or self.settings.device)
        self.hub = Hub(
            capacity=self.settings.max_concurrent_requests,
            max_batch_size=self.settings.max_batch_size,
            batch_delay=self.settings.batch_delay_ms / 1e3,
        )
        self.app = make_app(self.hub, self.settings, self.device)
        self._grpc: Any = None if self.settings.grpc_port is None else _need_grpc()
        self._given = None if model is None else _given(model, self.device, inputs, outputs, name)
        self._listener: Listener | None = None
        self._watching: asyncio.Future[None] | None = None
        self.port = 0
        self.grpc_port = 0

    def load(self) -> None:
        """Load and warm the models; ModelError when one that was named cannot be served."""
        if self._given is not None:
            self.hub.add(self._given)
        for path in self.settings.model_path:
            self.hub.add(open_model(Path(path), self.device, allow_source=self.settings.allow_source))
        if self.app.repository is not None:
            self.app.repository.load_all()
        if not self.hub.all() and self.app.repository is None:
            raise ModelError("no model to serve; give --model-path FILE or --model-repository DIR")

    def run(self) -> None:
        """Load, listen, and serve until SIGTERM or SIGINT; then answer what was taken, and return."""
        self.load()
        with contextlib.suppress(ImportError):
            import uvloop

            asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        asyncio.run(self._serve())

    async def start(self, *, sock: Any = None) -> int:
        """Listen in the running loop; gives the port. `sock` is a socket that is bound already."""
        settings = self.settings
        limits = Limits(
            body_bytes=int(settings.max_body_mb * MEGABYTE),
            header_seconds=settings.header_timeout_s,
            body_seconds=settings.body_timeout_s,
            connections=settings.max_connections,
        )
        tls = None
        if settings.tls_cert is not None and settings.tls_key is not None:
            tls = tls_context(Path(settings.tls_cert), Path(settings.tls_key))
        listener = self._listener = Listener(self.app.handle, refusal, limits)
        self.app.connections = lambda: len(listener.connections)
        self.port = await listener.listen(settings.host, settings.port, tls=tls, sock=sock)
        if settings.grpc_port is not None:
            self._grpc = self._grpc(self.app, settings)
            try:
                self.grpc_port = await self._grpc.listen(settings.host, settings.grpc_port)
            except BaseException:
                await listener.close(0.0)
                raise
        if settings.reload:
            self._watching = asyncio.ensure_future(watch(self._files, self._reloaded))
        return self.port

    async def stop(self) -> int:
        """Take no more requests, answer those at work, end the models; gives how many were cut."""
        self.app.closing = True
        if self._watching is not None:
            self._watching.cancel()
        ends: list[Any] = [] if self._listener is None else [self._listener.close(self.settings.drain_seconds)]
        if self.grpc_port:
            ends.append(self._grpc.close(self.settings.drain_seconds))
        cut = next((each for each in await asyncio.gather(*ends) if each is not None), 0)
        await asyncio.to_thread(self.hub.close, self.settings.drain_seconds)
        return cut

    def _files(self) -> dict[str, Path]:
        """The files of models by a key that says which model they are."""
        found = {path: Path(path) for path in self.settings.model_path}
        if self.app.repository is not None:
            found |= {f"{name}/{version}": path for (name, version), path in self.app.repository.scan().items()}
        return found

    async def _reloaded(self, key: str, path: Path) -> None:
        """Load the model of a file again, beside the one that serves, and put it in its place."""
        if key not in self.settings.model_path and self.app.repository is not None:
            name, _, version = key.rpartition("/")
            await asyncio.to_thread(self.app.repository.load_version, name, version, path)
            return
        try:
            model = await asyncio.to_thread(open_model, path, self.device, allow_source=self.settings.allow_source)
            await asyncio.to_thread(self.hub.add, model)
        except ModelError as error:
            log.error("%s stays as it was: %s", path, error)

    async def _serve(self) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(each, ended.set)
            except NotImplementedError:  # Windows
                signal.signal(each, lambda number, frame: loop.call_soon_threadsafe(ended.set))
        await self.start()
        scheme = "https" if self.settings.tls_cert is not None else "http"
        log.info("serving %s on %s://%s:%d", ", ".join(sorted({v.name for v in self.hub.all()})) or "no model",
                 scheme, self.settings.host, self.port)  # fmt: skip
        if self.grpc_port:
            log.info("serving gRPC on %s:%d", self.settings.host, self.grpc_port)
        await ended.wait()
        log.info("ending: requests at work are answered first")
        cut = await self.stop()
        if cut:
            log.warning("%d requests were cut after %.0f s", cut, self.settings.drain_seconds)


def make_app(hub: Hub, settings: Settings, device: Device) -> App:
    """The application of a hub with the settings that concern it."""
    sys.setswitchinterval(0.001)
    policy = Policy(
        settings.max_elements,
        settings.allow_non_finite,
        settings.request_timeout_ms / 1e3 if settings.request_timeout_ms else None,
    )
    repository = None
    if settings.model_repository is not None:
        folder = Path(settings.model_repository)
        if not folder.is_dir():
            raise ModelError(f"--model-repository: there is no folder {str(folder)!r}")
        repository = Repository(folder, hub, device)
    return App(hub, policy, read_keys(settings), settings.cors_origin, repository, settings.allow_repository_control)


def _need_grpc() -> Any:
    """The class of the gRPC server; ModelError when its extra is not installed."""
    try:
        from furnace.grpc.server import GrpcServer
    except ModuleNotFoundError as error:
        raise ModelError(missing("--grpc-port", (error.name or "grpc").partition(".")[0])) from None
    return GrpcServer


def read_keys(settings: Settings) -> tuple[bytes, ...]:
    """The keys of the file, one on each line; lines that begin with # are for people."""
    if settings.api_key_file is None:
        return ()
    try:
        lines = Path(settings.api_key_file).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ModelError(f"--api-key-file: {error}") from error
    keys = tuple(line.strip().encode() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not keys:
        raise ModelError(f"--api-key-file: {settings.api_key_file!r} holds no key")
    return keys


def find_device(name: str) -> Device:
    """The device of a name such as cpu, ndarray, libtorch or libtorch:cuda:0."""
    kind, _, rest = name.partition(":")
    kinds = {"cpu": "Cpu", "ndarray": "NdArray", "libtorch": "LibTorch"}
    if kind not in kinds:
        raise ModelError(f"--device: there is no device {name!r}; there are {', '.join(kinds)}")
    try:
        made = getattr(burn, kinds[kind])  # loaded only now: others may need what is not installed
    except ImportError as error:
        raise ModelError(f"--device {name}: {error}") from error
    if rest and kind != "libtorch":
        raise ModelError(f"--device {name}: there is one {kind}; write --device {kind}")
    try:
        found: Device = made(rest) if rest else made()
    except BurnError as error:
        without = "" if find_spec("llvmlite") else "; --device ndarray runs without"
        raise ModelError(f"--device {name}: {error}{without}") from error
    return found


def _given(
    model: Any, device: Device, inputs: Sequence[TensorSpec] | None, outputs: Sequence[TensorSpec] | None, name: str
) -> ServedModel:
    if isinstance(model, ServedModel):
        return model
    if isinstance(model, str | Path):
        return open_model(Path(model), device)
    if not isinstance(model, Module) and not callable(model):
        raise ModelError(f"server: a model is a path, a module or a function, found {type(model).__name__}")
    signature = Signature(
        tuple(inputs or (TensorSpec("input", "FP32", None),)), tuple(outputs or (TensorSpec("output", None, None),))
    )
    placed = model.to_device(device) if hasattr(model, "to_device") else model
    return serve_module(placed, device, signature, name=name)
