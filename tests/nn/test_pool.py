"""Pools against PyTorch, over odd windows and paddings, on every kind of device."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from burn import ArgumentError, NdArray, ShapeError, Tensor
from burn.nn import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from burn.nn.pool import (
    AdaptiveAvgPool1dConfig,
    AdaptiveAvgPool2dConfig,
    AdaptiveAvgPool3dConfig,
    AvgPool1dConfig,
    AvgPool2dConfig,
    AvgPool3dConfig,
    MaxPool1dConfig,
    MaxPool2dConfig,
    MaxPool3dConfig,
)
from tests.nn.peers import every_device, floats, numbers, same

DEVICE = NdArray()
Explicit = PaddingConfig2d.Explicit
INFINITY = float("inf")


def lowest_around(pads):
    return lambda x: functional.pad(x, pads, value=-INFINITY)


def share_of(x, pads):
    """One where an element of `x` stands, zero in the padding."""
    return functional.pad(torch.ones_like(x), pads)


CASES = {
    "max 1d": (MaxPool1dConfig(3), lambda x: functional.max_pool1d(x, 3), (2, 3, 10)),
    "max 1d dilated": (
        MaxPool1dConfig(2, stride=1, dilation=3, padding=PaddingConfig1d.Explicit(1)),
        lambda x: functional.max_pool1d(x, 2, 1, 1, 3),
        (1, 2, 7),
    ),
    "max 2d": (MaxPool2dConfig([2, 3]), lambda x: functional.max_pool2d(x, (2, 3)), (1, 2, 7, 8)),
    "max 2d up": (
        MaxPool2dConfig([3, 2], strides=[2, 2], padding=Explicit(1, 1), ceil_mode=True),
        lambda x: functional.max_pool2d(x, (3, 2), 2, 1, ceil_mode=True),
        (1, 2, 6, 5),
    ),
    "max 2d same": (
        MaxPool2dConfig([2, 3], strides=[1, 2], padding=PaddingConfig2d.Same),
        lambda x: functional.max_pool2d(lowest_around((1, 1, 0, 1))(x), (2, 3), (1, 2)),
        (2, 1, 5, 7),
    ),
    "max 2d same dilated": (
        MaxPool2dConfig([3, 3], strides=[1, 1], dilation=[2, 1], padding=PaddingConfig2d.Same),
        lambda x: functional.max_pool2d(lowest_around((1, 1, 2, 2))(x), 3, 1, 0, (2, 1)),
        (1, 2, 6, 4),
    ),
    "max 2d lopsided up": (
        MaxPool2dConfig([3, 3], strides=[2, 2], padding=Explicit(1, 0, 0, 1), ceil_mode=True),
        lambda x: functional.max_pool2d(lowest_around((0, 1, 1, 0))(x), 3, 2, ceil_mode=True),
        (1, 2, 5, 5),
    ),
    "max 3d": (
        MaxPool3dConfig([2, 1, 2], strides=[1, 2, 2], padding=PaddingConfig3d.Explicit(1, 0, 1)),
        lambda x: functional.max_pool3d(x, (2, 1, 2), (1, 2, 2), (1, 0, 1)),
        (1, 2, 3, 4, 5),
    ),
    "avg 1d": (AvgPool1dConfig(2, stride=3), lambda x: functional.avg_pool1d(x, 2, 3), (2, 3, 9)),
    "avg 1d one element": (AvgPool1dConfig(1), lambda x: functional.avg_pool1d(x, 1), (1, 1, 1)),
    "avg 2d": (
        AvgPool2dConfig([3, 3], strides=[1, 2], padding=Explicit(1, 1), count_include_pad=False),
        lambda x: functional.avg_pool2d(x, 3, (1, 2), 1, count_include_pad=False),
        (2, 2, 5, 6),
    ),
    "avg 2d up": (
        AvgPool2dConfig([3, 2], strides=[2, 2], padding=Explicit(1, 0), ceil_mode=True),
        lambda x: functional.avg_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True),
        (1, 1, 6, 5),
    ),
    "avg 2d same counting": (
        AvgPool2dConfig([2, 2], strides=[1, 1], padding=PaddingConfig2d.Same),
        lambda x: functional.avg_pool2d(functional.pad(x, (0, 1, 0, 1)), 2, 1),
        (1, 2, 4, 5),
    ),
    "avg 2d same not counting": (
        AvgPool2dConfig([2, 4], strides=[1, 1], padding=PaddingConfig2d.Same, count_include_pad=False),
        lambda x: functional.avg_pool2d(functional.pad(x, (1, 2, 0, 1)), (2, 4), 1)
        / functional.avg_pool2d(share_of(x, (1, 2, 0, 1)), (2, 4), 1),
        (1, 2, 4, 5),
    ),
    "avg 2d lopsided up": (
        AvgPool2dConfig([2, 3], strides=[2, 3], padding=Explicit(1, 0, 0, 1), ceil_mode=True),
        lambda x: functional.avg_pool2d(functional.pad(x, (0, 1, 1, 0)), (2, 3), (2, 3), ceil_mode=True),
        (1, 1, 4, 5),
    ),
    "avg 3d": (
        AvgPool3dConfig([2, 2, 1], strides=[1, 2, 1], padding=PaddingConfig3d.Explicit(1, 1, 0)),
        lambda x: functional.avg_pool3d(x, (2, 2, 1), (1, 2, 1), (1, 1, 0)),
        (1, 2, 3, 4, 2),
    ),
    "adaptive 1d": (AdaptiveAvgPool1dConfig(3), lambda x: functional.adaptive_avg_pool1d(x, 3), (2, 2, 7)),
    "adaptive 2d": (AdaptiveAvgPool2dConfig([2, 5]), lambda x: functional.adaptive_avg_pool2d(x, (2, 5)), (1, 3, 5, 4)),
    "adaptive 3d": (
        AdaptiveAvgPool3dConfig([1, 2, 3]), lambda x: functional.adaptive_avg_pool3d(x, (1, 2, 3)), (1, 2, 3, 3, 4)
    ),
}  # fmt: skip


@every_device
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients_are_those_of_torch(case, device):
    config, theirs, shape = CASES[case]
    same(config.init(), theirs, floats(*shape), device=device)


def test_a_window_of_padding_alone_is_left_out():
    pool = MaxPool1dConfig(2, stride=3, padding=PaddingConfig1d.Explicit(0, 1), ceil_mode=True).init()
    x = Tensor.from_data(np.arange(3.0).reshape(1, 1, 3), DEVICE)
    np.testing.assert_array_equal(numbers(pool(x)), [[[1.0]]])


def test_without_a_stride_the_windows_lie_side_by_side():
    assert MaxPool1dConfig(3).stride == 3
    config = AvgPool2dConfig([2, 3])
    assert config.strides == (2, 3)
    assert config.to_dict()["strides"] == [2, 3]
    assert AvgPool2dConfig.from_json(config.to_json()) == config
    assert config.with_strides([1, 1]).init().stride == (1, 1)


def test_settings_that_no_window_fits_are_refused_together():
    with pytest.raises(ArgumentError) as caught:
        MaxPool2dConfig([0, 2], strides=[1, 0]).init()
    assert "kernel_size must be 1 or more, got [0, 2]" in str(caught.value)
    assert "strides must be 1 or more, got [1, 0]" in str(caught.value)
    with pytest.raises(ArgumentError, match=r"padding Explicit\(3\) must be smaller than the kernel"):
        AvgPool1dConfig(3, padding=PaddingConfig1d.Explicit(3)).init()
    with pytest.raises(ArgumentError, match="output_size must be 1 or more"):
        AdaptiveAvgPool2dConfig([1, 0]).init()


def test_an_input_of_the_wrong_rank_is_refused():
    for pool in (MaxPool2dConfig([2, 2]), AvgPool2dConfig([2, 2], padding=PaddingConfig2d.Same)):
        with pytest.raises(ShapeError, match="pool2d: x must have the shape"):
            pool.init()(Tensor.ones([2, 3, 4], DEVICE))


def test_pools_print_their_settings():
    assert str(AdaptiveAvgPool2dConfig([8, 8]).init()) == "AdaptiveAvgPool2d {output_size: [8, 8]}"
    assert str(MaxPool2dConfig([2, 2]).init()) == (
        "MaxPool2d {kernel_size: [2, 2], stride: [2, 2], padding: Valid, dilation: [1, 1], ceil_mode: false}"
    )
    assert str(AvgPool1dConfig(2, padding=PaddingConfig1d.Same).init()) == (
        "AvgPool1d {kernel_size: 2, stride: 2, padding: Same, count_include_pad: true, ceil_mode: false}"
    )
