"""Matrix products against PyTorch: odd shapes, transposes, batches, bias, activations, packed operands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from burn.backend.cpu.onednn import Binary, Elementwise, PostOperation, Sum, load, matmul
from burn.errors import MissingOperation
from tests.engine.onednn_buffers import any_order, close, layout, needs_onednn, randn, run

pytestmark = needs_onednn

SIZES = [(1, 1, 1), (1, 7, 1), (3, 1, 5), (5, 13, 3), (64, 784, 10), (33, 65, 129), (1, 300, 17), (200, 2, 200)]


@pytest.mark.parametrize("rows, inner, columns", SIZES)
@pytest.mark.parametrize("packed", [False, True])
def test_products_of_odd_sizes(rows: int, inner: int, columns: int, packed: bool) -> None:
    x, y, out = randn(rows, inner), randn(inner, columns, seed=1), torch.full((rows, columns), 5.0)
    primitive = matmul(layout(x), any_order(y) if packed else layout(y), layout(out))
    run(primitive, {"y": layout(y)} if packed else None, x=x, y=y, out=out)
    close(out, x @ y)


@pytest.mark.parametrize("transpose_x", [False, True])
@pytest.mark.parametrize("transpose_y", [False, True])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_transposed_operands_are_strides(transpose_x: bool, transpose_y: bool, batch: tuple[int, ...]) -> None:
    x = randn(*batch, 17, 9).mT if transpose_x else randn(*batch, 9, 17)
    y = randn(*batch, 21, 17, seed=1).mT if transpose_y else randn(*batch, 17, 21, seed=1)
    out = torch.zeros(*batch, 9, 21)
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    close(out, x @ y)


def test_rows_may_be_apart_on_both_sides() -> None:
    x, y, out = randn(20, 40)[:, :13], randn(13, 50)[:, 3:24], torch.zeros(20, 64)[:, :21]
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    close(out, x @ y)


@pytest.mark.parametrize(
    "x_shape, y_shape",
    [
        ((4, 5, 6), (6, 7)),
        ((2, 3, 5, 6), (6, 7)),
        ((5, 6), (4, 6, 7)),
        ((2, 3, 5, 6), (3, 6, 7)),
        ((2, 1, 5, 6), (1, 3, 6, 7)),
        ((1, 5, 6), (4, 6, 7)),
    ],
)
def test_batches_broadcast(x_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> None:
    x, y = randn(*x_shape), randn(*y_shape, seed=1)
    out = torch.full((x @ y).shape, 5.0)
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    close(out, x @ y)


def test_an_expanded_operand_is_a_broadcast() -> None:
    x, y = randn(4, 5, 6), randn(1, 6, 7, seed=1).expand(4, 6, 7)
    out = torch.zeros(4, 5, 7)
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    close(out, x @ y)


def test_rows_of_batches_against_one_matrix_are_one_tall_product() -> None:
    x, y, bias, other = randn(4, 9, 16), randn(16, 24, seed=1), randn(24), randn(4, 9, 24)
    out = torch.zeros(4, 9, 24)
    primitive = matmul(layout(x), any_order(y), layout(out), layout(bias), [Binary("add", layout(other))])
    assert primitive.layouts["x"].shape == (36, 16)
    run(primitive, {"y": layout(y)}, x=x, y=y, bias=bias, out=out, operand_0=other)
    close(out, x @ y + bias + other)


def test_rows_that_cannot_be_merged_stay_batches() -> None:
    x, y, out = randn(9, 4, 16).transpose(0, 1), randn(16, 24, seed=1), torch.zeros(4, 9, 24)
    primitive = matmul(layout(x), layout(y), layout(out))
    assert primitive.layouts["x"].shape == (4, 9, 16)
    run(primitive, x=x, y=y, out=out)
    close(out, x @ y)


ACTIVATIONS: list[tuple[Elementwise, Callable[[torch.Tensor], torch.Tensor]]] = [
    (Elementwise("relu"), torch.relu),
    (Elementwise("relu", 0.1), lambda x: functional.leaky_relu(x, 0.1)),
    (Elementwise("tanh"), torch.tanh),
    (Elementwise("elu", 1.0), functional.elu),
    (Elementwise("square"), torch.square),
    (Elementwise("abs"), torch.abs),
    (Elementwise("linear", 2.0, 3.0), lambda x: 2 * x + 3),
    (Elementwise("softplus", 1.0), functional.softplus),
    (Elementwise("hard_sigmoid", 1 / 6, 0.5), functional.hardsigmoid),
    (Elementwise("sigmoid"), torch.sigmoid),
    (Elementwise("exp"), torch.exp),
    (Elementwise("gelu_tanh"), lambda x: functional.gelu(x, approximate="tanh")),
    (Elementwise("gelu"), functional.gelu),
    (Elementwise("swish", 1.0), functional.silu),
    (Elementwise("clip", -1.0, 2.0), lambda x: x.clamp(-1, 2)),
    (Elementwise("mish"), functional.mish),
    (Elementwise("hard_swish", 1 / 6, 0.5), functional.hardswish),
]


@pytest.mark.parametrize("activation, expected", ACTIVATIONS, ids=[each.name for each, _ in ACTIVATIONS])
def test_activations_follow_the_product(
    activation: Elementwise, expected: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x, y, bias, out = randn(19, 8), randn(8, 33, seed=1) * 0.4, randn(33), torch.zeros(19, 33)
    run(matmul(layout(x), layout(y), layout(out), layout(bias), [activation]), x=x, y=y, bias=bias, out=out)
    close(out, expected(x @ y + bias), 4)


@pytest.mark.parametrize("packed", [False, True])
def test_post_operations_run_in_order(packed: bool) -> None:
    x, y, bias, other = randn(19, 48), randn(48, 33, seed=1), randn(33), randn(19, 33)
    row, column = randn(1, 33, seed=4), randn(19, 1, seed=5)
    out = randn(19, 33, seed=9)
    before = out.clone()
    post: list[PostOperation] = [
        Sum(0.5), Elementwise("relu"), Binary("add", layout(other)), Binary("mul", layout(row)),
        Binary("sub", layout(column)),
    ]  # fmt: skip
    primitive = matmul(layout(x), any_order(y) if packed else layout(y), layout(out), layout(bias), post)
    buffers = dict(x=x, y=y, bias=bias, out=out, operand_2=other, operand_3=row, operand_4=column)
    run(primitive, {"y": layout(y)} if packed else None, **buffers)
    close(out, (torch.relu(x @ y + bias + 0.5 * before) + other) * row - column)


@pytest.mark.parametrize("shape", [(1, 1), (19, 1), (19, 33)])
def test_a_bias_broadcasts(shape: tuple[int, int]) -> None:
    x, y, bias, out = randn(19, 8), randn(8, 33, seed=1), randn(*shape), torch.zeros(19, 33)
    run(matmul(layout(x), layout(y), layout(out), layout(bias)), x=x, y=y, bias=bias, out=out)
    close(out, x @ y + bias)


def test_halves_multiply_into_floats() -> None:
    x, y, out = randn(16, 32).bfloat16(), randn(32, 48, seed=1).bfloat16(), torch.zeros(16, 48)
    if "AVX512" not in load().instruction_set():
        with pytest.raises(MissingOperation, match="not implemented"):
            matmul(layout(x), layout(y), layout(out))
        return
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    close(out, x.float() @ y.float())


def test_bytes_multiply_into_integers() -> None:
    x = torch.randint(0, 255, (9, 40), dtype=torch.uint8)
    y = torch.randint(-127, 127, (40, 21), dtype=torch.int8)
    out = torch.zeros(9, 21, dtype=torch.int32)
    if not load().has_exact_bytes():
        with pytest.raises(MissingOperation, match="byte products saturate without VNNI"):
            matmul(layout(x), layout(y), layout(out))
        return
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    assert torch.equal(out, x.int() @ y.int())


@pytest.mark.parametrize("special", [float("nan"), float("inf"), -float("inf")])
def test_special_values_pass_through_products_and_relu(special: float) -> None:
    x, y, out = torch.eye(4), torch.ones(4, 5), torch.zeros(4, 5)
    y[0, 0] = special
    run(matmul(layout(x), layout(y), layout(out)), x=x, y=y, out=out)
    assert torch.equal(out.isnan(), (x @ y).isnan())
