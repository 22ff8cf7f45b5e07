"""Recording: for each operation, the kernel that runs it on the inner device and adds a node.

Which operands and results a node keeps is read from the names in the row's backward rules; a row
without rules, or a call none of whose operands is tracked, runs the inner kernel and records
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.backend.autodiff.graph import Node, Port, Recipe, Variable
from burn.ops import dispatch

if TYPE_CHECKING:
    from burn.backend.autodiff.device import Autodiff
    from burn.device import Device
    from burn.ops.op import Op, Vjp

Kernel = Callable[..., Any]


def kernel_for(device: Autodiff[Any], op: Op) -> Kernel | None:
    """The kernel of `op` on an `Autodiff` device; None where the body of a composite is recorded."""
    inner = device.inner()
    vjps = op.vjp_on(inner)
    if op.kind == "composite":
        if not vjps:
            return None
        run = inner.kernels[op] or dispatch.body_kernel(op, inner)
    else:
        found = inner.kernels[op]
        assert found is not None
        run = found
    if not op.operand_count or (not vjps and op.family in _CREATION):
        return lambda *args: Variable(run(*args), None)
    if not vjps:
        return _passing(op, run)
    if device.recomputes or op.outputs != 1 or op.variadic:
        return _general(op, run, inner, vjps, device.recomputes and op.bound == "memory" and op.outputs == 1)
    if op.operand_count == 1:
        return _one(op, run, inner, vjps)
    if op.operand_count == 2 and op.kind == "primitive":
        return _two(op, run, inner, vjps)
    return _many(op, run, inner, vjps)


_CREATION = frozenset(("creation", "random"))


def _passing(op: Op, run: Kernel) -> Kernel:
    """An operation through which no gradient flows."""
    if op.variadic:
        return lambda variables, *attributes: Variable(run([each.inner for each in variables], *attributes), None)

    def call(*args: Any) -> Any:
        result = run(*[each.inner if each.__class__ is Variable else each for each in args])
        if result.__class__ is tuple:
            return tuple(Variable(each, None) for each in result)
        return Variable(result, None)

    return call


def _one(op: Op, run: Kernel, inner: Device, vjps: dict[int, Vjp]) -> Kernel:
    """One operand, one result, everything kept."""
    vjp = vjps[0]
    keep_operand, keep_output = bool(vjp.saves_operands), vjp.saves_output
    shape_of, dtype_of = inner.shape_of, inner.dtype_of
    # The gradient of a body may come in another dtype; backward then brings it to the operand's.
    needs_dtype = _needs(vjps, "dtype") or op.kind != "primitive"
    needs_shape = _needs(vjps, "shape") or needs_dtype
    if not (op.attributes or needs_shape or needs_dtype):

        def call(x: Variable) -> Variable:
            operand = x.inner
            output = run(operand)
            parent = x.node
            if parent is None:
                return Variable(output, None)
            saved = (operand if keep_operand else None, output if keep_output else None)
            return Variable(output, Node(vjps, (parent,), saved))

        return call

    def call_with_attributes(x: Variable, *attributes: Any) -> Variable:
        operand = x.inner
        output = run(operand, *attributes)
        parent = x.node
        if parent is None:
            return Variable(output, None)
        saved = (operand if keep_operand else None, output if keep_output else None)
        shapes = (shape_of(operand),) if needs_shape else None
        dtypes = (dtype_of(operand),) if needs_dtype else None
        return Variable(output, Node(vjps, (parent,), saved, attributes, shapes, dtypes))

    return call_with_attributes


def _needs(vjps: dict[int, Vjp], wanted: str) -> bool:
    return any(kind == wanted for vjp in vjps.values() for kind, _ in vjp.sources)


def _two(op: Op, run: Kernel, inner: Device, vjps: dict[int, Vjp]) -> Kernel:
    """Two operands (either may be a number), one result, everything kept."""
    first, second = vjps.get(0) is not None, vjps.get(1) is not None
    keeps = _keeps(vjps, 2)
    keep_tensor, keep_number, keep_output_beside_number = keeps[1]
    shape_of, dtype_of = inner.shape_of, inner.dtype_of
    needs_dtype = _needs(vjps, "dtype")

    def call(x: Any, y: Any, *attributes: Any) -> Variable:
        tracked = 0
        parent_x = parent_y = shape_x = shape_y = dtypes = None
        if x.__class__ is Variable:
            node = x.node
            x = x.inner
            shape_x = shape_of(x)
            if first and node is not None:
                parent_x = node
                tracked = 1
        if y.__class__ is Variable:
            node = y.node
            y = y.inner
            shape_y = shape_of(y)
            if second and node is not None:
                parent_y = node
                tracked += 2
        output = run(x, y, *attributes) if attributes else run(x, y)
        if not tracked:
            return Variable(output, None)
        keep_x, keep_y, keep_output = keeps[tracked]
        saved = (x if keep_x else None, y if keep_y else None, output if keep_output else None)
        if needs_dtype:
            dtypes = (None if shape_x is None else dtype_of(x), None if shape_y is None else dtype_of(y))
        return Variable(output, Node(vjps, (parent_x, parent_y), saved, attributes, (shape_x, shape_y), dtypes))

    def call_without_attributes(x: Any, y: Any) -> Variable:
        # The two usual cases, written out: this runs for every tracked operation of a program.
        if y.__class__ is float and first:
            node = x.node
            x = x.inner
            output = run(x, y)
            if node is None:
                return Variable(output, None)
            saved = (
                x if keep_tensor else None,
                y if keep_number else None,
                output if keep_output_beside_number else None,
            )
            return Variable(output, Node(vjps, (node, None), saved))
        if x.__class__ is not Variable or y.__class__ is not Variable or not (first and second):
            return call(x, y)
        node, other = x.node, y.node
        x, y = x.inner, y.inner
        output = run(x, y)
        if node is None:
            if other is None:
                return Variable(output, None)
            keep_x, keep_y, keep_output = keeps[2]
        else:
            keep_x, keep_y, keep_output = keeps[1 if other is None else 3]
        saved = (x if keep_x else None, y if keep_y else None, output if keep_output else None)
        return Variable(output, Node(vjps, (node, other), saved, (), (shape_of(x), shape_of(y))))

    return call if op.attributes or needs_dtype else call_without_attributes


def _many(op: Op, run: Kernel, inner: Device, vjps: dict[int, Vjp]) -> Kernel:
    """Any number of operands that are no lists, one result, everything kept."""
    count, keeps = op.operand_count, _keeps(vjps, op.operand_count)
    shape_of, dtype_of = inner.shape_of, inner.dtype_of

    def call(*args: Any) -> Variable:
        values = list(args)
        parents: list[Any] = [None] * count
        shapes: list[Any] = [None] * count
        dtypes: list[Any] = [None] * count
        tracked = 0
        for index in range(count):
            each = args[index]
            if each.__class__ is Variable:
                inside = values[index] = each.inner
                shapes[index], dtypes[index] = shape_of(inside), dtype_of(inside)
                if each.node is not None and index in vjps:
                    parents[index] = each.node
                    tracked |= 1 << index
        output = run(*values)
        if not tracked:
            return Variable(output, None)
        *keep_operands, keep_output = keeps[tracked]
        saved = (
            *[value if keep else None for value, keep in zip(values, keep_operands)],
            output if keep_output else None,
        )
        return Variable(output, Node(vjps, tuple(parents), saved, args[count:], tuple(shapes), tuple(dtypes)))

    return call


def _keeps(vjps: dict[int, Vjp], count: int) -> list[tuple[bool, ...]]:
    """For each set of tracked operands (as bits), which operands and whether the output is kept."""
    table = []
    for tracked in range(1 << count):
        used = [vjps[i] for i in range(count) if tracked >> i & 1 and i in vjps]
        operands = {index for vjp in used for index in vjp.saves_operands}
        table.append((*(i in operands for i in range(count)), any(vjp.saves_output for vjp in used)))
    return table


def _general(op: Op, run: Kernel, inner: Device, vjps: dict[int, Vjp], recompute: bool) -> Kernel:
    """Any number of operands and results; with `recompute` the result is a recipe, not a value to keep."""
    count = op.operand_count
    keeps = _keeps(vjps, count)
    shape_of, dtype_of = inner.shape_of, inner.dtype_of

    def over(read: Callable[[Any], Any], value: Any) -> Any:
        if value.__class__ is list:
            return [read(each.inner) for each in value]
        return read(value.inner) if value.__class__ is Variable else None

    def keepable(value: Any) -> Any:
        if value.__class__ is list:
            return [keepable(each) for each in value]
        if value.__class__ is Variable:
            return value.inner if value.recipe is None else value.recipe
        return value

    def call(*args: Any) -> Any:
        operands, attributes = args[:count], args[count:]
        if op.variadic:
            values: list[Any] = [[each.inner for each in operands[0]]]
            parents: tuple[Any, ...] = tuple(each.node for each in operands[0])
            tracked = 1 if any(parent is not None for parent in parents) else 0
        else:
            values = [each.inner if each.__class__ is Variable else each for each in operands]
            parents = tuple(
                each.node if each.__class__ is Variable and i in vjps else None for i, each in enumerate(operands)
            )
            tracked = sum(1 << i for i, parent in enumerate(parents) if parent is not None)
        output = run(*values, *attributes)
        if not tracked:
            if output.__class__ is tuple:
                return tuple(Variable(each, None) for each in output)
            return Variable(output, None)
        recipe = Recipe(run, tuple(keepable(each) for each in operands), attributes) if recompute else None
        *keep_operands, keep_output = keeps[tracked]
        saved = tuple(keepable(each) if keep else None for each, keep in zip(operands, keep_operands, strict=True))
        saved += ((output if recipe is None else recipe) if keep_output else None,)
        shapes = tuple(over(shape_of, each) for each in operands)
        dtypes = tuple(over(dtype_of, each) for each in operands)
        node = Node(vjps, parents, saved, attributes, shapes, dtypes)
        if output.__class__ is tuple:
            return tuple(Variable(each, Port(node, i, len(output))) for i, each in enumerate(output))
        return Variable(output, node, recipe)

    return call
