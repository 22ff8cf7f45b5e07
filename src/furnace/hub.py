"""The models that a server holds: by name and version, loaded, warmed, replaced without a pause, and let go.

A version is swapped in only when it is ready; the one before finishes its jobs and ends. A model that cannot load is
kept with its reason, so that a repository can say why it is unready.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from threading import RLock, Timer
from typing import Any

from furnace.engine.warming import warm
from furnace.engine.worker import Worker
from furnace.errors import NotFound, Unready
from furnace.models.served import ServedModel

log = logging.getLogger("furnace")

GRACE_SECONDS = 1.0
"""How long a version that was replaced takes jobs: requests that had found it before must not be refused."""


@dataclass(slots=True)
class Version:
    """One version: its worker when it is ready, else why it is not."""

    name: str
    version: str
    worker: Worker | None = None
    reason: str = ""
    layouts: dict[bytes, Any] = field(default_factory=dict, repr=False)
    """What was read once about requests that differ in their tensors only."""

    @property
    def ready(self) -> bool:
        """Whether it answers requests."""
        return self.worker is not None

    @property
    def model(self) -> ServedModel:
        """The model; Unready when it is not loaded."""
        return self.serving.model

    @property
    def serving(self) -> Worker:
        """The worker; Unready when there is none."""
        if self.worker is None:
            raise Unready(f"model {self.name!r} version {self.version} is not ready: {self.reason}")
        return self.worker


class Hub:
    """Names and versions. Reading takes no lock: dicts are replaced, never changed."""

    def __init__(self, **worker_options: Any) -> None:
        self._options = worker_options
        self._models: dict[str, dict[str, Version]] = {}
        self._lock = RLock()

    def add(self, model: ServedModel) -> Version:
        """Warm a model and put it in the place of the same version, which ends when its jobs are done."""
        worker = Worker(model, **self._options)
        begin = time.perf_counter()
        warm(worker)
        log.info("model %s version %s is ready after %.2f s", model.name, model.version, time.perf_counter() - begin)
        version = Version(model.name, model.version, worker)
        self._end(self._replaced(version))
        return version

    def failed(self, name: str, version: str, reason: str) -> None:
        """Keep the reason why a version is not there; one that still runs goes on."""
        current = self._models.get(name, {}).get(version)
        if current is None or not current.ready:
            self._replaced(Version(name, version, None, reason))

    def remove(self, name: str, version: str | None = None) -> list[str]:
        """Take a model (or one version) out of service after its jobs; gives the versions that ended."""
        with self._lock:
            versions = dict(self._models.get(name, {}))
            gone = [version] if version is not None else list(versions)
            ended = [versions.pop(each) for each in gone if each in versions]
            models = {key: value for key, value in self._models.items() if key != name}
            self._models = {**models, name: versions} if versions else models
        for each in ended:
            self._end(each)
        return [each.version for each in ended]

    def find(self, name: str | None = None, version: str | None = None) -> Version:
        """A version; without one the newest that is ready, without a name the only model."""
        models = self._models
        if name is None:
            if len(models) != 1:
                raise NotFound(f"this server has {len(models)} models; name one of: {', '.join(models) or 'none'}")
            name = next(iter(models))
        versions = models.get(name)
        if versions is None:
            raise NotFound(f"there is no model {name!r}; there are: {', '.join(models) or 'none'}")
        if version is None:
            return newest(versions)
        if version not in versions:
            raise NotFound(f"model {name!r} has no version {version!r}; it has: {', '.join(versions)}")
        return versions[version]

    def versions(self, name: str) -> list[Version]:
        """All versions of a model, the newest last."""
        return sorted(self._models.get(name, {}).values(), key=_order)

    def all(self) -> list[Version]:
        """Every version of every model."""
        return [version for name in sorted(self._models) for version in self.versions(name)]

    @property
    def ready(self) -> bool:
        """Whether every model has a version that answers."""
        models = self._models
        return bool(models) and all(any(each.ready for each in versions.values()) for versions in models.values())

    def close(self, timeout: float = 30.0) -> None:
        """End all workers after their jobs."""
        end = time.monotonic() + timeout
        with self._lock:
            ended = [version for version in self.all() if version.worker is not None]
            self._models = {}
        for version in ended:
            if version.worker is not None:
                version.worker.close(max(0.0, end - time.monotonic()))

    def _replaced(self, version: Version) -> Version | None:
        with self._lock:
            versions = dict(self._models.get(version.name, {}))
            before = versions.get(version.version)
            versions[version.version] = version
            self._models = {**self._models, version.name: versions}
        return before

    def _end(self, version: Version | None) -> None:
        if version is not None and version.worker is not None:
            ending = Timer(GRACE_SECONDS, version.worker.close, (0.0,))
            ending.daemon = True
            ending.start()


def newest(versions: dict[str, Version]) -> Version:
    """The highest version that is ready, else the highest."""
    if len(versions) == 1:
        return next(iter(versions.values()))
    ordered = sorted(versions.values(), key=_order)
    return next((each for each in reversed(ordered) if each.ready), ordered[-1])


def _order(version: Version) -> tuple[int, str]:
    return (int(version.version), "") if version.version.isdigit() else (-1, version.version)
