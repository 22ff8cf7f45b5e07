"""Runs a prepared graph on arrays: recorded for each set of shapes, and played again.

On a device that records, the first call with some shapes evaluates the graph while a `Recorder` writes down what runs;
later ones play that. Everywhere else, and for models that draw random numbers or compute with strings, each call is an
evaluation.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy import ndarray

import burn
from burn import Device, Tensor
from burn.backend.fusion.handle import Lazy, Storage
from burn.collecting import collector_waits
from burn.dtype import from_numpy
from burn.shape import Shape
from burn.symbolic import DoesNotFit
from burn_import.onnx.ir.model import Model
from burn_import.onnx.kept import Card, NotKept
from burn_import.onnx.running.arrays import checked, dtype_of, sizes_of, to_device, to_host
from burn_import.onnx.running.evaluator import Evaluator
from burn_import.onnx.running.open_sizes import OpenSizes
from burn_import.onnx.running.recorder import Ready, Recorder, is_recorded
from burn_import.onnx.running.tape import Changing, Slots, Tape, Unknown
from burn_import.onnx.running.weights import Held, Weights

MOST_SHAPES = 64

Array = np.ndarray[Any, Any]
Play = Callable[[list[Array]], dict[str, Any]]
Places = list[tuple[str, Any, bool]]
"""Of each result its name, its slot or the constant that it is, and whether it has to be copied."""


class Finish:
    """From the slots at the end of a recording to the results by name."""

    __slots__ = ("places",)

    def __init__(self, places: Places) -> None:
        self.places = places

    def __call__(self, slots: Slots) -> dict[str, Any]:
        made = {}
        for name, place, is_copied in self.places:
            value = slots[place] if place.__class__ is int else place
            made[name] = value.copy() if is_copied else value
        return made

    def is_all_from(self, first: int, count: int) -> bool:
        """Whether the results are so many slots from `first` on, as they are."""
        return len(self.places) == count and all(
            place.__class__ is int and place == first + number and not is_copied
            for number, (_, place, is_copied) in enumerate(self.places)
        )


class Runtime:
    """One model on one device. Several threads may run it at once."""

    def __init__(
        self,
        model: Model,
        weights: Weights,
        device: Device,
        described: Mapping[str, Any],
        card: Card | None = None,
    ) -> None:
        while device.is_autodiff:
            device = device.inner()
        self.graph = model.graph
        self.device = device
        self.held = Held(device, weights)
        self.input_names = tuple(value.name for value in model.graph.inputs)
        self.output_names = tuple(model.graph.output_names)
        self.dtypes = tuple(map(dtype_of, described["inputs"]))
        self.sizes = tuple(map(sizes_of, described["inputs"]))
        self.parameters = weights.count(model)
        self.evaluations = 0
        """How often the graph was evaluated."""
        self._records = is_recorded(device)
        self._count = len(self.input_names)
        self._known: OrderedDict[Any, Play] = OrderedDict()
        self._tapes: OrderedDict[Any, Tape] = OrderedDict()
        self._ready = Ready()
        self._lock = threading.RLock()
        self._open_sizes = OpenSizes(self.sizes, self._record)
        self._card = card

    def whole(self) -> Runtime:
        """This: it needs nothing beside itself."""
        return self

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name for arrays by name."""
        try:
            given = [inputs[name] for name in self.input_names]
            key = tuple([(array.shape, array.dtype) for array in given])
            play = self._known[key]
        except (KeyError, AttributeError, TypeError):
            return self._checked(inputs)
        if len(inputs) != self._count:
            return self._checked(inputs)
        for array in given:
            if array.__class__ is not ndarray or not (flags := array.flags).c_contiguous or not flags.aligned:
                return self._checked(inputs)
        if len(self._known) > MOST_SHAPES // 2:
            self._used(key)
        return play(given)

    def outputs(self, inputs: Sequence[Any]) -> list[Any]:
        """The results in order for arrays in order, which have been checked."""
        if not self._records or not all(map(_is_plain, inputs)):
            return list(self._evaluated(inputs).values())
        arrays = [*map(_settled, inputs)]
        key = tuple([(array.shape, array.dtype) for array in arrays])
        play = self._known.get(key)
        return list((self._recorded(key, arrays) if play is None else play(arrays)).values())

    def forget(self, inputs: Sequence[Any]) -> None:
        """Let go of what is kept for arrays of these shapes."""
        key = tuple([None if each is None else (each.shape, each.dtype) for each in inputs])
        with self._lock:
            self._known.pop(key, None)
            self._tapes.pop(key, None)
            self._open_sizes = OpenSizes(self.sizes, self._record)

    def another(self) -> Runtime:
        """The same model with recordings of its own: programs are made ready for a number of threads."""
        made = copy(self)
        made._known, made._tapes, made._ready, made._lock = OrderedDict(), OrderedDict(), Ready(), threading.RLock()
        made._open_sizes, made._card = OpenSizes(made.sizes, made._record), None
        return made

    def _used(self, key: Any) -> None:
        try:
            self._known.move_to_end(key)
        except KeyError:  # another thread has just dropped it
            return

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A call whose inputs have to be looked at."""
        given = checked(self.input_names, self.dtypes, self.sizes, inputs)
        if not self._records or not all(map(_is_plain, given)):
            return self._evaluated(given)
        arrays = [_settled(each) for each in given]
        key = tuple([(array.shape, array.dtype) for array in arrays])
        play = self._known.get(key)
        return self._recorded(key, arrays) if play is None else play(arrays)

    # Evaluations

    def _evaluated(self, given: Sequence[Any]) -> dict[str, Any]:
        """The results of an evaluation that nobody keeps."""
        device = self.device
        with burn.default_device(device):
            results = self._results([to_device(each, device) for each in given])
            return dict(zip(self.output_names, map(to_host, results)))

    def _results(self, values: Sequence[Any]) -> list[Any]:
        self.evaluations += 1
        return Evaluator(self.held, self.graph).run(values)

    def _recorded(self, key: Any, arrays: list[Array]) -> dict[str, Any]:
        """The results of an evaluation that is written on the tape of its shapes."""
        with self._lock:
            tape = self._tapes.get(key)
            if tape is None:
                served = self._served(key, arrays)
                if served is not None:
                    return served
                tape = self._tapes[key] = Tape()
                while len(self._tapes) > MOST_SHAPES:
                    oldest = next((each for each in self._known if each in self._tapes), next(iter(self._tapes)))
                    self._known.pop(oldest, None)
                    del self._tapes[oldest]
            found = None if tape.is_plain else self._record(tape, arrays)
            self._learn(key, self._player(key, tape))
            self._keep(key, tape, arrays)
        return self._evaluated(arrays) if found is None else found

    def _keep(self, key: Any, tape: Tape, arrays: list[Array], guard: str = "") -> None:
        """Keep a recording for later processes, and play it from there, if it is nothing but plans."""
        if self._card is None or tape.is_plain:
            return
        play = self._card.keep(arrays, tape, guard)
        if play is not None and not guard and tape.whole() is not None:
            self._learn(key, play)

    def _served(self, key: Any, arrays: list[Array]) -> dict[str, Any] | None:
        """The results by a recording with open sizes, found or made; None where these shapes get one of their own."""
        kept = None if self._card is None else self._card.play(arrays)
        if kept is not None:
            self._learn(key, self._guarded(key, kept[0]))
            return kept[1]
        tape = self._open_sizes.find(arrays)
        if tape is not None:
            play = self._player(key, tape)
            self._learn(key, play)
            return play(arrays)
        made = self._open_sizes.record(arrays)
        if made is None:
            return None
        opened, results = made
        self._learn(key, self._player(key, opened.tape))
        if self._card is not None:
            self._keep(key, opened.tape, arrays, opened.guard(arrays))
        return results

    def _guarded(self, key: Any, kept: Play) -> Play:
        """What plays a recording on disk, and records what it does not have."""

        def play(given: list[Array]) -> dict[str, Any]:
            try:
                return kept(given)
            except (NotKept, DoesNotFit):
                return self._recorded_apart(key, given)

        return play

    def _learn(self, key: Any, play: Play) -> None:
        """What plays inputs of these shapes and dtypes from now on."""
        self._known[key] = play
        self._known.move_to_end(key)
        while len(self._known) > MOST_SHAPES:
            self._known.popitem(last=False)

    def _record(self, tape: Tape, arrays: list[Array], shapes: Sequence[Shape] | None = None) -> dict[str, Any] | None:
        """One evaluation on a tape; None where it turns out that it cannot be played again."""
        device: Any = self.device
        shapes = [Shape(array.shape) for array in arrays] if shapes is None else shapes
        handles = [
            Lazy(shape, from_numpy(array.dtype), device, Storage(array, shared=True), None, -1)
            for array, shape in zip(arrays, shapes, strict=True)
        ]
        recorder = Recorder(device, tape, handles, self._ready)
        with burn.default_device(device), recorder.recording(), collector_waits():
            results = self._results([Tensor(each, device, each.dtype, each.shape) for each in handles])
            if not all(isinstance(each, Tensor) for each in results):
                tape.is_plain = True
                return None
            recorder.flush()
        if tape.is_plain:
            return dict(zip(self.output_names, map(to_host, results)))
        finish, found = self._finish(recorder, [each.handle for each in results], arrays)
        recorder.writer.end(finish)
        return found

    def _finish(self, recorder: Recorder, handles: list[Lazy], arrays: list[Array]) -> tuple[Finish, dict[str, Any]]:
        """How the results are found among the slots, and those of this run, in memory of their own."""
        places: Places = []
        found: dict[str, Any] = {}
        taken: list[Array] = [*arrays, *self.held.memory]
        for name, handle in zip(self.output_names, handles):
            value, slot = handle.force().value, recorder.slot(handle)
            is_copied = slot is None or any(np.may_share_memory(value, each) for each in taken)
            taken.append(value)
            places.append((name, value if slot is None else slot, is_copied))
            found[name] = value.copy() if is_copied else value

        return Finish(places), found

    # Playing

    def _player(self, key: Any, tape: Tape) -> Play:
        if tape.is_plain:
            return self._evaluated
        whole = tape.whole()
        if whole is not None:
            segment, finish = whole
            run, count = segment.run, self._count
            names = self.output_names
            is_direct = segment.sources == tuple(range(count)) and self._tapes.get(key) is tape
            if is_direct and finish.is_all_from(count, len(names)):
                return lambda given: dict(zip(names, run(given)))
            if is_direct:

                def direct(given: list[Array]) -> dict[str, Any]:
                    return finish(given + run(given))

                return direct

        def play(given: list[Array]) -> dict[str, Any]:
            if tape.is_plain:
                return self._evaluated(given)
            try:
                return tape.play(given)
            except Changing:
                return self._evaluated(given)
            except Unknown:
                if self._tapes.get(key) is tape:
                    return self._recorded(key, given)
                return self._recorded_apart(key, given)
            except DoesNotFit:
                return self._recorded_apart(key, given)

        return play

    def _recorded_apart(self, key: Any, arrays: list[Array]) -> dict[str, Any]:
        """The results of inputs that a recording with open sizes does not serve after all: by one of their own."""
        with self._lock:
            self._known.pop(key, None)
            self._tapes.setdefault(key, Tape())
            return self._recorded(key, arrays)


def _is_plain(value: Any) -> bool:
    """Whether a value is an array of numbers."""
    return value.__class__ is np.ndarray and not value.dtype.hasobject and value.dtype.kind not in "US"


def _settled(array: Array) -> Array:
    """An array as plans read it."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


__all__ = ["Runtime"]
