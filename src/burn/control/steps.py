"""One step of a loop: the function of the user, called on lists of tensors, and traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.backend.autodiff.graph import Leaf, Variable
from burn.backend.fusion.handle import Lazy
from burn.control.tracing import Region
from burn.control.trees import lifted, meeting, rebuilt, recorder, same_as_carried, tensors_of
from burn.device import Device
from burn.dtype import DType
from burn.errors import ArgumentError
from burn.program import Program
from burn.shape import Shape
from burn.tensor import Tensor
from burn.tree import Structure

Tensors = Sequence[Tensor[Any]]
Described = tuple[tuple[int, ...], DType]


@dataclass
class Step:
    """A function of what is carried and of one element; `scanned` is None where there are no elements."""

    name: str
    function: Callable[[Any, Any], Any]
    carried: Structure
    scanned: Structure | None

    def __call__(self, carries: Tensors, given: Tensors) -> tuple[list[Tensor[Any]], list[Tensor[Any]], Structure]:
        """What is carried on, the results, and their structure."""
        x = None if self.scanned is None else rebuilt(self.scanned, given)
        made = self.function(rebuilt(self.carried, carries), x)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentError(
                f"{self.name}: the function must return two things, what it carries on and its result (or None), "
                f"got a {type(made).__name__}"
            )
        carried = same_as_carried(self.name, carries, self.carried, made[0])
        results, structure = tensors_of(self.name, "the result", made[1])
        return carried, results, structure


@dataclass
class Trace:
    """What a step has recorded: its region, the tensors that it was given, and those that it made."""

    region: Region
    device: Device
    """Where the results are: another device than that of the arguments where the function closes over such tensors."""
    inputs: list[Lazy]
    given: list[Tensor[Any]]
    carries: list[Tensor[Any]]
    results: list[Tensor[Any]]
    structure: Structure

    def part(self, outputs: Tensors) -> Program:
        """The program of some of its tensors."""
        return self.region.part([inner_handle(each) for each in outputs], self.inputs)


def inner_handle(tensor: Tensor[Any]) -> Lazy:
    """The handle of a tensor below `Autodiff`."""
    handle: Any = tensor.handle
    found: Lazy = handle.inner if isinstance(handle, Variable) else handle
    return found


def traced(step: Step, device: Device, carries: Tensors, rows: Sequence[Described]) -> Trace:
    """Run a step once, on tensors without values."""
    fusion = recorder(device)
    assert fusion is not None
    region = Region(fusion, step.name)
    given: list[Tensor[Any]] = []
    for shape, dtype in [*((tuple(each.shape), each.dtype) for each in carries), *rows]:
        handle: Any = region.placeholder(shape, dtype)
        if isinstance(device, Autodiff):
            handle = Variable(handle, Leaf(None, ()) if dtype.is_float else None)
        given.append(Tensor(handle, device, dtype, Shape(shape)))
    inputs, count = [inner_handle(each) for each in given], len(carries)
    with region.recording():
        carried, results, structure = step(given[:count], given[count:])
    found = meeting(step.name, [*given, *carried, *results])
    if found is device:
        carried, results = lifted(carried, device), lifted(results, device)
    return Trace(region, found, inputs, given, carried, results, structure)
