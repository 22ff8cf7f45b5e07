"""The folder of checkpoints: which are there, which are complete, and what is left of a write that was cut off.

    checkpoint/model-3.mpk  optim-3.mpk  scheduler-3.mpk  state-3.json

`state-3.json` is written last and holds the checksums of the others: where it is there and they agree, the
checkpoint is complete. It also keeps what the records have no place for: random generators, the position of the
loaders, the metrics so far. A folder without it (of another program) can still be read; `.saving-3` tells a write of
ours that was cut off from that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burn.errors import BurnError
from burn.record.files import sweep, write_file

VERSION = 1
_STATE = re.compile(r"^state-(\d+)\.json$")
_MODEL = re.compile(r"^model-(\d+)\.")
_SAVING = re.compile(r"^\.saving-(\d+)$")


class CheckpointError(BurnError, RuntimeError):
    """A checkpoint that cannot be written, or that is not there or not whole.

    >>> from pathlib import Path
    >>> from burn.train import CheckpointError, CheckpointFolder
    >>> folder = CheckpointFolder(Path("checkpoint"), "mpk")
    >>> folder.path.mkdir()
    >>> _ = folder.state_file(3).write_text("[1, 2]")
    >>> try:
    ...     folder.read_state(3)
    ... except CheckpointError as error:
    ...     print(error)
    checkpoint: checkpoint/state-3.json is no state of a training
    """


class CheckpointFolder:
    """The files of checkpoints, by epoch.

    `state-3.json` is written last and holds the checksums of the others: where they agree, the checkpoint is whole.

    `extension` is that of the recorder; `name` is one of "model", "optim", "scheduler", and the `names` of a
    checkpoint are those it has.

    >>> from pathlib import Path
    >>> from burn.train import CheckpointFolder
    >>> folder = CheckpointFolder(Path("checkpoint"), "mpk")
    >>> folder.file("model", 3).name, folder.epochs()
    ('model-3.mpk', [])
    """

    def __init__(self, path: Path, extension: str) -> None:
        self.path, self.extension = path, extension

    def file(self, name: str, epoch: int) -> Path:
        """Where a record of an epoch is, or will be."""
        return self.path / f"{name}-{epoch}.{self.extension}"

    def state_file(self, epoch: int) -> Path:
        """Where the state of an epoch is."""
        return self.path / f"state-{epoch}.json"

    def _numbers(self, pattern: re.Pattern[str]) -> list[int]:
        if not self.path.is_dir():
            return []
        found = (pattern.match(each.name) for each in self.path.iterdir())
        return sorted({int(each[1]) for each in found if each})

    def epochs(self) -> list[int]:
        """The epochs that have a model, complete or not."""
        return sorted({*self._numbers(_MODEL), *self._numbers(_STATE)})

    # Completeness

    def _mark(self, epoch: int) -> Path:
        return self.path / f".saving-{epoch}"

    def begin(self, epoch: int) -> None:
        """Say that an epoch is about to be written: what is there of it vouches for nothing any more."""
        write_file(str(self._mark(epoch)), [])
        self.state_file(epoch).unlink(missing_ok=True)

    def write_state(self, epoch: int, names: Sequence[str], state: dict[str, Any]) -> None:
        """Mark an epoch as complete: its files are on disk."""
        files = {self.file(name, epoch).name: checksum(self.file(name, epoch)) for name in names}
        text = json.dumps({"version": VERSION, "epoch": epoch, "files": files, **state}, indent=1)
        write_file(str(self.state_file(epoch)), [text.encode()])
        self._mark(epoch).unlink(missing_ok=True)

    def read_state(self, epoch: int) -> dict[str, Any] | None:
        """The state of an epoch, or None if it has none."""
        try:
            found = json.loads(self.state_file(epoch).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise CheckpointError(f"checkpoint: {self.state_file(epoch)} cannot be read: {error}") from None
        if not isinstance(found, dict) or not isinstance(found.get("files"), dict):
            raise CheckpointError(f"checkpoint: {self.state_file(epoch)} is no state of a training")
        if found.get("version", 0) > VERSION:
            raise CheckpointError(
                f"checkpoint: {self.state_file(epoch)} was written by a later version of this package"
            )
        return found

    def fault(self, epoch: int) -> str | None:
        """Why the checkpoint of an epoch must not be loaded; None if it is whole, or has no state to tell."""
        try:
            state = self.read_state(epoch)
        except CheckpointError as error:
            return str(error).removeprefix("checkpoint: ")
        if state is None:
            if self._mark(epoch).exists():
                return "its write was cut off"
            missing = [name for name in ("model", "optim", "scheduler") if not self.file(name, epoch).is_file()]
            if missing:
                return f"{', '.join(self.file(name, epoch).name for name in missing)} not found"
            return None
        for name, expected in state["files"].items():
            path = self.path / Path(name).name
            if not path.is_file():
                return f"{name} not found"
            if checksum(path) != expected:
                return f"{name} is not the file that was written: its checksum differs"
        wanted = {self.file(name, epoch).name for name in ("model", "optim", "scheduler")}
        if not wanted <= set(state["files"]):
            extension = next(iter(state["files"])).partition(".")[2]
            return f"it was written with a recorder for .{extension} files, and this one is for .{self.extension}"
        return None

    def complete(self) -> list[int]:
        """The epochs whose state says that they are whole. Files are not read for this."""
        return self._numbers(_STATE)

    def newest(self) -> list[int]:
        """The complete epochs, the one written last first: a folder may hold files of an older, longer run."""

        def written(epoch: int) -> tuple[float, int]:
            try:
                return float((self.read_state(epoch) or {}).get("written", 0.0)), epoch
            except (CheckpointError, TypeError, ValueError):
                return 0.0, epoch

        return sorted(self.complete(), key=written, reverse=True)

    # Deleting

    def delete(self, epoch: int) -> None:
        """Remove an epoch: the mark of completeness first, so that no half of it looks whole."""
        with contextlib.suppress(FileNotFoundError):
            self.state_file(epoch).unlink()
        for name in ("model", "optim", "scheduler", "ema"):
            with contextlib.suppress(FileNotFoundError):
                self.file(name, epoch).unlink()

    def sweep(self) -> None:
        """Remove what writes that were cut off have left."""
        if not self.path.is_dir():
            return
        for epoch in self._numbers(_SAVING):
            if not self.state_file(epoch).exists():
                self.delete(epoch)
            self._mark(epoch).unlink(missing_ok=True)
        sweep(self.path)


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
