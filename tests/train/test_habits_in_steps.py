"""The learner captures its steps: models whose Python does more than compute train as they do without capture."""

from __future__ import annotations

import random
import types
from typing import Any

import numpy as np
import pytest

from burn import Cpu
from burn.nn import LinearConfig
from burn.optim import AdamConfig
from burn.train.strategy.multi import MultiDevice
from burn.train.strategy.single import SingleDevice
from tests.train.small import Batcher, Plain

OPTIONS = types.SimpleNamespace(scale=1.0, stage=0, verbose=False)
COUNTS: dict[str, int] = {}


class Habit(Plain):
    """A model with a habit."""

    habit: str
    options: Any

    def forward(self, x):
        x = self.first(x)
        return self.last(getattr(self, f"_{self.habit}")(x))

    def _nothing(self, x):
        return x.tanh()

    def _stochastic_depth(self, x):
        return x.tanh() if random.random() < 0.5 else x

    def _global_flag(self, x):
        return (x * OPTIONS.scale).tanh()

    def _own_object(self, x):
        return (x * self.options["object"].scale).tanh()

    def _own_dict(self, x):
        return (x * self.options["scale"]).tanh()

    def _curriculum(self, x):
        for _ in range(1 + OPTIONS.stage):
            x = x.tanh()
        return x

    def _counting(self, x):
        COUNTS["calls"] = COUNTS.get("calls", 0) + 1
        return x.tanh() if COUNTS["calls"] % 2 else x

    def _printing(self, x):
        print("forward")
        return x.tanh()

    def _printing_later(self, x):
        if OPTIONS.verbose:
            print("forward")
        return x.tanh()

    def _numpy_random(self, x):
        return x * float(np.random.rand() < 0.8)  # noqa: NPY002

    def _helper(self, x):
        return helper(x)


def helper(x):
    return (x * OPTIONS.scale).tanh()


CAPTURED = ("nothing", "global_flag", "own_object", "own_dict", "curriculum", "printing_later", "helper")
PLAIN = {
    "stochastic_depth": "random.random is called at test_habits_in_steps.py",
    "counting": "COUNTS['calls'] is changed",
    "printing": "print is called at test_habits_in_steps.py",
    "numpy_random": "random",
}


def train(habit: str, capture: bool) -> tuple[Any, list[str], Any]:
    """The parameters after each of twelve steps, with everything changed in the middle."""
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    device = Cpu()
    device.seed(3)
    OPTIONS.scale, OPTIONS.stage, OPTIONS.verbose = 1.0, 0, False
    COUNTS.clear()
    place = device.autodiff()
    own = {"scale": 1.0, "object": types.SimpleNamespace(scale=1.0)}
    model = Habit(LinearConfig(2, 4).init(place), LinearConfig(4, 3).init(place), habit, own)
    notices: list[str] = []
    strategy = SingleDevice(model, AdamConfig().init(), place, capture=capture, notice=notices.append)
    generator = np.random.default_rng(0)
    history = []
    for step in range(12):
        if step == 6:
            OPTIONS.scale, OPTIONS.stage, OPTIONS.verbose = 3.0, 1, True
            own["scale"] = 3.0
            own["object"].scale = 3.0
        rows = [(*point, float(point.sum() > 0)) for point in generator.normal(size=(5, 2))]
        strategy.train([Batcher().batch(rows, place)], [5], 0.1 / (step + 1))
        history.append(strategy.model.last.weight.val().numpy().copy())
    return history, notices, strategy


@pytest.mark.parametrize("habit", [*CAPTURED, *PLAIN])
def test_training_with_capture_is_training(habit: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain, _, _ = train(habit, False)
    printed = capsys.readouterr().out
    captured, notices, strategy = train(habit, True)
    assert capsys.readouterr().out == printed
    for one, other in zip(plain, captured, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-6)
    if habit in CAPTURED:
        assert strategy._step.calls > 0
        assert [each for each in notices if "without" not in each] == [
            "the training step is captured: replayed from step 4 on"
        ]
    else:
        assert strategy._step.calls == 0
        assert any(PLAIN[habit] in each for each in notices), notices
        assert len(notices) == 1


def test_several_devices_say_it_once() -> None:
    device = Cpu()
    place = device.autodiff()
    model = Habit(LinearConfig(2, 4).init(place), LinearConfig(4, 3).init(place), "nothing", {})
    notices: list[str] = []
    strategy = MultiDevice(model, AdamConfig().init(), [device, device], threads=False, notice=notices.append)
    batches = [Batcher().batch([(0.5, 0.25, 1.0), (0.1, -0.25, 0.0)], each.autodiff()) for each in strategy.devices]
    for _ in range(5):
        strategy.train(batches, [2, 2], 0.1)
    assert [each.calls > 0 for each in strategy._gradients] == [True, True]
    assert notices == ["the training step is captured: replayed from step 3 on"]
