"""The driver of regions: runs the programs that a node holds, on any device.

An engine that runs loops gets them whole. Else each program is made ready once and then runs step by step: as a plan
where the device makes plans, else node by node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

import numpy as np

from burn.backend.fusion.handle import Storage
from burn.device import Device
from burn.engine.runtime import Engine, Loop, NodeByNode, Plan
from burn.ops.dispatch import wrap
from burn.ops.op import Op
from burn.program import Node, Program
from burn.tensor import Tensor

MOST_PREPARED = 256
"""Programs of regions that a device keeps ready to run."""

Step = Callable[[Sequence[Any]], list[Any]]


def region_kernel(device: Device, op: Op) -> RegionKernel:
    """The kernel of a row that holds programs."""
    kinds: dict[str, type[RegionKernel]] = {"scan": _Scan, "while_loop": _While, "cond": _Cond}
    return kinds[op.name](device)


class RegionKernel(ABC):
    """Runs the nodes of one row, and keeps what it made ready for that."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.prepared: dict[Any, Any] = {}

    @abstractmethod
    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """The results of a node, from its operands and attributes."""

    @abstractmethod
    def describe(self, node: Node) -> str:
        """How a node is run, and the steps of its programs."""

    def step(self, program: Program) -> Step:
        """A function that runs a program on handles."""
        plan = self.plan(program)
        return lambda handles: plan([Storage(_in_order(each)) for each in handles], [])

    def plan(self, program: Program) -> Plan:
        """A program made ready to run once."""
        device = self.device

        def prepare() -> Plan:
            if isinstance(device, Engine):
                return device.prepare_program(program, (False,) * program.inputs)
            return NodeByNode(program, device)

        found: Plan = self._once(program, prepare)
        return found

    def loop(self, body: Program, carried: int, scanned: int = 0, condition: Program | None = None) -> Loop | None:
        """A loop made ready to run whole, or to say why it cannot; None where the device knows no loops."""
        device = self.device
        if not isinstance(device, Engine):
            return None
        key = (body, carried, scanned, condition)
        found: Loop | None = self._once(key, lambda: device.prepare_loop(body, carried, scanned, condition))
        return found

    def _once(self, key: Any, prepare: Callable[[], Any]) -> Any:
        found = self.prepared.get(key)
        if found is None:
            if len(self.prepared) >= MOST_PREPARED:
                self.prepared.clear()
            found = self.prepared[key] = prepare()
        return found

    def told(self, title: str, loop: Loop | None, *programs: Program) -> str:
        """How a loop is run, for `describe`."""
        if loop is None:
            how, steps = "one by one", "\n".join(self.plan(each).describe() for each in programs)
        else:
            reason, steps = loop.refusal(), loop.describe()
            how = f"one by one: {reason}" if reason else "in native calls"
        return f"{title} {how}\n{indent(steps, '  ')}".rstrip()

    def truth(self, handle: Any) -> bool:
        """The one bool of a handle."""
        return bool(self.device.to_host(handle).reshape(-1)[0])

    def own(self, made: Sequence[Any], *given: Sequence[Any]) -> tuple[Any, ...]:
        """Results in memory of their own: what a program hands through is copied."""
        known = {id(each) for handles in given for each in handles}
        found = []
        for each in made:
            if isinstance(each, np.ndarray) and (id(each) in known or isinstance(each.base, np.ndarray)):
                each = each.copy()
            known.add(id(each))
            found.append(each)
        return tuple(found)


def _in_order(handle: Any) -> Any:
    """A handle as plans take it: what they read lies row by row, and a region may be given views."""
    if isinstance(handle, np.ndarray) and not handle.flags.c_contiguous:
        return np.ascontiguousarray(handle)
    return handle


class _Scan(RegionKernel):
    def __call__(
        self, carries: list[Any], xs: list[Any], constants: list[Any], body: Program, length: int, reverse: bool
    ) -> tuple[Any, ...]:
        loop = self.loop(body, len(carries), len(xs))
        if loop is not None and not loop.refusal():
            return tuple(loop.scan(carries, xs, constants, length, reverse))
        return self.by_steps(carries, xs, constants, body, length, reverse)

    def by_steps(
        self, carries: list[Any], xs: list[Any], constants: list[Any], body: Program, length: int, reverse: bool
    ) -> tuple[Any, ...]:
        """Each step is a run of a plan, for elements that are chosen here."""
        step, count = self.step(body), len(carries)
        carried = list(carries)
        stacks = [_Stack(self.device, body.values[number], length) for number in body.outputs[count:]]
        for position in range(length - 1, -1, -1) if reverse else range(length):
            made = step([*carried, *(self._at(each, position) for each in xs), *constants])
            carried = made[:count]
            for stack, value in zip(stacks, made[count:], strict=True):
                stack.put(position, value)
        return (*self.own(carried, carries, constants), *(stack.whole() for stack in stacks))

    def describe(self, node: Node) -> str:
        body, length, _ = node.attributes
        carried, scanned = (len(each) for each in node.operands[:2])  # type: ignore[arg-type]
        return self.told(f"scan    {length} steps", self.loop(body, carried, scanned), body)

    def _at(self, handle: Any, position: int) -> Any:
        if isinstance(handle, np.ndarray):
            return np.ascontiguousarray(handle[position]).reshape(handle.shape[1:])
        tensor: Any = wrap(self.device, handle)
        return tensor.narrow(0, position, 1).reshape(tensor.shape[1:]).handle


class _While(RegionKernel):
    def __call__(self, carries: list[Any], constants: list[Any], body: Program, condition: Program) -> tuple[Any, ...]:
        loop = self.loop(body, len(carries), 0, condition)
        if loop is not None and not loop.refusal():
            return tuple(loop.while_loop(carries, constants))
        return self.by_steps(carries, constants, body, condition)

    def by_steps(self, carries: list[Any], constants: list[Any], body: Program, condition: Program) -> tuple[Any, ...]:
        """Each step is a run of two plans; what the first one answers is read here."""
        step, goes_on = self.step(body), self.step(condition)
        carried = list(carries)
        while self.truth(goes_on([*carried, *constants])[0]):
            carried = step([*carried, *constants])
        return self.own(carried, carries, constants)

    def describe(self, node: Node) -> str:
        body, condition = node.attributes
        carried = len(node.operands[0])  # type: ignore[arg-type]
        return self.told("while   steps", self.loop(body, carried, 0, condition), condition, body)


class _Cond(RegionKernel):
    def __call__(self, predicate: list[Any], operands: list[Any], then: Program, otherwise: Program) -> tuple[Any, ...]:
        made = self.step(then if self.truth(predicate[0]) else otherwise)(operands)
        return self.own(made, operands)

    def describe(self, node: Node) -> str:
        then, otherwise = (indent(self.plan(each).describe(), "  ") for each in node.attributes)
        return f"cond    one side\n{then}\nor\n{otherwise}"


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
