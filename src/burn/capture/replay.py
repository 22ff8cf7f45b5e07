"""Replaying: a call that looks like one that was recorded runs its plan.

A `Replay` is a capture together with memory of its plan and what it saw in the call before. Most of
a call is usually what it was then (the weights of a model, the function's globals), and for that it
checks identities and does nothing else. Nothing is kept alive for it: leaves are remembered weakly.
"""

from __future__ import annotations

import weakref
from itertools import compress
from operator import call, is_, is_not
from typing import Any

import numpy as np

from burn.backend.autodiff.graph import Variable
from burn.backend.fusion.handle import Lazy, Storage
from burn.backend.fusion.stream import as_storages
from burn.capture.assembling import assembler
from burn.capture.call import Call, commit
from burn.capture.leaves import described, is_static, lazy_handle, sequence_of_leaves, wrapped
from burn.capture.looks import aliases, same_atom
from burn.capture.quick import Donations, quick
from burn.capture.recording import Capture
from burn.engine.runtime import BoundPlan, Run
from burn.errors import ArgumentError
from burn.tensor import Tensor
from burn.tree import A_LEAF, Structure, Walk

_nothing: Any = type(None)
"""Stands for a weak reference to a leaf that is looked at in every call."""


class Replay:
    """A capture that is ready to run; used by one thread at a time."""

    def __init__(self, capture: Capture, given: Call) -> None:
        self.capture, self.surroundings = capture, given.surroundings
        positional, named = given.structure.children
        self.structures = [
            (each, _NOT_STATIC, sequence_of_leaves(each)) for each in (*positional.children, *named.children)
        ]
        self.positional, self.names = len(given.args), tuple(given.kwargs)
        self.around = [
            (structure, value if is_static(structure) else _NOT_STATIC, sequence_of_leaves(structure))
            for structure, value in zip(given.around, given.values, strict=True)
        ]
        self.everything = [*self.structures, *self.around]
        static = all(map(is_static, given.around))
        self.statics: list[Any] | None = list(given.values) if static else None
        self.contents = given.contents
        fixed = {capture.number_positions[each] for each in capture.fixed}
        self.expected = [
            described(leaf, given.given <= i < given.outside or i in fixed) for i, leaf in enumerate(given.leaves)
        ]
        self.guards = capture.guards.function(given.surroundings)
        handles = [lazy_handle(leaf) if isinstance(leaf, Tensor) else None for leaf in given.leaves]
        self.aliases = aliases([-1 - i if each is None else id(each) for i, each in enumerate(handles)])
        self.positions = range(len(self.expected))
        self.inputs: dict[int, list[int]] = {}  # leaf → inputs of the program
        for number, source in enumerate(capture.sources):
            self.inputs.setdefault(source, []).append(number)
        self.bound_plan = capture.plan if isinstance(capture.plan, BoundPlan) else None
        self.mutables: list[Any] = []
        self.bound: Run | None = None  # memory of the plan that this replay has taken
        self.volatile: set[int] = set()  # leaves that were others than in the call before
        self.quick: Any = None
        self.forget()
        self._plan_results()

    def forget(self) -> None:
        """Look at every leaf anew the next time."""
        self.quick = None
        self.seen: list[Any] = [_nothing] * len(self.expected)
        self.identities = [-1 - position for position in range(len(self.expected))]
        self.donations = Donations.count

    def let_go(self) -> None:
        """Give the memory of the plan back: the next run takes other."""
        self.forget()
        self.bound = None

    # Does a call fit?

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: bool = False) -> list[Any] | None:
        """The leaves of a call if it is one of these, else None. With `arrays` some tensors may be NumPy arrays."""
        if len(args) != self.positional or tuple(kwargs) != self.names:
            return None
        walk: Walk | None = None
        leaves: list[Any] = []
        around, parts = self.surroundings.values(), self.structures
        values = (*args, *kwargs.values()) if kwargs else args
        if self.statics is None or not all(map(is_, around, self.statics)):
            values, parts = (*values, *around), self.everything
        for value, (structure, static, sequence) in zip(values, parts):
            if value is static:
                continue
            if structure is A_LEAF:
                leaves.append(value)
            elif value.__class__ is sequence and len(value) == structure[3]:
                leaves += value
            else:
                if walk is None:
                    walk = Walk((), True, leaves)
                if walk.take(value) != structure:
                    return None
        if walk is None:
            return None if self.contents or not self._notice(leaves, arrays) else leaves
        contents = self.contents
        mutables = self.mutables = walk.mutables
        for number, mutable in enumerate(mutables):  # grows while it runs
            if number >= len(contents) or walk.contents(mutable) != contents[number]:
                return None
        if len(mutables) != len(contents):
            return None
        return leaves if self._notice(leaves, arrays) else None

    def _notice(self, leaves: list[Any], arrays: bool) -> bool:
        """Check the leaves, and note which of them are others than in the call before."""
        if self.donations != Donations.count:
            self.forget()
        seen = self.seen
        changed: list[tuple[int, Any, Any]] = []
        given: list[tuple[int, Any]] = []
        self.given_arrays = given
        if len(leaves) != len(seen):
            return False
        for position in compress(self.positions, map(is_not, map(call, seen), leaves)):
            leaf = leaves[position]
            kind, device, shape, dtype, layers, tracked = self.expected[position]
            if leaf.__class__ is not kind:
                if not (arrays and self.takes_arrays and leaf.__class__ is np.ndarray and kind is Tensor):
                    return False
                flags = leaf.flags
                if layers or leaf.dtype != dtype.numpy or leaf.shape != shape:
                    return False
                if not (flags.c_contiguous and flags.aligned):
                    return False
                seen[position] = _nothing
                given.append((position, leaf))
                continue
            if kind is float:
                if shape is not None and leaf is not shape and not same_atom(leaf, shape):  # a number that is fixed
                    return False
                continue
            if (
                leaf.device is not device
                or leaf.dtype is not dtype
                or (leaf.shape is not shape and leaf.shape != shape)
            ):
                return False
            handle = leaf.handle
            if layers:
                node = handle.node
                if tracked is None:
                    if node is not None:
                        return False
                elif node is None or node.parents or not node.keep:
                    return False
                while handle.__class__ is Variable:
                    handle = handle.inner
            changed.append((position, leaf, handle))
        self.changed = changed
        if changed:
            identities = self.identities
            for position, leaf, handle in changed:
                seen[position] = weakref.ref(leaf)
                identities[position] = id(handle)
            if len(set(identities)) == len(identities):
                fits = self.aliases is None
            else:
                fits = aliases(identities) == self.aliases
            if not fits:
                self.forget()
            return fits
        return True

    # Running

    def _plan_results(self) -> None:
        capture = self.capture
        program = capture.program
        self.outputs = [program.values[number] for number in program.outputs]
        templates = capture.templates
        numbers = [index for index, template in enumerate(templates) if template.what == "number"]
        self.makers = [
            (
                each.what,
                numbers.index(index) if each.what == "number" else each.value,
                each.device,
                each.layers,
                each.tracked,
            )
            for index, each in enumerate(templates)
        ]
        self.takes_arrays = (
            self.bound_plan is not None
            and capture.device.takes_arrays
            and self.aliases is None
            and not capture.donated
            and capture.plan.distinct
            and len(capture.parts) == 1
            and all(each.what in ("output", "same", "number") for each in templates)
        )
        """Whether arrays can be given to the plan as they are."""
        only = capture.parts[0]
        self.result = assembler(only.structure, only.begin) if len(capture.parts) == 1 else None

    def run_on_arrays(self, leaves: list[Any]) -> Any:
        """Run the plan on the leaves that `match` gave, and give arrays in the place of tensors."""
        numbers, results = self.capture.numbers.of([leaves[position] for position in self.capture.number_positions])
        try:
            values = self._values(leaves, numbers)[0]
        except BaseException:
            self.forget()
            raise
        made: list[Any] = []
        for what, value, *_ in self.makers:
            made.append(values[value] if what == "output" else made[value] if what == "same" else results[value])
        assert self.result is not None
        self._look_for_quick()
        self._forget_arguments()
        return self.result(made)

    def _look_for_quick(self) -> None:
        """After a run of the usual kind: the next ones may take the short way."""
        bound = self.bound
        if self.quick is None and self.takes_arrays and bound is not None and bound.steady:
            self.volatile |= {position for position, *_ in (*self.changed, *self.given_arrays)}
            made = quick(self, self.volatile)
            if made is not None:
                for position in self.volatile:
                    self.seen[position] = _nothing
                self.quick = made

    def run(self, leaves: list[Any]) -> Any:
        """Run the plan on the leaves that `match` gave. Nothing is changed unless it succeeds."""
        capture = self.capture
        numbers, results = capture.numbers.of([leaves[position] for position in capture.number_positions])
        try:
            outputs = self._outputs(leaves, numbers)
        except BaseException:
            self.forget()
            raise
        made: list[Any] = []
        for what, value, device, layers, tracked in self.makers:
            if what == "output":
                handle = outputs[value]
                if layers:
                    made.append(wrapped(handle, device, layers, tracked))
                else:
                    made.append(Tensor(handle, device, handle.dtype, handle.shape))
            elif what == "same":
                made.append(made[value])
            elif what == "argument":
                made.append(leaves[value])
            elif what == "number":
                made.append(results[value])
            elif what == "input":
                made.append(wrapped(lazy_handle(leaves[value]), device, layers, tracked))
            else:
                made.append(value)
        if self.result is not None:
            self._look_for_quick()
            result = self.result(made)
        else:
            result = commit(self.mutables, self.surroundings, capture.parts, made)
        self._forget_arguments()
        if capture.donated:
            self._take(leaves)
        return result

    def _forget_arguments(self) -> None:
        """Keep no argument alive until the next call."""
        self.changed, self.given_arrays = [], []

    def _outputs(self, leaves: list[Any], numbers: list[Any]) -> list[Lazy]:
        device = self.capture.device
        values, storages = self._values(leaves, numbers)
        if storages is None:
            made = [*map(Storage, values)]
        else:
            made = as_storages(values, storages)
        return [Lazy(value.shape, value.dtype, device, storage, None, -1) for value, storage in zip(self.outputs, made)]

    def _values(self, leaves: list[Any], numbers: list[Any]) -> tuple[list[Any], Any]:
        """The results of the plan, and its inputs where a result may share memory with one of them."""
        capture = self.capture
        bound = self.bound
        storages: Any
        if self.bound_plan is None:
            storages = self._storages(leaves)
            return capture.plan(storages, numbers), storages
        if bound is None or not bound.is_current():
            if bound is None:
                capture.device.plans.release()  # the plans of the recorded calls may not be needed any more
            bound = self.bound = self.bound_plan.take()
            bound.holder = weakref.ref(self)
            self.changed = [(i, each, lazy_handle(each)) for i, each in enumerate(leaves) if isinstance(each, Tensor)]
        changed: list[int] = []
        storages = {}
        bind, inputs = bound.bind, self.inputs
        for position, _, handle in self.changed:
            for number in inputs.get(position, ()):
                storage = storages[number] = handle.storage or handle.force()
                bind(number, storage.value)
                changed.append(number)
        for position, array in self.given_arrays:
            for number in inputs.get(position, ()):
                if number in bound.watched:  # arrays may change between calls: a view is never the one before
                    array = array.view()
                    storages[number] = Storage(array, shared=True)
                bind(number, array)
                changed.append(number)
        if not bound.distinct:
            storages = self._storages(leaves)
        elif len(changed) < len(capture.sources) and not bound.is_steady(changed):
            for number in bound.watched.difference(changed):
                if number >= 0:
                    storages[number] = lazy_handle(leaves[capture.sources[number]]).force()
        values = bound.run_bound(storages, numbers, changed)
        return values, None if bound.distinct else storages

    def _storages(self, leaves: list[Any]) -> Any:
        return [lazy_handle(leaves[source]).force() for source in self.capture.sources]

    def _take(self, leaves: list[Any]) -> None:
        """Donated tensors are gone: their memory may hold the results now."""
        Donations.count += 1
        for source in self.capture.donated:
            handle = lazy_handle(leaves[source])
            handle.storage, handle.stream = None, None
            handle.error = ArgumentError("this tensor was donated to a captured call and is gone")


_NOT_STATIC = object()


def is_donated(source: int, donate: tuple[int, ...], structure: Structure) -> bool:
    """Whether leaf `source` belongs to a donated positional argument."""
    if not donate:
        return False
    first = 0
    for position, child in enumerate(structure.children[0].children):
        count = child.leaf_count()
        if first <= source < first + count:
            return position in donate
        first += count
    return False
