"""Loops: over the elements of tensors, and as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.control import gradient
from burn.control.steps import Step, Tensors, traced
from burn.control.tracing import joined
from burn.control.trees import lifted, meeting, rebuilt, recorder, tensors_of, truth_of
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.ops.control import MOST_STEPS, SCAN, WHILE
from burn.ops.dispatch import wrap
from burn.tensor import Tensor
from burn.tree import Structure


def scan(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Call `function(carry, x)` for each `x` along the first dim of `xs`; it gives the next carry and a result.

    Gives the last carry and the results of all steps, one behind the other along a new first dim. The function may use
    tensors from around it; gradients flow to them.

    Arguments:
        init, xs: tensors, or trees of them.
        length: the number of steps where there are no `xs`; `x` is None then.
        reverse: begin at the end; results still stand where their `x` stands.

    >>> from burn.control import scan
    >>> total, sums = scan(lambda carry, x: (carry + x, carry + x), burn.tensor(0.0), burn.tensor([1.0, 2.0, 3.0]))
    >>> total.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    carries, carried = tensors_of("scan", "init", init)
    rows, scanned = tensors_of("scan", "xs", xs)
    steps = _length(rows, length)
    device = meeting("scan", [*carries, *rows])
    step = Step("scan", function, carried, scanned)
    if recorder(device) is None:
        return _unrolled(step, lifted(carries, device), lifted(rows, device), steps, reverse)
    return _recorded(step, device, carries, rows, steps, reverse)


def _length(rows: Sequence[Tensor[Any]], length: int | None) -> int:
    sizes = {each.shape[0] if len(each.shape) else None for each in rows}
    if length is not None:
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= MOST_STEPS:
            raise ArgumentError(f"scan: length must be an int from 0 to 2**63 - 1, got {length!r}")
        sizes.add(length)
    if None in sizes:
        raise ShapeError(
            "scan: a tensor without dims cannot be scanned; give it a first dim, one element for each step"
        )
    if len(sizes) > 1:
        raise ShapeError(f"scan: xs and length must agree on the number of steps, got {sorted(map(int, sizes))}")  # type: ignore[arg-type]
    if not sizes:
        raise ArgumentError("scan: give xs, or the length of the loop")
    return int(sizes.pop())  # type: ignore[arg-type]


def _unrolled(step: Step, carries: Tensors, rows: Tensors, steps: int, reverse: bool) -> tuple[Any, Any]:
    """The loop in Python."""
    made: list[Tensors] = []
    structure: Structure | None = None
    carries = list(carries)
    for position in range(steps - 1, -1, -1) if reverse else range(steps):
        given = [each.narrow(0, position, 1).reshape(each.shape[1:]) for each in rows]
        carries, results, structure = step(carries, given)
        made.append(results)
    if structure is None:
        raise ArgumentError("scan: with no steps nobody can tell what the results are; give xs at least one element")
    if reverse:
        made.reverse()
    stacks = [Tensor.stack(list(each), 0) for each in zip(*made, strict=True)]
    return rebuilt(step.carried, carries), rebuilt(structure, stacks)


def _recorded(
    step: Step, device: Device, carries: Tensors, rows: Tensors, steps: int, reverse: bool
) -> tuple[Any, Any]:
    """The loop as a node."""
    carries, rows = lifted(carries, device), lifted(rows, device)
    found = traced(step, device, carries, [(tuple(each.shape[1:]), each.dtype) for each in rows])
    if found.device is not device:  # the function closes over tensors of another one
        if recorder(found.device) is None:
            return _unrolled(step, lifted(carries, found.device), lifted(rows, found.device), steps, reverse)
        return _recorded(step, found.device, carries, rows, steps, reverse)
    if isinstance(device, Autodiff):
        outputs = gradient.scan(found, device, carries, rows, steps, reverse)
    else:
        body = found.part([*found.carries, *found.results])
        handles = [[each.handle for each in carries], [each.handle for each in rows], list(found.region.closed)]
        outputs = [wrap(device, each) for each in device.kernels[SCAN](*handles, body, steps, reverse)]  # type: ignore[misc]
    count = len(carries)
    return rebuilt(step.carried, outputs[:count]), rebuilt(found.structure, outputs[count:])


def while_loop(condition: Callable[[Any], Tensor[Any]], function: Callable[[Any], Any], init: Any) -> Any:
    """Call `carry = function(carry)` as long as `condition(carry)`, a bool tensor of one element, is true.

    Nobody knows the number of steps before, so a loop through which a gradient flows runs in Python; where the
    number is known, `scan` records it.

    Arguments:
        init: the first carry, a tensor or a tree of them.

    >>> from burn.control import while_loop
    >>> while_loop(lambda x: x < 100.0, lambda x: x * 2.0, burn.tensor(3.0)).item()
    192.0
    """
    carries, carried = tensors_of("while_loop", "init", init)
    device = meeting("while_loop", carries)

    def asking(carry: Any) -> Tensor[Any]:
        return truth_of("while_loop", "the condition", condition(carry))

    step = Step("while_loop", lambda carry, _: (function(carry), None), carried, None)
    if recorder(device) is None or isinstance(device, Autodiff):
        return _while(step, asking, lifted(carries, device))
    body = traced(step, device, carries, [])
    ask = Step("while_loop", lambda carry, _: (carry, asking(carry)), carried, None)
    asked = traced(ask, device, carries, [])
    if body.device is not device or asked.device is not device:
        return _while(step, asking, lifted(carries, device))
    parts = [(body.part(body.carries), body.region.closed), (asked.part(asked.results), asked.region.closed)]
    programs, closed = joined(parts, len(carries))
    made = device.kernels[WHILE]([each.handle for each in lifted(carries, device)], closed, *programs)  # type: ignore[misc]
    return rebuilt(carried, [wrap(device, each) for each in made])


def _while(step: Step, condition: Callable[[Any], Tensor[Any]], carries: Tensors) -> Any:
    while bool(condition(rebuilt(step.carried, carries)).item()):
        carries, _, _ = step(carries, [])
    return rebuilt(step.carried, carries)
