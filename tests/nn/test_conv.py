"""Convolutions against PyTorch, over odd settings, on every kind of device; paddings; refusals; records."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn import ArgumentError, NdArray, ShapeError, Tensor
from burn.config import ConfigError
from burn.nn import Initializer, PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from burn.nn.conv import (
    Conv1dConfig,
    Conv2dConfig,
    Conv3dConfig,
    ConvTranspose1dConfig,
    ConvTranspose2dConfig,
    ConvTranspose3dConfig,
    DeformConv2dConfig,
)
from tests.nn.peers import every_device, fields, floats, numbers, same

DEVICE = NdArray()
WITH_BIAS = {"weight": "weight", "bias": "bias"}
Explicit = PaddingConfig2d.Explicit

CASES = {
    "1d": (Conv1dConfig(3, 4, 3), torch.nn.Conv1d(3, 4, 3), (2, 3, 8)),
    "1d strided dilated grouped": (
        Conv1dConfig(4, 6, 2, stride=3, dilation=2, groups=2, padding=PaddingConfig1d.Explicit(3)),
        torch.nn.Conv1d(4, 6, 2, 3, 3, 2, 2),
        (1, 4, 11),
    ),
    "1d without bias": (Conv1dConfig(1, 1, 1, bias=False), torch.nn.Conv1d(1, 1, 1, bias=False), (1, 1, 1)),
    "2d": (Conv2dConfig([1, 8], [3, 3]), torch.nn.Conv2d(1, 8, 3), (2, 1, 7, 6)),
    "2d strided dilated": (
        Conv2dConfig([3, 2], [3, 2], stride=[2, 1], dilation=[1, 3], padding=Explicit(2, 1)),
        torch.nn.Conv2d(3, 2, (3, 2), (2, 1), (2, 1), (1, 3)),
        (2, 3, 5, 6),
    ),
    "2d depthwise same": (
        Conv2dConfig([4, 8], [3, 5], groups=4, padding=PaddingConfig2d.Same),
        torch.nn.Conv2d(4, 8, (3, 5), padding="same", groups=4),
        (1, 4, 6, 5),
    ),
    "2d even same": (
        Conv2dConfig([2, 3], [2, 4], dilation=[1, 2], padding=PaddingConfig2d.Same, bias=False),
        torch.nn.Sequential(
            torch.nn.ZeroPad2d((3, 3, 0, 1)), torch.nn.Conv2d(2, 3, (2, 4), dilation=(1, 2), bias=False)
        ),
        (2, 2, 5, 6),
    ),
    "2d lopsided": (
        Conv2dConfig([2, 3], [3, 3], stride=[1, 2], padding=Explicit(2, 0, 1, 3)),
        torch.nn.Sequential(torch.nn.ZeroPad2d((0, 3, 2, 1)), torch.nn.Conv2d(2, 3, 3, (1, 2))),
        (1, 2, 4, 5),
    ),
    "3d": (
        Conv3dConfig([2, 4], [2, 3, 1], stride=[2, 1, 1], groups=2, padding=PaddingConfig3d.Explicit(1, 0, 2)),
        torch.nn.Conv3d(2, 4, (2, 3, 1), (2, 1, 1), (1, 0, 2), groups=2),
        (1, 2, 4, 5, 3),
    ),
    "3d same": (
        Conv3dConfig([1, 2], [3, 2, 1], padding=PaddingConfig3d.Same),
        torch.nn.Sequential(torch.nn.ZeroPad3d((0, 0, 0, 1, 1, 1)), torch.nn.Conv3d(1, 2, (3, 2, 1))),
        (2, 1, 3, 4, 2),
    ),
    "transposed 1d": (
        ConvTranspose1dConfig([4, 6], 3, stride=2, dilation=2, groups=2, padding=1, padding_out=1),
        torch.nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2, True, 2),
        (2, 4, 5),
    ),
    "transposed 2d": (
        ConvTranspose2dConfig([3, 2], [2, 3], stride=[3, 1], padding=[0, 2], padding_out=[2, 0], bias=False),
        torch.nn.ConvTranspose2d(3, 2, (2, 3), (3, 1), (0, 2), (2, 0), bias=False),
        (1, 3, 4, 5),
    ),
    "transposed 3d": (
        ConvTranspose3dConfig([2, 2], [1, 2, 3], stride=[1, 2, 1], dilation=[1, 1, 2]),
        torch.nn.ConvTranspose3d(2, 2, (1, 2, 3), (1, 2, 1), dilation=(1, 1, 2)),
        (1, 2, 2, 3, 2),
    ),
}


@every_device
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients_are_those_of_torch(case, device):
    config, theirs, shape = CASES[case]
    theirs = theirs.double()
    theirs.zero_grad()
    prefix = "1." if isinstance(theirs, torch.nn.Sequential) else ""
    names = {path: prefix + name for path, name in WITH_BIAS.items() if path != "bias" or config.bias}
    same(config.init(device), theirs, floats(*shape), names=names, device=device)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [4, 5, 7])
def test_same_padding_gives_one_position_for_each_stride_begun(kernel, stride, size):
    layer = Conv1dConfig(1, 1, kernel, stride=stride, padding=PaddingConfig1d.Same).init(DEVICE)
    assert layer(Tensor.ones([1, 1, size], DEVICE)).shape == (1, 1, -(-size // stride))


def deformable(x, offset, weight, mask, bias, stride, padding, dilation, weight_groups, offset_groups):
    """The definition, element by element, in f64."""
    batch, channels, height, width = x.shape
    out, per_group, kernel_rows, kernel_columns = weight.shape
    rows, columns = offset.shape[2:]
    result = np.zeros((batch, out, rows, columns))
    area = kernel_rows * kernel_columns
    for b, o, r, c, i, u, v in np.ndindex(batch, out, rows, columns, per_group, kernel_rows, kernel_columns):
        channel = o // (out // weight_groups) * per_group + i
        place = channel // (channels // offset_groups) * area + u * kernel_columns + v
        y = r * stride[0] - padding[0] + u * dilation[0] + offset[b, 2 * place, r, c]
        z = c * stride[1] - padding[1] + v * dilation[1] + offset[b, 2 * place + 1, r, c]
        top, left = int(np.floor(y)), int(np.floor(z))
        value = 0.0
        for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
            if 0 <= row < height and 0 <= column < width:
                value += x[b, channel, row, column] * (1 - abs(y - row)) * (1 - abs(z - column))
        factor = 1.0 if mask is None else mask[b, place, r, c]
        result[b, o, r, c] += weight[o, i, u, v] * value * factor
    return result if bias is None else result + bias[:, None, None]


@every_device
@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize(
    ("padding", "before", "after"),
    [(PaddingConfig2d.Valid, (0, 0), (0, 0)), (Explicit(1, 2), (1, 2), (1, 2)), (PaddingConfig2d.Same, (0, 1), (1, 1))],
    ids=["valid", "explicit", "same"],
)
def test_a_deformable_convolution_follows_its_definition(padding, before, after, with_mask, device):
    stride, dilation, groups = ([1, 1] if padding == PaddingConfig2d.Same else [2, 1]), [1, 1], 2
    config = DeformConv2dConfig(
        [4, 2], [2, 3], stride=stride, weight_groups=groups, offset_groups=2, padding=padding, bias=with_mask
    )
    layer = config.init(device)
    x = floats(1, 4, 4, 5)
    sizes = [(n + p + q - k) // s + 1 for n, p, q, k, s in zip((4, 5), before, after, (2, 3), stride, strict=True)]
    offset, mask = floats(1, 24, *sizes), floats(1, 12, *sizes) if with_mask else None
    bias = numbers(layer.bias) if with_mask else None
    expected = deformable(x, offset, numbers(layer.weight), mask, bias, stride, before, dilation, groups, 2)
    given = [Tensor.from_data(each, device) for each in (x, offset, mask) if each is not None]
    np.testing.assert_allclose(numbers(layer(*given)), expected, rtol=1e-10, atol=1e-11)


def test_a_deformable_convolution_without_offsets_is_a_convolution():
    ours = DeformConv2dConfig([2, 3], [2, 2], padding=PaddingConfig2d.Same).init(DEVICE)
    plain = Conv2dConfig([2, 3], [2, 2], padding=PaddingConfig2d.Same).init(DEVICE)
    plain.weight, plain.bias = ours.weight, ours.bias
    x = Tensor.from_data(floats(2, 2, 4, 5), DEVICE).float()
    offset = Tensor.zeros([2, 8, 4, 5], DEVICE)
    np.testing.assert_allclose(numbers(ours(x, offset)), numbers(plain(x)), rtol=1e-5, atol=1e-5)


def test_weights_and_biases_begin_within_the_range_that_the_inputs_give():
    layer = Conv2dConfig([8, 16], [3, 3], groups=4).init(DEVICE)
    limit = 1 / np.sqrt(2 * 9)
    for param in layer.parameters():
        assert not param.is_initialized
        assert np.abs(numbers(param)).max() <= limit
    assert np.abs(numbers(layer.weight)).max() > 0.9 * limit
    transposed = ConvTranspose2dConfig([16, 8], [3, 3]).init(DEVICE)
    assert 0.9 / np.sqrt(72) < np.abs(numbers(transposed.weight)).max() <= 1 / np.sqrt(72)


def test_an_initializer_may_ask_for_the_outputs():
    config = Conv2dConfig([8, 16], [3, 3], initializer=Initializer.KaimingUniform(1.0, True))
    assert np.abs(numbers(config.init(DEVICE).weight)).max() <= np.sqrt(3 / (16 * 9))


def test_explicit_paddings_are_written_as_they_were_given():
    for padding, data in (
        (PaddingConfig1d.Explicit(2), {"Explicit": 2}),
        (PaddingConfig1d.Explicit(2, 1), {"Explicit": [2, 1]}),
        (PaddingConfig2d.Explicit(1, 2), {"Explicit": [1, 2]}),
        (PaddingConfig2d.Explicit(1, 2, 3, 4), {"Explicit": [1, 2, 3, 4]}),
        (PaddingConfig3d.Explicit(1, 2, 3), {"Explicit": [1, 2, 3]}),
        (PaddingConfig2d.Same, "Same"),
    ):
        kind = type(padding)._enumeration()
        config = {PaddingConfig1d: Conv1dConfig(1, 1, 3), PaddingConfig2d: Conv2dConfig([1, 1], [3, 3]),
                  PaddingConfig3d: Conv3dConfig([1, 1], [3, 3, 3])}[kind].with_padding(padding)  # fmt: skip
        assert config.to_dict()["padding"] == data
        assert type(config).from_json(config.to_json()) == config
    assert repr(PaddingConfig2d.Explicit(1, 2)) == "PaddingConfig2d.Explicit(1, 2)"
    assert PaddingConfig2d.Explicit(1, 2, 3, 4).pairs == ((1, 3), (2, 4))
    assert PaddingConfig3d.Explicit(1, 2, 3, 4, 5, 6).pairs == ((1, 4), (2, 5), (3, 6))


def test_paddings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match=r"takes 2 .* or 4 .*, got 3"):
        PaddingConfig2d.Explicit(1, 2, 3)
    with pytest.raises(ConfigError, match=r"0 or more, got \[1, -1\]"):
        PaddingConfig1d.Explicit(1, -1)


def test_one_error_lists_everything_that_is_wrong_with_a_config():
    with pytest.raises(ArgumentError) as caught:
        Conv2dConfig([3, 8], [0, 3], stride=[0, 1], groups=2).init(DEVICE)
    for part in ("kernel_size must be 1 or more, got [0, 3]", "stride", "groups=2 must divide the channels [3, 8]"):
        assert part in str(caught.value)
    with pytest.raises(ArgumentError, match="padding_out 2 must be smaller"):
        ConvTranspose1dConfig([1, 1], 3, stride=2, padding_out=2).init(DEVICE)
    with pytest.raises(ArgumentError, match="offset_groups=3 must divide the 4 channels"):
        DeformConv2dConfig([4, 4], [3, 3], offset_groups=3).init(DEVICE)


def test_an_input_of_the_wrong_shape_is_refused():
    layer = Conv2dConfig([3, 8], [3, 3]).init(DEVICE)
    with pytest.raises(ShapeError, match="conv2d"):
        layer(Tensor.ones([3, 5, 5], DEVICE))
    with pytest.raises(ShapeError, match="channels"):
        layer(Tensor.ones([1, 4, 5, 5], DEVICE))
    with pytest.raises(ShapeError, match="deform_conv2d"):
        DeformConv2dConfig([1, 1], [2, 2]).init(DEVICE)(Tensor.ones([1, 3, 3], DEVICE), Tensor.ones([1], DEVICE))


def test_records_have_every_field_in_order():
    plain = ["weight", "bias", "stride", "kernel_size", "dilation", "groups", "padding"]
    assert fields(Conv1dConfig(1, 2, 3).init(DEVICE)) == plain
    assert fields(Conv2dConfig([1, 2], [3, 3], bias=False).init(DEVICE)) == plain
    assert fields(Conv3dConfig([1, 2], [3, 3, 3]).init(DEVICE)) == plain
    assert fields(ConvTranspose2dConfig([1, 2], [3, 3]).init(DEVICE)) == [*plain, "padding_out", "channels"]
    deform = ["weight", "bias", "stride", "kernel_size", "dilation", "weight_groups", "offset_groups", "padding"]
    assert fields(DeformConv2dConfig([1, 2], [3, 3]).init(DEVICE)) == deform


def test_a_record_loads_into_another_layer():
    config = Conv2dConfig([1, 2], [3, 3])
    one, other = config.init(DEVICE), config.init(DEVICE).load_record(config.init(DEVICE).into_record())
    assert not np.array_equal(numbers(one.weight), numbers(other.weight))
    loaded = other.load_record(one.into_record())
    np.testing.assert_array_equal(numbers(loaded.weight), numbers(one.weight))
    assert loaded.padding == config.padding


def test_layers_print_their_settings_on_one_line():
    assert str(Conv1dConfig(2, 4, 3).init(DEVICE)) == (
        "Conv1d {stride: 1, kernel_size: 3, dilation: 1, groups: 1, padding: Valid, params: 28}"
    )
    assert str(Conv2dConfig([1, 8], [3, 3], padding=Explicit(1, 1)).init(DEVICE)) == (
        "Conv2d {stride: [1, 1], kernel_size: [3, 3], dilation: [1, 1], groups: 1, padding: Explicit(1, 1), params: 80}"
    )
    assert str(ConvTranspose1dConfig([2, 4], 3, bias=False).init(DEVICE)) == (
        "ConvTranspose1d {channels: [2, 4], stride: 1, kernel_size: 3, dilation: 1, groups: 1, padding: 0, "
        "padding_out: 0, params: 24}"
    )
    assert str(DeformConv2dConfig([2, 4], [1, 2]).init(DEVICE)) == (
        "DeformConv2d {stride: [1, 1], kernel_size: [1, 2], dilation: [1, 1], weight_groups: 1, offset_groups: 1, "
        "padding: Valid, params: 20}"
    )
