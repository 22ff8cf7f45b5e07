"""Every form of convolution and its gradients, against PyTorch in double precision."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.features import SETS, named, runnable
from burn.backend.cpu.lower.tiles import candidates, gradient_candidates
from burn.backend.cpu.target import target_of
from burn.backend.fusion.stream import PlanCache
from burn.engine.lower.windows import Window, cut, gradient_pieces, inner
from burn.engine.target import lowering_for
from burn.ops import convolution_layers as layers
from burn.ops.convolution import conv, conv_weight_backward, conv_x_backward

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CPU: Any = Cpu()
TRACKED: Any = Autodiff(CPU)

ERROR = 2e-6
"""Of f32 sums in order, against the largest element of a result in double precision."""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan of another test."""
    monkeypatch.setattr(CPU, "plans", PlanCache())


def draw(*shape: int, seed: int = 0, scale: float = 1.0, offset: float = 0.0) -> Any:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale + offset).astype(np.float32)


def on(values: Any) -> Any:
    return burn.tensor(values, device=CPU)


def computed(made: Any) -> Any:
    """The numbers; nothing of the plan ran on NumPy."""
    found = made.numpy()
    assert "numpy" not in CPU.plans.latest().describe()
    return found


def assert_near(mine: Any, correct: Any, error: float = ERROR) -> None:
    correct = correct.detach().numpy() if isinstance(correct, torch.Tensor) else correct
    assert mine.dtype == np.float32
    assert mine.shape == correct.shape
    assert np.abs(mine - correct).max() <= error * np.abs(correct).max()


Geometry = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]

GEOMETRIES: dict[str, Geometry] = {
    "groups": ((2, 24, 13, 11), (48, 8, 3, 3), dict(groups=3, padding=(1, 1))),
    "groups of few channels": ((2, 12, 10, 9), (20, 3, 3, 3), dict(groups=4, padding=(1, 1), stride=(2, 1))),
    "groups of one channel that make several": ((2, 6, 12, 12), (24, 1, 3, 3), dict(groups=6, padding=(1, 1))),
    "depthwise with strides": ((2, 40, 17, 15), (40, 1, 3, 3), dict(groups=40, padding=(1, 1), stride=(2, 2))),
    "depthwise of odd channels": ((1, 21, 9, 9), (21, 1, 5, 5), dict(groups=21, padding=(2, 2))),
    "depthwise with many taps": ((1, 32, 6, 40), (32, 1, 1, 11), dict(groups=32, padding=(0, 5))),
    "volumes": ((2, 6, 7, 9, 8), (16, 6, 3, 3, 3), dict(padding=(1, 1, 1))),
    "volumes with strides": ((1, 5, 9, 8, 11), (24, 5, 3, 2, 3), dict(stride=(2, 1, 2), padding=(1, 0, 1))),
    "volumes in groups": ((2, 8, 5, 6, 7), (12, 4, 2, 3, 3), dict(groups=2, dilation=(1, 1, 2), padding=(0, 1, 2))),
    "many taps": ((2, 3, 9, 40), (32, 3, 3, 11), dict(padding=(1, 5))),
    "more taps than pixels": ((1, 4, 5, 6), (16, 4, 3, 13), dict(padding=(1, 9))),
    "a long filter": ((2, 2, 400), (20, 2, 129), dict(padding=(64,), stride=(3,))),
    "many taps apart": ((1, 3, 80), (16, 3, 9), dict(padding=(8,), dilation=(4,))),
    "strides": ((2, 16, 15, 14), (32, 16, 3, 3), dict(stride=(2, 2), padding=(1, 1))),
    "strides of three": ((1, 8, 20, 23), (16, 8, 5, 4), dict(stride=(3, 3), padding=(2, 1))),
    "strides that skip pixels": ((2, 16, 15, 15), (24, 16, 1, 1), dict(stride=(2, 2))),
    "strides and dilation": ((1, 5, 19, 22), (16, 5, 3, 3), dict(stride=(2, 3), dilation=(3, 2), padding=(3, 2))),
    "strides that dilation shares": (
        (1, 5, 21, 24),
        (16, 5, 3, 3),
        dict(stride=(2, 4), dilation=(2, 6), padding=(1, 5)),
    ),
    "a first layer": ((1, 3, 40, 36), (64, 3, 7, 7), dict(stride=(2, 2), padding=(3, 3))),
    "gradients in tiles": ((2, 40, 23, 21), (48, 40, 3, 3), dict(padding=(1, 1))),
    "gradients in blocks of tiles": ((2, 33, 50, 46), (80, 33, 3, 3), dict(padding=(0, 2))),
    "odd channels": ((2, 37, 9, 10), (21, 37, 3, 3), dict(padding=(1, 1))),
    "channels in eights": ((2, 20, 9, 10), (40, 20, 3, 3), dict(stride=(2, 2), padding=(1, 1))),
    "channels in fives": ((1, 48, 6, 7), (80, 48, 1, 1), dict()),
    "one pixel": ((3, 70, 1, 1), (33, 70, 1, 1), dict()),
    "pixels of a prime number": ((1, 16, 17, 17), (64, 16, 1, 1), dict()),
    "more padding than window": ((1, 8, 6, 6), (16, 8, 2, 3), dict(padding=(4, 5), stride=(1, 2))),
}


def gradients(geometry: Geometry, offset: float = 0.0) -> tuple[list[Any], list[Any]]:
    """A result and both gradients, computed by us and in double precision."""
    x_shape, weight_shape, options = geometry
    x, weight = draw(*x_shape, offset=offset), draw(*weight_shape, scale=float(np.prod(weight_shape[1:])) ** -0.5)
    expected = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (x, weight)]
    rank = len(x_shape) - 2
    answer = getattr(functional, f"conv{rank}d")(*expected, **options)
    pull = draw(*answer.shape, seed=3, offset=offset)
    (answer * torch.tensor(pull, dtype=torch.float64)).sum().backward()
    stride, dilation = options.get("stride", (1,) * rank), options.get("dilation", (1,) * rank)
    padding = tuple((each, each) for each in options.get("padding", (0,) * rank))
    given = (stride, padding, dilation, options.get("groups", 1))
    mine = [
        computed(conv(on(x), on(weight), *given)),
        computed(conv_x_backward(on(pull), on(weight), x_shape[2:], *given)),
        computed(conv_weight_backward(on(x), on(pull), weight_shape[2:], *given)),
    ]
    return mine, [answer, *(each.grad for each in expected)]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_form_is_as_in_double_precision(name: str) -> None:
    for mine, correct in zip(*gradients(GEOMETRIES[name]), strict=True):
        assert_near(mine, correct)


@pytest.mark.parametrize(
    "name", ["groups", "strides", "a first layer", "volumes", "many taps", "depthwise with strides"]
)
def test_inputs_far_from_zero_lose_nothing_more(name: str) -> None:
    for mine, correct in zip(*gradients(GEOMETRIES[name], offset=10.0), strict=True):
        assert_near(mine, correct)


LONG: dict[str, Geometry] = {
    "images": ((8, 16, 64, 64), (16, 16, 3, 3), dict(padding=(1, 1))),
    "tiles": ((8, 32, 64, 64), (32, 32, 3, 3), dict(padding=(1, 1))),
    "pointwise": ((16, 8, 64, 64), (8, 8, 1, 1), {}),
    "depthwise": ((8, 24, 64, 64), (24, 1, 3, 3), dict(padding=(1, 1), groups=24)),
    "many taps": ((1, 3, 200, 300), (7, 3, 9, 9), dict(padding=(4, 4))),
    "a signal": ((2, 8, 20000), (8, 8, 5), dict(padding=(2,))),
    "points of a signal": ((1, 16, 40000), (16, 16, 1), dict(stride=(2,))),
    "a signal with many taps": ((1, 4, 9000), (4, 4, 12), dict(padding=(7,), dilation=(3,))),
}


@pytest.mark.parametrize("features", [each for each in ("baseline", "avx2", "avx512") if each in runnable()])
@pytest.mark.parametrize("name", LONG)
def test_long_sums_of_weights_stay_accurate(name: str, features: str) -> None:
    x_shape, weight_shape, options = LONG[name]
    rank = len(x_shape) - 2
    x = draw(*x_shape, offset=3.0)
    weight = torch.zeros(weight_shape, dtype=torch.float64, requires_grad=True)
    answer = getattr(functional, f"conv{rank}d")(torch.tensor(x).double(), weight, **options)
    pull = draw(*answer.shape, seed=3, offset=3.0)
    (answer * torch.tensor(pull).double()).sum().backward()
    device: Any = Cpu(features=features)
    padding = tuple((each, each) for each in options.get("padding", (0,) * rank))
    one = (1,) * rank
    mine = conv_weight_backward(
        burn.tensor(x, device=device), burn.tensor(pull, device=device), weight_shape[2:],
        options.get("stride", one), padding, options.get("dilation", one), options.get("groups", 1),
    )  # fmt: skip
    assert_near(mine.numpy(), weight.grad, error=8e-7)


@pytest.mark.parametrize("padding", [((-1, 2), (3, -2)), ((-2, -1), (0, 0)), ((5, 0), (-1, 4))])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
def test_paddings_that_crop(padding: Any, stride: Any) -> None:
    x, weight = draw(2, 8, 12, 13), draw(16, 8, 3, 3, scale=0.1)
    expected = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (x, weight)]
    padded = functional.pad(expected[0], (*padding[1], *padding[0]))
    answer = functional.conv2d(padded, expected[1], stride=stride)
    pull = draw(*answer.shape, seed=3)
    (answer * torch.tensor(pull)).sum().backward()
    given = (stride, padding, (1, 1), 1)
    assert_near(computed(conv(on(x), on(weight), *given)), answer)
    assert_near(computed(conv_x_backward(on(pull), on(weight), (12, 13), *given)), expected[0].grad)
    assert_near(computed(conv_weight_backward(on(x), on(pull), (3, 3), *given)), expected[1].grad)


TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "twice the size": ((2, 16, 7, 9), (16, 24, 2, 2), dict(stride=2)),
    "with an edge": ((1, 8, 6, 5), (8, 16, 3, 3), dict(stride=2, padding=1, output_padding=1)),
    "in groups": ((2, 12, 5, 6), (12, 4, 4, 4), dict(stride=2, padding=1, groups=3)),
    "apart": ((1, 6, 9, 8), (6, 10, 3, 3), dict(stride=3, dilation=2, padding=2)),
    "a sequence": ((2, 8, 30), (8, 6, 8), dict(stride=4, padding=2)),
    "a volume": ((1, 6, 4, 5, 3), (6, 8, 3, 3, 3), dict(stride=2, padding=1)),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions_and_their_gradients(name: str) -> None:
    x_shape, weight_shape, options = TRANSPOSED[name]
    rank, groups = len(x_shape) - 2, options.get("groups", 1)
    x, weight, bias = draw(*x_shape), draw(*weight_shape, scale=0.2), draw(weight_shape[1] * groups)
    expected = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (x, weight, bias)]
    answer = getattr(functional, f"conv_transpose{rank}d")(*expected, **options)
    pull = draw(*answer.shape, seed=3)
    (answer.relu() * torch.tensor(pull)).sum().backward()
    given: Any = [burn.tensor(each, device=TRACKED).require_grad() for each in (x, weight, bias)]
    transposed: Any = layers.conv_transpose
    made = transposed(
        *given,
        options.get("stride", 1),
        options.get("padding", 0),
        options.get("output_padding", 0),
        options.get("dilation", 1),
        groups,
    )
    found = computed(made)
    taken = (made.relu() * on(pull)).sum().backward()
    assert_near(found, answer)
    for one, other in zip(given, expected, strict=True):
        assert_near(one.grad(taken).numpy(), other.grad)


def test_what_follows_a_gradient_with_strides_is_done_before_it_is_stored() -> None:
    pull, weight, mask = draw(2, 24, 8, 7), draw(24, 16, 3, 3, scale=0.1), draw(2, 16, 15, 13, seed=5)
    given = ((15, 13), (2, 2), ((1, 1), (1, 1)), (1, 1), 1)
    found = computed((conv_x_backward(on(pull), on(weight), *given) + on(mask)).relu() * 2.0)
    plain = functional.conv_transpose2d(torch.tensor(pull).double(), torch.tensor(weight).double(), stride=2, padding=1)
    assert_near(found, ((plain + torch.tensor(mask)).relu() * 2.0))
    assert any(line.endswith("then add, clamp_min, mul") for line in CPU.plans.latest().describe().splitlines())


def test_a_weight_is_updated_by_its_gradient_in_its_own_order() -> None:
    x, weight, pull = draw(2, 16, 9, 9), draw(32, 16, 3, 3), draw(2, 32, 7, 7, seed=3)
    made = conv_weight_backward(on(x), on(pull), (3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    found = computed(on(weight) - made * 0.01)
    held = torch.zeros(32, 16, 3, 3, dtype=torch.float64, requires_grad=True)
    (functional.conv2d(torch.tensor(x).double(), held) * torch.tensor(pull)).sum().backward()
    assert_near(found, weight - held.grad.numpy() * 0.01)


def test_images_that_are_joined_stay_in_their_order() -> None:
    x, first, second, third = draw(1, 8, 20, 20), draw(16, 8, 1, 1), draw(24, 8, 3, 3), draw(8, 40, 1, 1)

    def network(x: Any, f: Any, cat: Any, weights: Any) -> Any:
        both = cat([f(x, weights[0], None).relu(), f(x, weights[1], None, 1, 1).relu()], 1)
        return f(both, weights[2], None)

    found = computed(network(on(x), layers.conv2d, burn.Tensor.cat, [on(each) for each in (first, second, third)]))
    given = [torch.tensor(each).double() for each in (first, second, third)]
    assert_near(found, network(torch.tensor(x).double(), functional.conv2d, torch.cat, given))
    assert not any("copy" in line for line in CPU.plans.latest().describe().splitlines()[:-1])


def test_the_number_of_threads_changes_no_bit() -> None:
    before = burn.get_num_threads()
    names = [
        "gradients in tiles",
        "groups",
        "strides",
        "volumes",
        "many taps",
        "depthwise with strides",
        "odd channels",
        "channels in fives",
    ]
    results = []
    try:
        for count in (1, 2, 3, 5):
            burn.set_num_threads(count)
            results.append([mine for name in names for mine in gradients(GEOMETRIES[name])[0]])
    finally:
        burn.set_num_threads(before)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_small_network_has_the_gradients_of_torch() -> None:
    def network(x: Any, weights: Any, f: Any) -> Any:
        x = f(x, weights[0], None, 2, 1).relu()
        x = f(x, weights[1], None, 1, 1, 1, 4).relu()
        x = f(x, weights[2], None, 2, 1, 1, 16).relu()
        return f(x, weights[3], None)

    shapes = [(16, 3, 3, 3), (16, 4, 3, 3), (16, 1, 3, 3), (10, 16, 1, 1)]
    values = [draw(*shape, scale=float(np.prod(shape[1:])) ** -0.5) for shape in shapes]
    x = draw(4, 3, 21, 21)
    expected = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in values]
    network(torch.tensor(x).double(), expected, functional.conv2d).square().sum().backward()
    given: list[Any] = [burn.tensor(each, device=TRACKED).require_grad() for each in values]
    made = network(burn.tensor(x, device=TRACKED), given, layers.conv2d)
    taken = (made * made).sum().backward()
    for one, other in zip(given, expected, strict=True):
        assert_near(one.grad(taken).numpy(), other.grad)


# Geometry


def windows() -> Iterator[Window]:
    for size, kernel, stride, dilation, before in itertools.product(
        (4, 9), (1, 2, 3, 5), (1, 2, 3, 4), (1, 2, 3), (-1, 0, 2)
    ):
        count = (size + 2 * before - dilation * (kernel - 1) - 1) // stride + 1
        if count > 0:
            yield Window(size, count, kernel, stride, before, dilation)


def test_a_gradient_gathers_from_the_windows_that_reached_an_element() -> None:
    for forwards in windows():
        reached: dict[int, set[tuple[int, int]]] = {place: set() for place in range(forwards.size)}
        for made, tap in itertools.product(range(forwards.count), range(forwards.kernel)):
            if forwards.place(made, tap) in reached:
                reached[forwards.place(made, tap)].add((made, tap))
        turned = Window(
            forwards.count, forwards.size, forwards.kernel, forwards.stride, forwards.before, forwards.dilation
        )
        found: dict[int, set[tuple[int, int]]] = {}
        for piece in gradient_pieces(turned):
            for index in range(piece.window.count):
                places = (
                    (piece.window.place(index, t), piece.tap + t * piece.tap_step) for t in range(piece.window.kernel)
                )
                inside = {(place, tap) for place, tap in places if 0 <= place < turned.size}
                assert found.setdefault(piece.first + index * piece.step, inside) is inside
        assert found == reached


def test_blocks_cover_a_row_once_and_inner_windows_lie_in_the_image() -> None:
    for window, most in itertools.product(windows(), (1, 3, 6)):
        covered = [
            block.start + repeat * block.length + each
            for block in cut(window, most)
            for repeat in range(block.repeats)
            for each in range(block.length)
        ]
        assert covered == list(range(window.count))
        start, stop = inner(window)
        for made in range(window.count):
            assert window.inside(made, made + 1) == (start <= made < stop)


@pytest.mark.parametrize("features", SETS)
def test_tiles_fit_the_registers_and_the_channels(features: str) -> None:
    registers = named(features).registers
    with lowering_for(target_of(named(features), 2)):
        for window, channels in itertools.product(windows(), (1, 8, 16, 21, 48, 64, 80, 112, 1000)):
            for tile in candidates(window, channels):
                assert channels % tile.channels == 0
                assert tile.vectors * (tile.pixels + 1) < registers
            for each in gradient_candidates(window, 64, channels, depthwise=False):
                assert channels % (each.lanes * each.vectors) == 0
                assert each.products + each.vectors < registers or each.products == 1


# Halves


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_halves_are_computed_in_single_precision_and_rounded_once(name: str) -> None:
    x, weight = (on(draw(*shape)).cast(name) for shape in ((2, 24, 13, 11), (20, 24, 3, 3)))
    given = torch.tensor(x.cast("f32").numpy()), torch.tensor(weight.cast("f32").numpy())
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[name]
    made = conv(x, weight, (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    assert made.dtype.name == name
    mine = computed(made).astype(np.float64)
    correct = functional.conv2d(given[0].double(), given[1].double(), padding=1).detach()
    rounded = correct.to(dtype).double().numpy()
    step = {"f16": 2.0**-10, "bf16": 2.0**-7}[name]
    assert (np.abs(mine - rounded) <= step * np.abs(rounded) + 1e-5).all()
    assert (mine == rounded).mean() > 0.98  # the others lie between two halves


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_gradients_of_halves_are_halves(name: str) -> None:
    x, weight = (
        burn.tensor(draw(*shape), device=TRACKED).cast(name).detach() for shape in ((2, 8, 9, 9), (16, 8, 3, 3))
    )
    x, weight = x.require_grad(), weight.require_grad()
    grads = conv(x, weight, (2, 2), ((1, 1), (1, 1)), (1, 1), 1).cast("f32").sum().backward()
    theirs = [
        torch.tensor(each.inner().cast("f32").numpy(), dtype=torch.float64, requires_grad=True) for each in (x, weight)
    ]
    functional.conv2d(*theirs, stride=2, padding=1).sum().backward()
    step = {"f16": 2.0**-10, "bf16": 2.0**-7}[name]
    for mine, correct in zip((x, weight), theirs, strict=True):
        found = mine.grad(grads)
        assert found.dtype.name == name
        reference = correct.grad.numpy()
        assert np.abs(found.cast("f32").numpy() - reference).max() <= step * np.abs(reference).max()
