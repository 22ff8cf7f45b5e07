"""NaN and infinity: where oneDNN agrees with PyTorch, and the differences a planner must know of.

The differences are pinned so that another version of the library which changes them shows here.
"""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any

import pytest
import torch

from burn.backend.cpu.onednn import Elementwise, load, matmul, pooling, softmax
from tests.engine.onednn_buffers import last, layout, like, needs_onednn, run

pytestmark = needs_onednn


def activated(activation: Elementwise, *values: float) -> list[float]:
    x, y = torch.ones(3, 1), torch.tensor([values])
    out = torch.zeros(3, len(values))
    run(matmul(layout(x), layout(y), layout(out), post=[activation]), x=x, y=y, out=out)
    return [float(each) for each in out[0]]


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "gelu_tanh", "elu", "softplus", "linear", "square", "abs"])
def test_activations_that_keep_nan(name: str) -> None:
    (found,) = activated(Elementwise(name, 1.0), nan)
    assert isnan(found)


@pytest.mark.parametrize("name, at_infinities", [("tanh", [1, -1]), ("sigmoid", [1, 0]), ("softplus", [inf, 0])])
def test_activations_that_take_infinities(name: str, at_infinities: list[float]) -> None:
    assert activated(Elementwise(name, 1.0), inf, -inf) == at_infinities


def test_relu_clip_and_exp_lose_nan() -> None:
    assert activated(Elementwise("relu"), nan, inf, -inf) == [0.0, inf, 0.0]
    assert activated(Elementwise("clip", -1.0, 6.0), nan, inf, -inf) == [-1.0, 6.0, -1.0]
    assert activated(Elementwise("exp"), nan, inf, -inf) == [inf, inf, 0.0]


def test_gelu_by_the_error_function_keeps_nan_and_may_make_one_of_infinity() -> None:
    at_nan, at_infinity, below = activated(Elementwise("gelu"), nan, inf, -inf)
    assert isnan(at_nan)
    assert isnan(below)
    assert isnan(at_infinity) == ("AVX512" in load().instruction_set())


def test_a_maximum_passes_nan_over_and_has_a_finite_floor() -> None:
    x = last(torch.arange(64.0).reshape(1, 16, 2, 2))
    x[0, 0, 0, 0] = nan
    x[0, 1] = -inf
    out = like(last(torch.zeros(1, 16, 1, 1)))
    windows: Any = dict(kernel=(2, 2), stride=(2, 2), padding=[(0, 0), (0, 0)], dilation=(1, 1))
    run(pooling("max", layout(x), layout(out), **windows), x=x, out=out)
    assert out[0, 0].item() == 3.0
    assert out[0, 1].item() == torch.finfo(torch.float32).min


def test_softmax_of_rows_without_a_number_is_nan() -> None:
    x = torch.full((1, 5), -inf)
    out = like(x)
    run(softmax(layout(x), layout(out), 1), x=x, out=out)
    assert out.isnan().all()
