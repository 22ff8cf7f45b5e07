"""Convolutions against PyTorch: 1 to 3 dims, groups, depthwise, dilation, uneven padding, both gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch.nn import functional

from burn.backend.cpu.onednn import (
    Elementwise,
    Layout,
    PostOperation,
    Sum,
    convolution,
    convolution_backward_weight,
    convolution_backward_x,
    convolution_transposed,
    grouped,
    reorder,
    transposed,
)
from burn.errors import MissingOperation
from tests.engine.onednn_buffers import any_order, buffer, close, last, layout, like, needs_onednn, randn, run

pytestmark = needs_onednn


class Case(NamedTuple):
    """Batch, channels in and out, spatial sizes, kernel, stride, (before, after), dilation, groups."""

    batch: int
    inputs: int
    outputs: int
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int = 1

    @property
    def settings(self) -> dict[str, Any]:
        return dict(stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups)

    def x(self) -> torch.Tensor:
        return randn(self.batch, self.inputs, *self.sizes)

    def weight(self) -> torch.Tensor:
        return randn(self.outputs, self.inputs // self.groups, *self.kernel, seed=1)

    def bias(self) -> torch.Tensor:
        return randn(self.outputs, seed=2)

    def reference(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        pads = [each for pair in reversed(self.padding) for each in pair]
        function: Any = (functional.conv1d, functional.conv2d, functional.conv3d)[len(self.kernel) - 1]
        return function(functional.pad(x, pads), weight, bias, self.stride, 0, self.dilation, self.groups)


CASES = {
    "one dim": Case(2, 3, 5, (17,), (4,), (1,), ((1, 2),), (1,)),
    "one dim dilated in groups": Case(1, 6, 9, (23,), (3,), (2,), ((2, 2),), (2,), 3),
    "plain": Case(2, 3, 8, (9, 11), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "one channel": Case(4, 1, 8, (28, 28), (3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "uneven": Case(1, 5, 7, (10, 8), (2, 5), (2, 1), ((0, 1), (3, 1)), (1, 1)),
    "dilated": Case(2, 16, 16, (13, 12), (3, 3), (1, 1), ((2, 2), (3, 3)), (2, 3)),
    "pointwise": Case(2, 24, 40, (7, 7), (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "pointwise strided": Case(1, 24, 40, (8, 9), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    "groups": Case(2, 12, 20, (9, 9), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 4),
    "depthwise": Case(2, 32, 32, (14, 14), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 32),
    "depthwise odd": Case(1, 19, 19, (15, 15), (5, 3), (2, 2), ((2, 2), (1, 0)), (1, 1), 19),
    "depthwise doubled": Case(1, 6, 12, (8, 8), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 6),
    "whole image": Case(3, 4, 6, (5, 6), (5, 6), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "three dims": Case(1, 4, 6, (5, 6, 7), (3, 2, 3), (1, 2, 1), ((1, 1), (0, 1), (1, 1)), (1, 1, 1)),
    "three dims in groups": Case(2, 4, 4, (5, 5, 5), (2, 2, 2), (1, 1, 1), ((0, 0), (0, 0), (0, 0)), (2, 1, 1), 2),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("with_bias", [True, False])
def test_forward(case: Case, packed: bool, with_bias: bool) -> None:
    x, weight, bias = last(case.x()), case.weight(), case.bias()
    expected = case.reference(x, weight, bias if with_bias else None)
    out = like(last(expected))
    given = any_order(weight) if packed else layout(weight)
    primitive = convolution(layout(x), given, layout(out), layout(bias) if with_bias else None, **case.settings)
    packs = {"weight": grouped(layout(weight), case.groups)} if packed else None
    run(primitive, packs, x=x, weight=weight, out=out, **(dict(bias=bias) if with_bias else {}))
    close(out, expected)


@each_case
def test_backward_to_the_input(case: Case) -> None:
    x, weight = case.x().requires_grad_(), case.weight()
    out = case.reference(x, weight)
    gradient = last(randn(*out.shape, seed=3))
    out.backward(gradient)
    assert x.grad is not None
    found = like(last(x.detach()))
    primitive = convolution_backward_x(layout(gradient), any_order(weight), layout(found), **case.settings)
    run(primitive, {"weight": grouped(layout(weight), case.groups)}, gradient=gradient, weight=weight, x_gradient=found)
    close(found, x.grad)


@each_case
@pytest.mark.parametrize("packed", [True, False])
def test_backward_to_weight_and_bias(case: Case, packed: bool) -> None:
    x, weight, bias = last(case.x()), case.weight().requires_grad_(), case.bias().requires_grad_()
    out = case.reference(x, weight, bias)
    gradient = last(randn(*out.shape, seed=3))
    out.backward(gradient)
    assert weight.grad is not None
    assert bias.grad is not None
    plain, bias_gradient = like(weight.detach()), like(bias.detach())
    given = any_order(plain) if packed else layout(plain)
    primitive = convolution_backward_weight(layout(x), layout(gradient), given, layout(bias_gradient), **case.settings)
    result = buffer(primitive.layouts["weight_gradient"]) if packed else plain
    run(primitive, x=x, gradient=gradient, weight_gradient=result, bias_gradient=bias_gradient)
    if packed:
        unpack = reorder(primitive.layouts["weight_gradient"], grouped(layout(plain), case.groups))
        run(unpack, x=result, out=plain)
    close(plain, weight.grad, 3)
    close(bias_gradient, bias.grad, 3)


@pytest.mark.parametrize("name", ["plain", "pointwise", "depthwise", "groups", "three dims"])
def test_a_residual_and_an_activation_follow(name: str) -> None:
    case = CASES[name]
    x, weight, bias = last(case.x()), case.weight(), case.bias()
    expected = case.reference(x, weight, bias)
    out = last(randn(*expected.shape, seed=8))
    expected = (expected + out).clamp(0, 6)
    post: list[PostOperation] = [Sum(), Elementwise("clip", 0.0, 6.0)]
    primitive = convolution(layout(x), any_order(weight), layout(out), layout(bias), post=post, **case.settings)
    packs = {"weight": grouped(layout(weight), case.groups)}
    run(primitive, packs, x=x, weight=weight, bias=bias, out=out)
    close(out, expected)


def test_odd_strides_of_dims_of_size_one_do_not_select_reference_loops() -> None:
    geometry: Any = dict(stride=(1, 1), padding=[(0, 0), (0, 0)], dilation=(1, 1))
    one_channel = Layout.strided((4, 1, 28, 28), (784, 784, 28, 1))
    out, weight = Layout.channels_last((4, 8, 26, 26)), Layout.any((8, 1, 3, 3))
    assert not convolution(one_channel, weight, out, **geometry).is_reference
    assert not convolution_backward_weight(one_channel, out, weight, **geometry).is_reference
    assert convolution(one_channel, Layout.row_major((8, 1, 3, 3)), out, **geometry).is_reference


def test_row_major_images_are_slower_and_right() -> None:
    case = CASES["plain"]
    x, weight = case.x(), case.weight()
    expected = case.reference(x, weight)
    out = like(expected)
    run(
        convolution(layout(x), any_order(weight), layout(out), **case.settings),
        {"weight": layout(weight)},
        x=x,
        weight=weight,
        out=out,
    )
    close(out, expected)


TRANSPOSED = {
    # batch, in, out, sizes, kernel, stride, padding, extra, dilation, groups
    "one dim": (2, 4, 6, (9,), (3,), (2,), (1,), (1,), (1,), 1),
    "two dims": (2, 8, 5, (6, 7), (3, 4), (2, 3), (1, 0), (1, 0), (1, 1), 1),
    "dilated": (1, 4, 4, (5, 5), (3, 3), (1, 1), (1, 1), (0, 0), (2, 2), 1),
    "groups": (2, 6, 9, (5, 4), (2, 2), (2, 2), (0, 0), (0, 0), (1, 1), 3),
    "three dims": (1, 4, 3, (3, 4, 3), (2, 2, 2), (2, 2, 2), (0, 0, 0), (0, 0, 0), (1, 1, 1), 1),
}


@pytest.mark.parametrize("case", TRANSPOSED.values(), ids=TRANSPOSED)
def test_transposed(case: Any) -> None:
    batch, inputs, outputs, sizes, kernel, stride, padding, extra, dilation, groups = case
    x, bias = last(randn(batch, inputs, *sizes)), randn(outputs)
    weight = randn(inputs, outputs // groups, *kernel)
    function: Any = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[
        len(kernel) - 1
    ]
    expected = function(x, weight, bias, stride, padding, extra, groups, dilation).relu()
    out = like(last(expected))
    primitive = convolution_transposed(
        layout(x), any_order(weight), layout(out), layout(bias), stride=stride,
        padding=[(pad, pad - more) for pad, more in zip(padding, extra)], dilation=dilation, groups=groups,
        post=[Elementwise("relu")],
    )  # fmt: skip
    run(primitive, {"weight": transposed(layout(weight), groups)}, x=x, weight=weight, bias=bias, out=out)
    close(out, expected)


def test_a_geometry_that_does_not_fit_is_missing() -> None:
    image, weight = Layout.channels_last((1, 3, 8, 8)), Layout.any((4, 3, 3, 3))
    with pytest.raises(MissingOperation, match=r"onednn convolution_forward: .*x f32\(1, 3, 8, 8\).*stride \(1, 1\)"):
        convolution(image, weight, image, stride=(1, 1), padding=[(0, 0), (0, 0)], dilation=(1, 1))
