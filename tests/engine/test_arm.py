"""Kernels for 64-bit ARM give, on an emulator, what the same programs give here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray, Tensor
from burn.backend.cpu.plan import Plan
from burn.tensor import activation
from burn.tensor.module import ConvOptions, attention, avg_pool2d, conv1d, conv2d, max_pool2d
from tests.engine import emulated_arm

pytestmark = pytest.mark.skipif(bool(emulated_arm.absent()), reason=emulated_arm.absent() or "nothing")


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Plan]]:
    """Plans for ARM run on the emulator; gives those that did."""
    ran: list[Plan] = []
    here = Plan.__call__

    def run(plan: Plan, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        if plan.features.architecture != "aarch64":
            return here(plan, inputs, scalars)
        ran.append(plan)
        return emulated_arm.run(plan, inputs, scalars)

    monkeypatch.setattr(Plan, "__call__", run)
    yield ran
    assert ran, "nothing ran on the emulator"


class Draws:
    """Tensors of one program, the same on every device."""

    def __init__(self, device: Any) -> None:
        self.device, self.random = device, np.random.default_rng(0)

    def __call__(self, *shape: int, dtype: str = "f4") -> Tensor:
        return burn.tensor(self.random.standard_normal(shape).astype(dtype), device=self.device)


def conv(x: Tensor, weight: Tensor, function: Any = conv2d, **options: Any) -> Tensor:
    given = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1, **options}
    return function(x, weight, None, ConvOptions(**given))


def mathematics(t: Draws) -> Tensor:
    x = t(37, 21)
    return x.exp().log1p() + x.sin() * x.cos() + x.tanh().erf() + x.abs().sqrt() + x.abs().powf_scalar(1.7)


def integers(t: Draws) -> Tensor:
    x = (t(37, 5) * 100.0).int()
    return (x % 7) * (x / 3) + x.clamp(-5, 40)


PROGRAMS: dict[str, Callable[[Draws], Tensor]] = {
    "mathematics": mathematics,
    "integers": integers,
    "products": lambda t: (t(33, 70).matmul(t(70, 45)) + t(45)).relu(),
    "deep products": lambda t: t(6, 5000).matmul(t(5000, 9)),
    "products in batches": lambda t: t(3, 17, 20).matmul(t(3, 20, 31)).transpose() * 2.0,
    "vectors": lambda t: t(1, 300).matmul(t(300, 130)),
    "products of f64": lambda t: t(20, 30, dtype="f8").matmul(t(30, 25, dtype="f8")),
    "rows": lambda t: activation.softmax(t(9, 133), 1) + activation.log_softmax(t(9, 133), 1),
    "columns": lambda t: t(133, 9).sum_dim(0) + t(133, 9).max_dim(0),
    "everything": lambda t: t(41, 53).sum() + t(41, 53).mean(),
    "running sums": lambda t: t(7, 40).cumsum(1),
    "movement": lambda t: t(6, 7, 8).permute([2, 0, 1]).reshape([8, 42]).flip([1]) + 1.0,
    "rows by index": lambda t: t(30, 8).select(0, Tensor.from_ints([3, 0, 29, 3], t.device)) * 2.0,
    "f16": lambda t: (t(40, 9).cast("f16") * t(40, 9).cast("f16")).sum_dim(1),
    "bf16": lambda t: (t(40, 9).cast("bf16") + t(40, 9).cast("bf16")).cast("f32") * 3.0,
    "convolution": lambda t: conv(t(2, 8, 13, 11), t(16, 8, 5, 5), stride=[2, 1], padding=[2, 1]).relu(),
    "windows of three": lambda t: conv(t(1, 32, 20, 22), t(48, 32, 3, 3), padding=[1, 1]) + 1.0,
    "depthwise": lambda t: conv(t(1, 24, 15, 14), t(24, 1, 3, 3), padding=[1, 1], groups=24),
    "pointwise": lambda t: conv(t(2, 20, 9, 8), t(12, 20, 1, 1)).relu(),
    "signals": lambda t: conv(t(2, 6, 50), t(9, 6, 4), conv1d, stride=[1], padding=[2], dilation=[2]),
    "a block": lambda t: conv(
        conv(conv(t(1, 32, 20, 20), t(64, 32, 1, 1)).relu(), t(64, 1, 3, 3), padding=[1, 1], groups=64).relu(),
        t(32, 64, 1, 1),
    ),
    "maxima of windows": lambda t: max_pool2d(t(2, 5, 11, 10), [3, 3], [2, 2], [1, 1]),
    "means of windows": lambda t: avg_pool2d(t(2, 5, 11, 10), [2, 3], [2, 2], [0, 1]),
    "attention": lambda t: attention(t(2, 3, 40, 16), t(2, 3, 70, 16), t(2, 3, 70, 16)),
}


def result(program: Callable[[Draws], Tensor], device: Any) -> Any:
    made = program(Draws(device)) * 1
    return np.asarray(made.numpy(), np.int64 if made.dtype.is_int else np.float64)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_on_arm_what_it_gives_on_numpy(name: str) -> None:
    program = PROGRAMS[name]
    found, expected = result(program, Cpu(features="neon")), result(program, NdArray())
    if expected.dtype == np.int64:
        np.testing.assert_array_equal(found, expected)
    else:
        rough = {"f16": 4e-3, "bf16": 2e-2}.get(name, 2e-5)
        np.testing.assert_allclose(found, expected, rtol=rough, atol=rough * np.abs(expected).max())


GRADIENTS: dict[str, tuple[tuple[int, ...], Callable[[Tensor, Draws], Tensor]]] = {
    "products": ((20, 30), lambda x, t: activation.gelu(x.matmul(t(30, 17)))),
    "convolution": ((12, 6, 3, 3), lambda w, t: conv(t(2, 6, 14, 13), w, stride=[2, 2], padding=[1, 1])),
    "tiles": ((32, 32, 3, 3), lambda w, t: conv(t(2, 32, 24, 24), w, padding=[1, 1])),
    "depthwise": ((16, 1, 5, 5), lambda w, t: conv(t(2, 16, 12, 12), w, padding=[2, 2], groups=16)),
    "images": ((2, 8, 12, 12), lambda x, t: conv(x, t(16, 8, 3, 3), padding=[1, 1])),
    "maxima": ((2, 4, 10, 10), lambda x, t: max_pool2d(x, [2, 2], [2, 2], [0, 0]) * t(2, 4, 5, 5)),
    "softmax": ((9, 50), lambda x, t: activation.log_softmax(x, 1) * t(9, 50)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_on_arm_are_those_on_numpy(name: str) -> None:
    shape, program = GRADIENTS[name]

    def gradient(device: Any) -> Any:
        tracked = device.autodiff()
        x = Draws(tracked)(*shape).require_grad()
        y = program(x, Draws(tracked))
        return x.grad((y * y).sum().backward()).numpy().astype(np.float64)

    found, expected = gradient(Cpu(features="neon")), gradient(NdArray(float=burn.f64))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5 * np.abs(expected).max())
