"""Softmax and layer norm, against torch writing into memory it was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn_bench.benchmark import Benchmark, Target
from burn_bench.expression import expression

TARGET = (Target("cpu", ("torch",), 1.0, 1.3),)


def benchmarks() -> list[Benchmark]:
    """softmax and layer_norm."""
    return [softmax(), layer_norm()]


def softmax() -> Benchmark:
    """Softmax over the last dim, as in attention."""
    from burn.tensor import activation

    def exact(x: Any) -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def into(torch: Any, x: Any) -> Any:
        out = torch.empty_like(x)
        return lambda: torch.softmax(x, -1, out=out)

    return expression(
        "softmax",
        "64x12x128x128",
        inputs=lambda draw: [draw(64, 12, 128, 128)],
        burn=lambda x: activation.softmax(x, -1),
        numpy=exact,
        torch=lambda torch, x: torch.softmax(x, -1),
        torch_into=into,
        jax=lambda jax, x: jax.nn.softmax(x, -1),
        tinygrad=lambda tinygrad, x: x.softmax(-1),
        traffic=2 * 4 * 64 * 12 * 128 * 128,
        targets=TARGET,
        summary="torch writes into preallocated memory",
    )


def layer_norm() -> Benchmark:
    """Layer norm over rows of 768."""
    from burn.tensor import module

    def exact(x: Any, gamma: Any, beta: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gamma + beta

    def into(torch: Any, x: Any, gamma: Any, beta: Any) -> Any:
        out, mean, deviation = torch.empty_like(x), torch.empty(4096, 1), torch.empty(4096, 1)
        kernel = torch.ops.aten.native_layer_norm.out

        def call() -> Any:
            kernel(x, [768], gamma, beta, 1e-5, out0=out, out1=mean, out2=deviation)
            return out

        return call

    return expression(
        "layer_norm",
        "4096x768",
        inputs=lambda draw: [draw(4096, 768), draw(768), draw(768)],
        burn=lambda x, gamma, beta: module.layer_norm(x, gamma, beta, 1e-5),
        numpy=exact,
        torch=lambda torch, x, gamma, beta: torch.nn.functional.layer_norm(x, (768,), gamma, beta),
        torch_into=into,
        jax=lambda jax, x, gamma, beta: jax.nn.standardize(x, epsilon=1e-5) * gamma + beta,
        tinygrad=lambda tinygrad, x, gamma, beta: x.layernorm(eps=1e-5) * gamma + beta,
        traffic=2 * 4 * 4096 * 768,
        targets=TARGET,
        summary="torch writes into preallocated memory",
    )
