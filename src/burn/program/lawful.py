"""Whether a node is what its row says: operands, dtypes, shapes, attributes and results, by the rules of the row.

The rules speak of tensors, so they are given tensors without elements: whoever tries to compute with one, a cast that
dispatch would have recorded included, is told that the operand was not prepared.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

from burn.dtype import FLOATS, INTS, DType, f32, i64
from burn.errors import BurnError
from burn.ops.op import Op
from burn.program.node import Constant, Node, Operand, Scalar, Value, is_same_number
from burn.shape import Shape
from burn.symbolic import is_symbolic
from burn.tensor import Tensor


class _NotPrepared(Exception):
    """An operand that the dispatcher would have converted first."""


class _NoKernels:
    def __getitem__(self, op: Op) -> Any:
        raise _NotPrepared(op.name)


class _Nowhere:
    """A device that computes nothing: its element types are those that a node's results show."""

    kernels = _NoKernels()
    is_autodiff = False

    def __init__(self, float_dtype: DType, int_dtype: DType) -> None:
        self.float_dtype, self.int_dtype, self.below = float_dtype, int_dtype, self


@cache
def nowhere(float_dtype: DType, int_dtype: DType) -> Any:
    """The device that computes nothing and has these element types."""
    return _Nowhere(float_dtype, int_dtype)


def row_faults(node: Node, values: Sequence[Value | None]) -> list[str]:
    """What is wrong with a node, for all that its row knows. Values that are not known are not judged."""
    op, faults = node.op, _counts(node)
    kinds = [_NAMED.get(str(op.function.__annotations__.get(name))) for name in op.attributes]
    for name, kind, given in zip(op.attributes, kinds, node.attributes, strict=False):
        if kind is not None and type(given) not in kind:
            wanted = " or ".join(each.__name__ for each in kind if each is not type(None))
            faults.append(f"attribute {name} must be {wanted}, got {_shown(given)}")
    if faults or any(values[number] is None for number in (*node.reads(), *node.results)):
        return faults
    results = [value for value in (values[number] for number in node.results) if value is not None]
    floats = {value.dtype: None for value in results if value.dtype in FLOATS} or {f32: None}
    ints = {value.dtype: None for value in results if value.dtype in INTS} or {i64: None}
    for float_dtype, int_dtype in product(floats, ints):  # whose are the ints of a sort: the values' or the device's?
        faults = _faults_on(nowhere(float_dtype, int_dtype), node, values, results)
        if not faults:
            break
    return faults


def _faults_on(device: Any, node: Node, values: Sequence[Value | None], results: list[Value]) -> list[str]:
    op = node.op
    operands = [_stand_in(op, operand, values, device) for operand in node.operands]
    faults = _elementwise(op, operands) if op.is_elementwise else _unprepared(op, operands)
    if faults:
        return faults
    try:
        shapes, dtypes, arguments = _asked(op, device, operands, node.attributes)
        made = [Value(Shape(shape), dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    except _NotPrepared as missing:
        return [f"an operand would have to go through {missing} first"]
    except BurnError as error:
        return [str(error)]
    except Exception as error:  # a rule that was given what no caller gives
        return [f"its rule does not take these attributes ({_shown(error, 100)})"]
    if len(made) != len(results):
        return [f"{len(results)} results, and the row makes {len(made)} of these"]
    given, names = node.attributes, op.attributes
    if len(arguments) > len(given):  # a creation: the rule speaks of its numbers too
        given, names = (*node.operands, *given), (*op.operands, *names)
    for name, one, normal in zip(names, given, arguments, strict=False):
        if not isinstance(one, Scalar) and not _is_same(one, normal):
            faults.append(f"{name} is {_shown(one)}, and {_shown(normal)} in normal form")
    for number, result, value in zip(node.results, results, made, strict=True):
        if result != value:
            faults.append(f"%{number} is {result.dtype}{result.shape}, and the row makes {value.dtype}{value.shape}")
    return faults


def _counts(node: Node) -> list[str]:
    """Operands, attributes and results that are too many or too few, or of no kind that the row takes."""
    op, faults = node.op, []
    for what, given, known in (
        ("operands", node.operands, op.operand_count),
        ("attributes", node.attributes, len(op.attributes)),
        ("results", node.results, op.outputs or len(node.results)),  # of a region, its rule knows how many
    ):
        if len(given) != known:
            faults.append(f"{len(given)} {what}, and the row has {known}")
    if op.rule is None:
        faults.append("a row without a rule cannot be a node")
    for name, operand in zip(op.operands, node.operands, strict=False):
        if op.variadic != isinstance(operand, tuple):
            faults.append(f"operand {name} must be {'several values' if op.variadic else 'one value'}")
    return faults


def _stand_in(op: Op, operand: Operand, values: Sequence[Value | None], device: Any) -> Any:
    """An operand as a rule sees it."""
    if isinstance(operand, int):
        value = values[operand]
        assert value is not None
        return Tensor(None, device, value.dtype, value.shape)
    if isinstance(operand, tuple):
        return [_stand_in(op, number, values, device) for number in operand]
    if isinstance(operand, Constant):
        return operand.value
    return None if operand is None else (1 if op.family == "random" else 1.0)


def _elementwise(op: Op, operands: list[Any]) -> list[str]:
    """Elementwise rows compute in one dtype. A number may stand for one of two operands, if the dtype has it."""
    tensors = [each for each in operands if isinstance(each, Tensor)]
    if not tensors:
        return ["one operand must be a tensor"]
    dtype = tensors[0].dtype
    faults = [f"it does not compute in {each.dtype}" for each in tensors if each.dtype not in (op.accepts or ())]
    if any(each.dtype is not dtype for each in tensors):
        faults.append(f"operands of {' and '.join(str(each.dtype) for each in tensors)} must have one dtype")
    for number in operands:
        if not isinstance(number, Tensor) and not _is_element(number, dtype):
            faults.append(f"{_shown(number)} is no number of {dtype}")
    return faults


def _is_element(number: Any, dtype: DType) -> bool:
    if is_symbolic((number,)):
        return dtype.is_float or dtype.is_int
    if dtype.is_float:
        return type(number) in (float, int, bool)
    if dtype.is_bool:
        return type(number) is bool
    return type(number) is int and dtype.iinfo().min <= number <= dtype.iinfo().max


def _unprepared(op: Op, operands: list[Any]) -> list[str]:
    """Operands that the dispatcher would have changed before it called a kernel."""
    if op.prepare is None:
        return []
    given = operands[0] if op.variadic else operands
    try:
        ready = op.prepare(op, list(given))
    except _NotPrepared as missing:
        return [f"an operand would have to go through {missing} first"]
    except BurnError as error:
        return [str(error)]
    except Exception as error:  # as below
        return [f"its operands are refused ({_shown(error, 100)})"]
    changed = [name for name, one, other in zip(op.operands, given, ready, strict=False) if not _is_ready(one, other)]
    return [f"operand {name} is not in the form that kernels take" for name in changed]


def _is_ready(given: Any, ready: Any) -> bool:
    return given is ready or is_same_number(given, ready)


def _asked(op: Op, device: Any, operands: list[Any], attributes: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """What the rule says, with a list of shapes and of dtypes."""
    rule = inspect.unwrap(op.recorded or op.rule)  # type: ignore[arg-type]
    place = (device,) if op.family in ("creation", "random") else ()
    shape, dtype, normal = rule(op, *place, *operands, *attributes)
    if shape is None:
        raise BurnError("the shape of its result depends on what its operands hold")
    return (shape, dtype, normal) if op.outputs != 1 else ([shape], [dtype], normal)


def _is_same(given: Any, normal: Any) -> bool:
    """Whether two attributes are the same in kind and value."""
    if isinstance(given, Constant):
        given = given.value
    if isinstance(given, tuple):
        return (
            isinstance(normal, tuple)
            and len(given) == len(normal)
            and all(_is_same(one, other) for one, other in zip(given, normal, strict=True))
        )
    return given is normal or is_same_number(given, normal) or (given != given and normal != normal)


def _shown(value: Any, most: int = 60) -> str:
    return ascii(value.value if isinstance(value, Constant) else value)[:most]


_NAMED: dict[str, tuple[type, ...]] = {
    f"{kind.__name__}{' | None' * optional}": (kind, type(None))[: 1 + optional]
    for kind in (bool, int, float, str, bytes)
    for optional in (False, True)
}
"""Annotations that say which class an attribute has in its normal form; the others are left to the rules."""
