"""A step that fails, since a batch has an index that is not there, leaves the model and the optimizer as they were.

On devices that compute later the fault shows with the next read, when the caller holds the updated model already. The
oracle is the same training without the bad batches, bit for bit.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Fusion, NdArray, Tensor
from burn.errors import AutodiffError
from burn.module import Module
from burn.nn import BatchNorm, BatchNormConfig, Embedding, EmbeddingConfig, Linear, LinearConfig
from burn.nn.loss import CrossEntropyLoss
from burn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    GradientsAccumulator,
    GradientsParams,
    MomentumConfig,
    RmsPropConfig,
    SgdConfig,
)

DEVICES = [NdArray(), Fusion(NdArray()), Cpu()]


class Model(Module):
    table: Embedding
    norm: BatchNorm
    last: Linear

    def forward(self, words: Tensor[Any]) -> Tensor[Any]:
        return self.last(self.norm(self.table(words).squeeze(1)))  # type: ignore[no-any-return]


def fresh(device: Any) -> Model:
    device.seed(3)
    return Model(
        table=EmbeddingConfig(10, 4).init(device),
        norm=BatchNormConfig(4).init(device),
        last=LinearConfig(4, 3).init(device),
    )


def loss_of(model: Model, number: int, bad: str = "") -> Tensor[Any]:
    """The loss of a batch; a bad one has a word, or a class, that does not exist."""
    device = model.last.weight.device
    words, classes = (np.arange(6) * 7 + number) % 10, (np.arange(6) + number) % 3
    if bad:
        (words if bad == "word" else classes)[2] = 99
    output = model(Tensor.from_ints(words[:, None], device))
    return CrossEntropyLoss(None, output.device)(output, Tensor.from_ints(classes, device))


def values(model: Model, optim: Any) -> dict[str, Any]:
    found = {
        path: (leaf.value if hasattr(leaf, "update") else leaf.val().no_grad()).numpy() for path, leaf in model.leaves()
    }
    for number, slot in enumerate(optim.slots.values()):
        found[f"time {number}"] = np.array(-1.0 if slot.time is None else float(slot.time))
        for place, part in enumerate(slot.state or ()):
            found[f"state {number} {place}"] = None if part is None else part.numpy()
    return found


def assert_equal(one: dict[str, Any], other: dict[str, Any], statistics: bool = True) -> None:
    """Equal bits. Where only the loss fails, the forward before it has moved the statistics, on every device."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        if not statistics and "running" in name:
            continue
        np.testing.assert_array_equal(array, other[name], err_msg=name)


OPTIMIZERS = [
    SgdConfig(), SgdConfig(momentum=MomentumConfig()), AdamConfig(), AdamWConfig(), RmsPropConfig(), AdaGradConfig(),
]  # fmt: skip


@pytest.mark.parametrize("when", ["at once", "with the next step"])
@pytest.mark.parametrize("bad", ["word", "class"])
@pytest.mark.parametrize("config", OPTIMIZERS, ids=lambda config: type(config).__name__)
@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_a_failed_step_changes_nothing(device: Any, config: Any, bad: str, when: str) -> None:
    def run(batches: list[str]) -> dict[str, Any]:
        model, optim = fresh(device.autodiff()), config.init()
        waiting = ""
        for number, kind in enumerate(batches):
            for _ in range(2):  # what was not read before fails the next step, which is then tried again
                try:
                    loss = loss_of(model, 0 if kind else sum(not each for each in batches[:number]), kind)
                    model = optim.step(0.1, model, loss.backward())
                    if not kind or when == "at once":
                        loss.item()
                except IndexError:
                    if waiting and not kind:
                        waiting = ""
                        continue
                waiting = kind
                break
        return values(model, optim)

    good = ["", "", "", ""]
    mixed = [bad, "", bad, bad, "", "", bad, "", bad] if when == "at once" else ["", bad, "", "", bad, ""]
    assert_equal(run(mixed), run(good), statistics=bad == "word")


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_a_forward_that_fails_leaves_the_statistics(device: Any) -> None:
    model = fresh(device.autodiff())
    loss_of(model, 0).item()
    before = model.norm.running_mean.value.numpy().copy()
    for _ in range(3):
        with pytest.raises(IndexError):
            loss_of(model, 0, "word").item()
        np.testing.assert_array_equal(model.norm.running_mean.value.numpy(), before)
    assert np.isfinite(loss_of(model, 1).item())
    assert not np.array_equal(model.norm.running_mean.value.numpy(), before)


@pytest.mark.parametrize("device", [Fusion(NdArray()), Cpu()], ids=repr)
def test_a_fault_that_nobody_reads_is_raised_once_all_the_same(device: Any) -> None:
    model, optim = fresh(device.autodiff()), AdamConfig().init()
    model = optim.step(0.1, model, loss_of(model, 0, "word").backward())
    with pytest.raises(IndexError):
        model.last.weight.val().numpy()
    assert np.isfinite(model.last.weight.val().numpy()).all()
    assert len(optim.slots) == 0  # there was no state before the step
    optim.step(0.1, model, loss_of(model, 1).backward())


def test_a_failed_value_raises_one_error_that_does_not_grow() -> None:
    x = Tensor.from_floats([1.0, 2.0], Cpu())
    bad = x.select(0, Tensor.from_ints([5], Cpu()))
    lengths = []
    for _ in range(5):
        with pytest.raises(IndexError) as caught:
            bad.numpy()
        lengths.append(len(traceback.extract_tb(caught.value.__traceback__)))
    assert lengths[1] == lengths[-1]
    assert x.sum().item() == 3.0


def test_steps_of_a_model_with_checks_still_write_over_what_nobody_needs() -> None:
    device = Cpu()
    model, optim = fresh(device.autodiff()), AdamConfig().init()
    for number in range(3):
        loss = loss_of(model, number)
        model = optim.step(0.1, model, loss.backward())
        loss.item()
        del loss
    assert len(device.plans.latest().reused) >= 10  # parameters and two moments of each


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_a_pass_that_fails_adds_nothing_to_gathered_gradients(device: Any) -> None:
    def run(batches: list[str]) -> dict[str, Any]:
        model, optim, sums = fresh(device.autodiff()), AdamConfig().init(), GradientsAccumulator()
        for number, kind in enumerate(batches):
            try:
                loss = loss_of(model, sum(not each for each in batches[:number]), kind)
                sums.accumulate(model, loss.backward())
                loss.item()
            except IndexError:
                pass
        return values(optim.step(0.1, model, sums.grads()), optim)

    assert_equal(run(["word", "", "class", ""]), run(["", ""]), statistics=False)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("kind", ["gradients", "by id"])
def test_gradients_serve_one_step(device: Any, kind: str) -> None:
    model, optim = fresh(device.autodiff()), AdamConfig().init()
    grads: Any = loss_of(model, 0).backward()
    if kind == "by id":
        grads = GradientsParams.from_grads(grads, model)
    later = optim.step(0.1, model, grads)
    for again in (model, later):
        with pytest.raises(AutodiffError, match=r"used up by an earlier step; call backward\(\) again"):
            optim.step(0.1, again, grads)
        with pytest.raises(AutodiffError, match="accumulate: these|from_grads: these"):
            GradientsAccumulator().accumulate(again, grads)


def test_gradients_may_be_taken_part_by_part_and_once() -> None:
    model, optim = fresh(NdArray().autodiff()), AdamConfig().init()
    grads = loss_of(model, 0).backward()
    table = GradientsParams.from_module(grads, model.table)
    rest = GradientsParams.from_module(grads, model)
    assert len(table) == 1
    assert len(rest) == 4
    with pytest.raises(AutodiffError, match="from_module: these gradients were used up"):
        GradientsParams.from_module(grads, model.table)
    model = optim.step(0.1, optim.step(0.1, model, table), rest)
    sums = GradientsAccumulator()
    with pytest.raises(AutodiffError, match="used up"):
        optim.step(0.1, model, sums.grads())


def test_a_captured_step_that_fails_changes_nothing() -> None:
    model, optim = fresh(Cpu().autodiff()), AdamConfig().init()

    @burn.compile
    def step(model: Any, optim: Any, words: Any, classes: Any) -> Any:
        output = model(words)
        loss = CrossEntropyLoss(None, output.device)(output, classes)
        return optim.step(0.1, model, loss.backward()), loss.inner()

    device = model.last.weight.device
    for number in range(4):
        words = Tensor.from_ints(((np.arange(6) * 7 + number) % 10)[:, None], device)
        classes = Tensor.from_ints((np.arange(6) + number) % 3, device)
        model, _ = step(model, optim, words, classes)
    before = {name: None if each is None else each.copy() for name, each in values(model, optim).items()}
    bad = Tensor.from_ints(np.full((6, 1), 77), device)
    with pytest.raises(IndexError):
        step(model, optim, bad, classes)[1].item()
    assert_equal(values(model, optim), before)
    step(model, optim, words, classes)
