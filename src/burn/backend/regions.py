"""The driver of regions: runs the programs that a node holds, on any device.

Each program is made ready once and then runs step by step: as a plan where the device makes plans, else node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burn.backend.fusion.handle import Storage
from burn.device import Device
from burn.engine.runtime import Engine, NodeByNode, Plan
from burn.ops.dispatch import wrap
from burn.ops.op import Op
from burn.program import Program
from burn.tensor import Tensor

MOST_PREPARED = 256
"""Programs of regions that a device keeps ready to run."""

Step = Callable[[Sequence[Any]], list[Any]]


def region_kernel(device: Device, op: Op) -> Any:
    """The kernel of a row that holds programs."""
    driver = _Driver(device)
    return {"scan": driver.scan, "while_loop": driver.while_loop, "cond": driver.cond}[op.name]


class _Driver:
    def __init__(self, device: Device) -> None:
        self.device = device
        self.prepared: dict[Program, Plan] = {}

    def step(self, program: Program) -> Step:
        """A function that runs a program on handles."""
        plan = self.prepared.get(program)
        if plan is None:
            if isinstance(self.device, Engine):
                plan = self.device.prepare_program(program, (False,) * program.inputs)
            else:
                plan = NodeByNode(program, self.device)
            if len(self.prepared) >= MOST_PREPARED:
                self.prepared.clear()
            self.prepared[program] = plan
        return lambda handles: plan([Storage(each) for each in handles], [])

    def scan(
        self, carries: list[Any], xs: list[Any], constants: list[Any], body: Program, length: int, reverse: bool
    ) -> tuple[Any, ...]:
        step, count = self.step(body), len(carries)
        carried = list(carries)
        stacks = [_Stack(self.device, body.values[number], length) for number in body.outputs[count:]]
        for position in range(length - 1, -1, -1) if reverse else range(length):
            made = step([*carried, *(self._at(each, position) for each in xs), *constants])
            carried = made[:count]
            for stack, value in zip(stacks, made[count:], strict=True):
                stack.put(position, value)
        return (*self._own(carried, carries, constants), *(stack.whole() for stack in stacks))

    def while_loop(
        self, carries: list[Any], constants: list[Any], body: Program, condition: Program
    ) -> tuple[Any, ...]:
        step, goes_on = self.step(body), self.step(condition)
        carried = list(carries)
        while self._truth(goes_on([*carried, *constants])[0]):
            carried = step([*carried, *constants])
        return tuple(self._own(carried, carries, constants))

    def cond(self, predicate: list[Any], operands: list[Any], then: Program, otherwise: Program) -> tuple[Any, ...]:
        made = self.step(then if self._truth(predicate[0]) else otherwise)(operands)
        return tuple(self._own(made, operands))

    def _truth(self, handle: Any) -> bool:
        return bool(self.device.to_host(handle).reshape(-1)[0])

    def _at(self, handle: Any, position: int) -> Any:
        if isinstance(handle, np.ndarray):
            return np.ascontiguousarray(handle[position]).reshape(handle.shape[1:])
        tensor: Any = wrap(self.device, handle)
        return tensor.narrow(0, position, 1).reshape(tensor.shape[1:]).handle

    def _own(self, made: Sequence[Any], *given: Sequence[Any]) -> list[Any]:
        """Results in memory of their own: what a program hands through is copied."""
        known = {id(each) for handles in given for each in handles}
        found = []
        for each in made:
            if id(each) in known and isinstance(each, np.ndarray):
                each = each.copy()
            known.add(id(each))
            found.append(each)
        return found


class _Stack:
    """The results of all steps, one behind the other along a new first dim."""

    def __init__(self, device: Device, value: Any, length: int) -> None:
        self.device, self.value = device, value
        self.parts: list[Any] = [None] * length
        self.array: Any = None

    def put(self, position: int, handle: Any) -> None:
        if isinstance(handle, np.ndarray | np.generic):  # NumPy makes numbers of what has no dims
            if self.array is None:
                self.array = np.empty((len(self.parts), *handle.shape), handle.dtype)
            self.array[position] = handle
        else:
            self.parts[position] = handle

    def whole(self) -> Any:
        if self.array is not None:
            return self.array
        if not self.parts:
            shape, dtype = (0, *self.value.shape), self.value.dtype
            return self.device.from_host(np.empty(shape, dtype.numpy))
        tensors = [wrap(self.device, each) for each in self.parts]
        return Tensor.stack(tensors, 0).handle
