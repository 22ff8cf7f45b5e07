"""Convolutions that follow each other in one kernel: against PyTorch, against themselves one by one, and when not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.lower.blocks import choice, found
from burn.backend.cpu.lower.blocks.stage import Block
from burn.backend.cpu.target import target_of
from burn.engine.target import lowering_for
from burn.ops import convolution_layers as layers
from burn.ops import joining, pooling

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CPU: Any = Cpu()


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(np.float32)


def steps() -> list[str]:
    """The convolutions, poolings and copies of the plan that ran last."""
    described: str = list(CPU.plans._plans.values())[-1].describe()
    kinds = ("block", "conv", "max_pool", "cat")
    return [line for line in described.splitlines() if line.split()[1] in kinds]


def forget() -> None:
    """Make every plan anew."""
    CPU.plans._plans.clear()
    CPU.plans._last = (None, None)


@pytest.fixture
def fusing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Block], bool]], None]:
    """Fuse what a function says, whether it pays or not; plans made before are forgotten."""

    def fuse(wanted: Callable[[Block], bool]) -> None:
        forget()
        monkeypatch.setattr(
            found, "fuses", lambda block, images: wanted(block) and choice.cut(block, images, 2) is not None
        )

    return fuse


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = burn.get_num_threads()
    burn.set_num_threads(count)
    try:
        yield
    finally:
        burn.set_num_threads(before)


ACTIVATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "relu6": (lambda x: x.clamp(0.0, 6.0), functional.relu6),
    "silu": (lambda x: x / (x.neg().exp() + 1.0), functional.silu),
    "hard swish": (lambda x: x * (x + 3.0).clamp(0.0, 6.0) / 6.0, functional.hardswish),
    "none": (lambda x: x, lambda x: x),
}


@dataclass(frozen=True)
class Inverted:
    """An inverted residual: its sizes, and which of its parts are there."""

    images: int = 1
    size: tuple[int, int] = (20, 23)
    read: int = 16
    between: int = 48
    made: int = 16
    kernel: int = 3
    stride: int = 1
    activation: str = "relu6"
    expands: bool = True
    projects: bool = True
    first: int = 1
    first_stride: int = 1

    def arrays(self) -> list[Any]:
        """The image, and of each convolution the weight and the bias."""
        read = self.read if self.expands else self.between
        shapes = [(self.between, self.read, self.first, self.first)] if self.expands else []
        shapes += [(self.between, 1, self.kernel, self.kernel)]
        shapes += [(self.made, self.between, 1, 1)] if self.projects else []
        scales = [float(np.prod(shape[1:])) ** -0.5 for shape in shapes]
        weights = [draw(*shape, seed=seed, scale=scales[seed]) for seed, shape in enumerate(shapes)]
        biases = [draw(shape[0], seed=9) for shape in shapes]
        pairs = [each for pair in zip(weights, biases, strict=True) for each in pair]
        return [draw(self.images, read, *self.size), *pairs]

    def run(self, convolve: Any, act: Any, x: Any, *given: Any) -> Any:
        """The block, in the words of one of the libraries."""
        rest, y = list(given), x
        if self.expands:
            y = act(convolve(y, rest.pop(0), rest.pop(0), self.first_stride, self.first // 2, 1, 1))
        y = act(convolve(y, rest.pop(0), rest.pop(0), self.stride, self.kernel // 2, 1, self.between))
        if self.projects:
            y = convolve(y, rest.pop(0), rest.pop(0), 1, 0, 1, 1)
        return x + y if tuple(x.shape) == tuple(y.shape) else y

    def ours(self) -> Any:
        """Our result."""
        given = [burn.tensor(each, device=CPU) for each in self.arrays()]
        return self.run(layers.conv2d, ACTIVATIONS[self.activation][0], *given).numpy()

    def theirs(self) -> Any:
        """PyTorch's, in double precision."""
        given = [torch.tensor(each, dtype=torch.float64) for each in self.arrays()]
        return self.run(functional.conv2d, ACTIVATIONS[self.activation][1], *given).numpy()


BLOCKS = {
    "a residual": Inverted(),
    "a stride": Inverted(stride=2, made=24),
    "a window of five": Inverted(kernel=5, made=10),
    "a window of five and a stride": Inverted(kernel=5, stride=2, size=(21, 18), made=32),
    "several images": Inverted(images=3, size=(17, 14)),
    "channels of no size": Inverted(read=7, between=42, made=11, size=(19, 21)),
    "channels in half vectors": Inverted(read=12, between=72, made=24),
    "silu": Inverted(activation="silu"),
    "hard swish": Inverted(activation="hard swish", stride=2),
    "no activation": Inverted(activation="none", made=20),
    "nothing to expand": Inverted(expands=False, between=32, size=(24, 25)),
    "nothing to project": Inverted(projects=False, between=96, size=(14, 14)),
    "nothing to project, a stride": Inverted(projects=False, images=2, between=64, stride=2, kernel=5),
    "the first convolution": Inverted(read=3, between=32, first=3, first_stride=2, size=(44, 50)),
    "one row": Inverted(size=(1, 120), made=20),
    "more window than image": Inverted(size=(3, 90), kernel=5, made=20),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_what_its_convolutions_are(name: str, fusing: Any) -> None:
    block = BLOCKS[name]
    fusing(lambda _: False)
    alone = block.ours()
    assert not any("block" in step for step in steps())
    fusing(lambda _: True)
    together = block.ours()
    assert len(steps()) == 1
    assert "block" in steps()[0]
    np.testing.assert_allclose(together, alone, rtol=2e-6, atol=2e-6 * np.abs(alone).max())
    correct = block.theirs()
    np.testing.assert_allclose(together, correct, rtol=2e-5, atol=2e-5 * np.abs(correct).max())


@dataclass(frozen=True)
class Chain:
    """Pointwise and depthwise convolutions after each other, all of one size: only their weights differ."""

    kinds: str
    """P or D for each."""
    channels: int
    size: tuple[int, int]
    activation: str

    def arrays(self) -> list[Any]:
        """The image, and of each convolution the weight and the bias."""
        found = [draw(1, self.channels, *self.size)]
        for seed, kind in enumerate(self.kinds):
            shape = (self.channels, self.channels, 1, 1) if kind == "P" else (self.channels, 1, 3, 3)
            found += [draw(*shape, seed=seed, scale=float(np.prod(shape[1:])) ** -0.5), draw(shape[0], seed=seed)]
        return found

    def run(self, convolve: Any, act: Any, y: Any, *given: Any) -> Any:
        """The chain, in the words of one of the libraries."""
        for kind, weight, bias in zip(self.kinds, given[::2], given[1::2], strict=True):
            padding, groups = (0, 1) if kind == "P" else (1, self.channels)
            y = act(convolve(y, weight, bias, 1, padding, 1, groups))
        return y

    def check(self, captures: bool) -> None:
        """Compare with PyTorch in double precision."""
        ours, theirs = ACTIVATIONS[self.activation]
        function = lambda *given: self.run(layers.conv2d, ours, *given)  # noqa: E731
        given = [burn.tensor(each, device=CPU) for each in self.arrays()]
        call = burn.compile(function) if captures else function
        for _ in range(3 if captures else 1):
            mine = call(*given).numpy()
        exact = [torch.tensor(each, dtype=torch.float64) for each in self.arrays()]
        correct = self.run(functional.conv2d, theirs, *exact).numpy()
        np.testing.assert_allclose(mine, correct, rtol=2e-5, atol=2e-5 * np.abs(correct).max())


@pytest.mark.parametrize("captures", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("seed", range(8))
def test_equal_convolutions_after_each_other_keep_their_weights(seed: int, captures: bool, fusing: Any) -> None:
    chosen = np.random.default_rng(seed)
    kinds = "PDP" + "".join(chosen.choice(["P", "D"], int(chosen.integers(0, 5))))
    activation = str(chosen.choice(list(ACTIVATIONS)))
    chain = Chain(kinds, int(chosen.choice([7, 16, 32, 40])), (int(chosen.integers(3, 24)), 19), activation)
    fusing(lambda _: True)
    chain.check(captures)


@pytest.mark.parametrize("channels", [32, 64])
def test_equal_ends_of_a_block_that_pays_keep_their_weights(channels: int) -> None:
    forget()
    Chain("PDP", channels, (80, 80), "relu6").check(False)
    assert any("block" in step for step in steps())


@pytest.mark.parametrize("name", ["a residual", "nothing to project", "the first convolution", "several images"])
def test_a_block_does_not_depend_on_the_number_of_threads(name: str, fusing: Any) -> None:
    fusing(lambda _: True)
    results = []
    for count in (1, 2, 3, 7):
        with threads(count):
            results.append(BLOCKS[name].ours())
    for each in results[1:]:
        np.testing.assert_array_equal(each, results[0])


def test_sums_that_wait_between_chunks_of_channels_are_the_same(fusing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    block = Inverted(between=96, made=40)
    fusing(lambda _: True)
    whole = block.ours()
    forget()
    monkeypatch.setattr(choice, "SCRATCH", 1 << 15)
    with lowering_for(target_of(CPU.below.settings.target, 2)):
        found_cut = choice.cut(Block(None, _stage(96), _stage(40)), 1, 2)
    assert found_cut is not None
    np.testing.assert_array_equal(block.ours(), whole)


def test_sums_that_wait_are_not_read_before_the_first_chunk_wrote_them(
    fusing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CPU", Cpu(sanitize=True))
    monkeypatch.setattr(choice, "SCRATCH", 1 << 15)
    fusing(lambda _: True)
    block = Inverted(between=96, made=40)
    sanitized = block.ours()
    monkeypatch.undo()
    np.testing.assert_allclose(sanitized, block.ours(), rtol=1e-5, atol=1e-5)


def _stage(made: int) -> Any:
    from burn.backend.cpu.lower.blocks.stage import DEPTHWISE, Stage
    from burn.engine.lower.windows import Window

    window = Window(20, 20, 3, 1, 1, 1)
    return Stage(DEPTHWISE, window, window, made, made)


def test_not_a_number_goes_through_a_block(fusing: Any) -> None:
    block = Inverted(made=20)
    x, *rest = block.arrays()
    x[0, 3, 5, 7] = np.nan
    fusing(lambda _: True)
    given = [burn.tensor(each, device=CPU) for each in (x, *rest)]
    found_ = np.isnan(block.run(layers.conv2d, ACTIVATIONS["relu6"][0], *given).numpy())
    expected = np.zeros_like(found_)
    expected[:, :, 4:7, 6:9] = True
    np.testing.assert_array_equal(found_, expected)


def test_a_value_that_someone_else_reads_is_made(fusing: Any) -> None:
    fusing(lambda _: True)
    x, expand, expand_bias, middle, middle_bias = (
        burn.tensor(each, device=CPU) for each in Inverted(projects=False).arrays()
    )
    wide = layers.conv2d(x, expand, expand_bias).relu()
    made = layers.conv2d(wide, middle, middle_bias, 1, 1, 1, 48)
    both = (made + wide).numpy()
    assert [step.split()[1] for step in steps()] == ["conv", "conv"]
    plain = [torch.tensor(each) for each in Inverted(projects=False).arrays()]
    theirs = functional.conv2d(*plain[:3]).relu()
    theirs = theirs + functional.conv2d(theirs, *plain[3:], padding=1, groups=48)
    np.testing.assert_allclose(both, theirs.numpy(), rtol=2e-5, atol=2e-5)


def test_a_value_that_is_a_result_is_made(fusing: Any) -> None:
    fusing(lambda _: True)
    given = [burn.tensor(each, device=CPU) for each in Inverted(projects=False).arrays()]

    @burn.compile
    def run(x: Any, *rest: Any) -> Any:
        wide = layers.conv2d(x, rest[0], rest[1]).relu()
        return wide, layers.conv2d(wide, rest[2], rest[3], 1, 1, 1, 48)

    for _ in range(3):
        wide, made = run(*given)
        plain = [torch.tensor(each) for each in Inverted(projects=False).arrays()]
        theirs = functional.conv2d(*plain[:3]).relu()
        np.testing.assert_allclose(wide.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)
        theirs = functional.conv2d(theirs, *plain[3:], padding=1, groups=48)
        np.testing.assert_allclose(made.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)


def test_gradients_go_through_blocks(fusing: Any) -> None:
    fusing(lambda _: True)
    block = Inverted(stride=2, made=20)
    given: Any = [burn.tensor(each, device=Autodiff(CPU)).require_grad() for each in block.arrays()]
    made = block.run(layers.conv2d, ACTIVATIONS["relu6"][0], *given)
    gradients = made.sum().backward()
    theirs = [torch.tensor(each, requires_grad=True) for each in block.arrays()]
    block.run(functional.conv2d, functional.relu6, *theirs).sum().backward()
    for one, other in zip(given, theirs, strict=True):
        correct = other.grad.numpy()
        np.testing.assert_allclose(one.grad(gradients).numpy(), correct, rtol=1e-4, atol=1e-4 * np.abs(correct).max())


POOLS = {
    "the stem of a ResNet": ((1, 3, 61, 58), (32, 3, 7, 7), dict(stride=2, padding=3), dict(padding=1)),
    "the stem of a SqueezeNet": ((1, 3, 60, 61), (32, 3, 3, 3), dict(stride=2, padding=0), dict(padding=0)),
    "several images and few channels": ((3, 5, 30, 33), (10, 5, 3, 3), dict(stride=1, padding=1), dict(padding=1)),
    "windows that stand out": ((2, 4, 32, 32), (24, 4, 3, 3), dict(stride=1, padding=1), dict(padding=0, ceil=True)),
}


@pytest.mark.parametrize("name", POOLS)
def test_a_convolution_and_the_pooling_behind_it_are_one(name: str, fusing: Any) -> None:
    x, weight, settings, pool = POOLS[name]
    arrays = [draw(*x), draw(*weight, scale=0.2), draw(weight[0])]
    stride, padding = settings["stride"], settings["padding"]

    def convolved() -> Any:
        x, weight, bias = (burn.tensor(each, device=CPU) for each in arrays)
        return layers.conv2d(x, weight, bias, stride, padding).relu()

    def run() -> Any:
        pads, ceil = [pool["padding"]] * 2, bool(pool.get("ceil", False))
        return pooling.max_pool(convolved(), [3, 3], [2, 2], pads, [1, 1], ceil)[0].numpy()

    fusing(lambda _: False)
    alone = run()
    fusing(lambda _: True)
    together = run()
    assert [step.split()[1] for step in steps()] == ["block"]
    np.testing.assert_allclose(together, alone, rtol=2e-6, atol=2e-6 * np.abs(alone).max())
    plain = functional.conv2d(*(torch.tensor(each) for each in arrays), stride=stride, padding=padding).relu()
    correct = functional.max_pool2d(plain, 3, 2, pool["padding"], ceil_mode=pool.get("ceil", False)).numpy()
    np.testing.assert_allclose(together, correct, rtol=2e-5, atol=2e-5)


def test_a_pooling_whose_indices_are_read_stays_alone(fusing: Any) -> None:
    fusing(lambda _: True)
    arrays = [draw(1, 3, 40, 40), draw(16, 3, 3, 3), draw(16)]
    x, weight, bias = (burn.tensor(each, device=CPU) for each in arrays)
    made = layers.conv2d(x, weight, bias, 1, 1)
    values, places = pooling.max_pool(made, [2, 2], [2, 2], [0, 0], [1, 1], False)
    total = values + places.cast(burn.f32)
    plain = functional.conv2d(*(torch.tensor(each) for each in arrays), padding=1)
    theirs, where = functional.max_pool2d(plain, 2, return_indices=True)
    np.testing.assert_allclose(total.numpy(), (theirs + where).numpy(), rtol=2e-5, atol=2e-5)
    assert [step.split()[1] for step in steps()] == ["conv", "max_pool"]


# Images side by side


def fire(convolve: Any, join: Any, x: Any, squeeze: Any, one: Any, three: Any) -> Any:
    x = convolve(x, squeeze, None, 1, 0).relu()
    return join([convolve(x, one, None, 1, 0).relu(), convolve(x, three, None, 1, 1).relu()])


@pytest.mark.parametrize("wide", [16, 20, 32])
def test_convolutions_write_side_by_side(wide: int) -> None:
    arrays = [draw(2, 24, 21, 18), draw(32, 24, 1, 1, scale=0.2), draw(wide, 32, 1, 1), draw(32, 32, 3, 3, scale=0.1)]
    given = [burn.tensor(each, device=CPU) for each in arrays]
    made = (fire(layers.conv2d, lambda parts: joining.cat(parts, 1), *given) * 2.0).sum_dims((2, 3)).numpy()
    assert "cat" not in [step.split()[1] for step in steps()]
    plain = [torch.tensor(each) for each in arrays]
    correct = (fire(functional.conv2d, lambda parts: torch.cat(parts, 1), *plain) * 2.0).sum((2, 3), keepdim=True)
    np.testing.assert_allclose(made.reshape(-1), correct.numpy().reshape(-1), rtol=2e-5, atol=2e-4)


def test_parts_that_someone_else_reads_are_copied() -> None:
    arrays = [draw(1, 16, 20, 20), draw(32, 16, 1, 1), draw(32, 16, 3, 3, scale=0.1)]
    x, one, three = (burn.tensor(each, device=CPU) for each in arrays)
    first, second = layers.conv2d(x, one, None), layers.conv2d(x, three, None, 1, 1)
    joined = joining.cat([first, second], 1).relu().sum_dims((2, 3)) + joining.cat([first, first], 1).sum_dims((2, 3))
    plain = [torch.tensor(each) for each in arrays]
    a, b = functional.conv2d(plain[0], plain[1]), functional.conv2d(plain[0], plain[2], padding=1)
    correct = torch.cat([a, b], 1).relu().sum((2, 3)) + torch.cat([a, a], 1).sum((2, 3))
    np.testing.assert_allclose(joined.numpy().reshape(-1), correct.numpy().reshape(-1), rtol=2e-5, atol=2e-3)


def test_a_joined_image_that_is_the_result_is_right() -> None:
    arrays = [draw(1, 16, 20, 20), draw(32, 16, 1, 1), draw(32, 16, 3, 3, scale=0.1)]
    x, one, three = (burn.tensor(each, device=CPU) for each in arrays)
    made = joining.cat([layers.conv2d(x, one, None), layers.conv2d(x, three, None, 1, 1)], 1).numpy()
    plain = [torch.tensor(each) for each in arrays]
    correct = torch.cat([functional.conv2d(plain[0], plain[1]), functional.conv2d(plain[0], plain[2], padding=1)], 1)
    np.testing.assert_allclose(made, correct.numpy(), rtol=2e-5, atol=2e-5)
