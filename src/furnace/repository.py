"""A folder of models: NAME/VERSION/model.onnx (or .mpk with its .json), as Triton lays them out; NAME/model.onnx too.

Names from requests are looked up among the folders that are there; they never become paths.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from burn import Device
from furnace.errors import ModelError, NotFound
from furnace.hub import Hub
from furnace.models.opening import RECORDS, open_model

log = logging.getLogger("furnace")

ENDINGS = (*RECORDS, ".onnx", ".ort")


@dataclass(slots=True)
class Repository:
    """The folder, and the hub that its models go into."""

    folder: Path
    hub: Hub
    device: Device

    def scan(self) -> dict[tuple[str, str], Path]:
        """The model files by name and version."""
        found: dict[tuple[str, str], Path] = {}
        for entry in sorted(self.folder.iterdir()):
            if not entry.is_dir() or entry.name.startswith("."):
                continue
            versions = [each for each in entry.iterdir() if each.is_dir() and each.name.isdigit()]
            for version in sorted(versions, key=lambda each: int(each.name)):
                file = _model_file(version)
                if file is not None:
                    found[entry.name, version.name] = file
            if not versions:
                file = _model_file(entry)
                if file is not None:
                    found[entry.name, "1"] = file
        return found

    def load_all(self) -> None:
        """Load every model; one that cannot load is unready with its reason, and the others serve."""
        for (name, version), path in self.scan().items():
            self.load_version(name, version, path)

    async def load(self, name: str) -> None:
        """Load the versions of one model that the folder has now, again where they run already."""
        files = {version: path for (found, version), path in self.scan().items() if found == name}
        if not files:
            raise NotFound(f"the repository has no model {name!r}")
        reasons = []
        for version, path in files.items():
            reasons += await asyncio.to_thread(self.load_version, name, version, path)
        if reasons:
            raise ModelError("; ".join(reasons))

    async def unload(self, name: str) -> None:
        """Take all versions of a model out of service."""
        if not await asyncio.to_thread(self.hub.remove, name):
            raise NotFound(f"no model {name!r} is loaded")

    def load_version(self, name: str, version: str, path: Path) -> list[str]:
        """Load one version; gives the reason when it cannot be, and the one that ran goes on."""
        try:
            self.hub.add(open_model(path, self.device, name=name, version=version))
        except ModelError as error:
            log.error("model %s version %s cannot be loaded: %s", name, version, error)
            self.hub.failed(name, version, str(error))
            return [str(error)]
        except Exception as error:  # one file must not end the others
            log.exception("model %s version %s cannot be loaded", name, version)
            reason = f"model {name!r}: {path.name!r} cannot be loaded: {type(error).__name__}: {error}"
            self.hub.failed(name, version, reason)
            return [reason]
        return []


def _model_file(folder: Path) -> Path | None:
    files = [each for each in sorted(folder.iterdir()) if each.is_file() and each.name.endswith(ENDINGS)]
    return next((each for each in files if each.name.startswith("model.")), files[0] if files else None)
