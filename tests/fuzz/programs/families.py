"""What random programs do: elementwise, views, reductions, indices, windows, orders, types and whole numbers."""

from __future__ import annotations

import math

from tests.fuzz.programs.writing import Unfit, Writer

EXACT = (
    "-$0", "$0.abs()", "$0.abs().sqrt()", "$0.relu()", "$0.clamp(-1.0, 1.5)", "$0.clamp_min(-0.5)", "$0.clamp_max(0.7)",
    "($0.abs() + 1.0).recip()", "$0 + $0", "$0.square()",
)  # fmt: skip
STEPPED = ("$0.floor()", "$0.ceil()", "$0.round()", "$0.trunc()", "$0.sign()")
SMOOTH = (
    "$0.tanh()", "$0.sin()", "$0.cos()", "$0.sigmoid()", "$0.erf()", "$0.gelu()", "(-$0.abs()).exp()",
    "($0.abs() + 1.0).log()", "$0.abs().log1p()", "$0.clamp(-1.0, 1.0).tan()", "$0.clamp(-3.0, 3.0).sinh()",
    "$0.clamp(-3.0, 3.0).cosh()", "$0.clamp(-0.9, 0.9).asin()", "$0.clamp(-0.9, 0.9).acos()", "$0.atan()", "$0.asinh()",
    "($0.abs() + 1.5).acosh()", "$0.clamp(-0.9, 0.9).atanh()", "$0.softplus()", "$0.silu()", "$0.mish()", "$0.elu()",
    "$0.leaky_relu(0.1)", "$0.log_sigmoid()", "activation.hard_swish($0)", "activation.hard_sigmoid($0)",
    "activation.selu($0)", "activation.softsign($0)", "activation.gelu_approximate($0)", "activation.celu($0, 0.7)",
    "$0.powf_scalar(3.0)", "($0.abs() + 0.5).powf_scalar(1.7)", "$0.deg2rad()",
)  # fmt: skip
BINARY = ("$0 + $1", "$0 - $1", "$0 * $1", "$0.max_pair($1)", "$0.min_pair($1)", "$0 / ($1.abs() + 1.0)")
BINARY_SMOOTH = ("$0.atan2($1.abs() + 0.5)", "($0 + 0.1).hypot($1)", "($0.abs() + 0.5).powf($1.clamp(-2.0, 2.0))")
NUMBERS = (0.5, 1.0, -1.0, 2.0, 3.7, 0.0)
INTS = ("-$0", "$0.abs()", "$0 + 1", "$0 * 3", "$0 % 3", "$0 // 2", "$0 * $0", "~$0", "$0 & 5", "$0 | 2", "$0 ^ 7",
        "$0 << 1", "$0 >> 1", "$0.clamp(-4, 4)", "5 - $0")  # fmt: skip
INT_PAIRS = (
    "$0 + $1", "$0 - $1", "$0 * $1", "$0.max_pair($1)", "$0.min_pair($1)", "$0 // $1", "$0 % $1", "$0 & $1", "$0 ^ $1",
)  # fmt: skip
COMPARED = ("greater", "greater_equal", "lower", "lower_equal", "equal", "not_equal")
VIEWS = (
    "reshape", "permute", "flip", "expand", "narrow", "step", "swap", "roll", "repeat", "unsqueeze", "squeeze", "chunk",
    "pad", "triangle", "window", "assign", "back",
)  # fmt: skip
FLOATS, WHOLE = ("f32", "f32", "f64", "f16", "bf16"), ("i8", "i16", "i32", "i64", "u8", "u16", "u32")


def unary(w: Writer) -> None:
    x = w.pick("float")
    choices = EXACT if w.gradients or not w.exact[x] else EXACT + STEPPED
    code = w.one(choices)
    if w.gradients and "sqrt" in code:
        raise Unfit
    w.add([x], code)


def smooth(w: Writer) -> None:
    if w.special:
        raise Unfit
    w.add([w.pick("float")], w.one(SMOOTH), exact=False)


def chain(w: Writer) -> None:
    """Many elementwise operations one after the other."""
    for _ in range(w.one((3, 6, 12))):
        w.one((unary, smooth, scalar, binary))(w)


def binary(w: Writer) -> None:
    x, y = w.pick("float"), w.pick("float")
    if w.gradients:
        w.add([x, y], w.one(("$0 + $1", "$0 - $1", "$0 * $1", "$0 / ($1.abs() + 1.0)")), exact=False)
    elif w.special or w.chance(0.8):
        w.add([x, y], w.one(BINARY))
    else:
        w.add([x, y], w.one(BINARY_SMOOTH), exact=False)


def scalar(w: Writer) -> None:
    number = w.one(NUMBERS)
    code = w.one(("$0 + {}", "{} - $0", "$0 * {}", "$0 / {}", "$0 - {}"))
    if code == "$0 / {}" and number == 0.0:
        raise Unfit
    w.add([w.pick("float")], code.format(number))


def view(w: Writer) -> None:
    x = w.pick(rank=1)
    shape = w.shape(x)
    dim, rank, count = w.dim(x), len(shape), math.prod(shape)
    size = shape[dim]
    kind = w.one(VIEWS)
    if kind == "reshape":
        targets = [(count,), (1, count), (count, 1)]
        targets += [(count // d, d) for d in (2, 3, 5, 7, 16) if count and count % d == 0]
        w.add([x], f"$0.reshape({w.one(targets)})")
    elif kind == "permute":
        w.add([x], f"$0.permute({w.random.sample(range(rank), rank)})")
    elif kind == "flip":
        w.add([x], f"$0.flip({w.some(range(rank))})")
    elif kind == "expand":
        w.add([x], f"$0.reshape({(1, *shape)}).expand({(w.random.randint(1, 3), *shape)})")
    elif kind == "narrow":
        start = w.random.randint(0, size)
        length = w.random.randint(min(1, size - start) if w.gradients else 0, size - start)
        w.add([x], f"$0.narrow({dim}, {start}, {length})")
    elif kind == "step":
        w.add([x], f"$0[{', '.join([':'] * dim + [f'::{w.one((2, 3))}'])}]")
    elif kind == "back":
        w.add([x], f"$0[{', '.join([':'] * dim + ['::-1'])}]")
    elif kind == "swap":
        w.add([x], f"$0.swap_dims({dim}, {w.dim(x)})")
    elif kind == "roll":
        w.add([x], f"$0.roll_dim({w.random.randint(-3, 3)}, {dim})")
    elif kind == "repeat":
        w.add([x], f"$0.repeat_dim({dim}, {w.one((1, 2, 3))})")
    elif kind == "unsqueeze":
        w.add([x], f"$0.unsqueeze_dim({w.random.randint(0, rank)})")
    elif kind == "squeeze":
        if size != 1:
            raise Unfit
        w.add([x], f"$0.squeeze_dim({dim})")
    elif kind == "chunk":
        if size < 2:
            raise Unfit
        w.add([x], f"$0.chunk(2, {dim})[{w.one((0, 1))}]")
    elif kind == "pad":
        if w.kind(x) != "float":
            raise Unfit
        pairs = [(w.random.randint(0, 2), w.random.randint(0, 2)) for _ in range(min(2, rank))]
        w.add([x], f"$0.pad({pairs}, {w.one((0.0, 0.5))})")
    elif kind == "triangle":
        if rank < 2 or w.kind(x) == "bool":
            raise Unfit
        w.add([x], f"$0.{w.one(('tril', 'triu'))}({w.random.randint(-1, 1)})")
    elif kind == "window":
        length = w.random.randint(1, max(1, min(3, size)))
        w.add([x], f"$0.unfold({dim}, {length}, {w.one((1, 2))})")
    else:
        if not size:
            raise Unfit
        start = w.random.randrange(size)
        length = w.random.randint(1, size - start)
        places = ", ".join([":"] * dim + [f"{start}:{start + length}"])
        w.add([x], f"$0.slice_assign(np.s_[{places}], $0.narrow({dim}, {size - length - start}, {length}))")


def join(w: Writer) -> None:
    kind = w.one(("float", "int", "bool"))
    x, y = w.pick(kind, rank=1), w.pick(kind, rank=1)
    if w.shape(x) != w.shape(y) or str(w.values[x].dtype) != str(w.values[y].dtype):
        y = x
    code = w.one(("Tensor.cat([$0, $1, $0], {})", "Tensor.cat([$0, $1], {})", "Tensor.stack([$0, $1], {})"))
    w.add([x, y], code.format(w.dim(x)))


def reduce(w: Writer) -> None:
    x = w.pick("float", "int", rank=1, full=True)
    dims = w.some(range(len(w.shape(x))))
    kind = w.one(("sum", "sum", "mean", "max", "min", "prod"))
    floats, chooses = w.kind(x) == "float", kind in ("max", "min")
    if w.special and floats and not chooses:
        raise Unfit
    if (w.gradients and chooses) or (kind == "mean" and not floats) or (kind == "prod" and w.gradients):
        raise Unfit
    if kind == "prod" and floats:
        w.add([x], f"$0.clamp(-1.2, 1.2).prod_dims({dims})", exact=False)
    else:
        w.add([x], f"$0.{kind}_dims({dims})", exact=chooses or not floats)


def rows(w: Writer) -> None:
    """Operations along a dim that keep it."""
    if w.special:
        raise Unfit
    x = w.pick("float", rank=1, full=True)
    dim = w.dim(x)
    kinds = ["softmax", "log_softmax", "cumsum", "normalise", "var", "logsumexp", "norm"]
    if not w.gradients:
        kinds += ["cummax", "cummin", "cumprod"]
    kind = w.one(kinds)
    if kind in ("softmax", "log_softmax", "cumsum"):
        w.add([x], f"$0.{kind}({dim})", exact=False)
    elif kind == "normalise":
        centred = f"($0 - $0.mean_dim({dim}))"
        w.add([x], f"{centred} / ({centred}.square().mean_dim({dim}) + 0.1).sqrt()", exact=False)
    elif kind == "var":
        if w.shape(x)[dim] < 2:
            raise Unfit
        w.add([x], f"$0.var({dim})", exact=False)
    elif kind == "logsumexp":
        w.add([x], f"$0.log_sum_exp_dims([{dim}])", exact=False)
    elif kind == "norm":
        w.add([x], f"module.layer_norm($0, kernel($0, {w.shape(x)[-1]}), None)", exact=False)
    elif kind == "cumprod":
        w.add([x], f"$0.clamp(-1.1, 1.1).cumprod({dim})", exact=False)
    else:
        w.add([x], f"$0.{kind}({dim})")


def whole_rows(w: Writer) -> None:
    x = w.pick("int", rank=1, full=True)
    w.add([x], f"$0.{w.one(('cumsum', 'cummax', 'cummin'))}({w.dim(x)})")


def product(w: Writer) -> None:
    if w.special:
        raise Unfit
    x = w.pick("float", rank=2)
    shape = w.shape(x)
    if math.prod(shape) * shape[-2] > 2_000_000:
        raise Unfit
    if w.chance(0.5):
        w.add([x], "$0.matmul($0.transpose())", exact=False)
    else:
        w.add([x], f"$0.matmul(kernel($0, {shape[-1]}, {w.one((1, 3, 8, 17))}))", exact=False)


def window(w: Writer) -> None:
    """Pooling and convolution of what can be seen as images."""
    if w.special:
        raise Unfit
    x = w.pick("float", rank=3, full=True)
    shape = w.shape(x)
    dims = len(shape) - 2
    if dims > 3 or str(w.values[x].dtype) in ("f16", "bf16"):
        raise Unfit
    kernel, stride = [w.one((1, 2, 3)) for _ in range(dims)], [w.one((1, 2)) for _ in range(dims)]
    if any(k > n for k, n in zip(kernel, shape[2:], strict=True)):
        raise Unfit
    kind = w.one(("max", "avg", "conv"))
    if kind == "conv":
        w.add([x], f"module.conv{dims}d($0, kernel($0, 4, {shape[1]}, {', '.join(map(str, kernel))}))", exact=False)
    elif w.gradients and kind == "max":
        raise Unfit
    else:
        w.add([x], f"module.{kind}_pool{dims}d($0, {kernel}, {stride})", exact=kind == "max")


def index(w: Writer) -> None:
    x = w.pick("float", "int", rank=1, full=True)
    dim = w.dim(x)
    size = w.shape(x)[dim]
    floats = w.kind(x) == "float"
    kind = w.one(("select", "gather", "scatter", "select_assign", "argmax", "argmin"))
    chosen = [w.random.randrange(size) for _ in range(w.random.randint(1, 5))]
    if kind == "select":
        w.add([x], f"$0.select({dim}, rows($0, {', '.join(map(str, chosen))}))")
    elif kind == "gather":
        w.add([x], f"$0.gather({dim}, places($0, {dim}, {w.one((1, 2, 3))}))")
    elif kind == "scatter":
        if w.special and floats:
            raise Unfit
        w.add([x], f"$0.scatter({dim}, places($0, {dim}, {w.one((0, 1, 2))}), $0)", exact=not floats)
    elif kind == "select_assign":
        if w.special and floats:
            raise Unfit
        taken = ", ".join(map(str, [n % size for n in range(len(chosen))]))
        given = f"$0.select({dim}, rows($0, {taken}))"
        w.add([x], f"$0.select_assign({dim}, rows($0, {', '.join(map(str, chosen))}), {given})", exact=not floats)
    elif w.gradients or not w.exact[x] or (w.special and floats):
        raise Unfit
    else:
        w.add([x], f"$0.{kind}({dim})")


def order(w: Writer) -> None:
    """Sorted values and the largest of them."""
    x = w.pick("float", "int", exact=True, rank=1, full=True)
    if w.special and w.kind(x) == "float":
        raise Unfit
    dim = w.dim(x)
    size = w.shape(x)[dim]
    w.add([x], w.one((f"$0.sort({dim})", f"$0.sort_descending({dim})", f"$0.topk({w.random.randint(1, size)}, {dim})")))


def ints(w: Writer) -> None:
    x = w.pick("int")
    if w.chance(0.6):
        w.add([x], w.one(INTS))
    else:
        w.add([x, w.pick("int")], w.one(INT_PAIRS))


def compare(w: Writer) -> None:
    kind = w.one(("float", "int"))
    w.add([w.pick(kind, exact=True), w.pick(kind, exact=True)], f"$0.{w.one(COMPARED)}($1)")


def truth(w: Writer) -> None:
    x = w.pick("bool")
    kind = w.one(("not", "pair", "any"))
    if kind == "not":
        w.add([x], "$0.bool_not()")
    elif kind == "pair":
        w.add([x, w.pick("bool")], w.one(("$0.bool_and($1)", "$0.bool_or($1)", "$0.bool_xor($1)")))
    else:
        if not w.shape(x):
            raise Unfit
        w.add([x], f"$0.{w.one(('any', 'all'))}_dims({w.some(range(len(w.shape(x))))})")


def choose(w: Writer) -> None:
    mask = w.pick("bool")
    kind = w.one(("float", "float", "int"))
    x = w.pick(kind)
    if w.chance(0.5):
        w.add([x, mask], f"$0.mask_fill($1, {-2.5 if kind == 'float' else 3})")
    else:
        w.add([x, mask, w.pick(kind)], "$0.mask_where($1, $2)")


def convert(w: Writer) -> None:
    x = w.pick(exact=True)
    kind = w.kind(x)
    target = w.one((*FLOATS, *WHOLE, "bool"))
    if w.special and kind == "float" and target in (*WHOLE, "f16", "bf16"):
        raise Unfit
    w.add([x], f"cast($0, {target!r})")


def widen(w: Writer) -> None:
    """Other float types of values that need not be exact."""
    x = w.pick("float")
    w.add([x], f"cast($0, {w.one(FLOATS)!r})", exact=False)


DIFFERENTIABLE = (unary, binary, binary, scalar, view, view, reduce, join, smooth, smooth, rows, product, window, chain)
EVERYTHING = (
    *DIFFERENTIABLE, unary, index, index, order, ints, ints, compare, truth, choose, choose, convert, widen, whole_rows,
    Writer.look, Writer.forget,
)  # fmt: skip
