"""The folder in which an example keeps its training."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from os import PathLike
from pathlib import Path


def add_artifact_option(parser: argparse.ArgumentParser, name: str) -> None:
    """Let the user choose where the training is kept."""
    folder = Path(tempfile.gettempdir()) / name
    parser.add_argument("--artifact-dir", type=Path, default=folder, help="default: %(default)s")


def begun(folder: str | PathLike[str]) -> Path:
    """The folder, made if need be, without the logs and checkpoints of an earlier training."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid", "checkpoint"):
        shutil.rmtree(path / part, ignore_errors=True)
    return path
