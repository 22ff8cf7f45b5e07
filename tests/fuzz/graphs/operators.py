"""Operators with random attributes: arithmetic, reductions, movement, indices, and layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.fuzz.graphs.graph import Unfit, Writer

SMOOTH = (
    "Sigmoid", "Tanh", "Softplus", "Softsign", "Erf", "Sin", "Cos", "Atan", "Asinh", "Selu", "HardSwish", "Mish",
    "Relu", "Abs", "Neg", "Reciprocal", "Sqrt", "Exp", "Log", "Identity",
)  # fmt: skip
ROUNDED = ("Floor", "Ceil", "Round", "Sign")
REDUCED = ("Sum", "Mean", "Max", "Min", "L1", "L2", "LogSumExp", "SumSquare", "Prod", "LogSum")
MOVES = (
    "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Concat", "Split", "Tile", "Expand", "Pad",
    "Trilu", "CumSum", "Cast", "DepthToSpace", "SpaceToDepth",
)  # fmt: skip
COORDINATES = (None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


def unary(w: Writer) -> None:
    x = w.pick()
    kind = w.one(SMOOTH)
    if kind in ("Log", "Sqrt", "Reciprocal"):
        x = w.add("Abs", [x])[0]
        x = w.add("Add", [x, w.weight(np.float32(0.5))])[0]
    elif kind == "Exp":
        x = w.add("Clip", [x, "", w.weight(np.float32(2.0))])[0]
    w.add(kind, [x], exact=kind in ("Relu", "Abs", "Neg", "Identity"))


def with_number(w: Writer) -> None:
    x = w.pick()
    a = w.one((None, 0.1, 0.5, 1.3))
    kind = w.one(("LeakyRelu", "Elu", "Celu", "HardSigmoid", "Gelu", "Clip", "PRelu", "Softmax", "LogSoftmax"))
    if kind == "Gelu":
        w.add(kind, [x], approximate=w.one((None, "none", "tanh")))
    elif kind == "Clip":
        low, high = (w.weight(np.float32(v)) if w.chance(0.7) else "" for v in (-0.6, 0.9))
        w.add(kind, [x, low, high], exact=True)
    elif kind == "PRelu":
        shape = w.values[x].shape
        w.add(kind, [x, w.weight(w.floats(*shape[1:2], *(1 for _ in shape[2:])))])
    elif kind in ("Softmax", "LogSoftmax"):
        if not w.values[x].ndim:
            raise Unfit
        w.add(kind, [x], axis=w.one((None, w.dim(x))))
    else:
        w.add(kind, [x], alpha=a, **({"beta": 0.4} if kind == "HardSigmoid" and a else {}))


def rounding(w: Writer) -> None:
    w.add(w.one(ROUNDED), [w.pick(exact=True)], exact=True)


def binary(w: Writer) -> None:
    x = w.pick()
    shape = w.values[x].shape
    if w.chance(0.5):
        y = w.pick()
    else:
        y = w.weight(w.floats(*w.one((shape, shape[-1:], tuple(1 for _ in shape), ()))))
    kind = w.one(("Add", "Sub", "Mul", "Max", "Min", "Div", "Pow", "Sum", "Mean"))
    if kind == "Div":
        y = w.add("Add", [w.add("Abs", [y])[0], w.weight(np.float32(0.5))])[0]
    if kind == "Pow":
        x = w.add("Add", [w.add("Abs", [x])[0], w.weight(np.float32(0.5))])[0]
        y = w.weight(w.one((np.float32(2.0), np.float32(0.5), np.float32(-1.0), np.int64(3))))
    operands = [x, y] if w.chance(0.5) or kind in ("Pow", "Div", "Sub") else [y, x]
    w.add(kind, operands, exact=kind in ("Add", "Sub", "Mul", "Max", "Min"))


def whole(w: Writer) -> None:
    """Whole numbers."""
    x = w.pick("i")
    dtype = w.values[x].dtype
    y = w.weight(np.array(w.one((1, 2, 3, 5)), dtype))
    kind = w.one(("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Neg", "Abs", "BitwiseAnd", "BitwiseXor", "Equal"))
    w.add(kind, [x] if kind in ("Neg", "Abs") else [x, y], exact=True, fmod=w.one((None, 1)) if kind == "Mod" else None)


def compare(w: Writer) -> None:
    x, y = w.pick(exact=True), w.pick(exact=True)
    mask = w.add(w.one(("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")), [x, y], exact=True)[0]
    if w.chance(0.3):
        mask = w.add("Not", [mask], exact=True)[0]
    if w.chance(0.7):
        w.add("Where", [mask, w.pick(), w.pick()], exact=True)


def reduce(w: Writer) -> None:
    x = w.pick(least=1)
    kind = w.one(REDUCED)
    if kind == "LogSum":
        x = w.add("Add", [w.add("Abs", [x])[0], w.weight(np.float32(0.5))])[0]
    rank = w.values[x].ndim
    axes = sorted(w.random.sample(range(rank), w.random.randint(1, rank)))
    axes = [axis - rank if w.chance(0.3) else axis for axis in axes]
    inputs = [x, w.ints(*axes)] if w.chance(0.8) else [x]
    w.add(f"Reduce{kind}", inputs, exact=kind in ("Max", "Min"), keepdims=w.one((None, 0, 1)))


def best(w: Writer) -> None:
    x = w.pick(least=1, exact=True)
    axis = w.dim(x)
    if w.chance(0.5):
        kind = w.one(("ArgMax", "ArgMin"))
        w.add(kind, [x], exact=True, axis=axis, keepdims=w.one((None, 0)), select_last_index=w.one((None, 1)))
    else:
        size = w.values[x].shape[axis]
        largest = w.one((None, 0))
        w.add("TopK", [x, w.ints(w.random.randint(1, size))], exact=True, outputs=2, axis=axis, largest=largest)


def move(w: Writer) -> None:
    x = w.pick("fib", least=1)
    shape = w.values[x].shape
    rank = len(shape)
    axis = w.dim(x)
    size = shape[axis]
    kind = w.one(MOVES)
    if kind == "Reshape":
        target = w.one(((-1,), (0, -1), (*shape[:-1], -1), (*shape[:-1], shape[-1], 1), (1, -1)))
        w.add(kind, [x, w.ints(*target)], exact=True)
    elif kind == "Transpose":
        w.add(kind, [x], exact=True, perm=w.one((None, w.random.sample(range(rank), rank))))
    elif kind == "Flatten":
        w.add(kind, [x], exact=True, axis=w.one((None, w.random.randint(0, rank))))
    elif kind == "Squeeze":
        if size != 1:
            raise Unfit
        w.add(kind, [x, w.ints(axis)] if w.chance(0.8) else [x], exact=True)
    elif kind == "Unsqueeze":
        w.add(kind, [x, w.ints(w.random.randint(-rank - 1, rank))], exact=True)
    elif kind == "Slice":
        step = w.one((1, 1, 2, -1, -2))
        start, end = (w.random.randint(-size - 1, size + 1) for _ in range(2))
        if step < 0 and w.chance(0.5):
            start, end = size, -size - 5
        w.add(kind, [x, w.ints(start), w.ints(end), w.ints(axis), w.ints(step)], exact=True)
    elif kind == "Concat":
        w.add(kind, [x, x] if w.chance(0.5) else [x, x, x], exact=True, axis=axis)
    elif kind == "Split":
        if size < 2:
            raise Unfit
        first = w.random.randint(1, size - 1)
        w.add(kind, [x, w.ints(first, size - first)], exact=True, outputs=2, axis=axis)
    elif kind == "Tile":
        w.add(kind, [x, w.ints(*(w.one((1, 1, 2, 3)) for _ in shape))], exact=True)
    elif kind == "Expand":
        w.add(kind, [x, w.ints(*w.one(((2, *(1 for _ in shape)), (1,), tuple(shape), (3, *shape))))], exact=True)
    elif kind == "Pad":
        mode = w.one((None, "constant", "reflect", "edge"))
        pads = [w.random.randint(-1 if mode is None else 0, 2) for _ in range(2 * rank)]
        value = [w.weight(w.values[x].dtype.type(1))] if w.chance(0.4) and mode in (None, "constant") else []
        w.add(kind, [x, w.ints(*pads), *value], exact=True, mode=mode)
    elif kind == "Trilu":
        if rank < 2:
            raise Unfit
        w.add(kind, [x, w.weight(np.int64(w.random.randint(-2, 2)))], exact=True, upper=w.one((None, 0, 1)))
    elif kind == "CumSum":
        options: Any = {"exclusive": w.one((None, 1)), "reverse": w.one((None, 1))}
        w.add(kind, [x, w.weight(np.int64(axis))], exact=w.values[x].dtype.kind == "i", **options)
    elif kind == "Cast":
        if not w.exact[x]:
            raise Unfit
        w.add(kind, [x], exact=True, to=w.one((1, 6, 7, 9, 11)))
    else:
        if rank != 4:
            raise Unfit
        options = {"mode": w.one((None, "DCR", "CRD"))} if kind == "DepthToSpace" else {}
        w.add(kind, [x], exact=True, blocksize=2, **options)


def index(w: Writer) -> None:
    x = w.pick("fi", least=1)
    shape = w.values[x].shape
    axis = w.dim(x)
    size = shape[axis]
    kind = w.one(("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot"))
    if kind == "Gather":
        chosen = w.numbers.integers(-size, size, w.one(((), (3,), (2, 2))))
        w.add(kind, [x, w.weight(chosen.astype(w.one((np.int32, np.int64))) if chosen.ndim else np.int64(chosen))],
              exact=True, axis=axis)  # fmt: skip
    elif kind in ("GatherElements", "ScatterElements"):
        places = w.numbers.integers(-size, size, shape)
        if kind == "GatherElements":
            w.add(kind, [x, w.weight(places)], exact=True, axis=axis)
            return
        updates = w.weight(w.floats(*shape).astype(w.values[x].dtype))
        reduction = w.one(("add", "max", "min"))
        w.add(kind, [x, w.weight(places), updates], exact=reduction != "add", axis=axis, reduction=reduction)
    elif kind == "GatherND":
        depth = w.random.randint(1, len(shape))
        places = np.stack([w.numbers.integers(0, n, 3) for n in shape[:depth]], -1)
        w.add(kind, [x, w.weight(places)], exact=True)
    elif kind == "ScatterND":
        places = w.numbers.integers(0, shape[0], (2, 1))
        updates = w.weight(w.floats(2, *shape[1:]).astype(w.values[x].dtype))
        w.add(kind, [x, w.weight(places), updates], reduction=w.one(("add", "max", "min")))
    else:
        whole = w.pick("i")
        depth = w.weight(np.int64(w.one((1, 4, 7))))
        w.add(kind, [whole, depth, w.weight(np.array([0.25, 2.0], np.float32))], exact=True, axis=w.one((None, 0, -1)))


def _windows(w: Writer, spatial: tuple[int, ...]) -> dict[str, Any]:
    dims = len(spatial)
    kernel = [w.random.randint(1, min(4, n)) for n in spatial]
    found: dict[str, Any] = {"kernel_shape": kernel}
    if w.chance(0.6):
        found["strides"] = [w.one((1, 2, 3)) for _ in range(dims)]
    form = w.random.random()
    if form < 0.4:
        found["pads"] = [w.random.randint(0, k // 2) for k in kernel * 2]
    elif form < 0.6 and all(k >= s for k, s in zip(kernel, found.get("strides", kernel), strict=True)):
        # below, the padding that SAME asks for is negative, and ONNX Runtime crops or refuses
        found["auto_pad"] = w.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
    return found


def pooling(w: Writer) -> None:
    x = w.pick(least=3, most=5)
    kind = w.one(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"))
    if kind.startswith("Global"):
        w.add(kind, [x], exact=kind == "GlobalMaxPool")
        return
    options = _windows(w, w.values[x].shape[2:])
    if kind != "LpPool" and w.chance(0.3) and "auto_pad" not in options:
        options["ceil_mode"] = 1
    if kind == "AveragePool":
        options["count_include_pad"] = w.one((None, 1))
    if kind == "MaxPool" and w.chance(0.3):
        options["dilations"] = [w.one((1, 2)) for _ in options["kernel_shape"]]
    w.add(kind, [x], exact=kind == "MaxPool", **options)


def convolution(w: Writer) -> None:
    x = w.pick(least=3, most=5)
    _, channels, *spatial = w.values[x].shape
    options = _windows(w, tuple(spatial))
    groups = w.one([n for n in range(1, channels + 1) if channels % n == 0])
    options |= {"group": groups} if groups > 1 or w.chance(0.3) else {}
    dims = len(spatial)
    if w.chance(0.3):
        options["dilations"] = [w.one((1, 2)) for _ in range(dims)]
    each = w.one((1, 2, 3, 5))
    kernel = options["kernel_shape"]
    scale = 1.0 / math.sqrt(channels // groups * math.prod(kernel))
    if w.chance(0.6):
        weight, out, kind = w.floats(each * groups, channels // groups, *kernel, scale=scale), each * groups, "Conv"
    else:
        weight, out, kind = w.floats(channels, each, *kernel, scale=scale), each * groups, "ConvTranspose"
        if options.get("auto_pad") in ("SAME_UPPER", "SAME_LOWER"):
            raise Unfit
        strides = options.get("strides", [1] * dims)
        if w.chance(0.4):
            options["output_padding"] = [w.random.randint(0, s - 1) for s in strides]
    inputs = [x, w.weight(weight)] + ([w.weight(w.floats(out))] if w.chance(0.6) else [])
    w.add(kind, inputs, **options)


def norm(w: Writer) -> None:
    kind = w.one(("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LRN"))
    x = w.pick(least=3 if kind in ("InstanceNormalization", "LRN") else 2, most=5)
    shape = w.values[x].shape
    channels, epsilon = shape[1], w.one((None, 1e-3))
    if kind == "LayerNormalization":
        axis = w.dim(x)
        inner = shape[axis if axis >= 0 else axis + len(shape) :]
        inputs = [x, w.weight(w.floats(*inner))] + ([w.weight(w.floats(*inner))] if w.chance(0.6) else [])
        w.add(kind, inputs, axis=axis, epsilon=epsilon)
    elif kind == "LRN":
        w.add(kind, [x], size=w.one((1, 3, 5)), alpha=w.one((None, 0.3)), bias=w.one((None, 1.5)))
    elif kind == "BatchNormalization":
        parts = [w.floats(channels) for _ in range(3)] + [np.abs(w.floats(channels)) + np.float32(0.3)]
        w.add(kind, [x, *map(w.weight, parts)], epsilon=epsilon)
    else:
        groups = w.one([n for n in range(1, channels + 1) if channels % n == 0])
        options = {"num_groups": groups} if kind == "GroupNormalization" else {}
        w.add(kind, [x, w.weight(w.floats(channels)), w.weight(w.floats(channels))], epsilon=epsilon, **options)


def product(w: Writer) -> None:
    x = w.pick(least=1, most=4)
    shape = w.values[x].shape
    width, out = shape[-1], w.one((1, 3, 8))
    if len(shape) == 2 and w.chance(0.5):
        turned, turn = w.chance(0.5), w.chance(0.5)
        inner = shape[0] if turned else shape[1]
        y = w.weight(w.floats(*((out, inner) if turn else (inner, out)), scale=1.0 / math.sqrt(inner)))
        c = [w.weight(w.floats(*w.one(((out,), (1, out), ()))))] if w.chance(0.6) else []
        sides: dict[str, Any] = {"transA": int(turned), "transB": int(turn)}
        w.add("Gemm", [x, y, *c], alpha=w.one((None, 0.5)), beta=w.one((None, 2.0)), **sides)
    else:
        y = w.weight(w.floats(*w.one(((width, out), (width,))), scale=1.0 / math.sqrt(width)))
        w.add("MatMul", [x, y])


def resize(w: Writer) -> None:
    x = w.pick(least=3, most=4)
    shape = w.values[x].shape
    mode = w.one(("nearest", "linear") if len(shape) == 3 else ("nearest", "linear", "cubic"))
    options: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": w.one(
            (None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        ),
    }
    if mode == "nearest":
        options["nearest_mode"] = w.one((None, "floor", "ceil", "round_prefer_floor"))
    sizes = [*shape[:2], *(w.one((1, n, 2 * n, n + 1)) for n in shape[2:])]
    w.add("Resize", [x, "", "", w.ints(*sizes)], exact=mode == "nearest", **options)


def recurrent(w: Writer) -> None:
    x = w.pick(least=3, most=3)
    length, _, size = w.values[x].shape
    if length > 10:
        raise Unfit
    kind, hidden = w.one((("LSTM", 4), ("GRU", 3), ("RNN", 1))), w.one((1, 3, 5))
    direction = w.one((None, "forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    rows = kind[1] * hidden
    parts = [w.floats(count, rows, size, scale=0.5), w.floats(count, rows, hidden, scale=0.5)]
    parts += [w.floats(count, 2 * rows, scale=0.3)] if w.chance(0.6) else []
    options: dict[str, Any] = {"linear_before_reset": w.one((None, 1))} if kind[0] == "GRU" else {}
    options |= {"hidden_size": hidden, "direction": direction}
    w.add(kind[0], [x, *map(w.weight, parts)], outputs=w.one((1, 2)), **options)


OPERATORS = (
    unary, unary, with_number, with_number, rounding, binary, binary, whole, compare, reduce, reduce, best, move, move,
    move, move, index, index, pooling, convolution, convolution, norm, product, resize, recurrent,
)  # fmt: skip
