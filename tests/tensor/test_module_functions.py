"""The functions of `burn.tensor.module`: options, names, and derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import burn.tensor.module as module
from burn.backend import Autodiff, LibTorch, NdArray
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.ops.convolution import conv
from burn.tensor import Tensor
from burn.tensor.options import (
    AttentionModuleOptions,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    GridSampleOptions,
    GridSamplePaddingMode,
    InterpolateMode,
    InterpolateOptions,
    PaddedConvOptions,
    UnfoldOptions,
)

DEVICES = [NdArray(), LibTorch("cpu")]


@pytest.fixture(params=DEVICES, ids=repr)
def device(request: pytest.FixtureRequest) -> Device:
    return request.param  # type: ignore[no-any-return]


def values(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape)


def tensor(array: Any, device: Device) -> Tensor[Any]:
    return Tensor.from_data(array, device, dtype="f64")


def close(ours: Tensor[Any], theirs: Any) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_conv_takes_its_options(device: Device, spatial: int) -> None:
    x, weight, bias = values(2, 4, *(6, 5, 4)[:spatial]), values(6, 2, *(3, 2, 2)[:spatial]), values(6)
    ours = getattr(module, f"conv{spatial}d")(
        *(tensor(each, device) for each in (x, weight, bias)), ConvOptions(2, 1, 1, 2)
    )
    theirs = getattr(functional, f"conv{spatial}d")(*map(torch.from_numpy, (x, weight, bias)), 2, 1, 1, 2)
    close(ours, theirs)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_conv_transpose_takes_its_options(device: Device, spatial: int) -> None:
    x, weight, bias = values(2, 4, *(3, 4, 2)[:spatial]), values(4, 3, *(3, 2, 2)[:spatial]), values(6)
    ours = getattr(module, f"conv_transpose{spatial}d")(
        *(tensor(each, device) for each in (x, weight, bias)), ConvTransposeOptions(2, 1, 1, 1, 2)
    )
    theirs = getattr(functional, f"conv_transpose{spatial}d")(*map(torch.from_numpy, (x, weight, bias)), 2, 1, 1, 2, 1)
    close(ours, theirs)


def test_conv_pads_each_side_by_its_own_amount(device: Device) -> None:
    x, weight = values(1, 2, 5, 4), values(3, 2, 3, 3)
    options = PaddedConvOptions.asymmetric(1, [1, 0], [0, 2])
    assert options.is_asymmetric()
    assert not PaddedConvOptions(ConvOptions(padding=2), 2).is_asymmetric()
    ours = module.conv2d(tensor(x, device), tensor(weight, device), None, options)
    padded = functional.pad(torch.from_numpy(x), (0, 2, 1, 0))
    close(ours, functional.conv2d(padded, torch.from_numpy(weight)))
    both = PaddedConvOptions(ConvOptions(padding=1), 1)
    ours = module.conv2d(tensor(x, device), tensor(weight, device), None, both)
    close(ours, functional.conv2d(torch.from_numpy(x), torch.from_numpy(weight), padding=1))


@pytest.mark.parametrize("size", [5, 6, 7, 8])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_same_padding_keeps_every_step_of_the_stride(size: int, stride: int, kernel: int) -> None:
    x, weight = tensor(values(1, 1, size), NdArray()), tensor(values(1, 1, kernel), NdArray())
    out = module.conv1d(x, weight, None, ConvOptions(stride, "same"))
    assert out.shape[2] == -(-size // stride)


def test_settings_are_checked_when_they_are_made() -> None:
    with pytest.raises(ArgumentError, match="ConvOptions: stride must be 1 or more, got 0"):
        ConvOptions(0)
    with pytest.raises(ArgumentError, match="padding must be 0 or more, got -1"):
        ConvTransposeOptions(1, -1)
    with pytest.raises(ArgumentError, match="offset_groups must be 1 or more"):
        DeformConvOptions(offset_groups=0)
    with pytest.raises(ArgumentError, match=r"dilation must be 1 or more, got \[1, 0\]"):
        UnfoldOptions(dilation=[1, 0])
    with pytest.raises(ArgumentError, match="leaves no choice"):
        PaddedConvOptions(ConvOptions(padding="same"), 1)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_pooling_has_a_name_for_every_number_of_dims(device: Device, spatial: int) -> None:
    x = values(2, 3, *(7, 6, 5)[:spatial])
    ours, theirs = tensor(x, device), torch.from_numpy(x)
    name = f"{spatial}d"

    def both(prefix: str, *args: Any) -> tuple[Any, Any]:
        return getattr(module, prefix + name)(ours, *args), getattr(functional, prefix + name)(theirs, *args)

    close(*both("max_pool", 3, 2, 1, 1, True))
    close(*both("adaptive_avg_pool", 2))
    close(*both("adaptive_max_pool", 2))
    found = getattr(module, f"avg_pool{name}")(ours, 3, 2, 1, False, True)
    close(found, getattr(functional, f"avg_pool{name}")(theirs, 3, 2, 1, True, False))
    for prefix in ("max_pool", "adaptive_max_pool"):
        ours_pair = getattr(module, f"{prefix}{name}_with_indices")(ours, 2)
        theirs_pair = getattr(functional, prefix + name)(theirs, 2, return_indices=True)
        close(ours_pair[0], theirs_pair[0])
        close(ours_pair[1], theirs_pair[1])
        assert ours_pair[1].dtype is device.int_dtype
    other = f"max_pool{spatial % 3 + 1}d"
    with pytest.raises(ShapeError, match=f"{other}: x must have the shape"):
        getattr(module, other)(ours, 2)


def test_indices_have_the_int_dtype_of_the_device() -> None:
    for device in (NdArray(int="i32"), LibTorch("cpu", int="i32")):
        _, indices = module.max_pool2d_with_indices(tensor(values(1, 1, 4, 4), device), 2)
        assert indices.dtype.name == "i32"
        assert np.asarray(indices).dtype == np.int32


def test_patches_fold_back(device: Device) -> None:
    x = values(2, 3, 6, 5)
    options = UnfoldOptions(2, 1)
    patches = module.unfold4d(tensor(x, device), [3, 2], options)
    close(patches, functional.unfold(torch.from_numpy(x), (3, 2), 1, 1, 2))
    back = module.fold4d(patches, [6, 5], [3, 2], options)
    close(back, functional.fold(torch.from_numpy(np.array(patches)), (6, 5), (3, 2), 1, 1, 2))


@pytest.mark.parametrize("mode", list(InterpolateMode))
def test_interpolate_takes_every_mode(device: Device, mode: InterpolateMode) -> None:
    x = tensor(values(1, 2, 4, 4), device)
    options = InterpolateOptions(mode).with_align_corners(False)
    assert module.interpolate(x, [8, 3], options).shape == (1, 2, 8, 3)
    if mode is InterpolateMode.Bilinear:
        theirs = functional.interpolate(torch.from_numpy(np.array(x)), (8, 3), mode="bilinear")
        close(module.interpolate(x, [8, 3], options), theirs)


def test_an_image_is_sampled_by_a_method(device: Device) -> None:
    x, grid = values(1, 2, 4, 3), values(1, 5, 4, 2) * 1.5
    theirs = [torch.from_numpy(each) for each in (x, grid)]
    image = tensor(x, device)
    close(image.grid_sample_2d(tensor(grid, device)), functional.grid_sample(*theirs, align_corners=False))
    options = GridSampleOptions(InterpolateMode.Nearest, GridSamplePaddingMode.Reflection, True)
    expected = functional.grid_sample(*theirs, "nearest", "reflection", True)
    close(image.grid_sample_2d(tensor(grid, device), options), expected)


def test_a_deformable_convolution_without_offsets_is_a_convolution(device: Device) -> None:
    x, weight = values(2, 4, 5, 6), values(3, 4, 3, 2)
    options = DeformConvOptions(1, [1, 1], [1, 2], 1, 2)
    offset = tensor(np.zeros((2, 24, 5, 6)), device)
    ours = module.deform_conv2d(tensor(x, device), offset, tensor(weight, device), None, None, options)
    close(ours, functional.conv2d(*map(torch.from_numpy, (x, weight)), None, 1, 1, (1, 2)))


def test_attention_takes_its_options(device: Device) -> None:
    q, k, v = values(1, 2, 4, 3), values(1, 2, 4, 3, seed=1), values(1, 2, 4, 5, seed=2)
    ours = module.attention(
        *(tensor(each, device) for each in (q, k, v)), options=AttentionModuleOptions(scale=0.5, is_causal=True)
    )
    theirs = functional.scaled_dot_product_attention(*map(torch.from_numpy, (q, k, v)), is_causal=True, scale=0.5)
    close(ours, theirs)


def test_layers_without_options_are_there_by_name(device: Device) -> None:
    x, gamma, beta = values(4, 3), values(3, seed=1), values(3, seed=2)
    args = [tensor(each, device) for each in (x, gamma, beta)]
    theirs = [torch.from_numpy(each) for each in (x, gamma, beta)]
    close(module.layer_norm(*args), functional.layer_norm(theirs[0], (3,), *theirs[1:]))
    mean, variance = args[1], args[2].abs()
    expected = functional.batch_norm(theirs[0], theirs[1], theirs[2].abs(), *theirs[1:])
    close(module.batch_norm(args[0], args[1], args[2], mean, variance), expected)
    weight = values(3, 5)
    close(module.linear(args[0], tensor(weight, device)), x @ weight)
    indices = Tensor.from_data([[1, 0]], device)
    close(module.embedding(args[0], indices), x[[[1, 0]]])


@pytest.mark.parametrize("base", DEVICES, ids=repr)
def test_the_gradient_of_a_convolution_has_gradients(base: Device) -> None:
    """The norm of a gradient, differentiated again, as torch does it by its double backward."""
    x, weight = values(2, 4, 5, 4), values(6, 2, 3, 2, seed=1)
    settings = ((2, 1), (1, 0), (1, 2), 2)
    device = Autodiff(Autodiff(base))
    inner = [tensor(each, device.inner()).require_grad() for each in (x, weight)]
    outer = [Tensor.from_inner(each).require_grad() for each in inner]
    out = conv(*outer, *settings)
    first = (out * out * out).sum().backward()
    gradients = [each.grad(first) for each in outer]
    penalty = sum((each * each).sum() for each in gradients if each is not None)
    second = penalty.backward()  # type: ignore[union-attr]

    theirs = [torch.from_numpy(each).requires_grad_() for each in (x, weight)]
    result = functional.conv2d(*theirs, None, *settings)
    found = torch.autograd.grad((result**3).sum(), theirs, create_graph=True)
    expected = torch.autograd.grad(sum((each**2).sum() for each in found), theirs)
    for each, theirs_each in zip(inner, expected, strict=True):
        gradient = each.grad(second)
        assert gradient is not None
        np.testing.assert_allclose(np.asarray(gradient), theirs_each.numpy(), rtol=1e-8, atol=1e-8)


def test_a_convolution_under_autodiff_keeps_what_it_needs() -> None:
    device = Autodiff(NdArray())
    x = tensor(values(1, 2, 5), device)
    weight = tensor(values(3, 2, 3), device).require_grad()
    out = module.conv1d(x, weight, tensor(values(3), device).require_grad())
    gradients = out.sum().backward()
    assert weight.grad(gradients) is not None
    assert x.grad(gradients) is None
