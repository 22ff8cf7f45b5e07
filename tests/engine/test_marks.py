"""Marks: a training loop that reads nothing still runs step by step, with the same plan."""

from __future__ import annotations

import numpy as np
import pytest

from burn import Cpu, Fusion, NdArray, Tensor
from burn.module import Module
from burn.nn import Linear, LinearConfig
from burn.nn.loss import MseLoss
from burn.optim import AdamConfig

DEVICES = [Cpu(), Fusion(NdArray())]


class Line(Module):
    linear: Linear

    def forward(self, x):
        return self.linear(x)


def trained(device, steps, read):
    tracked = device.autodiff()
    tracked.seed(4)
    model, optim = Line(LinearConfig(3, 2).init(tracked)), AdamConfig().init()
    x = Tensor.from_data(np.arange(12, dtype=np.float32).reshape(4, 3) / 12, tracked)
    longest = 0
    for _ in range(steps):
        loss = MseLoss()(model(x), x.slice([slice(0, 4), slice(0, 2)]))
        longest = max(longest, len(device.stream.entries))
        model = optim.step(1e-2, model, loss.backward())
        if read:
            loss.item()
    return model.linear.weight.numpy(), longest


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_a_loop_that_reads_nothing_gives_the_same_and_does_not_grow(device):
    expected, _ = trained(device, 12, read=True)
    plans = len(device.plans)
    found, longest = trained(device, 12, read=False)
    assert (found == expected).all()
    assert longest < 40  # one forward pass, not twelve steps
    assert len(device.plans) <= plans + 4  # first steps differ, later ones share one plan


def test_a_read_after_the_mark_finds_the_value():
    device = Cpu()
    x = Tensor.ones([3], device) + 1.0
    device.mark()
    assert x.tolist() == [2.0, 2.0, 2.0]
    assert (x + 1.0).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("device", [NdArray(), NdArray().autodiff(), Cpu().autodiff()], ids=repr)
def test_every_device_takes_a_mark(device):
    device.mark()
    assert (Tensor.ones([1], device) + 1.0).item() == 2.0
