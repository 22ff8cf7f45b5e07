"""The gradient of a scan: another scan, in the other direction.

The forward scan also gives what each step was given to carry. The backward one takes that, and computes the step again
before it carries the gradient through it, so nothing inside of a step is kept. Gradients of tensors that the function
found around itself are summed up from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.backend.autodiff.backward import carried
from burn.backend.autodiff.graph import Node, Port, Variable
from burn.control.steps import Tensors, Trace, inner_handle
from burn.device import Device
from burn.ops import creation
from burn.ops.control import SCAN
from burn.ops.dispatch import wrap
from burn.ops.op import Vjp
from burn.program import Program
from burn.tensor import Tensor


def scan(
    trace: Trace, device: Autodiff[Any], carries: Tensors, rows: Tensors, steps: int, reverse: bool
) -> list[Tensor[Any]]:
    """Run a traced step as a scan whose results know their gradient."""
    below, count = device.below, len(carries)
    backward = _Backward(trace, below, carries, rows, steps, not reverse)
    outputs = [*trace.carries, *trace.results]
    saved = trace.given[:count] if backward.parents else []
    body = trace.part([*outputs, *saved])
    handles = [[inner_handle(each) for each in tensors] for tensors in (carries, rows)]
    made = below.kernels[SCAN](*handles, list(trace.region.closed), body, steps, reverse)
    node: Node | None = None
    if any(each is not None for each in backward.parents):
        kept = [*made[len(outputs) :], *handles[1], *backward.closed]
        node = Node(rules_of(backward.run, len(backward.parents)), tuple(backward.parents), (kept,))
    found = []
    for index, (output, handle) in enumerate(zip(outputs, made, strict=False)):
        port = Port(node, index, len(outputs)) if node is not None and output.dtype.is_float else None
        found.append(Tensor(Variable(handle, port), device, output.dtype, handle.shape))
    return found


class _Backward:
    """The scan backward, traced behind the step: its program, and the nodes that its gradients go to."""

    def __init__(self, trace: Trace, below: Device, carries: Tensors, rows: Tensors, steps: int, reverse: bool) -> None:
        self.below, self.steps, self.reverse = below, steps, reverse
        self.parents: list[Node | None] = []
        self.closed: Sequence[Any] = ()
        self.outputs = [*trace.carries, *trace.results]
        self.count = len(trace.carries)
        self.floats = [i for i, each in enumerate(trace.carries) if each.dtype.is_float]
        self.wanted = [i for i, each in enumerate(rows) if each.handle.node is not None]
        seeded = [i for i, each in enumerate(self.outputs) if each.handle.node is not None]
        if seeded:
            self._trace(trace, carries, rows, seeded)

    def _trace(self, trace: Trace, carries: Tensors, rows: Tensors, seeded: list[int]) -> None:
        region, below = trace.region, self.below

        def given(like: Tensor[Any]) -> Tensor[Any]:
            return wrap(below, region.placeholder(like.shape, like.dtype))

        self.results = [i for i in seeded if i >= self.count]
        gradients = {i: given(self.outputs[i]) for i in (*self.floats, *self.results)}
        seeds = [(self.outputs[i].handle.node, gradients[i]) for i in seeded]
        region.prepare_backward([node for node, _ in seeds])
        with region.recording():
            arrived = carried(seeds, below, since=region.since)
            around = sorted((node for node in arrived if node.order < region.since), key=lambda node: node.order)
            sums = [given(arrived[node]) for node in around]
            before = [arrived.get(trace.given[i].handle.node) for i in self.floats]
            of_rows = [arrived.get(trace.given[self.count + i].handle.node) for i in self.wanted]
            likes = [*(trace.given[i] for i in self.floats), *(trace.given[self.count + i] for i in self.wanted)]
            made = [or_zeros(each, like, below) for each, like in zip([*before, *of_rows], likes, strict=True)]
            totals = [total + arrived[node] for total, node in zip(sums, around, strict=True)]
        outputs = [*made[: len(self.floats)], *totals, *made[len(self.floats) :]]
        carrying = [*(gradients[i] for i in self.floats), *sums]
        inputs = [*(each.handle for each in carrying), *trace.inputs, *(gradients[i].handle for i in self.results)]
        self.body: Program = region.part([each.handle for each in outputs], inputs)
        self.closed = list(region.closed)
        self.sums = [(each.shape, each.dtype) for each in sums]
        nodes = [carries[i].handle.node for i in self.floats]
        self.parents = [*nodes, *around, *(rows[i].handle.node for i in self.wanted)]

    def run(self, g: Any, saved: list[Tensor[Any]]) -> list[Tensor[Any]]:
        below, first = self.below, len(saved) - len(self.closed)
        carrying = [or_zeros(g[i], self.outputs[i], below) for i in self.floats]
        carrying += [_zeros(shape, dtype, below) for shape, dtype in self.sums]
        stacked = [
            g[i] if g[i] is not None else _zeros((self.steps, *self.outputs[i].shape), self.outputs[i].dtype, below)
            for i in self.results
        ]
        handles = [[each.handle for each in each_kind] for each_kind in (carrying, [*saved[:first], *stacked])]
        closed = [each.handle for each in saved[first:]]
        kernel: Any = below.kernels[SCAN]
        return [wrap(below, each) for each in kernel(*handles, closed, self.body, self.steps, self.reverse)]


def rules_of(run: Callable[[Any, list[Tensor[Any]]], list[Tensor[Any]]], count: int) -> dict[int, Vjp]:
    """The gradient of each parent, where one run gives all of them."""
    last: list[Any] = [None, None]

    def gradients(g: Any, saved: list[Tensor[Any]]) -> list[Tensor[Any]]:
        if last[0] is not g:
            last[:] = g, run(g, saved)
        return last[1]  # type: ignore[no-any-return]

    def rule(index: int) -> Vjp:
        return Vjp(lambda g, saved: gradients(g, saved)[index], (("g", 0), ("operand", 0)))

    return {index: rule(index) for index in range(count)}


def or_zeros(gradient: Tensor[Any] | None, like: Tensor[Any], device: Device) -> Tensor[Any]:
    """The gradient, or zeros where none arrived."""
    return _zeros(like.shape, like.dtype, device) if gradient is None else gradient


def _zeros(shape: Any, dtype: Any, device: Device) -> Tensor[Any]:
    return creation.full(0.0, shape, dtype, device=device)
