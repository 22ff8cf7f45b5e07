"""Matrix products: plain, with a constant right side, and with what follows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn_bench.benchmark import Benchmark, Target
from burn_bench.expression import expression
from burn_bench.suite.elementwise import gelu


def benchmarks() -> list[Benchmark]:
    """matmul and matmul_fused."""
    return [
        matmul(1024, 1024, 1024, Target("cpu", ("torch",), 0.95, 1.0)),
        matmul(1024, 1024, 1024, Target("cpu-captured", ("torch",), 0.95, 1.0), constant=True),
        matmul(4096, 768, 3072, Target("cpu", ("torch",), 0.95, 1.0)),
        matmul(4096, 768, 3072, Target("cpu-captured", ("torch",), 0.95, 1.0), constant=True),
        matmul(64, 784, 512, Target("cpu", ("torch",), 1.0, 1.2)),
        matmul(64, 784, 512, Target("cpu-captured", ("torch",), 1.15, 1.2), constant=True),
        batched(),
        fused("relu"),
        fused("gelu"),
    ]


def matmul(m: int, k: int, n: int, target: Target, constant: bool = False) -> Benchmark:
    """A product of two matrices; captured, a constant right side may be packed once."""
    found = expression(
        "matmul",
        f"{m}x{k}x{n}" + (" constant" if constant else ""),
        inputs=lambda draw: [draw(m, k), draw(k, n)],
        burn=lambda x, y: x @ y,
        numpy=np.matmul,
        torch=lambda torch, x, y: x @ y,
        jax=lambda jax, x, y: x @ y,
        tinygrad=lambda tinygrad, x, y: x @ y,
        constants=1 if constant else 0,
        targets=(target,),
        summary="the right side is constant" if constant else "",
    )
    if constant:
        return found.changed(builders={name: found.builders[name] for name in ("captured", "torch")})
    return found


def batched() -> Benchmark:
    """Many small products."""
    return expression(
        "matmul",
        "96x128x64x128",
        inputs=lambda draw: [draw(96, 128, 64), draw(96, 64, 128)],
        burn=lambda x, y: x @ y,
        numpy=np.matmul,
        torch=lambda torch, x, y: x @ y,
        jax=lambda jax, x, y: x @ y,
        tinygrad=lambda tinygrad, x, y: x @ y,
        summary="96 products at once",
    )


def fused(name: str) -> Benchmark:
    """A product, a bias and an activation."""
    from burn.tensor import activation

    functions: dict[str, Any] = {"relu": lambda x: np.maximum(x, 0), "gelu": gelu}

    def jax(jax: Any, x: Any, w: Any, b: Any) -> Any:
        y = x @ w + b
        return jax.nn.relu(y) if name == "relu" else jax.nn.gelu(y, approximate=False)

    return expression(
        "matmul_fused",
        f"512x512x512 {name}",
        inputs=lambda draw: [draw(512, 512), draw(512, 512), draw(1, 512)],
        burn=lambda x, w, b: getattr(activation, name)(x @ w + b),
        numpy=lambda x, w, b: functions[name](x @ w + b),
        torch=lambda torch, x, w, b: getattr(torch.nn.functional, name)(torch.addmm(b, x, w)),
        jax=jax,
        tinygrad=(lambda tinygrad, x, w, b: (x @ w + b).relu()) if name == "relu" else None,
        with_numpy=name == "relu",
        summary=f"{name}(x @ w + b)",
    )
