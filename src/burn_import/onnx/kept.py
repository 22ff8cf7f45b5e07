"""Recordings that outlive the process: a model that ran before is played again without reading its graph.

Beside the plan of a recording (`burn.backend.cpu.frozen.stored`) the cache holds a card for each model: what goes in
and comes out, and which plans there are for which shapes. Its key is the contents of the file, the state of this
package, and everything about the device that decides what a plan is. A call that no plan serves reads the file.

Cards and plans lie in the folder of the kernel cache and are believed by its rules: they hold machine code.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import burn
import burn_import
from burn.symbolic import DoesNotFit
from burn.version import __version__
from burn_import.onnx.errors import OnnxError

if TYPE_CHECKING:
    from burn import Device
    from burn_import.onnx.running import Runtime

VERSION = 1
MOST_KNOWN = 256
MOST_PLANS = 16
"""Recordings of one model that are kept."""

Array = np.ndarray[Any, Any]
Play = Callable[[list[Array]], dict[str, Any]]


def key_of(model: Any, device: Device) -> str | None:
    """What tells apart everything that a recording depends on; None where none is kept."""
    engine: Any = getattr(device, "below", None)
    if getattr(engine, "label", None) != "cpu" or engine.settings.sanitize or os.environ.get("BURN_TUNE") == "on":
        return None
    changed = sys.modules.get("burn_import.onnx.operators.registry")
    if changed is not None and changed.has_others():
        return None
    from burn.backend.cpu.cache import default_cache

    if default_cache().directory is None:
        return None
    digest = _digest(model)
    if digest is None:
        return None
    from burn.backend.cpu.pool import pool

    parts = (
        "onnx", VERSION, __version__, _state(), digest, repr(device), engine.settings.target.key, pool().threads,
        os.environ.get("BURN_TUNE", ""), np.__version__,
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _digest(model: Any) -> str | None:
    """Of a file's contents, or of bytes; None for what is neither."""
    if isinstance(model, bytes | bytearray | memoryview):
        return hashlib.sha256(model).hexdigest()
    if not isinstance(model, str | os.PathLike):
        return None
    try:
        with open(model, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None  # whoever reads it says why


def _state() -> str:
    """The state of the modules of a checkout; an installed package is told by its version."""
    from burn.checkout import state_of

    folders = [Path(each.__file__).parent for each in (burn, burn_import) if each.__file__]
    return "" if "site-packages" in str(folders[0]) else " ".join(map(state_of, folders))


class Kept:
    """A model that runs by recordings of earlier processes, and becomes a `Runtime` when they do not serve."""

    def __init__(self, card: Card, whole: Callable[[], Runtime]) -> None:
        self.card, self.described = card, card.described
        self.input_names = tuple(each["name"] for each in self.described["inputs"])
        self.output_names = tuple(each["name"] for each in self.described["outputs"])
        self._known: dict[Any, Play] = {}
        self._make = whole
        self._whole: Runtime | None = None
        self._lock = threading.Lock()

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name for arrays by name."""
        if self._whole is not None:
            return self._whole.run(inputs)
        try:
            given = [inputs[name] for name in self.input_names]
            play = self._known.get(tuple([(array.shape, array.dtype) for array in given]))
        except (KeyError, AttributeError, TypeError):
            return self.whole().run(inputs)
        if len(inputs) != len(given):
            return self.whole().run(inputs)
        for array in given:
            if array.__class__ is not np.ndarray or not (flags := array.flags).c_contiguous or not flags.aligned:
                return self.whole().run(inputs)
        if play is None:
            found = self.card.play(given)
            if found is None:
                return self.whole().run(inputs)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[tuple([(array.shape, array.dtype) for array in given])], results = found
            return results
        return play(given)

    def whole(self) -> Runtime:
        """What evaluates the graph: the file is read now."""
        with self._lock:
            if self._whole is None:
                self._whole = self._make()
        return self._whole


def open_kept(key: str, device: Device, whole: Callable[[], Runtime]) -> Kept | None:
    """What runs the model that was kept under a key; None where there is none."""
    card = Card.read(key, device)
    return None if card is None else Kept(card, whole)


class Card:
    """What is kept of one model: its inputs and outputs, and a row for each recording that is one plan."""

    def __init__(self, key: str, device: Device, described: Mapping[str, Any], plans: list[dict[str, Any]]) -> None:
        self._key = key
        self._owner: Any = device.below
        self.described = {name: described[name] for name in ("inputs", "outputs")}
        self._plans = plans
        self._plays: dict[str, Play | None] = {}
        self._lock = threading.Lock()

    @classmethod
    def read(cls, key: str, device: Device) -> Card | None:
        """The card that an earlier process wrote."""
        from burn.backend.cpu.cache import default_cache

        text = default_cache().load(key)
        if text is None:
            return None
        found = json.loads(text)
        return cls(key, device, found, found["plans"])

    @classmethod
    def of(cls, key: str, device: Device, described: Mapping[str, Any]) -> Card:
        """The card of a model: that of an earlier process, or a new one."""
        return cls.read(key, device) or cls(key, device, described, [])

    def play(self, given: list[Array]) -> tuple[Play, dict[str, Any]] | None:
        """What plays inputs of these shapes, by a plan on disk, and its results for these."""
        exact = [[list(each.shape), each.dtype.str] for each in given]
        kinds = [[each.ndim, each.dtype.str] for each in given]
        for row in self._plans:
            if not row["open"] and row["given"] == exact:
                found = self._opened(row)
                if found is not None:
                    return found, found(given)
        for row in self._plans:
            if row["open"] and [[len(shape), dtype] for shape, dtype in row["given"]] == kinds:
                found = self._opened(row)
                try:
                    if found is not None:
                        return found, found(given)
                except DoesNotFit:
                    continue
        return None

    def _opened(self, row: dict[str, Any]) -> Play | None:
        name = row["plan"]
        if name not in self._plays:
            from burn.backend.cpu.frozen.stored import open_stored

            runner = open_stored(name, self._owner)
            self._plays[name] = None if runner is None else self._playing(runner.run, row)
        return self._plays[name]

    def _playing(self, run: Any, row: dict[str, Any]) -> Play:
        """From the inputs of a model to its results."""
        names = [each["name"] for each in self.described["outputs"]]
        count, sources, results = len(self.described["inputs"]), row["sources"], row["results"]
        if sources == list(range(count)) and results == [[count + place, False] for place in range(len(names))]:
            return lambda given: dict(zip(names, run(given)))

        def play(given: list[Array]) -> dict[str, Any]:
            slots = given + run([given[number] for number in sources])
            return {name: slots[at].copy() if copied else slots[at] for name, (at, copied) in zip(names, results)}

        return play

    def keep(self, given: Sequence[Array], segment: Any, finish: Any, is_open: bool) -> Play | None:
        """Keep a recording that is one plan. What plays it from the file, whose constants processes share."""
        from burn.backend.cpu.cache import default_cache

        plan, places = segment.run, finish.places
        if not hasattr(plan, "save") or any(each.dtype.hasobject for each in given):
            return None
        if not all(place.__class__ is int for _, place, _ in places):
            return None
        with self._lock:
            name = f"{self._key} {len(self._plans)}"
            if len(self._plans) >= MOST_PLANS or not plan.save(name):
                return None
            row = {
                "plan": name,
                "given": [[list(each.shape), each.dtype.str] for each in given],
                "open": is_open,
                "sources": list(segment.sources),
                "results": [[place, is_copied] for _, place, is_copied in places],
            }
            self._plans.append(row)
            default_cache().store(self._key, json.dumps({**self.described, "plans": self._plans}).encode())
            return self._opened(row)


def refuse_changed(model: Any, device: Device, key: str) -> None:
    """A file that is read later than it was opened must be what it was."""
    if key_of(model, device) not in (key, None):
        raise OnnxError("run", [f"{os.fspath(model)}: the file was changed since it was loaded; load it again"])


__all__ = ["Card", "Kept", "key_of", "open_kept", "refuse_changed"]
