"""Attention in one kernel: every shape and mask, numbers at the edge, views in place, and what must stay in steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import burn
from burn import NdArray
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.features import SETS, named, runnable
from burn.backend.cpu.lower.attention.choice import Tiling, chosen
from burn.backend.cpu.target import target_of
from burn.engine.lower.epilogue import MADE, Term
from burn.engine.patterns.attention.causal import NOTHING, Causal, causal_of
from burn.engine.patterns.attention.form import LATER, Form
from burn.engine.patterns.kernels import Sizes
from burn.engine.target import lowering_for
from burn.nn.attention import MhaInput, MultiHeadAttentionConfig
from burn.ops.attention import attention
from burn.ops.softmax import quiet_softmax, softmax
from burn.program.program import Constant
from burn_bench.suite import networks
from burn_bench.suite.functions import BurnFunctions, TorchFunctions, Weights, drawn_weights
from tests.engine.hand_written import run_program

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CPU: Any = Cpu()
attend: Any = attention
INF = float("inf")


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(np.float32)


def on(device: Any, *arrays: Any) -> Any:
    return [burn.tensor(each, device=device) for each in arrays]


def lines() -> list[str]:
    """The steps of the plan that was made last."""
    described: str = CPU.plans.latest().describe()
    return described.splitlines()


def assert_fused(*, copies: int = 0) -> None:
    found = lines()
    assert sum(line.startswith("kernel  attention ") for line in found) == 1
    assert len(found) == 1 + copies, found


def assert_in_steps() -> None:
    assert not any("attention" in line for line in lines())


def double(q: Any, k: Any, v: Any, **options: Any) -> Any:
    """PyTorch's answer in double precision."""
    given = [torch.tensor(each, dtype=torch.float64) for each in (q, k, v)]
    return functional.scaled_dot_product_attention(*given, **options).numpy()


def assert_near(mine: Any, correct: Any, tolerance: float = 2e-6) -> None:
    assert mine.shape == correct.shape
    np.testing.assert_allclose(mine, correct, rtol=0.0, atol=tolerance * max(1.0, np.abs(correct).max()))


SHAPES = {
    "an encoder": (2, 3, 128, 128, 32, 32),
    "odd in everything": (1, 2, 101, 77, 17, 23),
    "one vector of queries": (3, 1, 16, 40, 8, 8),
    "tiles that overlap": (1, 2, 71, 300, 20, 5),
    "fewer keys than a block": (2, 2, 33, 3, 4, 4),
    "one key": (1, 3, 20, 1, 16, 16),
    "one number": (1, 2, 32, 50, 1, 1),
    "several tiles of keys": (1, 2, 40, 601, 64, 64),
    "wide heads": (1, 1, 48, 260, 128, 96),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_gives_what_double_precision_gives(name: str) -> None:
    batch, heads, queries, keys, size, width = SHAPES[name]
    q, k, v = draw(batch, heads, queries, size), draw(batch, heads, keys, size, seed=1), draw(batch, heads, keys, width)
    found = attend(*on(CPU, q, k, v)).numpy()
    assert_fused()
    assert_near(found, double(q, k, v))


MASKS: dict[str, tuple[int, ...]] = {
    "for all heads": (50, 90),
    "for each item": (2, 1, 50, 90),
    "of padding": (2, 1, 1, 90),
    "of queries": (50, 1),
    "for each head": (3, 50, 90),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("keys", [90, 700])
def test_a_mask_hides_keys(name: str, keys: int) -> None:
    shape = tuple(keys if size == 90 else size for size in MASKS[name])
    hidden = np.random.default_rng(3).random(shape) < 0.4
    hidden[..., 0, 0] = False
    q, k, v = draw(2, 3, 50, 16), draw(2, 3, keys, 16, seed=1), draw(2, 3, keys, 16, seed=2)
    visible = torch.tensor(~np.broadcast_to(hidden, (2, 3, 50, keys)))
    expected = np.nan_to_num(double(q, k, v, attn_mask=visible))  # ours gives zeros where nothing is seen
    found = attend(*on(CPU, q, k, v), mask=burn.tensor(hidden, device=CPU)).numpy()
    assert_fused(copies=shape[-1] != 1 and shape[-2:][0] != 1)
    assert_near(found, expected)


@pytest.mark.parametrize(("queries", "keys"), [(64, 64), (50, 300), (130, 97), (300, 300), (200, 900)])
@pytest.mark.parametrize("masked", [False, True])
def test_causal_attention_never_makes_its_mask(queries: int, keys: int, masked: bool) -> None:
    q, k, v = draw(2, 2, queries, 24), draw(2, 2, keys, 24, seed=1), draw(2, 2, keys, 24, seed=2)
    hidden = np.random.default_rng(5).random((2, 1, 1, keys)) < 0.3
    visible = np.tril(np.ones((queries, keys), bool), keys - queries) & ~(hidden & masked)
    expected = np.nan_to_num(double(q, k, v, attn_mask=torch.tensor(np.broadcast_to(visible, (2, 2, queries, keys)))))
    mask = burn.tensor(hidden, device=CPU) if masked else None
    found = attend(*on(CPU, q, k, v), mask=mask, is_causal=True).numpy()
    assert_fused()
    assert_near(found, expected)


def test_a_capped_attention_with_a_bias_gives_what_double_precision_gives() -> None:
    q, k, v, bias = draw(2, 3, 60, 16), draw(2, 3, 80, 16, seed=1), draw(2, 3, 80, 8, seed=2), draw(3, 60, 80)
    bias[:, :, 5] = -INF
    bias[:, 7] = -INF
    x, y, z, more = (torch.tensor(each, dtype=torch.float64) for each in (q, k, v, bias))
    scores = torch.tanh(x @ y.transpose(-1, -2) * 0.3 / 2.5) * 2.5 + more
    expected = np.nan_to_num((torch.softmax(scores, -1) @ z).numpy())
    found = attend(*on(CPU, q, k, v), bias=burn.tensor(bias, device=CPU), scale=0.3, softcap=2.5).numpy()
    assert_fused(copies=1)
    assert_near(found, expected)


# Numbers at the edge


def plainly(q: Any, k: Any, v: Any, bias: Any) -> Any:
    return softmax(q.matmul(k.transpose()) + bias, -1).matmul(v)


def both(function: Any, *arrays: Any) -> tuple[Any, Any]:
    """What our kernel gives, and what the same steps give on NumPy."""
    found = function(*on(CPU, *arrays)).numpy()
    assert any("attention" in line for line in lines())
    return found, function(*on(NdArray(), *arrays)).numpy()


@pytest.mark.parametrize("keys", [40, 600])
def test_rows_of_minus_infinity_are_not_numbers_and_others_are(keys: int) -> None:
    bias = np.zeros((40, keys), np.float32)
    bias[3] = -INF
    bias[5, :-1] = -INF
    bias[7, : keys // 2] = -INF
    bias[9, keys // 2 :] = -INF
    found, expected = both(plainly, draw(2, 40, 8), draw(2, keys, 8, seed=1), draw(2, keys, 8, seed=2), bias)
    assert np.isnan(found[:, 3]).all()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert_near(np.nan_to_num(found), np.nan_to_num(expected))


@pytest.mark.parametrize(("queries", "keys"), [(90, 50), (900, 700), (60, 60)])
@pytest.mark.parametrize("fill", [-INF, -1e4, -3e38])
def test_what_fills_hidden_scores_decides_for_rows_that_see_nothing(queries: int, keys: int, fill: float) -> None:
    def hiding(q: Any, k: Any, v: Any) -> Any:
        scores = q.matmul(k.transpose())
        places: Any = [burn.Tensor.arange(count, q.device) for count in (queries, keys)]
        later = places[1].reshape((1, keys)) > places[0].reshape((queries, 1)) + (keys - queries)
        return softmax(scores.mask_fill(later, fill), -1).matmul(v)

    found, expected = both(hiding, draw(2, queries, 8), draw(2, keys, 8, seed=1), draw(2, keys, 8, seed=2))
    assert_fused()
    assert np.isnan(found[:, 0]).all() == (fill == -INF and queries > keys)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert_near(np.nan_to_num(found), np.nan_to_num(expected))


@pytest.mark.parametrize("keys", [40, 600])
@pytest.mark.parametrize("number", [INF, -INF, float("nan")])
def test_infinite_products_give_what_steps_give(keys: int, number: float) -> None:
    q, k, v = draw(1, 33, 8), draw(1, keys, 8, seed=1), draw(1, keys, 8, seed=2)
    q[0, 4, 2] = number
    bias = np.zeros((33, keys), np.float32)
    bias[6, keys - 2] = number
    with np.errstate(all="ignore"):
        found, expected = both(plainly, q, k, v, bias)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert_near(np.nan_to_num(found), np.nan_to_num(expected))


@pytest.mark.parametrize("keys", [64, 700])
def test_huge_scores_do_not_overflow(keys: int) -> None:
    q, k, v = draw(2, 48, 16, scale=300.0), draw(2, keys, 16, seed=1, scale=300.0), draw(2, keys, 16, seed=2)
    found = attend(*on(CPU, q, k, v), scale=1.0).numpy()
    assert_fused()
    exact = double(q, k, v, scale=1.0)
    scores = (q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)).reshape(-1, keys)
    clear = np.ptp(np.sort(scores, -1)[:, -2:], -1).reshape(2, 48) > 50.0  # else rounding decides who is largest
    assert clear.sum() > 80
    assert_near(found[clear], exact[clear])


def test_sums_of_equal_shares_are_as_exact_as_in_steps() -> None:
    v = np.linspace(0.5, 1.5, 2000, dtype=np.float32).reshape(1, 2000, 1)
    found = attend(*on(CPU, np.zeros((1, 16, 4), np.float32), draw(1, 2000, 4), v)).numpy()
    np.testing.assert_allclose(found, v.mean(dtype=np.float64), rtol=1e-6)


# Memory


def split(x: Any, heads: int) -> Any:
    batch, length, width = x.shape
    return x.reshape((batch, length, heads, width // heads)).swap_dims(1, 2)


def test_heads_are_read_and_written_where_they_are() -> None:
    x, y, z = draw(2, 70, 48), draw(2, 90, 48, seed=1), draw(2, 90, 48, seed=2)
    found = attend(*(split(each, 3) for each in on(CPU, x, y, z))).swap_dims(1, 2).reshape((2, 70, 48)).numpy()
    assert_fused()
    parts = [np.swapaxes(each.reshape(2, -1, 3, 16), 1, 2) for each in (x, y, z)]
    assert_near(found, np.swapaxes(double(*parts), 1, 2).reshape(2, 70, 48))


def test_packed_projections_are_read_where_they_are() -> None:
    packed = draw(2, 40, 3 * 32)
    (whole,) = on(CPU, packed)
    found = attend(*(split(whole.narrow(2, 32 * part, 32), 2) for part in range(3))).numpy()
    assert_fused()
    parts = [np.swapaxes(packed[:, :, 32 * part : 32 * part + 32].reshape(2, 40, 2, 16), 1, 2) for part in range(3)]
    assert_near(found, double(*parts))


def test_turned_repeated_and_reversed_operands_are_read_where_they_are() -> None:
    q, k, v = draw(12, 40, 3, 2), draw(2, 1, 12, 50), draw(1, 3, 50, 9)
    ours = on(CPU, q, k, v)
    found = attention(ours[0].permute((3, 2, 1, 0)), ours[1].swap_dims(2, 3), ours[2].flip((2,))).numpy()
    assert_fused()
    turned = np.transpose(q, (3, 2, 1, 0)), np.swapaxes(k, 2, 3), v[:, :, ::-1]
    full = [np.ascontiguousarray(np.broadcast_to(each, (2, 3, *each.shape[2:]))) for each in turned]
    assert_near(found, double(*full))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[1::5])
def test_results_are_made_in_the_order_that_follows(order: tuple[int, ...]) -> None:
    q, k, v = draw(2, 3, 32, 8), draw(2, 3, 40, 8, seed=1), draw(2, 3, 40, 5, seed=2)
    found = attend(*on(CPU, q, k, v)).permute(order).numpy()
    assert_fused()
    assert_near(found, np.transpose(double(q, k, v), order))


def test_operands_that_are_constants_get_memory() -> None:
    q = draw(2, 20, 8)
    found = attend(*on(CPU, q), *(burn.Tensor.full((2, 30, 8), number, device=CPU) for number in (1.0, 3.0))).numpy()
    np.testing.assert_allclose(found, 3.0, rtol=1e-6)


def test_long_sequences_need_no_memory_for_scores() -> None:
    q, k, v = (draw(1, 2, 1500, 16, seed=seed) for seed in range(3))
    attend(*on(CPU, q, k, v), is_causal=True).numpy()
    assert_fused()
    assert CPU.plans.latest().arena_bytes < 4096


# Other forms


@pytest.mark.parametrize("keys", [60, 500])
def test_a_quiet_softmax_is_attention_too(keys: int) -> None:
    q, k, v = draw(2, 48, 16), draw(2, keys, 16, seed=1), draw(2, keys, 16, seed=2)
    q[:, :5] *= 8.0
    found = (lambda x, y, z: quiet_softmax(x.matmul(y.transpose()) - 3.0, -1).matmul(z))(*on(CPU, q, k, v)).numpy()
    assert_fused()
    x, y, z = (torch.tensor(each, dtype=torch.float64) for each in (q, k, v))
    scores = functional.pad(x @ y.transpose(-1, -2) - 3.0, (0, 1))  # one more score, 0, that gives nothing
    assert_near(found, (torch.softmax(scores, -1)[..., :-1] @ z).numpy())


@pytest.mark.parametrize("dtype", [burn.f16, burn.bf16])
def test_halves_are_rounded_once(dtype: Any) -> None:
    q, k, v = (draw(2, 3, 40, 16, seed=seed) for seed in range(3))
    halves = [each.cast(dtype) for each in on(CPU, q, k, v)]
    rounded = [each.cast(burn.f32).numpy() for each in halves]
    found = attend(*halves, is_causal=True)
    assert found.dtype is dtype
    mine = found.cast(burn.f32).numpy()
    assert any("attention" in line for line in lines())
    assert_near(mine, double(*rounded, is_causal=True), tolerance=1e-3 if dtype is burn.f16 else 8e-3)


def test_shares_that_are_not_numbers_may_be_replaced_as_exporters_do() -> None:
    def guarded(q: Any, k: Any, v: Any, bias: Any) -> Any:
        shares = softmax(q.matmul(k.transpose()) + bias, -1)
        return shares.mask_fill(shares.is_nan(), 0.0).matmul(v)

    bias = np.zeros((20, 30), np.float32)
    bias[4] = -INF
    found, expected = both(guarded, draw(2, 20, 8), draw(2, 30, 8, seed=1), draw(2, 30, 8, seed=2), bias)
    assert (found[:, 4] == 0.0).all()
    assert_near(found, expected)


# What stays in steps


def test_weights_that_are_asked_for_are_given() -> None:
    device = CPU
    layer = MultiHeadAttentionConfig(32, 2, dropout=0.0).init(device)
    x = burn.tensor(draw(2, 40, 32), device=device)
    layer.context(MhaInput.self_attn(x)).numpy()  # draws the parameters
    alone = layer.context(MhaInput.self_attn(x)).numpy()
    assert any("attention" in line for line in lines())
    made = layer.forward(MhaInput.self_attn(x))
    weights, context = made.weights, made.context
    np.testing.assert_allclose(weights.sum_dim(3).numpy(), 1.0, rtol=1e-5)
    assert_in_steps()
    assert_near(context.numpy(), alone)


@pytest.mark.parametrize("which", ["scores", "powers", "shares", "products"])
def test_values_that_are_read_elsewhere_are_made(which: str) -> None:
    def function(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        products = q.matmul(k.transpose())
        scores = products * 0.25
        powers = (scores - scores.max_dim(2)).exp()
        shares = powers / powers.sum_dim(2)
        read = {"scores": scores, "powers": powers, "shares": shares, "products": products}[which]
        return shares.matmul(v), read * 2.0

    arrays = draw(2, 20, 16), draw(2, 30, 16, seed=1), draw(2, 30, 8, seed=2)
    found = burn.compile(function)(*on(CPU, *arrays))
    expected = function(*on(NdArray(), *arrays))
    for one, other in zip(found, expected, strict=True):
        assert_near(one.numpy(), other.numpy())
    assert_in_steps()


def test_training_keeps_what_gradients_need() -> None:
    tracked: Any = Autodiff(CPU)
    arrays = draw(2, 3, 20, 16), draw(2, 3, 30, 16, seed=1), draw(2, 3, 30, 16, seed=2)
    ours = [each.require_grad() for each in on(tracked, *arrays)]
    theirs = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in arrays]
    pull = draw(2, 3, 20, 16, seed=4)
    gradients = (attend(*ours) * burn.tensor(pull, device=CPU)).sum().backward()
    (functional.scaled_dot_product_attention(*theirs) * torch.tensor(pull)).sum().backward()
    for one, other in zip(ours, theirs, strict=True):
        assert_near(one.grad(gradients).numpy(), other.grad.numpy())


def test_a_softmax_along_another_dim_is_no_attention() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        return softmax(q.matmul(k.transpose()), 1).matmul(v)

    arrays = draw(2, 32, 16), draw(2, 32, 16, seed=1), draw(2, 32, 8, seed=2)
    found = function(*on(CPU, *arrays)).numpy()
    assert_in_steps()
    assert_near(found, function(*on(NdArray(), *arrays)).numpy())


# Choices


@pytest.fixture
def threads() -> Iterator[None]:
    before = burn.get_num_threads()
    yield
    burn.set_num_threads(before)


@pytest.mark.parametrize("keys", [96, 900])
def test_results_do_not_depend_on_the_number_of_threads(threads: None, keys: int) -> None:
    arrays = draw(3, 150, 24), draw(3, keys, 24, seed=1), draw(3, keys, 24, seed=2)
    made = []
    for count in (1, 2, 3, 5):
        burn.set_num_threads(count)
        made.append(attend(*on(CPU, *arrays), is_causal=True).numpy())
        assert_fused()
    for other in made[1:]:
        np.testing.assert_array_equal(made[0], other)


@pytest.mark.parametrize("features", SETS)
def test_tiles_fit_what_they_are_for(features: str) -> None:
    lanes = named(features).vector_bits // 32

    def tiling(heads: int, queries: int, keys: int, size: int = 64, needs_all: bool = False) -> Tiling | None:
        with lowering_for(target_of(named(features), 2)):
            return chosen(Sizes(heads, queries, keys, size, 64), needs_all)

    assert tiling(8, 1, 1000) is None
    assert tiling(1, lanes + 1, 4000) is None  # one tile is too little for two threads
    assert tiling(8, 100, 100, size=300) is None
    many, all_at_once = (tiling(8, 100, 1_600_000 // lanes, needs_all=needs) for needs in (False, True))
    assert many is not None
    assert not many.single
    assert many.queries <= 100
    assert all_at_once is None
    wide, narrow = (tiling(8, 100, keys // lanes, needs_all=True) for keys in (16_000, 144_000))
    assert wide is not None
    assert narrow is not None
    assert wide.single
    assert narrow.single
    assert narrow.queries < wide.queries


def test_few_queries_stay_in_steps() -> None:
    q, k, v = draw(2, 1, 16), draw(2, 50, 16, seed=1), draw(2, 50, 16, seed=2)
    found = attend(*on(CPU, q, k, v)).numpy()
    assert_in_steps()
    assert_near(found, double(q, k, v))


def causal_form(fill: float, zero: float | None, offset: int = 0) -> Form:
    hidden = Term(LATER, (Constant(offset),))
    before = (hidden, Term("mask_fill", (MADE, -2, Constant(fill))))
    after = () if zero is None else (hidden, Term("mask_fill", (MADE, -2, Constant(zero))))
    return Form(before=before, after=after, order=(0, 1, 2))


def test_later_keys_are_left_out_only_where_their_shares_are_zero() -> None:
    lowest = float(np.finfo(np.float32).min)
    assert causal_of(causal_form(lowest, 0.0)) == Causal(0, Constant(lowest), NOTHING, Constant(0.0))
    assert causal_of(causal_form(-INF, None, -3)) is not None
    assert causal_of(causal_form(lowest, None, 3)) is not None
    assert causal_of(causal_form(lowest, None, -3)) is None  # a row that sees nothing is the mean of all values
    assert causal_of(causal_form(-1e4, None)) is None
    assert causal_of(causal_form(lowest, 1.0)) is None


# Whole networks


def test_an_encoder_gives_what_double_precision_gives() -> None:
    def network(f: Any, w: Weights, x: Any) -> Any:
        return networks.encoder(f, w, x, layers=3, size=96, heads=4)

    x = draw(2, 45, 96)
    ours, theirs = BurnFunctions(CPU), TorchFunctions(double=True)
    weights = drawn_weights(ours, network, x).values
    run = burn.compile(lambda y: network(ours, Weights.given(weights), y))
    found = run(burn.tensor(x, device=CPU)).numpy()
    assert sum(line.startswith("kernel  attention ") for line in lines()) == 3
    expected = network(theirs, Weights(theirs.place), torch.tensor(x, dtype=torch.float64))
    assert_near(found, expected.numpy(), tolerance=3e-6)


PROGRAM = """
import numpy as np
import torch
import burn
from burn.ops.attention import attention

device = burn.Cpu()
generator = np.random.default_rng(0)
for queries, keys, size in ((45, 50, 12), (20, 600, 24)):
    arrays = [generator.standard_normal((2, n, size)).astype(np.float32) for n in (queries, keys, keys)]
    found = attention(*(burn.tensor(each, device=device) for each in arrays)).numpy()
    plan = device.plans.latest().describe()
    exact = torch.nn.functional.scaled_dot_product_attention(*(torch.tensor(each).double() for each in arrays))
    print(plan.startswith("kernel  attention"), np.abs(found - exact.numpy()).max() < 2e-6)
"""


@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_older_processors_have_the_kernel_too(level: str, tmp_path: Any) -> None:
    assert run_program(PROGRAM, tmp_path, BURN_FEATURES=level).split() == ["True"] * 4


@pytest.mark.parametrize("features", runnable())
def test_tiles_of_any_number_of_vectors_take_all_their_queries(features: str) -> None:
    """Three vectors of four lanes are no multiple of the eight rows that are turned at a time."""
    device: Any = Cpu(features=features)
    for queries in range(4, 60, 4):
        arrays = draw(2, 4, queries, 3), draw(2, 4, 9, 3, seed=1), draw(2, 4, 9, 5, seed=2)
        found = attend(*on(device, *arrays)).numpy()
        np.testing.assert_allclose(found, double(*arrays), atol=2e-6)
