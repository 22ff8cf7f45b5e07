"""Operators that rearrange: shapes, order of dims, joining and cutting."""

from __future__ import annotations

from burn_import.onnx.code.expression import Argument, Expression, Form, Part, binary, literal, product
from burn_import.onnx.operators import executed
from burn_import.onnx.operators.indices import counts_from_start
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator
from burn_import.onnx.operators.tying import is_tied

FAR = (1 << 31) - 1  # bounds beyond this mean the end


@operator("Reshape")
def reshape(op: Operation) -> Expression:
    """0 keeps a size and -1 is inferred, as in `reshape` itself."""
    sizes = op.known_ints(1)
    if op.flag("allowzero") and sizes is not None and 0 in sizes:
        return op.full(sizes, 0, op.dtype(0))
    shape = op.output_type().shape
    elements = op.elements(1)
    if elements is not None and shape is not None and len(shape) == len(elements) and sizes is None:
        # the batch of a model is most often the one size that is open: -1 says so
        opened = [index for index, size in enumerate(shape) if not isinstance(size, int)]
        written = [each.constant for index, each in enumerate(elements) if index not in opened]
        if len(opened) == 1 and 0 not in shape and -1 not in written:
            elements[opened[0]] = literal(-1)
            return op.x.method("reshape", elements)
    return op.x.method("reshape", op.numbers(1) if elements is None else elements)


@operator("Flatten")
def flatten(op: Operation) -> Expression:
    axis, rank = op.axis(default=1), op.known_rank()
    if axis == 1 and rank is not None and rank >= 2:
        return op.x.method("flatten", 1, -1) if rank > 2 else op.x
    if axis == 0:
        return op.x.method("reshape", [1, -1])
    if axis == rank:
        return op.x.method("reshape", [-1, 1])
    if rank is None:
        raise op.refuse("an input of unknown rank")
    before = product(op.size(0, index) for index in range(axis))
    after = product(op.size(0, index) for index in range(axis, rank))
    return op.x.method("reshape", [before, after])


@operator("Transpose")
def transpose(op: Operation) -> Expression:
    order = op.attribute("perm")
    order = tuple(reversed(range(op.rank()))) if order is None else order
    rank = len(order)
    if rank > 1 and order == (*range(rank - 2), rank - 1, rank - 2):
        return op.x.method("transpose")
    moved = [index for index, each in enumerate(order) if index != each]
    if len(moved) == 2:
        return op.x.method("swap_dims", *moved)
    return op.x.method("permute", list(order))


@operator("Squeeze")
def squeeze(op: Operation) -> Expression:
    if not op.has(1):
        return op.x.method("squeeze")
    dims = op.known_ints(1)
    if dims is None:
        return op.x.method("squeeze_dims", op.numbers(1))
    if len(dims) == 1:
        return op.x.method("squeeze_dim", dims[0])
    return op.x.method("squeeze_dims", dims) if dims else op.x


@operator("Unsqueeze")
def unsqueeze(op: Operation) -> Expression:
    dims = op.known_ints(1)
    if dims is None:
        return op.x.method("unsqueeze_dims", op.numbers(1))
    return op.x.method("unsqueeze_dim", dims[0]) if len(dims) == 1 else op.x.method("unsqueeze_dims", dims)


@operator("Concat")
def concat(op: Operation) -> Expression:
    return op.named("Tensor.cat")(op.tensors(), op.axis())


@operator("Split")
def split(op: Operation) -> list[Expression | None]:
    """Into given sizes, or into equal ones of which the last may be smaller."""
    axis, count = op.axis(default=0), len(op.node.outputs)
    if op.has(1):
        return op.unpack(op.x.method("split_with_sizes", op.numbers(1), axis))
    shape = op.shape()
    size = None if shape is None else shape[axis]
    parts = int(op.attribute("num_outputs", count))
    if not isinstance(size, int):
        each = binary("//", binary("+", op.size(0, axis), parts - 1), parts)
        return op.unpack(op.x.method("split", each, axis))
    step = -(-size // parts)
    sizes = [min(step, size - step * index) for index in range(parts)]
    return op.unpack(
        op.x.method("split_with_sizes", sizes, axis) if sizes[-1] != step else op.x.method("split", step, axis)
    )


@operator("Slice")
def slice_(op: Operation) -> Expression:
    """Python's own slices, which clamp and count from the end in the same way."""
    if not all(_is_counted(op, index) for index in (1, 2)) or not all(_is_known(op, index) for index in (3, 4)):
        return _computed_slice(op)
    starts, ends = _entries(op, 1), _entries(op, 2)
    axes = op.known_ints(3) if op.has(3) else None
    steps = op.known_ints(4) if op.has(4) else None
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if min(axes, default=0) < 0:
        axes = [axis + op.rank() if axis < 0 else axis for axis in axes]
    parts: list[Part] = [(None, None, None)] * (max(axes, default=-1) + 1)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        first = None if _is_end(start) or (step > 0 and start.constant == 0) else start
        last = None if _is_end(end) else end
        parts[axis] = (first, last, step if step != 1 else None)
    if all(part == (None, None, None) for part in parts):
        return op.x
    return op.x.parts(parts)


def _computed_slice(op: Operation) -> Expression:
    """Axes, bounds or steps that only the run knows: the slices are put together there."""
    if op.is_live:
        return executed.computed_slice(op)
    x = op.assign("x", op.x)
    bounds = Expression.name(op.fresh("bounds"), Form.other)
    op.statement(bounds, " = [slice(None)] * ", x.attribute("rank"))
    starts = op.assign("starts", op.numbers(1))
    axes = op.numbers(3) if op.has(3) else Expression(f"range(len({starts.text}))")
    names = [op.fresh(name) for name in ("axis", "start", "end")]
    lists = [axes, starts, op.numbers(2)]
    step = None
    if op.has(4):
        step = op.fresh("step")
        names.append(step)
        lists.append(op.numbers(4))
    axis, start, end = names[:3]
    with op.block("for ", ", ".join(names), " in zip(", ", ".join(each.text for each in lists), "):"):
        op.statement(bounds, f"[{axis}] = slice({start}, {end}{'' if step is None else f', {step}'})")
    return x.item(Expression(f"tuple({bounds.text})"))


def _is_known(op: Operation, index: int) -> bool:
    return not op.has(index) or op.known_ints(index) is not None


def _is_counted(op: Operation, index: int) -> bool:
    """Whether it is known how many bounds there are, if not which."""
    shape = op.shape(index)
    return op.elements(index) is not None or (shape is not None and all(isinstance(size, int) for size in shape))


def _entries(op: Operation, index: int) -> list[Expression]:
    elements, shape = op.elements(index), op.shape(index)
    if elements is not None:
        return elements
    if not shape:
        return [op.number(index)]
    numbers = op.assign("bounds", op.numbers(index))
    count = shape[0]
    assert isinstance(count, int)
    return [numbers.item(place).number() for place in range(count)]


def _is_end(bound: Expression) -> bool:
    return isinstance(bound.constant, int) and abs(bound.constant) >= FAR


@operator("Gather")
def gather(op: Operation) -> Expression:
    """A constant table read by rows is an embedding; one known index takes a slice."""
    axis = op.axis(default=0)
    known = op.known_ints(1)
    indices = op.value(1)
    if known is not None and indices.tensor.rank == 0:
        part = op.x.method("select_dim", axis, known[0]) if known[0] >= 0 or op.shape() is not None else None
        if part is not None:
            return part
    table = op.value(0).constant
    if table is not None and axis == 0 and len(table.shape) == 2 and table.dtype.is_float and known is None:
        places = op.tensor(1)
        if not counts_from_start(indices, ids=True):
            places = places.method("wrap_indices", table.shape[0])
        if is_tied(op, 0):
            return op.function("module", "embedding")(op.x, places)
        return op.layer("Embedding", *table.shape, weights={"weight": op.weight(0)})(places)
    places = op.tensor(1)
    if not counts_from_start(indices):
        places = places.method("wrap_indices", op.size(0, axis))
    return op.x.method("take", axis, places)


@operator("GatherElements")
def gather_elements(op: Operation) -> Expression:
    axis = op.axis(default=0)
    known = op.constant(1)
    places = op.tensor(1)
    if known is None or (known < 0).any():
        places = places.method("wrap_indices", op.size(0, axis))
    return op.x.method("gather", axis, places)


@operator("Expand")
def expand(op: Operation) -> Expression:
    """Broadcast both ways: a 1 in the shape keeps a size."""
    sizes, shape, rank = op.elements(1), op.output_type().shape, op.known_rank()
    known = op.known_ints(1)
    if known is not None and rank is not None and rank <= len(known) and 1 not in known:
        return op.x.method("expand", known)
    if sizes is not None and shape is not None and len(shape) == len(sizes):
        return op.x.method("broadcast_with", sizes)
    return op.x.method("broadcast_with", op.numbers(1))


@operator("Tile")
def tile(op: Operation) -> Expression:
    return op.x.method("repeat", op.numbers(1))


@operator("Pad")
def pad(op: Operation) -> Expression:
    """One pair (before, after) for every dim; negative ones crop."""
    rank, amounts = op.rank(), op.elements(1)
    axes = op.known_ints(3) if op.has(3) else list(range(rank))
    if axes is None:
        return _computed_pad(op)
    if amounts is None:
        numbers = op.assign("pads", op.numbers(1))
        amounts = [numbers.item(place).number() for place in range(2 * len(axes))]
    pairs: list[tuple[object, object]] = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        pairs[axis] = (amounts[place], amounts[len(axes) + place])
    return _padded(op, list(pairs))


def _computed_pad(op: Operation) -> Expression:
    """Axes that only the run knows."""
    if op.is_live:
        return _padded(op, executed.computed_pairs(op))
    amounts = op.assign("pads", op.numbers(1))
    axes = op.assign("axes", op.numbers(3))
    pairs = Expression.name(op.fresh("pairs"), Form.other)
    op.statement(pairs, f" = [(0, 0)] * {op.rank()}")
    place, axis = op.fresh("place"), op.fresh("axis")
    with op.block(f"for {place}, {axis} in enumerate({axes.text}):"):
        op.statement(pairs, f"[{axis}] = ({amounts.text}[{place}], {amounts.text}[len({axes.text}) + {place}])")
    return _padded(op, pairs)


def _padded(op: Operation, pairs: Argument) -> Expression:
    mode = op.attribute("mode")
    value = op.number(2) if op.has(2) else literal(0)
    settings: dict[str, object] = {} if mode == "constant" else {"mode": mode}
    if mode == "constant" and repr(value.constant) not in ("0", "0.0"):
        settings["value"] = value
    return op.x.method("pad_or_crop", pairs, **settings)


@operator("Shape")
def shape(op: Operation) -> Expression:
    """A list of ints on the host."""
    start, end = int(op.attribute("start", 0)), op.attribute("end")
    result = op.tensor(0).method("dims")
    if start or end is not None:
        result = result.part(start or None, end)
    return op.named("list")(result).numbers()


@operator("Size")
def size(op: Operation) -> Expression:
    return op.tensor(0).method("num_elements").number()


@operator("Trilu")
def triangle(op: Operation) -> Expression:
    return op.x.method("triu" if op.flag("upper") else "tril", op.number(1) if op.has(1) else 0)


@operator("DepthToSpace", "SpaceToDepth")
def blocks(op: Operation) -> Expression:
    name = "space_to_depth" if op.node.op_type == "SpaceToDepth" else "depth_to_space"
    order = ("column_first",) if op.attribute("mode") == "CRD" else ()
    return op.x.method(name, op.attribute("blocksize"), *order)
