"""Functions of single elements, and sums over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burn_bench.benchmark import Benchmark, Target
from burn_bench.expression import Function, expression

_erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x: Any) -> Any:
    """The exact gelu of NumPy arrays."""
    return (0.5 * x * (1 + _erf(x / math.sqrt(2)))).astype(x.dtype)


def exact_gelu(x: Any) -> Any:
    """The exact gelu of tensors that have `erf`."""
    return x * 0.5 * (1 + (x / math.sqrt(2)).erf())


def benchmarks() -> list[Benchmark]:
    """Unary, binary, reduce, and the chain gelu(x * w + b) + r."""
    return [
        unary("exp", np.exp),
        unary("tanh", np.tanh),
        binary("add", lambda x, y: x + y, "1024x1024"),
        expression(
            "binary",
            "row mul 1024x1024",
            inputs=lambda draw: [draw(1024, 1024), draw(1, 1024)],
            burn=lambda x, y: x * y,
            numpy=np.multiply,
            torch=lambda torch, x, y: x * y,
            jax=lambda jax, x, y: x * y,
            tinygrad=lambda tinygrad, x, y: x * y,
            traffic=2 * 4 * 1024 * 1024,
        ),
        reduce("sum all", None),
        reduce("sum rows", 1),
        reduce("sum columns", 0),
        chain("64k", 64, 3.5),
        chain("1M", 1024, 8.0),
    ]


def unary(name: str, function: Any) -> Benchmark:
    """One function over a million floats."""
    return expression(
        "unary",
        f"{name} 1024x1024",
        inputs=lambda draw: [draw(1024, 1024)],
        burn=lambda x: getattr(x, name)(),
        numpy=function,
        torch=lambda torch, x: getattr(torch, name)(x),
        jax=lambda jax, x: getattr(jax.numpy, name)(x),
        tinygrad=lambda tinygrad, x: getattr(x, name)(),
        traffic=2 * 4 * 1024 * 1024,
    )


def binary(name: str, function: Function, shapes: str) -> Benchmark:
    """One operator on two equal shapes."""
    return expression(
        "binary",
        f"{name} {shapes}",
        inputs=lambda draw: [draw(1024, 1024), draw(1024, 1024)],
        burn=function,
        numpy=function,
        torch=lambda torch, x, y: function(x, y),
        jax=lambda jax, x, y: function(x, y),
        tinygrad=lambda tinygrad, x, y: function(x, y),
        traffic=3 * 4 * 1024 * 1024,
    )


def reduce(name: str, dim: int | None) -> Benchmark:
    """A sum over everything, over rows or over columns."""
    return expression(
        "reduce",
        f"{name} 1024x1024",
        inputs=lambda draw: [draw(1024, 1024)],
        burn=lambda x: x.sum().reshape([1, 1]) if dim is None else x.sum_dim(dim),
        numpy=lambda x: x.sum(dim, keepdims=True),
        torch=lambda torch, x: x.sum(keepdim=True, dim=(0, 1) if dim is None else dim),
        jax=lambda jax, x: x.sum(dim, keepdims=True),
        tinygrad=lambda tinygrad, x: x.sum((0, 1) if dim is None else dim, keepdim=True),
        traffic=4 * 1024 * 1024,
        tolerance=1e-4,
    )


def chain(name: str, rows: int, at_least: float) -> Benchmark:
    """gelu(x * w + b) + r, with w and b along the rows."""
    from burn.tensor import activation

    return expression(
        "chain",
        name,
        inputs=lambda draw: [draw(rows, 1024), draw(1024), draw(1024), draw(rows, 1024)],
        burn=lambda x, w, b, r: activation.gelu(x * w.reshape([1, 1024]) + b.reshape([1, 1024])) + r,
        numpy=lambda x, w, b, r: gelu(x * w + b) + r,
        torch=lambda torch, x, w, b, r: torch.nn.functional.gelu(x * w + b) + r,
        jax=lambda jax, x, w, b, r: jax.nn.gelu(x * w + b, approximate=False) + r,
        tinygrad=lambda tinygrad, x, w, b, r: exact_gelu(x * w + b) + r,
        with_numpy=False,
        traffic=3 * 4 * 1024 * rows,
        targets=(Target("cpu", ("torch",), at_least),),
        summary="gelu(x * w + b) + r",
    )
