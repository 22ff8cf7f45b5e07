"""Products of matrices on kernels of our own: every form, tile and way to read, what follows them, threads, weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.lower.products import lowering
from burn.backend.cpu.lower.products.choice import DIRECT, INSIDE, PACKED, Choice, choose, tiles
from burn.backend.cpu.lower.products.form import Form, Matrix, form_of
from burn.backend.cpu.lower.products.tile import Tile, fits_registers
from burn.backend.cpu.target import target_of
from burn.backend.cpu.tuning import OFF, using
from burn.engine.schedule.access import Access, whole
from burn.engine.target import lowering_for
from burn.tensor import activation

CPU: Any = Cpu()
LANES = CPU.below.settings.target.vector_bits // 32


@pytest.fixture(autouse=True)
def defaults() -> Any:
    """What was measured on this machine decides nothing here, and tiles are those of the device."""
    with using(OFF), lowering_for(target_of(CPU.below.settings.target, 2)):
        yield


def draw(*shape: int, seed: int = 0, offset: float = 0.0) -> Any:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape) + offset
    return values.astype(np.float32)


def on(values: Any) -> Any:
    return burn.tensor(values, device=CPU)


def lines() -> list[str]:
    """The steps of the plan that ran last."""
    described: str = list(CPU.plans._plans.values())[-1].describe()
    return described.splitlines()


def assert_product(mine: Any, x: Any, y: Any) -> None:
    """The sum of `depth` products in f32: errors grow like its root, against the sum of sizes."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    bound = (2 + x.shape[-1] ** 0.5) * 2.0**-23 * (np.abs(x) @ np.abs(y)) + 1e-30
    assert mine.dtype == np.float32
    assert mine.shape == (x @ y).shape
    assert (np.abs(mine - x @ y) <= bound).all()


FORMS = list(itertools.product((False, True), repeat=2))
SIZES = [
    (1, 1, 1),
    (2, 3, 1),
    (1, 70, 33),
    (5, 7, 9),
    (8, 16, 48),
    (13, 100, 10),
    (31, 65, 97),
    (50, 1, 50),
    (70, 300, 1),
]


@pytest.mark.parametrize("transposed", FORMS, ids=lambda each: "".join("T" if one else "N" for one in each))
@pytest.mark.parametrize("offset", [0.0, 10.0], ids=["centred", "offset"])
def test_a_product_is_that_of_double_precision(transposed: tuple[bool, bool], offset: float) -> None:
    first, second = transposed
    for rows, depth, columns in SIZES:
        x = draw(*((depth, rows) if first else (rows, depth)), offset=offset)
        y = draw(*((columns, depth) if second else (depth, columns)), seed=1, offset=offset)
        for _ in range(3):  # as it lies, packed, packed before
            made = (on(x).transpose() if first else on(x)).matmul(on(y).transpose() if second else on(y))
            assert_product(made.numpy(), x.T if first else x, y.T if second else y)
        assert not any(line.startswith("numpy") for line in lines())


@pytest.mark.parametrize(
    "sizes",
    [(70, 2100, 100), (3, 9000, 40), (200, 150, 520), (1, 600, 700), (600, 257, 33), (2, 140_000 // LANES, LANES)],
    ids=str,
)
def test_large_sizes_are_cut_into_chunks_and_panels(sizes: tuple[int, int, int]) -> None:
    rows, depth, columns = sizes
    x, y = draw(rows, depth), draw(depth, columns)
    given, weight = on(x), on(y)
    for _ in range(3):
        assert_product(given.matmul(weight).numpy(), x, y)
    turned = on(np.ascontiguousarray(y.T))
    assert_product(given.matmul(turned.transpose()).numpy(), x, y)


@pytest.mark.parametrize("second", [PACKED, INSIDE, DIRECT])
def test_every_tile_gives_the_same_bits(second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = draw(19, 37), draw(37, 4 * LANES + 3)
    expected = None
    shapes = [(1, 1), (2, 4), (3, 2), (5, 3), (6, 2), (7, 1), (8, 1)]
    for number, (rows, vectors) in enumerate(shapes):
        tile = Tile(rows, vectors, LANES)
        if not fits_registers(tile):
            continue
        chosen = Choice(tile, 1 + number % 3, second)
        monkeypatch.setattr(lowering, "choose", lambda *given, chosen=chosen: chosen)
        made = on(x[: 19 - number]).matmul(on(y)).numpy()
        assert_product(made, x[: 19 - number], y)
        expected = made if expected is None else expected
        np.testing.assert_array_equal(made, expected[: 19 - number])
    assert expected is not None


@pytest.mark.parametrize("before", [False, True], ids=["inside", "before"])
def test_rows_that_lie_across_memory_are_packed_in_groups(before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, group in enumerate((16, 32, 48)):
        group = max(group // LANES, 1) * LANES
        rows = 2 * group + 5 + number
        x, y = draw(60, rows), draw(60, 2 * LANES + 3)
        chosen = Choice(Tile(4, 2, LANES), 2, INSIDE, group=group, before=before)
        monkeypatch.setattr(lowering, "choose", lambda *given, chosen=chosen: chosen)
        assert_product(on(x).transpose().matmul(on(y)).numpy(), x.T, y)


def test_a_deep_product_with_a_small_result_is_cut_into_parts() -> None:
    for rows, depth, columns in [(10, 6000, 10), (3, 5001, LANES + 1), (7, 4097, 60)]:
        x, y, bias = draw(depth, rows, offset=1.0), draw(depth, columns), draw(1, columns)
        assert_product(on(x).transpose().matmul(on(y)).numpy(), x.T, y)
        assert "parts" in lines()[-2]
        made = activation.relu(on(x).transpose().matmul(on(y)) * 0.01 + on(bias)).numpy()
        np.testing.assert_allclose(made, np.maximum(x.T.astype(np.float64) @ y * 0.01 + bias, 0), rtol=1e-4, atol=1e-4)


@st.composite
def walks(draw_one: Any, shape: tuple[int, ...]) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    """An array, and a view of it that has `shape`: sliced with steps, flipped, with dims exchanged or repeated."""
    steps = [draw_one(st.integers(1, 3)) for _ in shape]
    flipped = [axis for axis in range(len(shape)) if draw_one(st.booleans())]
    swapped = draw_one(st.booleans())
    repeated = len(shape) > 2 and draw_one(st.booleans())
    inner = (*shape[:-2], shape[-1], shape[-2]) if swapped else shape
    inner = (1, *inner[1:]) if repeated else inner
    base = tuple(size * step for size, step in zip(inner, steps, strict=True))

    def view(x: Any) -> Any:
        x = x.slice([(0, size, step) for size, step in zip(base, steps, strict=True)])
        x = x.flip(flipped) if flipped else x
        x = x.swap_dims(len(shape) - 1, len(shape) - 2) if swapped else x
        return x.expand(list(shape)) if repeated else x

    def same(x: Any) -> Any:
        x = np.flip(x[tuple(slice(None, None, step) for step in steps)], tuple(flipped))
        x = np.swapaxes(x, -1, -2) if swapped else x
        return np.broadcast_to(x, shape)

    return globals()["draw"](*base), view, same


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_walk_through_memory_and_any_batches_will_do(data: Any) -> None:
    rows, depth, columns = (data.draw(st.integers(1, 40)) for _ in range(3))
    batches = data.draw(st.lists(st.integers(1, 3), max_size=2))
    x, x_view, x_same = data.draw(walks((*batches, rows, depth)))
    y, y_view, y_same = data.draw(walks((*batches, depth, columns)))
    with using(OFF):
        made = x_view(on(x)).matmul(y_view(on(y))).numpy()
    assert_product(made, x_same(x), y_same(y))


def test_batches_broadcast_on_both_sides() -> None:
    cases = [
        ((4, 1, 9, 20), (3, 20, 40)),
        ((1, 9, 20), (5, 20, 40)),
        ((5, 2, 9, 20), (1, 1, 20, 40)),
        ((2, 3, 1, 64), (64, 70)),
    ]
    for x_shape, y_shape in cases:
        x, y = draw(*x_shape), draw(*y_shape)
        rank = max(len(x_shape), len(y_shape))
        left, right = (each.reshape((1,) * (rank - each.ndim) + each.shape) for each in (x, y))
        assert_product(on(left).matmul(on(right)).numpy(), left, right)


def test_batches_of_one_matrix_are_one_tall_product() -> None:
    tall = form_of(whole(0, (4, 8, 16)), Access(1, (4, 16, 24), (0, 24, 1)), (4, 8, 24))
    assert (tall.rows, tall.batches, tall.of_row) == (32, (), 24)
    lying = form_of(Access(0, (4, 1, 16), (160, 16, 1)), Access(1, (4, 16, 24), (0, 24, 1)), (4, 1, 24))
    assert (lying.rows, lying.x.down, lying.batches) == (4, 160, ())
    column = form_of(whole(0, (50, 16)), whole(1, (16, 1)), (50, 1))
    assert (column.rows, column.columns, column.y.down, column.y.across) == (1, 50, 1, 16)


# What follows


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / 2**0.5))


FOLLOWING: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "bias": (lambda p, bias, other: p + bias, lambda p, bias, other: p + bias),
    "relu": (lambda p, bias, other: activation.relu(p + bias), lambda p, bias, other: np.maximum(p + bias, 0)),
    "residual": (lambda p, bias, other: p + bias + other, lambda p, bias, other: p + bias + other),
    "scale": (lambda p, bias, other: p * 0.125 + other, lambda p, bias, other: p * 0.125 + other),
    "gelu": (lambda p, bias, other: activation.gelu(p + bias), lambda p, bias, other: gelu(p + bias)),
    "silu": (lambda p, bias, other: activation.silu(p + bias) * other, None),  # type: ignore[dict-item]
    "tanh": (lambda p, bias, other: p.tanh() - other, lambda p, bias, other: np.tanh(p) - other),
    "square": (lambda p, bias, other: p * p, lambda p, bias, other: p * p),
}
FOLLOWING["silu"] = (FOLLOWING["silu"][0], lambda p, bias, other: (p + bias) / (1 + np.exp(-(p + bias))) * other)


@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("shape", [(9, 20, 24), (2, 33, 12, 50), (3, 40, 5)], ids=str)
def test_what_follows_a_product_is_done_in_its_kernel(name: str, shape: tuple[int, ...]) -> None:
    *batch, rows, depth, columns = shape
    x, y = draw(*batch, rows, depth), draw(*(1 for _ in batch), depth, columns, seed=1)
    bias, other = draw(*(1 for _ in batch), 1, columns), draw(*batch, rows, columns, seed=2)
    ours, theirs = FOLLOWING[name]
    expected = theirs(x.astype(np.float64) @ y, bias, other)
    given = [on(each) for each in (x, y, bias, other)]
    for _ in range(3):
        made = ours(given[0].matmul(given[1]), *given[2:]).numpy()
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert len(lines()) == 1
    assert "then" in lines()[0]


def test_a_product_that_others_read_too_is_kept() -> None:
    x, y = draw(12, 30), draw(30, 40)
    made = on(x).matmul(on(y))
    bent, total = activation.gelu(made), made.sum()
    np.testing.assert_allclose(total.numpy(), (x.astype(np.float64) @ y).sum(), rtol=1e-4)
    np.testing.assert_allclose(bent.numpy(), gelu(x.astype(np.float64) @ y), rtol=1e-4, atol=1e-5)
    assert_product(made.numpy(), x, y)


def test_both_sides_of_a_branch_meet_before_the_kernel_ends() -> None:
    x, y, other = draw(12, 30), draw(30, 40), draw(12, 40)
    product = x.astype(np.float64) @ y

    def halves(x: Any, y: Any, other: Any) -> Any:
        made = x.matmul(y)
        left = made * 0.5
        return left, (made + other).exp() * left

    left, right = halves(on(x), on(y), on(other))
    np.testing.assert_allclose(right.numpy(), np.exp(product + other) * product * 0.5, rtol=1e-3)
    np.testing.assert_allclose(left.numpy(), product * 0.5, rtol=1e-4, atol=1e-5)


# Numbers that are none


def test_nan_and_infinity_go_where_they_belong() -> None:
    for rows, depth, columns in [(9, 12, 10), (8, 20, 50), (1, 80, 60), (20, 70, 1)]:
        for number in (np.nan, np.inf, -np.inf):
            x, y = np.abs(draw(rows, depth)) + 1, np.abs(draw(depth, columns)) + 1
            x[rows // 2, depth // 3] = number
            y[depth // 2, columns // 2] = number
            with np.errstate(all="ignore"):
                expected = x.astype(np.float64) @ y
            weight = on(y)
            for _ in range(2):
                made = on(x).matmul(weight).numpy()
                np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
                np.testing.assert_array_equal(np.isinf(made), np.isinf(expected))


# Threads


def test_the_number_of_threads_changes_no_bit() -> None:
    before = burn.get_num_threads()
    operands = [(draw(m, k), draw(k, n)) for m, k, n in [(130, 70, 200), (64, 784, 100), (1, 512, 600), (700, 90, 1)]]
    results: list[list[Any]] = []
    try:
        for count in (1, 2, 3, 5):
            burn.set_num_threads(count)
            made = []
            for x, y in operands:
                given, weight = on(x), on(y)
                made += [(given.matmul(weight) * 0.5).numpy() for _ in range(2)]
                made.append(given.matmul(on(np.ascontiguousarray(y.T)).transpose()).numpy())
            results.append(made)
    finally:
        burn.set_num_threads(before)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


# Weights


def test_weights_are_packed_once_and_again_when_they_change() -> None:
    x = draw(20, 90)
    weights = [draw(90, 70, seed=seed) for seed in range(3)]
    held = [on(each) for each in weights]
    for which in (0, 0, 0, 1, 1, 2, 0, 0, 1):
        assert_product(on(x).matmul(held[which]).numpy(), x, weights[which])


def test_a_small_product_is_computed_in_every_run() -> None:
    x, y = draw(1, 16), draw(16, 24)
    assert_product(on(x).matmul(on(y)).numpy(), x, y)
    plan = CPU.plans.latest()
    assert not plan.prologue.sources  # or every run would look at all of its inputs
    assert not plan.prologue.watched


def test_gradients_are_products_too() -> None:
    tracked: Any = Autodiff(CPU)
    x, y, pull = draw(33, 47), draw(47, 21), draw(33, 21)
    given: Any = [burn.tensor(each, device=tracked).require_grad() for each in (x, y)]
    gradients = (given[0].matmul(given[1]) * burn.tensor(pull, device=tracked)).sum().backward()
    made = [given[each].grad(gradients).numpy() for each in (0, 1)]
    assert_product(made[0], pull, y.T)
    assert_product(made[1], x.T, pull)


# Other dtypes


@pytest.mark.parametrize("dtype", [burn.f16, burn.bf16], ids=str)
def test_half_precision_is_summed_in_single(dtype: Any) -> None:
    x, y = (draw(*shape).astype(dtype.numpy) for shape in ((21, 300), (300, 50)))
    expected = x.astype(np.float64) @ y.astype(np.float64)
    made = on(x).matmul(on(y))
    assert made.dtype == dtype
    unit = 2.0**-11 if dtype == burn.f16 else 2.0**-8
    np.testing.assert_allclose(made.numpy().astype(np.float64), expected, rtol=unit, atol=1e-4)
    assert not any(line.startswith("numpy") for line in lines())


def test_double_precision_is_summed_in_double() -> None:
    for transposed in FORMS:
        x, y = (np.random.default_rng(seed).standard_normal((70, 70)) for seed in (0, 1))
        left, right = (each.T if turned else each for each, turned in zip((x, y), transposed, strict=True))
        given = [on(each).transpose() if turned else on(each) for each, turned in zip((x, y), transposed, strict=True)]
        np.testing.assert_allclose(given[0].matmul(given[1]).numpy(), left @ right, rtol=1e-12, atol=1e-13)
    assert not any(line.startswith("numpy") for line in lines())


# Choices


def test_tiles_fit_the_registers_and_the_result() -> None:
    for rows, columns in [(1, 1), (3, 17), (1000, 1000), (6, 4 * LANES)]:
        form = Form(rows, columns, 64, (), Matrix(0, 0, 64, 1), Matrix(1, 0, columns, 1), columns)
        found = list(tiles(form))
        assert found
        assert all(fits_registers(tile) and tile.rows <= rows for tile in found)
        assert all(tile.columns <= max(columns, LANES) for tile in found)
        for threads in (1, 2, 7):
            assert choose(form, threads).tile in found
