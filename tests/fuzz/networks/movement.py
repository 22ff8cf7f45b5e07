"""Views, joins, reductions and arithmetic between the layers."""

from __future__ import annotations

import math

from tests.fuzz.networks.drawing import Unfit, Writer


def view(w: Writer) -> int:
    """Elements moved, left out or repeated."""
    x = w.pick()
    shape = w.shape(x)
    rank = len(shape)
    kind = w.one(
        ("transpose", "permute", "slice", "step", "pad", "flip", "reshape", "flatten", "chunk", "roll", "repeat")
    )
    dim = w.random.randrange(rank)
    size = shape[dim]
    if kind == "transpose":
        a, b = w.random.randrange(rank), w.random.randrange(rank)
        return w.add([x], f"$0.swap_dims({a}, {b})", f"$0.transpose({a}, {b})")
    if kind == "permute":
        order = w.random.sample(range(rank), rank)
        return w.add([x], f"$0.permute({order})", f"$0.permute({order})")
    if kind == "slice":
        start = w.random.randrange(size)
        length = w.random.randint(1, size - start)
        return w.add([x], f"$0.narrow({dim}, {start}, {length})", f"$0.narrow({dim}, {start}, {length})")
    if kind == "step":
        step = w.one((2, 3))
        places = ", ".join([":"] * dim + [f"::{step}"])
        return w.add([x], f"$0[{places}]", f"$0[{places}]")
    if kind == "pad":
        pairs = [(w.random.randint(0, 2), w.random.randint(0, 3)) for _ in range(min(2, rank))]
        value = w.one((0.0, 0.0, 0.5))
        return w.add([x], f"$0.pad({pairs}, {value})", f"peers.padded($0, {pairs}, value={value})")
    if kind == "flip":
        dims = sorted(w.random.sample(range(rank), w.random.randint(1, rank)))
        return w.add([x], f"$0.flip({dims})", f"$0.flip({dims})")
    if kind == "reshape":
        divisors = [n for n in range(2, size) if size % n == 0]
        if not divisors or rank >= 5:
            raise Unfit
        inner = w.one(divisors)
        target = (*shape[:dim], size // inner, inner, *shape[dim + 1 :])
        return w.add([x], f"$0.reshape({target})", f"$0.reshape({target})")
    if kind == "flatten":
        if rank < 3:
            raise Unfit
        start = w.random.randrange(rank - 1)
        end = w.random.randint(start + 1, rank - 1)
        return w.add([x], f"$0.flatten({start}, {end})", f"$0.flatten({start}, {end})")
    if kind == "chunk":
        if size < 2:
            raise Unfit
        count = w.one((2, 3))
        parts = -(-size // -(-size // count))
        part = w.random.randrange(parts)
        return w.add([x], f"$0.chunk({count}, {dim})[{part}]", f"$0.chunk({count}, {dim})[{part}]")
    if kind == "roll":
        shift = w.random.randint(-3, 3)
        return w.add([x], f"$0.roll_dim({shift}, {dim})", f"$0.roll({shift}, {dim})")
    times = w.one((2, 3))
    counts = tuple(times if d == dim else 1 for d in range(rank))
    return w.add([x], f"$0.repeat_dim({dim}, {times})", f"$0.repeat({counts})")


def join(w: Writer) -> int:
    """Concatenation of values that differ in one dim at most."""
    x, y = w.pick(), w.one(w.floats())
    a, b = w.shape(x), w.shape(y)
    if len(a) != len(b):
        raise Unfit
    differing = [d for d in range(len(a)) if a[d] != b[d]]
    if len(differing) > 1:
        raise Unfit
    dim = differing[0] if differing else w.random.randrange(len(a))
    if w.chance(0.2) and not differing:
        return w.add([x, y], f"Tensor.stack([$0, $1], {dim})", f"torch.stack([$0, $1], {dim})")
    return w.add([x, y], f"Tensor.cat([$0, $1], {dim})", f"torch.cat([$0, $1], {dim})")


def residual(w: Writer) -> int:
    """Two values of one shape, or of shapes that broadcast, together."""
    x, y = w.pick(), w.one(w.floats()[-6:])
    a, b = w.shape(x), w.shape(y)
    if a != b:
        if w.chance(0.5):
            raise Unfit
        try:
            wide = math.prod(max(p, q) for p, q in zip(a, b, strict=True))
        except ValueError:
            raise Unfit from None
        if wide > w.most:
            raise Unfit
    sign = w.one(("+", "+", "+", "-", "*"))
    return w.add([x, y], f"$0 {sign} $1", f"$0 {sign} $1")


def arithmetic(w: Writer) -> int:
    """A number, or a function of each element."""
    x = w.pick()
    both = w.one((
        "$0 * 0.5", "$0 + 1.5", "1.0 - $0", "$0 / 3.0", "-$0", "$0.tanh()", "$0.sin()", "$0.abs()",
        "$0 * $0", "($0 * $0 + 1.0).log()", "($0 * $0 + 0.1).sqrt()", "(-($0 * $0)).exp()", "1.0 / ($0 * $0 + 1.0)",
    ))  # fmt: skip
    return w.add([x], both, both)


def reduction(w: Writer) -> int:
    """Sums, means, largest and smallest along dims, kept."""
    x = w.pick()
    shape = w.shape(x)
    kind = w.one(("sum", "mean", "amax", "amin", "var", "cumsum", "logsumexp"))
    dims = sorted(w.random.sample(range(len(shape)), w.random.randint(1, min(3, len(shape)))))
    dim = dims[0]
    if kind in ("sum", "mean"):
        scale = 1.0 / math.sqrt(math.prod(shape[d] for d in dims)) if kind == "sum" else 1.0
        return w.add([x], f"$0.{kind}_dims({dims}) * {scale}", f"$0.{kind}({dims}, keepdim=True) * {scale}")
    if kind in ("amax", "amin"):
        return w.add([x], f"$0.{kind[1:]}_dim({dim})", f"$0.{kind[1:]}({dim}, keepdim=True).values")
    if kind == "var":
        if shape[dim] < 2:
            raise Unfit
        return w.add([x], f"$0.var({dim})", f"$0.var({dim}, keepdim=True)")
    if kind == "cumsum":
        return w.add([x], f"$0.cumsum({dim})", f"$0.cumsum({dim})")
    return w.add([x], f"$0.log_sum_exp_dims([{dim}])", f"$0.logsumexp({dim}, keepdim=True)")


def product(w: Writer) -> int:
    """A batched product of two values, or of one with its own transpose."""
    x = w.pick(2, 3, 4)
    shape = w.shape(x)
    if math.prod(shape) * shape[-2] > w.work or math.prod(shape[:-1]) * shape[-2] > w.most:
        raise Unfit
    scale = 1.0 / math.sqrt(shape[-1])
    fits = [n for n in w.floats(len(shape)) if w.shape(n)[:-2] == shape[:-2] and w.shape(n)[-2] == shape[-1]]
    if fits and w.chance(0.5):
        return w.add([x, w.one(fits)], f"$0.matmul($1) * {scale}", f"$0.matmul($1) * {scale}")
    return w.add([x], f"$0.matmul($0.transpose()) * {scale}", f"$0.matmul($0.mT) * {scale}")
