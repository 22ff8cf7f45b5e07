"""Pooling against PyTorch, forward and backward; and where oneDNN differs from it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from burn.backend.cpu.onednn import pooling, pooling_backward
from tests.engine.onednn_buffers import buffer, close, last, layout, like, needs_onednn, randn, run

pytestmark = needs_onednn

CASES = {
    # shape, kernel, stride, padding
    "one dim": ((2, 5, 17), (3,), (2,), (1,)),
    "halves": ((2, 16, 8, 8), (2, 2), (2, 2), (0, 0)),
    "overlapping": ((2, 19, 13, 12), (3, 3), (2, 2), (1, 1)),
    "uneven": ((1, 3, 9, 14), (2, 5), (1, 3), (1, 2)),
    "whole": ((2, 40, 7, 7), (7, 7), (1, 1), (0, 0)),
    "large window": ((1, 4, 20, 20), (17, 17), (1, 1), (0, 0)),
    "three dims": ((1, 6, 5, 6, 7), (2, 2, 3), (2, 1, 2), (0, 1, 1)),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def settings(case: Any) -> dict[str, Any]:
    _, kernel, stride, padding = case
    return dict(kernel=kernel, stride=stride, padding=[(pad, pad) for pad in padding], dilation=(1,) * len(kernel))


def reference(pool: str, x: torch.Tensor, case: Any) -> torch.Tensor:
    _, kernel, stride, padding = case
    rank = len(kernel)
    if pool == "max":
        function: Any = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)[rank - 1]
        return function(x, kernel, stride, padding)  # type: ignore[no-any-return]
    function = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)[rank - 1]
    return function(x, kernel, stride, padding, False, pool == "mean_with_padding")  # type: ignore[no-any-return]


@each_case
@pytest.mark.parametrize("pool", ["max", "mean", "mean_with_padding"])
def test_forward(pool: Any, case: Any) -> None:
    x = last(randn(*case[0]))
    expected = reference(pool, x, case)
    out = like(last(expected))
    run(pooling(pool, layout(x), layout(out), **settings(case)), x=x, out=out)
    close(out, expected)


@each_case
@pytest.mark.parametrize("pool", ["max", "mean", "mean_with_padding"])
@pytest.mark.parametrize("ties", [False, True])
def test_backward(pool: Any, case: Any, ties: bool) -> None:
    values = randn(*case[0])
    x = (values.relu().round() if ties else values).requires_grad_()
    out = reference(pool, x, case)
    gradient = last(randn(*out.shape, seed=3))
    out.backward(gradient)
    assert x.grad is not None
    image, result, found = last(x.detach()), like(last(out.detach())), like(last(x.detach()))
    forward = pooling(pool, layout(image), layout(result), training=True, **settings(case))
    backward = pooling_backward(pool, layout(gradient), layout(found), **settings(case))
    shared = {}
    if pool == "max":
        assert forward.layouts["workspace"] == backward.layouts["workspace"]
        shared = dict(workspace=buffer(forward.layouts["workspace"]))
    run(forward, x=image, out=result, **shared)
    run(backward, gradient=gradient, x_gradient=found, **shared)
    close(result, out.detach())
    close(found, x.grad)


def test_a_dilated_maximum() -> None:
    x = last(randn(2, 8, 11, 11))
    expected = functional.max_pool2d(x, 3, 2, 1, 2)
    out = like(last(expected))
    dilated = dict(kernel=(3, 3), stride=(2, 2), padding=[(1, 1), (1, 1)], dilation=(2, 2))
    run(pooling("max", layout(x), layout(out), **dilated), x=x, out=out)  # type: ignore[arg-type]
    close(out, expected)


def test_partial_windows_at_the_end_are_padding_after() -> None:
    x = last(randn(1, 3, 8, 8))
    for pool, expected in (
        ("max", functional.max_pool2d(x, 3, 2, 0, ceil_mode=True)),
        ("mean", functional.avg_pool2d(x, 3, 2, 0, True, False)),
    ):
        out = like(last(expected))
        windows = dict(kernel=(3, 3), stride=(2, 2), padding=[(0, 1), (0, 1)], dilation=(1, 1))
        run(pooling(pool, layout(x), layout(out), **windows), x=x, out=out)  # type: ignore[arg-type]
        close(out, expected)
