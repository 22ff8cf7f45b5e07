"""Control flow as rows: nodes that hold programs and run them once, again and again, or not at all.

The rows are made by `burn.control` from Python functions. A program of a region takes the carried values, what one
step is given, and what the function read from around it, in this order; it takes no numbers, which are constants in it.
Every device runs them by a driver; an engine may have a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.dtype import bool_
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.op import Op
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.tensor import Tensor

Described = tuple[tuple[int, ...], Any]

MOST_STEPS = (1 << 63) - 1
"""The most steps of a scan: the largest index into memory."""


def described(values: Sequence[Any]) -> list[Described]:
    """Shapes and dtypes of tensors, handles or values of a program."""
    return [(tuple(each.shape), each.dtype) for each in values]


def shown(described: Sequence[Described]) -> str:
    """Shapes and dtypes for a message."""
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in described) or "nothing"


def inputs_of(program: Any) -> list[Described]:
    """What a region takes."""
    return described(program.values[: program.inputs])


def outputs_of(program: Any) -> list[Described]:
    """What a region makes."""
    return described([program.values[number] for number in program.outputs])


def _check_region(op: Op, name: str, program: Any, given: list[Described]) -> None:
    if not hasattr(program, "outputs") or not hasattr(program, "values"):
        raise ArgumentError(f"{op.name}: {name} must be a program, got {type(program).__name__}; use burn.control")
    if program.scalars:
        raise ArgumentError(f"{op.name}: {name} takes {program.scalars} numbers; those of a region are constants")
    if inputs_of(program) != given:
        raise ShapeError(f"{op.name}: {name} takes {shown(inputs_of(program))}, and is given {shown(given)}")


def _scan_rule(op: Op, carries: Any, xs: Any, constants: Any, body: Any, length: Any, reverse: Any) -> Any:
    if type(length) is not int or not 0 <= length <= MOST_STEPS or type(reverse) is not bool:
        raise ArgumentError(
            f"{op.name}: length must be an int from 0 to 2**63 - 1 and reverse a bool, got {length!r}, {reverse!r}"
        )
    for each in xs:
        if len(each.shape) < 1 or each.shape[0] != length:
            raise ShapeError(f"{op.name}: what is scanned has shape {tuple(each.shape)}, and there are {length} steps")
    kept = described(carries)
    steps = [(tuple(each.shape[1:]), each.dtype) for each in xs]
    _check_region(op, "body", body, [*kept, *steps, *described(constants)])
    made = outputs_of(body)
    if made[: len(kept)] != kept:
        raise ShapeError(f"{op.name}: a step carries {shown(kept)}, and makes {shown(made[: len(kept)])} of them")
    stacked = [((length, *shape), dtype) for shape, dtype in made[len(kept) :]]
    return _results([*kept, *stacked], (body, length, reverse))


def _while_rule(op: Op, carries: Any, constants: Any, body: Any, condition: Any) -> Any:
    kept = described(carries)
    for name, program in (("body", body), ("condition", condition)):
        _check_region(op, name, program, [*kept, *described(constants)])
    if outputs_of(body) != kept:
        raise ShapeError(f"{op.name}: a step carries {shown(kept)}, and makes {shown(outputs_of(body))} of them")
    check_truth(op.name, "the condition", outputs_of(condition))
    return _results(kept, (body, condition))


def _cond_rule(op: Op, predicate: Any, operands: Any, then: Any, otherwise: Any) -> Any:
    check_truth(op.name, "the predicate", described(predicate))
    for name, program in (("then", then), ("otherwise", otherwise)):
        _check_region(op, name, program, described(operands))
    if outputs_of(then) != outputs_of(otherwise):
        raise ShapeError(
            f"{op.name}: both sides must make the same, "
            f"got {shown(outputs_of(then))} and {shown(outputs_of(otherwise))}"
        )
    return _results(outputs_of(then), (then, otherwise))


def check_truth(name: str, what: str, found: list[Described]) -> None:
    """What decides must be one bool."""
    if len(found) != 1 or found[0][1] is not bool_ or any(size != 1 for size in found[0][0]):
        raise DTypeError(f"{name}: {what} must be one bool, got {shown(found)}; reduce it with .all() or .any()")


def _results(made: list[Described], attributes: tuple[Any, ...]) -> Any:
    return [Shape(shape) for shape, _ in made], [dtype for _, dtype in made], attributes


def _region(function: Any, rule: Any) -> Op:
    return Op(function, "region", family="control", reference=None, rule=rule, outputs=0)


def scan(
    carries: Sequence[Tensor], xs: Sequence[Tensor], constants: Sequence[Tensor], body: Any, length: int, reverse: bool
) -> Any:
    """Run a program once for each element along the first dim, from step to step with what it carries."""


def while_loop(carries: Sequence[Tensor], constants: Sequence[Tensor], body: Any, condition: Any) -> Any:
    """Run a program again and again, as long as another one says so of what it carries."""


def cond(predicate: Sequence[Tensor], operands: Sequence[Tensor], then: Any, otherwise: Any) -> Any:
    """Run one program or the other."""


SCAN, WHILE, COND = _region(scan, _scan_rule), _region(while_loop, _while_rule), _region(cond, _cond_rule)
