"""Every optimizer against PyTorch's with equal settings: fifty steps in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from burn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    AdanConfig,
    AdjustLrFn,
    LbfgsConfig,
    LineSearchFn,
    MomentumConfig,
    MuonConfig,
    RmsPropConfig,
    SgdConfig,
    WeightDecayConfig,
)
from tests.optim.tasks import (
    DEVICES,
    STEPS,
    arrays,
    assert_equal,
    falling,
    loss_of,
    matrices,
    network,
    ours,
    theirs,
    torch_loss,
    torch_parameters,
    values_of,
)

DECAY = WeightDecayConfig(0.03)

PAIRS: dict[str, tuple[Any, Any, float]] = {
    "sgd": (SgdConfig(), lambda p: torch.optim.SGD(p, 1.0), 0.1),
    "sgd-decay": (SgdConfig(weight_decay=DECAY), lambda p: torch.optim.SGD(p, 1.0, weight_decay=0.03), 0.1),
    "sgd-momentum": (
        SgdConfig(momentum=MomentumConfig()),
        lambda p: torch.optim.SGD(p, 1.0, momentum=0.9, dampening=0.1),
        0.05,
    ),
    "sgd-nesterov": (
        SgdConfig(momentum=MomentumConfig(0.8, dampening=0.0, nesterov=True), weight_decay=0.01),
        lambda p: torch.optim.SGD(p, 1.0, momentum=0.8, nesterov=True, weight_decay=0.01),
        0.05,
    ),
    "adam": (AdamConfig(), lambda p: torch.optim.Adam(p, 1.0, eps=1e-5), 0.01),
    "adam-decay": (
        AdamConfig(beta_1=0.8, beta_2=0.95, epsilon=1e-8).with_weight_decay(DECAY),
        lambda p: torch.optim.Adam(p, 1.0, (0.8, 0.95), 1e-8, weight_decay=0.03),
        0.01,
    ),
    "adam-amsgrad": (
        AdamConfig(beta_2=0.9, amsgrad=True),
        lambda p: torch.optim.Adam(p, 1.0, (0.9, 0.9), 1e-5, amsgrad=True),
        0.02,
    ),
    "adamw": (AdamWConfig(), lambda p: torch.optim.AdamW(p, 1.0, eps=1e-5, weight_decay=1e-4), 0.01),
    "adamw-amsgrad": (
        AdamWConfig(beta_2=0.9, weight_decay=0.1, amsgrad=True),
        lambda p: torch.optim.AdamW(p, 1.0, (0.9, 0.9), 1e-5, weight_decay=0.1, amsgrad=True),
        0.02,
    ),
    "adamw-without-decay": (
        AdamWConfig(weight_decay=0.0),
        lambda p: torch.optim.AdamW(p, 1.0, eps=1e-5, weight_decay=0.0),
        0.01,
    ),
    "adagrad": (AdaGradConfig(), lambda p: torch.optim.Adagrad(p, 1.0, eps=1e-5), 0.1),
    "adagrad-decay": (
        AdaGradConfig(lr_decay=0.1, epsilon=1e-10, weight_decay=DECAY),
        lambda p: torch.optim.Adagrad(p, 1.0, lr_decay=0.1, weight_decay=0.03),
        0.1,
    ),
    "rmsprop": (RmsPropConfig(), lambda p: torch.optim.RMSprop(p, 1.0, eps=1e-5, momentum=0.9), 0.002),
    "rmsprop-centered": (
        RmsPropConfig(alpha=0.9, momentum=0.0, centered=True, weight_decay=DECAY),
        lambda p: torch.optim.RMSprop(p, 1.0, 0.9, 1e-5, weight_decay=0.03, centered=True),
        0.002,
    ),
    "rmsprop-centered-momentum": (
        RmsPropConfig(alpha=0.9, momentum=0.5, centered=True),
        lambda p: torch.optim.RMSprop(p, 1.0, 0.9, 1e-5, momentum=0.5, centered=True),
        0.002,
    ),
}


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("name", PAIRS)
def test_fifty_steps_give_what_pytorch_gives(name: str, place: str) -> None:
    config, make, rate = PAIRS[name]
    assert_equal(ours(config.init(), DEVICES[place], falling(rate)), theirs(make, falling(rate)))


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("adjust", AdjustLrFn)
def test_muon_gives_what_pytorch_gives_without_its_rounding(
    place: str, adjust: AdjustLrFn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self.clone())
    device, rates = DEVICES[place], falling(0.02)
    name = {"Original": "original", "MatchRmsAdamW": "match_rms_adamw"}[adjust.name]
    expected = theirs(lambda p: torch.optim.Muon(p, 1.0, weight_decay=0.1, adjust_lr_fn=name), rates, trained=(0, 2))
    optim = MuonConfig(weight_decay=WeightDecayConfig(0.1), adjust_lr_fn=adjust).init()
    assert_equal(ours(optim, device, rates, matrices(device.autodiff())), expected)


def adan_in_numpy(rates: list[float], decay: float, no_prox: bool) -> list[Any]:
    """Adan as its paper states it, one parameter after the other."""
    values = [each.copy() for each in arrays()]
    b1, b2, b3 = 0.98, 0.92, 0.99
    m, d, n = ([np.zeros_like(each) for each in values] for _ in range(3))
    before: list[Any] = [None] * 4
    for time, rate in enumerate(rates, 1):
        parameters = [torch.nn.Parameter(torch.tensor(each)) for each in values]
        torch_loss(parameters).backward()
        for i, parameter in enumerate(parameters):
            g = parameter.grad.numpy()
            difference = np.zeros_like(g) if before[i] is None else g - before[i]
            m[i] = b1 * m[i] + (1 - b1) * g
            d[i] = b2 * d[i] + (1 - b2) * difference
            n[i] = b3 * n[i] + (1 - b3) * (g + b2 * difference) ** 2
            size = np.sqrt(n[i] / (1 - b3**time)) + 1e-8
            step = rate * (m[i] / (1 - b1**time) + b2 * d[i] / (1 - b2**time)) / size
            values[i] = (1 - rate * decay) * values[i] - step if no_prox else (values[i] - step) / (1 + rate * decay)
            before[i] = g.copy()
    return values


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("decay, no_prox", [(0.0, False), (0.1, False), (0.1, True)])
def test_adan_follows_its_paper(place: str, decay: float, no_prox: bool) -> None:
    optim = AdanConfig(weight_decay=decay, no_prox=no_prox).init()
    assert_equal(ours(optim, DEVICES[place], falling(0.01)), adan_in_numpy(falling(0.01), decay, no_prox))


@pytest.mark.parametrize("place", DEVICES)
def test_cautious_weight_decay_leaves_elements_that_move_away_from_zero(place: str) -> None:
    device = DEVICES[place]
    model = network(device.autodiff())
    loss = loss_of(model, device.autodiff())
    plain = AdamWConfig(weight_decay=0.0).init().step(0.1, model, loss.backward())
    loss = loss_of(model, device.autodiff())
    cautious = AdamWConfig(weight_decay=0.5, cautious_weight_decay=True).init().step(0.1, model, loss.backward())
    for start, without, found in zip(values_of(model), values_of(plain), values_of(cautious), strict=True):
        towards_zero = (start >= 0) == (without < start)
        np.testing.assert_allclose(found, without - np.where(towards_zero, start * 0.05, 0.0), atol=1e-12)
        assert towards_zero.any()
        assert not towards_zero.all()


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("search", [None, LineSearchFn.StrongWolfe])
@pytest.mark.parametrize("history", [100, 3])
def test_lbfgs_gives_what_pytorch_gives(place: str, search: LineSearchFn | None, history: int) -> None:
    device = DEVICES[place]
    parameters = torch_parameters()
    name = None if search is None else "strong_wolfe"
    rate = 0.3 if search is None else 1.0
    optimizer = torch.optim.LBFGS(
        parameters, rate, max_iter=4, history_size=history, line_search_fn=name, tolerance_grad=1e-5
    )

    def closure() -> Any:
        optimizer.zero_grad()
        loss = torch_loss(parameters)
        loss.backward()
        return loss

    def our_closure(model: Any) -> Any:
        loss = loss_of(model, device.autodiff())
        return loss, loss.backward()

    model = network(device.autodiff())
    optim = LbfgsConfig(max_iter=4, history_size=history, line_search_fn=search, tolerance_grad=1e-5).init()
    for _ in range(STEPS // 4):
        expected = float(optimizer.step(closure).detach())
        model, loss = optim.step(rate, model, our_closure)
        assert loss == pytest.approx(expected, rel=1e-6)
    assert_equal(values_of(model), [each.detach().numpy() for each in parameters], 1e-6)
    assert loss < float(torch_loss(torch_parameters()).detach()) / 3
