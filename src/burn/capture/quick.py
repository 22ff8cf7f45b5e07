"""The shortest way through a replay: one function for calls that differ from the last one in a few tensors only.

Most calls of a served model are such: the weights are the objects of the call before, the surroundings are what
they were, and one argument is another array. `quick` makes a function in which everything that stays is
bound; it answers `MISS` where a call is anything else, and then nothing has happened.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import compress
from operator import call, is_not
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.fusion.handle import Lazy, Storage
from burn.capture.leaves import is_static, sequence_of_leaves
from burn.capture.looks import MISSING
from burn.tensor import Tensor
from burn.tree import A_LEAF, Structure

if TYPE_CHECKING:
    from burn.capture.replay import Replay
    from burn.engine.runtime import Launch

MISS: Any = object()
"""What a quick function gives for a call that it is not made for."""


class Donations:
    """How many tensors were donated so far: after each, storages must be looked at anew."""

    count = 0


def quick(replay: Replay, volatile: set[int]) -> Callable[[tuple[Any, ...], bool], Any] | None:
    """A function of arguments, and whether arrays come and go; `volatile` leaves are looked at in every call."""
    launch = _launcher(replay, volatile)
    if launch is None:
        return None
    count, seen, positions = replay.positional, replay.seen, replay.positions
    kinds = [(_way(each), each) for each, *_ in replay.structures]
    surroundings = replay.surroundings
    cells, names, cell_trees, trees = _around(replay)
    look_up = surroundings.globals.get
    inputs = {position: _input(replay, position) for position in volatile}
    device, outputs = replay.capture.device, replay.outputs
    makers = [(what == "output", value) for what, value, *_ in replay.makers]
    assemble, donations, expected_leaves = replay.result, Donations.count, len(seen)
    single = len(makers) == 1 and len(outputs) == 1 and replay.capture.parts[0].structure is A_LEAF
    single_shape: Any = outputs[0].shape if single else None
    single_dtype: Any = outputs[0].dtype if single else None

    def run(args: tuple[Any, ...], arrays: bool) -> Any:
        if len(args) != count:
            return MISS
        leaves: list[Any] = []
        try:
            for cell, static in cells:
                if cell.cell_contents is not static:
                    return MISS
            for name, static in names:
                if look_up(name, MISSING) is not static:
                    return MISS
            for value, (way, structure) in zip(args, kinds):
                if way is None:
                    leaves.append(value)
                elif way is FLAT:
                    flat = value.__flat__()
                    if flat[1] is not structure and flat[1] != structure:
                        return MISS
                    leaves += flat[0]
                elif value.__class__ is way and len(value) == structure[3]:
                    leaves += value
                else:
                    return MISS
            for cell, structure in cell_trees:
                flat = cell.cell_contents.__flat__()
                if flat[1] is not structure and flat[1] != structure:
                    return MISS
                leaves += flat[0]
            for read, structure in trees:
                flat = read().__flat__()
                if flat[1] is not structure and flat[1] != structure:
                    return MISS
                leaves += flat[0]
        except (AttributeError, TypeError, ValueError):  # another kind of value, one without a cache, an empty cell
            return MISS
        if len(leaves) != expected_leaves or Donations.count != donations:
            return MISS
        given: list[Any] = []
        for position in compress(positions, map(is_not, map(call, seen), leaves)):
            known = inputs.get(position)
            if known is None:
                return MISS
            home, dtype, numpy_dtype, shape, is_read = known
            leaf = leaves[position]
            if leaf.__class__ is Tensor:
                if leaf.device is not home or leaf.dtype is not dtype or leaf.shape != shape:
                    return MISS
                handle = leaf.handle
                leaf = (handle.storage or handle.force()).value
            elif not arrays or leaf.__class__ is not np.ndarray or leaf.dtype is not numpy_dtype:
                return MISS
            else:
                flags = leaf.flags
                if leaf.shape != shape or not (flags.c_contiguous and flags.aligned):
                    return MISS
            if is_read:
                given.append(leaf)
        try:
            made = launch(given)
        except BaseException:
            replay.forget()
            raise
        if made is None:
            return MISS
        if arrays:
            if single:
                return made[0]
            values = made
        else:
            if single:
                handle = Lazy(single_shape, single_dtype, device, Storage(made[0]), None, -1)
                return Tensor(handle, device, single_dtype, single_shape)
            values = []
            for value, result in zip(outputs, made):
                handle = Lazy(value.shape, value.dtype, device, Storage(result), None, -1)
                values.append(Tensor(handle, device, value.dtype, value.shape))
        leaves = []
        for is_output, value in makers:
            leaves.append(values[value] if is_output else leaves[value])
        assert assemble is not None
        return assemble(leaves)

    return run


def _launcher(replay: Replay, volatile: set[int]) -> Launch | None:
    """What runs the plan, where calls of a replay are of the plain kind that a quick function serves."""
    fits = (
        replay.takes_arrays
        and not replay.names
        and not replay.contents
        and all(_way(each) is not MISS for each, *_ in replay.structures)
        and all(is_static(each) or _way(each) is FLAT for each, *_ in replay.around)
        and all(what in ("output", "same") and not layers for what, _, _, layers, _ in replay.makers)
        and replay.capture.numbers.are_fixed
        and all(replay.expected[position][0] is Tensor and not replay.expected[position][4] for position in volatile)
    )
    numbers: list[list[int]] = [replay.inputs.get(position, []) for position in sorted(volatile)]
    if not fits or replay.bound is None or any(len(each) > 1 for each in numbers):
        return None
    return replay.bound.launcher([each[0] for each in numbers if each])


FLAT: Any = object()
"""The way of values that keep their leaves and their structure in a cache."""


def _way(structure: Any) -> Any:
    """How the leaves of an argument are found: None for a leaf, a class of sequence, `FLAT`, or `MISS` for others."""
    if structure is A_LEAF:
        return None
    if not isinstance(structure, Structure):
        return MISS
    if structure.kind in (list, tuple):
        return sequence_of_leaves(structure) or MISS
    return FLAT if hasattr(structure.kind, "__flat__") and not structure.mutables else MISS


def _around(replay: Replay) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Cells and globals with the values they must have, and those that hold trees: cells, and ways to read others."""
    surroundings = replay.surroundings
    cells, names, cell_trees, trees = [], [], [], []
    places: list[Any] = [*surroundings.cells, *surroundings.global_names, *surroundings.fixed]
    for position, (place, (structure, value, _)) in enumerate(zip(places, replay.around, strict=True)):
        in_cell = position < len(surroundings.cells)
        bound = in_cell or position < len(surroundings.names)
        if not is_static(structure):
            if in_cell:
                cell_trees.append((place, structure))
                continue
            if bound:
                read: Any = functools.partial(surroundings.globals.get, place)
            else:
                read = functools.partial(_itself, place)
            trees.append((read, structure))
        elif in_cell:
            cells.append((place, value))
        elif bound:
            names.append((place, value))
    return cells, names, cell_trees, trees


def _itself(value: Any) -> Any:
    return value


def _input(replay: Replay, position: int) -> tuple[Any, ...]:
    """What a leaf must be, and whether the plan reads it."""
    _, device, shape, dtype, *_ = replay.expected[position]
    return device, dtype, dtype.numpy, shape, position in replay.inputs
