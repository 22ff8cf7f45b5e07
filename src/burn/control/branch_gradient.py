"""The gradient of a branch: another branch, on the same predicate.

Each side of the backward computes its side of the forward again and carries the gradient through it. Both sides give
the gradients of the same tensors: what only the other side uses gets zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.backend.autodiff.backward import carried
from burn.backend.autodiff.graph import Node, Port, Variable
from burn.control.gradient import or_zeros, rules_of
from burn.control.steps import Tensors, Trace, inner_handle
from burn.control.tracing import joined
from burn.device import Device
from burn.ops.control import COND
from burn.ops.dispatch import wrap
from burn.program import Program
from burn.tensor import Tensor


def cond(sides: Sequence[Trace], device: Autodiff[Any], predicate: Tensor[Any], operands: Tensors) -> list[Tensor[Any]]:
    """Run two traced sides as a branch whose results know their gradient."""
    below = device.below
    backward = _Backward(sides, below, operands)
    parts = [(each.part(each.results), each.region.closed) for each in sides]
    programs, closed = joined(parts, len(operands))
    asked, given = inner_handle(predicate), [inner_handle(each) for each in operands]
    made = below.kernels[COND]([asked], [*given, *closed], *programs)
    node: Node | None = None
    if backward.parents:
        kept = [asked, *given, *backward.closed]
        node = Node(rules_of(backward.run, len(backward.parents)), tuple(backward.parents), (kept,))
    found, outputs = [], sides[0].results
    for index, (output, handle) in enumerate(zip(outputs, made, strict=True)):
        port = Port(node, index, len(outputs)) if node is not None and output.dtype.is_float else None
        found.append(Tensor(Variable(handle, port), device, output.dtype, handle.shape))
    return found


class _Backward:
    """The branch backward, each side traced behind its side: the programs, and the nodes that the gradients go to."""

    def __init__(self, sides: Sequence[Trace], below: Device, operands: Tensors) -> None:
        self.below = below
        self.parents: list[Node] = []
        self.gradients: list[dict[int, Tensor[Any]]] = []
        self.programs: list[Program] = []
        self.closed: Sequence[Any] = ()
        self.outputs = sides[0].results
        flowing = [{i for i, each in enumerate(side.results) if each.handle.node is not None} for side in sides]
        self.seeded = sorted(set.union(*flowing))
        wanted = [i for i, each in enumerate(operands) if each.handle.node is not None]
        arrived = [self._carried(side, flow) for side, flow in zip(sides, flowing, strict=True)]
        around = {node: each for found in arrived for node, each in found.items() if node.order < sides[0].region.since}
        ordered = sorted(around, key=lambda node: node.order)
        self.parents = [*(operands[i].handle.node for i in wanted), *ordered]
        if not self.parents:
            return
        parts = []
        for side, found, gradients in zip(sides, arrived, self.gradients, strict=True):
            with side.region.recording():
                made = [or_zeros(found.get(side.given[i].handle.node), side.given[i], below) for i in wanted]
                made += [or_zeros(found.get(node), around[node], below) for node in ordered]
            inputs = [*side.inputs, *(each.handle for each in gradients.values())]
            program = side.region.part([each.handle for each in made], inputs)
            parts.append((program, list(side.region.closed)))
        self.programs, self.closed = joined(parts, len(operands) + len(self.seeded))

    def _carried(self, side: Trace, flowing: set[int]) -> dict[Node, Tensor[Any]]:
        """What arrives at the nodes behind one side."""
        like, region = side.results, side.region
        given = {i: wrap(self.below, region.placeholder(like[i].shape, like[i].dtype)) for i in self.seeded}
        self.gradients.append(given)
        seeds = [(like[i].handle.node, given[i]) for i in sorted(flowing)]
        region.prepare_backward([node for node, _ in seeds])
        with region.recording():
            return carried(seeds, self.below, since=region.since)

    def run(self, g: Any, saved: list[Tensor[Any]]) -> list[Tensor[Any]]:
        """The gradients of all parents."""
        predicate, *given = [each.handle for each in saved]
        count = len(given) - len(self.closed)
        seeds = [or_zeros(g[i], self.outputs[i], self.below).handle for i in self.seeded]
        kernel: Any = self.below.kernels[COND]
        made = kernel([predicate], [*given[:count], *seeds, *given[count:]], *self.programs)
        return [wrap(self.below, each) for each in made]
