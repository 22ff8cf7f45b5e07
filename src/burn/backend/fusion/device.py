"""The `Fusion` device."""

from __future__ import annotations

import operator
import threading
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from burn.backend.decorator import Decorator
from burn.backend.fusion.handle import Lazy, Storage
from burn.backend.fusion.stream import FLOAT, PlanCache, Stream, ref
from burn.device import Device
from burn.dtype import from_numpy
from burn.engine.runtime import Engine, NodeByNode, with_constants
from burn.errors import DeviceError
from burn.ops.dispatch import body_kernel
from burn.ops.philox import words_needed
from burn.program.composites import (
    NotExpandable,
    Slots,
    expand_composites,
    expanded_alone,
    expansion,
    is_node,
)
from burn.program.program import Constant, Value
from burn.shape import Shape, broadcast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from burn.engine.runtime import Fixed, Plan
    from burn.ops.op import Op
    from burn.program import Program
    from burn.tensor import Tensor

I = TypeVar("I", bound=Device, default=Any)  # noqa: E741


MOST_KNOWN = 4096
"""Kinds of operands for which an operation remembers what its rule said."""


class _Streams(threading.local):
    stream: Stream | None = None
    marked: Stream | None = None
    """The stream while it waits for the first operation after a step; `stream` is None then."""


class Fusion(Decorator[I]):
    """Records operations and runs them together on the device below, `inner`.

    `Cpu()` is `Fusion` around `Cpu(fusion=False)`.

    >>> x = burn.tensor([1.0, 2.0], device=burn.Fusion(burn.NdArray()))
    >>> (x.exp() * 2.0).to_data()
    TensorData([5.436564, 14.778111], shape=[2], dtype=f32)
    """

    def __init__(self, inner: I) -> None:
        super().__init__(inner)
        self.plans = PlanCache()
        self._streams = _Streams()
        self._engine: Engine | None = inner if isinstance(inner, Engine) else None

    @classmethod
    def identity(cls, inner: Device) -> tuple[Any, ...]:
        if not isinstance(inner, Device):
            raise DeviceError(f"Fusion: needs a device, got {inner!r}; write Fusion(NdArray())")
        if inner.is_autodiff:
            raise DeviceError(f"Fusion: goes below Autodiff; write Autodiff(Fusion({inner.inner()!r}))")
        return (inner.below if isinstance(inner, Fusion) else inner,)

    # Streams

    @property
    def stream(self) -> Stream:
        """The stream of this thread."""
        streams = self._streams
        found = streams.stream
        if found is None:
            found, streams.marked = streams.marked, None
            if found is None:
                found = Stream(self)
            else:
                found.flush()
            streams.stream = found
        return found

    def mark(self) -> None:
        """End a step: what was recorded runs when the next operation is, and is a plan of its own.

        By then the caller has let go of the values before the step, so the plan may write over them.
        """
        streams = self._streams
        stream = streams.stream
        if stream is not None and stream.on_flush is None:
            streams.stream, streams.marked = None, stream

    def prepare(self, program: Program, free: tuple[bool, ...]) -> Plan:
        """The plan of a program; `free` tells which inputs may be overwritten."""
        program = expanded_alone(program, self.keeps, self.float_dtype, self.int_dtype)
        if self._engine is not None:
            return self._engine.prepare_program(program, free)
        return NodeByNode(program, self.below)

    def prepare_fixed(self, program: Program, constants: Mapping[int, Any], numbers: Sequence[Any] = ()) -> Fixed:
        """What runs a program some of whose inputs, and all of whose run-time numbers, never change."""
        program = expanded_alone(program, self.keeps, self.float_dtype, self.int_dtype)
        if self._engine is not None:
            return self._engine.prepare_fixed(program, constants, numbers)
        return with_constants(NodeByNode(program, self.below), program, constants, numbers)

    @property
    def takes_arrays(self) -> bool:
        """Whether NumPy arrays can be given to plans as they are."""
        return self._engine is not None and self._engine.host_memory

    def sync(self) -> None:
        self.stream.flush()
        super().sync()

    # Kernels

    def resolve(self, op: Op) -> Any:
        registered = op.registered_kernel(self)
        if registered is not None:
            return registered
        if op.kind == "composite":
            return self._node(op, self._expansion, body_kernel(op, self)) if is_node(op) else None
        return self._at_once(op) if self._runs_at_once(op) else self._recorder(op)

    def _runs_at_once(self, op: Op) -> bool:
        return not op.is_total or op.registered_kernel(self.below) is not None or op.rule is None

    def _at_once(self, op: Op) -> Any:
        """Run on values that exist: the program is cut here."""
        kernel = self.below.kernels[op]
        assert kernel is not None

        def run(*args: Any) -> Any:
            stream = self._streams.stream
            if stream is not None and stream.is_kept:
                return stream.at_once(op, kernel, args)
            result = kernel(*[_forced(each) for each in args])
            return tuple(self._wrap(each) for each in result) if isinstance(result, tuple) else self._wrap(result)

        return run

    def _wrap(self, value: Any, shared: bool = False) -> Lazy:
        inner = self.below
        if self._engine is not None:
            value = self._engine.settled(value)
        return Lazy(Shape(inner.shape_of(value)), inner.dtype_of(value), self, Storage(value, shared), None, -1)

    def _recorder(self, op: Op) -> Any:
        if op.family in ("creation", "random"):
            return self._creator(op)
        if op.is_elementwise:
            return self._one(op) if op.operand_count == 1 else self._two(op)
        rule = op.rule
        assert rule is not None

        def about(op: Op, args: tuple[Any, ...]) -> Any:
            shape, dtype = rule(op, *args)[:2]
            return None if shape is None else (shape, dtype, 0)

        return self._node(op, about, self._at_once(op))

    def _node(self, op: Op, about: Callable[[Op, tuple[Any, ...]], Any], otherwise: Any) -> Any:
        """Record an operation as one node. `about` is asked once for operands of one kind: it tells the shape and the
        dtype of the result, or a list of each, and how many nodes more it stands for; or None, to run `otherwise`.
        """
        count, several = op.operand_count, op.outputs != 1
        streams = self._streams
        known: dict[Any, Any] = {}

        def described(key: Any, args: tuple[Any, ...]) -> Any:
            if len(known) >= MOST_KNOWN:
                known.clear()
            found = known[key] = about(op, args)
            return found

        def run(*args: Any) -> Any:
            kinds: list[Any] = []
            for each in args[:count]:
                if each.__class__ is Lazy:
                    kinds.append(each.shape)
                    kinds.append(each.dtype)
                elif each.__class__ is list:
                    kinds.append(tuple([(one.shape, one.dtype) for one in each]))
                else:  # the shape of a result does not depend on a number that is given at run time
                    kinds.append(float if isinstance(each, float) else each)
            try:
                found = known[key := (args[count:], *kinds)]
            except KeyError:
                found = described(key, args)
            except TypeError:  # something unhashable among the attributes
                found = about(op, args)
            if found is None:
                return otherwise(*args)
            shape, dtype, more = found
            stream = streams.stream or self.stream
            with stream.lock:
                try:
                    operand = stream.operand
                    operands = tuple([operand(each) for each in args[:count]])
                    if more and stream.on_flush is None:
                        stream.last -= more
                    if several:
                        return stream.record_several(op, operands, args[count:], shape, dtype)
                    return stream.record(op, operands, args[count:], shape, dtype)
                except BaseException:
                    stream.repair()
                    raise

        def run_one(x: Any, *attributes: Any) -> Any:
            if x.__class__ is not Lazy:
                return run(x, *attributes)
            try:
                found = known[x.shape, x.dtype, attributes]
            except KeyError:
                found = described((x.shape, x.dtype, attributes), (x, *attributes))
            except TypeError:  # something unhashable among the attributes
                return run(x, *attributes)
            if found is None:
                return otherwise(x, *attributes)
            shape, dtype, more = found
            stream = streams.stream or self.stream
            with stream.lock:
                try:
                    operand = x.number if x.stream is stream else stream.reference(x)
                    if more and stream.on_flush is None:
                        stream.last -= more
                    results = stream.results
                    number = len(results)
                    handle = Lazy(shape, dtype, self, None, stream, number)
                    stream.entries.append((op, (operand,), attributes))
                    results.append(ref(handle))
                    stream.descriptions.append((shape, dtype))
                    if number >= stream.last:
                        stream.cut()
                except BaseException:
                    stream.repair()
                    raise
            return handle

        def run_two(x: Any, y: Any, *attributes: Any) -> Any:
            if x.__class__ is not Lazy or y.__class__ is not Lazy:
                return run(x, y, *attributes)
            try:
                found = known[x.shape, x.dtype, y.shape, y.dtype, attributes]
            except KeyError:
                found = described((x.shape, x.dtype, y.shape, y.dtype, attributes), (x, y, *attributes))
            except TypeError:  # something unhashable among the attributes
                return run(x, y, *attributes)
            if found is None:
                return otherwise(x, y, *attributes)
            shape, dtype, more = found
            stream = streams.stream or self.stream
            with stream.lock:
                try:
                    first = x.number if x.stream is stream else stream.reference(x)
                    second = y.number if y.stream is stream else stream.reference(y)
                    if more and stream.on_flush is None:
                        stream.last -= more
                    return stream.record(op, (first, second), attributes, shape, dtype)
                except BaseException:
                    stream.repair()
                    raise

        if several or op.variadic:
            return run
        return {1: run_one, 2: run_two}.get(count, run)

    def _expansion(self, op: Op, args: tuple[Any, ...]) -> Any:
        """About a composite as one node, where its body is a program; else the body runs."""
        count, several = op.operand_count, op.outputs != 1
        if not all(each is None or each.__class__ is Lazy for each in args[:count]):
            return None
        if not all(map(_is_exact, args[count:])):
            return None
        kinds = [None if each is None else Value(each.shape, each.dtype) for each in args[:count]]
        try:
            found = expansion(op, kinds, args[count:], self.float_dtype, self.int_dtype)
        except NotExpandable:
            return None
        if any(each.kind != "composite" and self._runs_at_once(each) for each in found.operations):
            return None
        results, more = found.results(), len(found.program.nodes) - 1
        if several:
            return [each.shape for each in results], [each.dtype for each in results], more
        return results[0].shape, results[0].dtype, more

    def keeps(self, op: Op) -> bool:
        """Whether plans take a composite whole."""
        return self._engine is not None and self._engine.target.keeps(op)

    def expanded(self, program: Program) -> tuple[Program, Slots]:
        """A recorded program without the composites that plans do not take whole, and where its numbers come from."""
        return expand_composites(program, self.keeps, self.float_dtype, self.int_dtype)

    # The next two are what `Stream.record` does, written out: they run for every operation of a program.

    def _one(self, op: Op) -> Any:
        """Record an elementwise operation of one operand."""
        result, streams = op.result_dtype, self._streams

        def run(x: Lazy) -> Lazy:
            stream = streams.stream or self.stream
            with stream.lock:
                try:
                    operand = x.number if x.stream is stream else stream.reference(x)
                    results = stream.results
                    shape, dtype, number = x.shape, result or x.dtype, len(results)
                    handle = Lazy(shape, dtype, self, None, stream, number)
                    stream.entries.append((op, (operand,), ()))
                    results.append(ref(handle))
                    stream.descriptions.append((shape, dtype))
                    if number >= stream.last:
                        stream.cut()
                except BaseException:
                    stream.repair()
                    raise
            return handle

        return run

    def _two(self, op: Op) -> Any:
        """Record an elementwise operation of two operands, one of which may be a number."""
        result, streams, name = op.result_dtype, self._streams, op.name

        def run(x: Any, y: Any) -> Lazy:
            first: Any
            second: Any
            stream = streams.stream or self.stream
            with stream.lock:
                try:
                    if x.__class__ is Lazy:
                        first = x.number if x.stream is stream else stream.reference(x)
                        shape, dtype = x.shape, result or x.dtype
                        if y.__class__ is Lazy:
                            second = y.number if y.stream is stream else stream.reference(y)
                            if shape is not y.shape and shape != y.shape:
                                shape = broadcast(name, shape, y.shape)
                        elif y.__class__ is float:
                            stream.scalars.append(y)
                            second = FLOAT
                        else:
                            second = stream.operand(y)
                    else:
                        first = stream.operand(x)
                        second = y.number if y.stream is stream else stream.reference(y)
                        shape, dtype = y.shape, result or y.dtype
                    results = stream.results
                    number = len(results)
                    handle = Lazy(shape, dtype, self, None, stream, number)
                    stream.entries.append((op, (first, second), ()))
                    results.append(ref(handle))
                    stream.descriptions.append((shape, dtype))
                    if number >= stream.last:
                        stream.cut()
                except BaseException:
                    stream.repair()
                    raise
            return handle

        return run

    def _creator(self, op: Op) -> Any:
        """Record a creation. Where a random draw stands in its stream changes every time: run-time numbers."""
        count = op.operand_count
        draws = op.family == "random"

        def run(*args: Any) -> Lazy:
            stream = self.stream
            with stream.lock:
                try:
                    shape = Shape((args[-2],) if op.name == "arange" else args[-2])
                    operands: tuple[Any, ...] = tuple(Constant(each) for each in args[:count])
                    if draws:
                        words = words_needed(shape.num_elements(), args[-1])
                        operands = (*stream.draw(args[0], args[1], words), *operands[2:])
                    return stream.record(op, operands, args[count:], shape, args[-1])
                except BaseException:
                    stream.repair()
                    raise

        return run

    def memory(self) -> Any:
        return super().memory() if self._engine is None else self._engine.memory()

    # Failures

    def fall_back(self, new: Any, old: Any) -> None:
        stream = new.stream if new.__class__ is Lazy and old.__class__ is Lazy else None
        if stream is not None and new is not old:
            with stream.lock:
                if new.stream is stream:
                    stream.fall_back(new, old)

    def on_failure(self, tell: Callable[[], None]) -> None:
        stream = self.stream
        if stream.on_flush is None:  # a captured call that fails has changed nothing
            stream.failures.append((len(stream.results), tell))

    # Handles

    def is_handle(self, value: Any) -> bool:
        return value.__class__ is Lazy

    def lift(self, tensor: Tensor[Any]) -> Lazy:
        if isinstance(tensor.device, Fusion):
            return tensor.handle  # type: ignore[no-any-return]
        return self._wrap(self.below.lift(tensor), shared=True)

    def undecorated(self, handle: Lazy) -> Any:
        """The value of a handle that somebody looks into. A function under capture is told, also of its arguments."""
        stream, own = self._streams.stream, handle.stream
        if stream is not None and stream.is_kept:
            stream.look(handle)
        if stream is not None and stream.on_flush is not None and own is not stream:
            stream.on_flush()
        if own is not None and handle.storage is None:
            own.flush()
        storage = handle.storage or handle.force()
        storage.shared = True
        return storage.value

    def receive(self, tensor: Tensor[Any]) -> Tensor[Any]:
        if tensor.device.hardware == self.hardware and not tensor.device.is_autodiff:
            return type(tensor.detach())(self.lift(tensor), self, tensor.dtype, tensor.shape)
        return super().receive(tensor)

    def from_host(self, array: np.ndarray[Any, Any]) -> Lazy:
        value = self.below.from_host(array)
        return Lazy(Shape(array.shape), from_numpy(array.dtype), self, Storage(value), None, -1)

    def to_host(self, handle: Lazy) -> np.ndarray[Any, Any]:
        own, storage = handle.stream, handle.storage
        if own is not None and storage is None and self._streams.stream is own and not own.is_kept:
            own.flush()  # the usual read, with one frame less between it and the kernel
        return self.below.to_host(self.undecorated(handle))

    dtype_of = staticmethod(operator.attrgetter("dtype"))  # type: ignore[assignment]  # called for every kept operand

    def __repr__(self) -> str:
        return f"Fusion({self.below!r})" if self._engine is None else self._engine.fused_name()

    def __reduce__(self) -> Any:
        return Fusion, (self.below,)


def _is_exact(attribute: Any) -> bool:
    """Whether an attribute has a hash and equals no other number: 0.0 equals -0.0, and no NaN equals itself."""
    if attribute.__class__ is tuple:
        return all(map(_is_exact, attribute))
    if attribute.__class__ is float:
        return bool(attribute != 0.0 and attribute == attribute)
    return attribute.__hash__ is not None


def _forced(value: Any) -> Any:
    if value.__class__ is Lazy:
        return value.force().value
    return [_forced(each) for each in value] if value.__class__ is list else value
