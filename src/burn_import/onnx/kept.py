"""Recordings that outlive the process: a model that ran before is played again without reading its graph.

Beside the plan of a recording (`burn.backend.cpu.frozen.stored`) the cache holds a card for each model: what goes in
and comes out, and which plans there are for which shapes. Its key is the contents of the file, the state of this
package, and everything about the device that decides what a plan is. A call that no plan serves reads the file.

Cards and plans lie in the folder of the kernel cache and are believed by its rules: they hold machine code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import sys
import threading
import weakref
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
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
MOST_ROWS = 16
"""Recordings of one model that are kept."""

Array = np.ndarray[Any, Any]
Play = Callable[[list[Array]], dict[str, Any]]


class Source:
    """What a model is read from: a file that is held open, or bytes; and what it held when it was opened."""

    def __init__(self, model: str | os.PathLike[str] | bytes) -> None:
        self.path = None if isinstance(model, bytes) else os.path.abspath(model)
        self._data = model if isinstance(model, bytes) else b""
        self._file = -1 if self.path is None else os.open(self.path, _READ)
        if self.path is not None:
            weakref.finalize(self, os.close, self._file)
        self._seen = self._now()
        self.digest = self._digest()

    def _digest(self) -> str:
        if self.path is None:
            return hashlib.sha256(self._data).hexdigest()
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _now(self) -> Any:
        """What tells a file that was written to: of the one that is open."""
        if self.path is None:
            return None
        state = os.fstat(self._file)
        return state.st_ino, state.st_size, state.st_mtime_ns

    def is_unchanged(self) -> bool:
        """Whether nobody has written to it."""
        return bool(self._now() == self._seen)

    def read(self) -> Any:
        """What the importer takes now; the file may have been moved since, but not written to."""
        if self.path is None:
            return self._data
        if self._digest() != self.digest:
            raise OnnxError("run", [f"{self.path}: the file was changed since it was loaded; load it again"])
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self.path), os.fstat(self._file)):
                return self.path
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()


class Opening:
    """A model on its way in: where it comes from, and the key of everything that its recordings depend on."""

    def __init__(self, source: Source, key: str) -> None:
        self.source, self.key = source, key


def opening_of(model: Any, device: Device) -> Opening | None:
    """What recordings of a model on a device are kept under; None where none are."""
    engine: Any = getattr(device, "below", None)
    if getattr(engine, "label", None) != "cpu" or engine.settings.sanitize or os.environ.get("BURN_TUNE") == "on":
        return None
    if not isinstance(model, str | os.PathLike | bytes) or _has_other_operators():
        return None
    from burn.backend.cpu.cache import default_cache
    from burn.backend.cpu.pool import pool

    if default_cache().directory is None:
        return None
    try:
        source = Source(model)
    except OSError:
        return None  # whoever reads it says why
    parts = (
        "onnx", VERSION, __version__, _state(), source.digest, repr(device), repr(engine.settings),
        engine.settings.target.key, pool().threads, os.environ.get("BURN_TUNE", ""), np.__version__,
    )  # fmt: skip
    return Opening(source, hashlib.sha256(repr(parts).encode()).hexdigest())


def _has_other_operators() -> bool:
    found = sys.modules.get("burn_import.onnx.operators.registry")
    return found is not None and bool(found.has_others())


def _state() -> str:
    """The state of the modules of a checkout; an installed package is told by its version."""
    from burn.checkout import state_of

    folders = [Path(each.__file__).parent for each in (burn, burn_import) if each.__file__]
    return "" if "site-packages" in str(folders[0]) else " ".join(map(state_of, folders))


class NotKept(Exception):
    """A value was read that no recording on disk has met."""


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
        try:
            return play(given)
        except NotKept:
            return self.whole().run(inputs)

    def whole(self) -> Runtime:
        """What evaluates the graph: the file is read now."""
        with self._lock:
            if self._whole is None:
                self._whole = self._make()
        return self._whole


def open_kept(opening: Opening, device: Device, whole: Callable[[], Runtime]) -> Kept | None:
    """What runs a model that was kept; None where there is none."""
    card = Card.read(opening, device)
    return None if card is None else Kept(card, whole)


class Card:
    """What is kept of one model: its inputs and outputs, and a row for each recording that is nothing but plans."""

    def __init__(
        self, opening: Opening, device: Device, described: Mapping[str, Any], rows: list[dict[str, Any]]
    ) -> None:
        self._key, self._source = opening.key, opening.source
        self._guards: dict[str, Callable[..., bool]] = {}
        self._owner: Any = device.below
        self.described = {name: described[name] for name in ("inputs", "outputs")}
        self._rows = rows
        self._names: dict[int, tuple[Any, str]] = {}  # of plans that were stored
        self._opened_plans: dict[str, Any] = {}
        self._lock = threading.Lock()

    @classmethod
    def read(cls, opening: Opening, device: Device) -> Card | None:
        """The card that an earlier process wrote."""
        from burn.backend.cpu.cache import default_cache

        text = default_cache().load(opening.key)
        if text is None:
            return None
        found = json.loads(text)
        return cls(opening, device, found, found["rows"])

    @classmethod
    def of(cls, opening: Opening, device: Device, described: Mapping[str, Any]) -> Card:
        """The card of a model: that of an earlier process, or a new one."""
        return cls.read(opening, device) or cls(opening, device, described, [])

    def play(self, given: list[Array]) -> tuple[Play, dict[str, Any]] | None:
        """What plays inputs of these shapes, by plans on disk, and its results for these."""
        exact = [[list(each.shape), each.dtype.str] for each in given]
        kinds = [each.dtype.str for each in given]
        fitting = [row for row in self._rows if not row["open"] and row["given"] == exact]
        fitting += [row for row in self._rows if row["open"] and [dtype for _, dtype in row["given"]] == kinds]
        for row in fitting:
            if row["open"] and not self._holds(row["open"], given):
                continue
            play = self._opened(row)
            if play is not None:
                with contextlib.suppress(DoesNotFit, NotKept):
                    return play, play(given)
        return None

    def _holds(self, guard: str, given: Sequence[Array]) -> bool:
        found = self._guards.get(guard)
        if found is None:
            found = self._guards[guard] = _guard(guard)
        return found([each.shape for each in given])

    def keep(self, given: Sequence[Array], tape: Any, guard: str = "") -> Play | None:
        """Keep a recording as far as it is plans. What plays it from the files, whose constants processes share.

        With open sizes, `guard` says for which shapes it holds.
        """
        from burn.backend.cpu.cache import default_cache

        if any(each.dtype.hasobject for each in given) or len(self._rows) >= MOST_ROWS:
            return None
        if not self._source.is_unchanged() or _has_other_operators():
            return None
        with self._lock:
            tree = self._tree(tape.root)
            if tree is None:
                return None
            described = [[list(each.shape), each.dtype.str] for each in given]
            row = {"given": described, "open": guard, "tree": tree}
            self._rows = [each for each in self._rows if (each["given"], each["open"]) != (described, guard)]
            self._rows.append(row)
            default_cache().store(self._key, json.dumps({**self.described, "rows": self._rows}).encode())
            return self._opened(row)

    # Trees: steps, and the results behind them or what is read there to go on

    def _tree(self, stretch: Any) -> dict[str, Any] | None:
        """A stretch of a tape as data; None where it is not kept."""
        steps = [self._saved(step) for step in stretch.steps]
        if None in steps:
            return None
        made: dict[str, Any] = {"steps": steps}
        if stretch.finish is not None:
            places = stretch.finish.places
            made["results"] = [[place, is_copied] for _, place, is_copied in places]
            return made if all(place.__class__ is int for _, place, _ in places) else None
        if stretch.question is None or stretch.question[0][0] != "read" or stretch.is_changing:
            return None
        made["ask"] = stretch.question[0][1]
        trees = {answer.hex(): self._tree(behind) for answer, behind in stretch.answers.items()}
        made["answers"] = {answer: tree for answer, tree in trees.items() if tree is not None}
        return made if made["answers"] else None

    def _saved(self, step: Any) -> dict[str, Any] | None:
        """A step of a tape, stored; None where it cannot be."""
        plan: Any = getattr(step, "run", None)
        known = self._names.get(id(plan))
        if known is None:
            name = f"{self._key} {secrets.token_hex(8)}"
            if not hasattr(plan, "save") or not plan.save(name):
                return None
            known = self._names[id(plan)] = plan, name
        return {"plan": known[1], "staged": not hasattr(plan, "runner"), "sources": list(step.sources)}

    def _opened(self, row: dict[str, Any]) -> Play | None:
        """What plays a row; None where a file of it is not there any more."""
        tree, count = row["tree"], len(self.described["inputs"])
        names = [each["name"] for each in self.described["outputs"]]
        try:
            results = [[count + place, False] for place in range(len(names))]
            first = tree["steps"][0] if len(tree["steps"]) == 1 and tree.get("results") == results else None
            if first is not None and first["sources"] == list(range(count)):
                run = self._run(first)
                return lambda given: dict(zip(names, run(given)))
            follow = self._following(tree, names)
        except FileNotFoundError:
            return None
        return lambda given: follow([*given])

    def _following(self, tree: dict[str, Any], names: list[str]) -> Callable[[list[Any]], dict[str, Any]]:
        """From the slots before a stretch to the results."""
        steps = [(self._run(step), step["sources"]) for step in tree["steps"]]
        results, asked = tree.get("results"), tree.get("ask", 0)
        behind = {bytes.fromhex(a): self._following(each, names) for a, each in tree.get("answers", {}).items()}

        def follow(slots: list[Any]) -> dict[str, Any]:
            for run, sources in steps:
                slots += run([slots[number] for number in sources])
            if results is not None:
                return {name: slots[at].copy() if copied else slots[at] for name, (at, copied) in zip(names, results)}
            found = behind.get(slots[asked].tobytes())
            if found is None:
                raise NotKept
            return found(slots)

        return follow

    def _run(self, step: dict[str, Any]) -> Callable[[list[Array]], list[Array]]:
        name = step["plan"]
        found = self._opened_plans.get(name)
        if found is None:
            if step["staged"]:
                from burn.backend.cpu.frozen.staged import open_staged

                found = open_staged(name, self._owner)
            else:
                from burn.backend.cpu.frozen.stored import open_stored

                found = open_stored(name, self._owner)
            if found is None:
                raise FileNotFoundError(name)
            self._opened_plans[name] = found
        return getattr(found, "run", found)


def _guard(text: str) -> Callable[..., Any]:
    """From the shapes of inputs to whether a recording with open sizes holds for them."""
    from burn.backend.cpu.frozen.encoding import decode
    from burn.backend.cpu.frozen.expressions import function_of

    function = function_of(decode(text.encode()), ())

    def holds(shapes: Sequence[tuple[int, ...]]) -> bool:
        try:
            return function(shapes) is not None
        except ValueError:  # another rank
            return False

    return holds


__all__ = ["Card", "Kept", "NotKept", "Opening", "Source", "open_kept", "opening_of"]
