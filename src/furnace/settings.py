"""Every setting of a server, one place for its name, default, check and help: the command line, TOML and programs
all read it from here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from burn.errors import ArgumentError, raise_faults

MEGABYTE = 1 << 20


def setting(default: Any, text: str, **more: Any) -> Any:
    """A field with its help; `metavar`, `choices` and `many` are for the command line."""
    metadata = {"help": text, **more}
    if isinstance(default, tuple | list):
        return field(default=tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server is run; `furnace --help` lists every setting with its default.

    Arguments:
        model_path, model_repository: what is served.
        host, port, grpc_port, workers, device: where.
        max_concurrent_requests, max_batch_size, batch_delay_ms: how requests share runs.
        request_timeout_ms, header_timeout_s, body_timeout_s, drain_seconds: how long things may take.
        max_body_mb, max_elements, max_connections: how large they may be.
        api_key_file, tls_cert, tls_key, cors_origin: who may ask.
        allow_non_finite, allow_source, allow_repository_control: what is refused otherwise.
        reload, log_level, log_format: watching files, and the log.

    >>> from furnace import Settings
    >>> settings = Settings(port=8080, max_batch_size=64)
    >>> settings.host, settings.with_values({"port": 0}).port
    ('127.0.0.1', 0)
    """

    model_path: tuple[str, ...] = setting(
        (), "a model to serve: .mpk with its .json, or .onnx; may come again", many=True
    )
    model_repository: str | None = setting(None, "a folder of models: NAME/VERSION/model.{onnx,mpk}", metavar="DIR")
    host: str = setting("127.0.0.1", "the address to listen on")
    port: int = setting(3000, "the port; 0 lets the system choose")
    grpc_port: int | None = setting(None, "also serve gRPC on this port (needs the grpc extra)")
    device: str = setting("cpu", "where models run: cpu, ndarray, libtorch, libtorch:cuda:0")
    max_concurrent_requests: int = setting(512, "requests that may wait or run for a model; more are answered 503")
    max_batch_size: int = setting(32, "the most rows that share a run; 1 turns batching off")
    batch_delay_ms: float = setting(0.0, "how long a request may wait for others to share its run")
    workers: int = setting(1, "processes that serve the port together, with one copy of the weights")
    request_timeout_ms: float = setting(60_000.0, "the longest a request may take; 0 for no limit")
    drain_seconds: float = setting(30.0, "at the end, how long requests at work may take")
    api_key_file: str | None = setting(
        None, "a file with one key on each line; requests must carry one", metavar="FILE"
    )
    tls_cert: str | None = setting(None, "the certificate chain for HTTPS", metavar="FILE")
    tls_key: str | None = setting(None, "the key of the certificate", metavar="FILE")
    max_body_mb: float = setting(64.0, "the largest body of a request")
    max_elements: int = setting(64 << 20, "the most elements of an input")
    max_connections: int = setting(4096, "connections that may be open")
    header_timeout_s: float = setting(10.0, "how long the headers of a request may take")
    body_timeout_s: float = setting(60.0, "how long the body of a request may take")
    allow_non_finite: bool = setting(False, "let NaN and infinity into models")
    allow_source: bool = setting(False, "run the .py beside a model when its checksum is the one in the .json")
    allow_repository_control: bool = setting(False, "let clients load and unload models of the repository")
    cors_origin: tuple[str, ...] = setting(
        (), "an origin that browsers may call from; * for all; may come again", many=True
    )
    reload: bool = setting(False, "watch the files of models, and load them again when they change")
    log_level: str = setting("info", "how much to log", choices=("debug", "info", "warning", "error"))
    log_format: str = setting("text", "lines for people or for machines", choices=("text", "json"))

    def __post_init__(self) -> None:
        raise_faults("settings", self._faults(), ArgumentError)

    def _faults(self) -> list[str]:
        faults = []
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                faults.append(f"{name} is {value}, expected at least {least}")
        for name in ("port", "grpc_port"):
            value = getattr(self, name)
            if value is not None and value > 65535:
                faults.append(f"{name} is {value}, expected at most 65535")
        for each in fields(self):
            choices = each.metadata.get("choices")
            if choices and getattr(self, each.name) not in choices:
                faults.append(f"{each.name} is {getattr(self, each.name)!r}, expected one of {', '.join(choices)}")
        if (self.tls_cert is None) != (self.tls_key is None):
            faults.append("tls_cert and tls_key come together")
        return faults

    def with_values(self, values: Mapping[str, Any]) -> Settings:
        """These settings with others in place: `values` by name."""
        return replace(self, **values)


_LEAST: dict[str, float] = {
    "port": 0, "grpc_port": 0, "max_concurrent_requests": 1, "max_batch_size": 1, "batch_delay_ms": 0, "workers": 1,
    "request_timeout_ms": 0, "drain_seconds": 0, "max_body_mb": 0.001, "max_elements": 1, "max_connections": 1,
    "header_timeout_s": 0.1, "body_timeout_s": 0.1,
}  # fmt: skip


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a TOML file, by the names of the command line (dashes or underscores). All faults at once."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArgumentError(f"config: there is no file {str(path)!r}") from None
    except (OSError, ValueError) as error:
        raise ArgumentError(f"config: {str(path)!r} is not TOML: {error}") from None
    known = {each.name: each for each in fields(Settings)}
    found: dict[str, Any] = {}
    faults = []
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in known:
            faults.append(f"there is no setting {key!r}; there are {', '.join(known)}")
            continue
        fault, converted = _converted(known[name], value)
        if fault:
            faults.append(f"{key} is {value!r}, expected {fault}")
        found[name] = converted
    raise_faults(f"config {str(path)!r}", faults, ArgumentError)
    return found


def _converted(setting_field: Any, value: Any) -> tuple[str, Any]:
    default = setting_field.default if setting_field.default is not MISSING else None
    if setting_field.metadata.get("many"):
        values = [value] if isinstance(value, str) else value
        fits = isinstance(values, list) and all(isinstance(each, str) for each in values)
        return ("" if fits else "a string or a list of strings"), tuple(values) if fits else ()
    kind = str(setting_field.type)
    if "bool" in kind:
        return ("" if isinstance(value, bool) else "true or false"), value
    if kind.startswith("int"):
        return ("" if isinstance(value, int) and not isinstance(value, bool) else "a whole number"), value
    if kind.startswith("float"):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return ("" if fits else "a number"), float(value) if fits else default
    return ("" if isinstance(value, str) else "a string"), value
