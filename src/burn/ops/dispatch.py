"""From a call to a kernel: one dispatcher per form of operation, built when the row is read.

A dispatcher checks devices, dtypes and shapes, promotes, and hands handles to the kernel of the
operands' device. The usual case (tensors on one device, of one dtype) runs first and does nothing
else; everything unusual is in a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.device import Device, common_device
from burn.dtype import FLOATS, DType, f64, from_numpy, i64, promote, promote_all
from burn.errors import BurnError, CallError, DTypeError, too_large
from burn.ops.memory import Memory
from burn.ops.op import Op
from burn.scalar import Scalar
from burn.shape import Shape, broadcast, broadcast_all
from burn.symbolic import Symbolic

if TYPE_CHECKING:
    from burn.tensor import Tensor
else:
    Tensor: type = type(None)

Accepts = frozenset[DType]
Call = Callable[..., Any]

NOTHING: Any = object()
"""Stands for an argument that was not given."""

NUMBERS = (int, float, np.number, np.bool_, Scalar, Symbolic)


def set_tensor_class(cls: type) -> None:
    """Tell the dispatchers which class wraps their results."""
    globals()["Tensor"] = cls


def not_a_tensor(op: Op, name: str, value: Any) -> BurnError:
    """The error for a host value where a tensor is needed."""
    if value is NOTHING:
        return CallError(f"{op.name}: missing {name}; write {op.signature()}")
    given = type(value).__name__
    return DTypeError(f"{op.name}: {name} must be a Tensor, got {given}; write burn.tensor(...) around it")


def positional(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in the order of the signature, some of which were given by name."""
    return op.unbind(*op.bind(tuple(each for each in args if each is not NOTHING), kwargs))


def wrap(device: Device, handle: Any) -> Tensor[Any]:
    """A tensor around a handle whose shape and dtype are read from itself."""
    shape = device.shape_of(handle)
    return Tensor(handle, device, device.dtype_of(handle), shape if shape.__class__ is Shape else Shape(shape))


def from_array(operation: str, array: Any, device: Device) -> Tensor[Any]:
    """A NumPy array that meets a tensor, on the device of the tensor."""
    if array.dtype.kind not in "biuf" and array.dtype.kind != "V":
        raise DTypeError(f"{operation}: an array of NumPy's {array.dtype} holds no numbers or bools")
    found = from_numpy(array.dtype)
    return Tensor(device.from_host(np.array(array, found.numpy, order="C")), device, found, Shape(array.shape))


def cast_to(x: Tensor[Any], dtype: DType) -> Tensor[Any]:
    """`x` in another dtype."""
    return x if x.dtype is dtype else x.cast(dtype)


def unary(op: Op, accepts: Accepts, coerce: Call, result: DType | None) -> Call:
    """An elementwise operation of one operand."""

    def call(x: Any = NOTHING, *wrong: Any, **named: Any) -> Any:
        if wrong or named:
            return call(*positional(op, (x, *wrong), named))
        try:
            device = x.device
            dtype = x.dtype
            if dtype in accepts:
                return Tensor(device.kernels[op](x.handle), device, result or dtype, x.shape)
        except AttributeError:
            if isinstance(x, Tensor):
                raise
            raise not_a_tensor(op, op.parameters[0], x) from None
        return call(coerce(op, x))

    return call


def binary(op: Op, accepts: Accepts, coerce: Call, result: DType | None, exact: bool) -> Call:
    """An elementwise operation of two operands that broadcast; one of them may be a Python number."""
    name = op.name
    floats = accepts & FLOATS

    def call(x: Any = NOTHING, y: Any = NOTHING, *wrong: Any, **named: Any) -> Any:
        if wrong or named:
            return call(*positional(op, (x, y, *wrong), named))
        # Comparing classes first is cheaper than isinstance, and nearly always enough.
        if (x.__class__ is Tensor or isinstance(x, Tensor)) and (y.__class__ is Tensor or isinstance(y, Tensor)):
            device = x.device
            dtype = x.dtype
            if y.dtype is dtype and y.device is device and dtype in accepts:
                shape = x.shape
                if shape is not y.shape and shape != y.shape:
                    shape = broadcast(name, shape, y.shape)
                return Tensor(device.kernels[op](x.handle, y.handle), device, result or dtype, shape)
            return meet(x, y)
        if y.__class__ is float and isinstance(x, Tensor) and x.dtype in floats:
            device = x.device
            return Tensor(device.kernels[op](x.handle, y), device, result or x.dtype, x.shape)
        return with_number(x, y)

    def meet(x: Tensor[Any], y: Tensor[Any]) -> Any:
        if x.device is not y.device:
            if x.device.below is y.device:
                y = Tensor(x.device.lift(y), x.device, y.dtype, y.shape)
            elif y.device.below is x.device:
                x = Tensor(y.device.lift(x), y.device, x.dtype, x.shape)
            else:
                x, y = on_one_device(op, [x, y])
            if x.dtype is y.dtype and x.dtype in accepts:
                return call(x, y)
        dtype = promote(x.dtype, y.dtype)
        x, y = coerce(op, cast_to(x, dtype)), coerce(op, cast_to(y, dtype))
        return call(x, y)

    def with_number(x: Any, y: Any) -> Any:
        tensor, number, position = (x, y, 1) if isinstance(x, Tensor) else (y, x, 0)
        if not isinstance(tensor, Tensor):
            raise not_a_tensor(op, op.parameters[0], x)
        if not isinstance(number, NUMBERS):
            if number.__class__ is np.ndarray:
                array = from_array(op.name, number, tensor.device)
                return call(tensor, array) if position else call(array, tensor)
            raise not_a_tensor(op, op.parameters[position], number)
        tensor, number = weak_number(op, tensor, number, exact)
        tensor = coerce(op, tensor) if tensor.dtype not in accepts else tensor
        device, kernel = tensor.device, tensor.device.kernels[op]
        if tensor.dtype.is_float and type(number) not in (Scalar, Symbolic):
            number = float(number)
        handle = kernel(tensor.handle, number) if position else kernel(number, tensor.handle)
        return Tensor(handle, device, result or tensor.dtype, tensor.shape)

    return call


def weak_number(op: Op, x: Tensor[Any], number: Any, exact: bool) -> tuple[Tensor[Any], Any]:
    """Fit a Python number to a tensor: it never widens a kind, only moves bool to int to float."""
    if isinstance(number, np.generic):
        number = number.item()
    dtype = x.dtype
    if dtype.is_float:
        return x, number
    if isinstance(number, float | Scalar):
        return cast_to(x, x.device.float_dtype), number
    if isinstance(number, bool):
        return x, (number if dtype.is_bool else int(number))
    if dtype.is_bool:
        x = cast_to(x, x.device.int_dtype)
        dtype = x.dtype
    limits = dtype.iinfo()
    if limits.min <= number <= limits.max:
        return x, number
    if exact:
        wide = i64.iinfo()
        if wide.min <= number <= wide.max and dtype.name != "u64":
            return cast_to(x, i64), number
        return cast_to(x, f64), float(number)
    return x, as_element(number, dtype)


def on_one_device(op: Op, operands: list[Any]) -> list[Any]:
    """Lift every tensor operand to the device on which they meet."""
    device = common_device(op.name, [each for each in operands if isinstance(each, Tensor)])
    return [
        Tensor(device.lift(each), device, each.dtype, each.shape)
        if isinstance(each, Tensor) and each.device is not device
        else each
        for each in operands
    ]


def general(op: Op, prepare: Call | None) -> Call:
    """An operation described by a rule: `rule(op, *operands, *attributes) -> shape, dtype, attributes`.

    `prepare(op, operands)` may cast the operands first. Shape and dtype are lists where there are
    several results, and a shape of None is read from the result.
    """
    rule = op.rule
    assert rule is not None
    attribute_count = len(op.attributes)
    operand_count, argument_count, in_order = op.operand_count, len(op.parameters), not op.interleaved
    several = op.outputs > 1
    remembers = op.kind == "primitive" and not several
    known = Memory()

    def finish(device: Device, handle: Any, dtype: Any, shape: Any) -> Any:
        if several:
            return tuple(
                Tensor(each, device, dtype[i], shape[i]) if shape[i] is not None else wrap(device, each)
                for i, each in enumerate(handle)
            )
        return wrap(device, handle) if shape is None else Tensor(handle, device, dtype, shape)

    def call_one(x: Any = NOTHING, *attributes: Any, **kwargs: Any) -> Any:
        if kwargs or len(attributes) != attribute_count:
            (x,), attributes = op.bind((x, *attributes) if x is not NOTHING else (), kwargs)  # type: ignore[assignment]
            attributes = (*attributes,)
        if not isinstance(x, Tensor):
            raise not_a_tensor(op, op.operands[0], x)
        device = x.device
        if attributes and attributes[0].__class__ is list and remembers:
            attributes = (tuple(attributes[0]), *attributes[1:])
        found = known.find(about := (x.shape, x.dtype, device), attributes)
        if found is not None:
            shape, dtype, attributes = found
            return Tensor(device.kernels[op](x.handle, *attributes), device, dtype, shape)
        given, asked = x, attributes
        if prepare is not None:
            (x,) = prepare(op, [x])
        shape, dtype, attributes = rule(op, x, *attributes)
        if remembers and x is given and shape is not None:
            known.keep(about, asked, (shape, dtype, attributes))
        return finish(device, device.kernels[op](x.handle, *attributes), dtype, shape)

    def call_two(x: Any = NOTHING, y: Any = NOTHING, *attributes: Any, **kwargs: Any) -> Any:
        if kwargs or len(attributes) != attribute_count or not isinstance(x, Tensor) or not isinstance(y, Tensor):
            return call_many(*(each for each in (x, y, *attributes) if each is not NOTHING), **kwargs)
        device = x.device
        left, right = x.handle, y.handle
        if y.device is not device:
            if device.below is y.device:
                right = device.lift(y)
            elif y.device.below is device:
                device = y.device
                left = device.lift(x)
            else:
                return call_many(x, y, *attributes)
        found = known.find(about := (x.shape, x.dtype, y.shape, y.dtype, device), attributes)
        if found is None:
            operands = [x, y] if prepare is None else prepare(op, [x, y])
            if operands[0] is not x or operands[1] is not y:
                return call_many(x, y, *attributes)
            found = rule(op, x, y, *attributes)
            if found[0] is None:
                return call_many(x, y, *attributes)
            known.keep(about, attributes, found)
        shape, dtype, attributes = found
        return Tensor(device.kernels[op](left, right, *attributes), device, dtype, shape)

    def call_many(*args: Any, **kwargs: Any) -> Any:
        if in_order and not kwargs and len(args) == argument_count:
            operands, attributes = list(args[:operand_count]), args[operand_count:]
        else:
            operands, attributes = op.bind(args, kwargs)  # type: ignore[assignment]
        device = meet_operands(op, operands)
        shape, dtype, attributes = known_rule(operands, device, attributes)
        handles = [each.handle if isinstance(each, Tensor) else each for each in operands]
        kernel = device.kernels[op]
        assert kernel is not None
        return finish(device, kernel(*handles, *attributes), dtype, shape)

    def call_variadic(*args: Any, **kwargs: Any) -> Any:
        (tensors,), attributes = op.bind(args, kwargs)
        if not hasattr(tensors, "__iter__"):
            given, name = type(tensors).__name__, op.operands[0]
            raise CallError(f"{op.name}: {name} must be a list of tensors, got {given}; write {op.name}([x, y])")
        tensors = list(tensors)
        for index, each in enumerate(tensors):
            if not isinstance(each, Tensor):
                raise not_a_tensor(op, f"{op.operands[0]}[{index}]", each)
        if prepare is not None:
            tensors = prepare(op, tensors)
        shape, dtype, attributes = rule(op, tensors, *attributes)
        tensors = on_one_device(op, tensors)
        device = tensors[0].device
        return finish(device, device.kernels[op]([each.handle for each in tensors], *attributes), dtype, shape)

    known_rule = remembering(op, prepare, op.kind == "primitive")
    if op.variadic:
        return call_variadic
    if op.operand_count == 2 and in_order and remembers:
        return call_two
    return call_one if op.operand_count == 1 and not op.interleaved else call_many


def remembering(op: Op, prepare: Call | None, remembers: bool = True) -> Call:
    """What the rule of `op` says of prepared operands, looked up where operands of the same kind came before.

    The function takes a list of operands, which it prepares in place, their device and the attributes.
    """
    rule = op.rule
    assert rule is not None
    known = Memory()

    def infer(operands: list[Any], device: Device, attributes: Any) -> Any:
        attributes = tuple(attributes)
        parts: list[Any] = [device] if remembers else []
        for each in operands if remembers else ():
            if isinstance(each, Tensor):
                parts.append(each.shape)
                parts.append(each.dtype)
            elif each is None or each.__class__ is float:
                parts.append(each)
            else:
                parts = []
                break
        found = known.find(about := tuple(parts), attributes) if parts else None
        if found is not None:
            return found
        before = list(operands)
        if prepare is not None:
            operands[:] = prepare(op, operands)
        found = rule(op, *operands, *attributes)
        if parts and all(map(is_, before, operands)):
            known.keep(about, attributes, found)
        return found

    return infer


def remembered(rule: Call) -> Call:
    """A rule of one operand that looks up what it found before for the same shape, dtype and attributes."""
    known = Memory()

    def infer(op: Op, x: Any, *attributes: Any) -> Any:
        if attributes and attributes[0].__class__ is list:
            attributes = (tuple(attributes[0]), *attributes[1:])
        found = known.find(about := (x.shape, x.dtype, x.device), attributes)
        if found is None:
            found = rule(op, x, *attributes)
            known.keep(about, attributes, found)
        return found

    infer.__wrapped__ = rule  # type: ignore[attr-defined]
    return infer


def on_device_without_kernel(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether all tensors of a call live on one device that has no kernel for it: then the body runs as it is."""
    if not args or not isinstance(args[0], Tensor):
        return False
    device = args[0].device
    if len(args) > 1:
        for each in args:
            if isinstance(each, Tensor) and each.device is not device:
                return False
    return device.kernels[op] is None


def meet_operands(op: Op, operands: list[Any]) -> Device:
    """Check the operands and bring them, in place, to the device on which they meet."""
    device: Device | None = None
    other: Device | None = None
    for position, each in enumerate(operands):
        if isinstance(each, Tensor):
            if device is None:
                device = each.device
            elif each.device is not device:
                other = each.device
        elif each is not None and not isinstance(each, NUMBERS):
            raise not_a_tensor(op, op.operands[position], each)
    if device is None:
        raise not_a_tensor(op, op.operands[0], operands[0])
    if other is None:
        return device
    if other.below is device:
        device, other = other, device
    if device.below is not other or not all(
        each.device is device or each.device is other for each in operands if isinstance(each, Tensor)
    ):
        operands[:] = on_one_device(op, operands)
        lifted: Device = next(each.device for each in operands if isinstance(each, Tensor))
        return lifted
    for position, each in enumerate(operands):
        if isinstance(each, Tensor) and each.device is other:
            operands[position] = Tensor(device.lift(each), device, each.dtype, each.shape)
    return device


def creation(op: Op) -> Call:
    """An operation without tensor operands.

    `rule(op, device, *operands, *attributes) -> shape, dtype, arguments`, where the operands are
    numbers (annotated `Operand`) and `arguments` is all that the kernel receives.
    """
    rule = op.rule
    assert rule is not None

    remembers = op.family == "creation"  # a random draw is another one every time
    known = Memory()

    def infer(device: Device, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands, attributes = op.bind(args, kwargs)
        return rule(op, device, *operands, *attributes)

    def remembered(device: Device, args: tuple[Any, ...]) -> Any:
        found = known.find((device,), args)
        if found is None:
            found = infer(device, args, {})
            known.keep((device,), args, found)
        return found

    def call(*args: Any, device: Device, **kwargs: Any) -> Any:
        found = infer(device, args, kwargs) if kwargs or not remembers else remembered(device, args)
        shape, dtype, arguments = found
        kernel = device.kernels[op]
        assert kernel is not None
        try:
            return Tensor(kernel(*arguments), device, dtype, shape)
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "memory" not in str(error):
                raise
            raise too_large(op.name, shape, dtype, device) from None

    return call


def composite(op: Op, body: Call) -> Call:
    """An operation with a body. A device may hold a kernel for it; otherwise the body runs."""
    first = op.operands[0] if op.operands else ""
    argument_count = len(op.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == argument_count and on_device_without_kernel(op, args):
            return body(*args)
        operands, attributes = op.bind(args, kwargs)
        tensors = [each for each in operands if isinstance(each, Tensor)]
        if not tensors:
            raise not_a_tensor(op, first, operands[0] if operands else None)
        device = common_device(op.name, tensors)
        kernel = device.kernels[op]
        if kernel is None:
            return body(*args, **kwargs)
        for position, each in enumerate(operands):
            if isinstance(each, Tensor):
                if each.device is not device:
                    each = Tensor(device.lift(each), device, each.dtype, each.shape)
                operands[position] = each.handle
        result = kernel(*operands, *attributes)
        if isinstance(result, tuple):
            return tuple(wrap(device, each) for each in result)
        return wrap(device, result)

    return call


def checked_composite(op: Op, body: Call, prepare: Call | None) -> Call:
    """An operation with a rule and a body: the rule speaks first, then a kernel or the body runs."""
    infer = remembering(op, prepare)
    known = Memory()
    operand_count, argument_count = op.operand_count, len(op.parameters)
    in_order = not op.interleaved

    def call_one(x: Any = NOTHING, *attributes: Any, **kwargs: Any) -> Any:
        if kwargs or not isinstance(x, Tensor):
            return call(*(() if x is NOTHING else (x, *attributes)), **kwargs)
        device = x.device
        found = known.find(about := (x.shape, x.dtype, device), attributes)
        if found is None:
            operands, bound = op.bind((x, *attributes), {})
            found = infer(operands, device, bound)
            if operands[0] is not x:
                return call(x, *attributes)
            known.keep(about, attributes, found)
        shape, dtype, attributes = found
        kernel = device.kernels[op]
        if kernel is None:
            return body(x, *attributes)
        result = kernel(x.handle, *attributes)
        if shape is None or result.__class__ is tuple:
            return tuple(wrap(device, each) for each in result) if isinstance(result, tuple) else wrap(device, result)
        return Tensor(result, device, dtype, shape)

    def call(*args: Any, **kwargs: Any) -> Any:
        if in_order and not kwargs and len(args) == argument_count:
            operands, attributes = list(args[:operand_count]), args[operand_count:]
        else:
            operands, attributes = op.bind(args, kwargs)  # type: ignore[assignment]
        device = meet_operands(op, operands)
        shape, dtype, attributes = infer(operands, device, attributes)
        kernel = device.kernels[op]
        if kernel is None:
            if in_order:
                return body(*operands, *attributes)
            return body(*op.unbind(operands, list(attributes)))
        result = kernel(*[each.handle if isinstance(each, Tensor) else each for each in operands], *attributes)
        if isinstance(result, tuple):
            return tuple(wrap(device, each) for each in result)
        return wrap(device, result) if shape is None else Tensor(result, device, dtype, shape)

    return call_one if in_order and operand_count == 1 and not op.variadic else call


def body_kernel(op: Op, device: Device) -> Call:
    """The body of a composite as a kernel: handles of `device` in, handles out."""
    count, in_order, body, is_handle = op.operand_count, not op.interleaved, op.function, device.is_handle

    def run(*args: Any) -> Any:
        operands = [wrap(device, each) if each is not None and is_handle(each) else each for each in args[:count]]
        if in_order:
            result = body(*operands, *args[count:])
        else:
            result = body(*op.unbind(operands, list(args[count:])))
        return tuple(each.handle for each in result) if isinstance(result, tuple) else result.handle

    return run


# Ways to prepare operands


def promoted(*names: str) -> Call:
    """Bring the named operands (all of them when none is named) to their common dtype."""

    def prepare(op: Op, operands: list[Any]) -> list[Any]:
        chosen = [
            i
            for i, each in enumerate(operands)
            if isinstance(each, Tensor) and (not names or op.operands[min(i, op.operand_count - 1)] in names)
        ]
        dtype = promote_all(operands[i].dtype for i in chosen)
        for i in chosen:
            operands[i] = cast_to(operands[i], dtype)
        return operands

    return prepare


def filling(name: str) -> Call:
    """Bring the number `name` to the dtype of the first operand."""

    def prepare(op: Op, operands: list[Any]) -> list[Any]:
        position = op.operands.index(name)
        number = operands[position]
        if not isinstance(number, NUMBERS):
            raise DTypeError(f"{op.name}: {name} must be a number, got {type(number).__name__}")
        operands[position] = as_element(number, operands[0].dtype)
        return operands

    return prepare


def as_element(number: Any, dtype: DType) -> Any:
    """A Python number as an element of `dtype`: floats saturate into ints, ints wrap."""
    if isinstance(number, Scalar):
        number = float(number)
    if isinstance(number, np.generic):
        number = number.item()
    if dtype.is_float:
        return float(number)
    if dtype.is_bool:
        return bool(number)
    limits = dtype.iinfo()
    if isinstance(number, float):
        if number != number:
            return 0
        return limits.max if number >= limits.max else limits.min if number <= limits.min else int(number)
    return (int(number) - limits.min) % (1 << dtype.bits) + limits.min


def broadcast_rule(op: Op, *values: Any) -> tuple[Shape, DType, tuple[Any, ...]]:
    """The operands broadcast; the result has the dtype of the first one."""
    operands = [each for each in values[: op.operand_count] if hasattr(each, "shape")]
    return broadcast_all(op.name, [each.shape for each in operands]), operands[0].dtype, values[op.operand_count :]
