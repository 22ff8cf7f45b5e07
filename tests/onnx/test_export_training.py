"""Imported networks train as PyTorch does: gradients of every parameter, and the weights after a step.

Exports are made in training mode and without folding, and compared in that mode. Every element of every parameter is
followed by its value through what the exporter and the importer do with it (see `exporting`). Tolerances are of the
largest element: f32 gradients go through the batch statistics of up to twenty layers. Weights after a step may differ
by a thousandth of the learning rate.

The exporter that works on graphs writes batch norms without their training mode, whatever mode the network was in:
`model.train()` after the import gives it back. It also unrolls an LSTM that trains for the length it was shown.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn import optim
from burn_import.onnx import load
from tests.onnx.exporting import CASES, EXPORTERS, Case, Correspondence, as_tuple, export, on, spread

OUTPUT, GRADIENT, STEP = 1e-5, 2e-4, 1e-3

Steps = tuple[Callable[[Any], torch.optim.Optimizer], Callable[[], Any], float]
OPTIMIZERS: dict[str, Steps] = {
    "sgd with momentum": (
        lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9),
        lambda: optim.SgdConfig(momentum=optim.MomentumConfig(momentum=0.9, dampening=0.0)).init(),
        0.05,
    ),
    "adamw": (
        lambda parameters: torch.optim.AdamW(parameters, 0.01, eps=1e-2, weight_decay=0.1),
        lambda: optim.AdamWConfig(epsilon=1e-2, weight_decay=0.1).init(),
        0.01,
    ),
}


def by_name(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def training_export(case: Case, dynamo: bool) -> tuple[torch.nn.Module, bytes, Case]:
    """A network in training mode as it was before its export, which moves statistics."""
    torch.manual_seed(0)
    network = spread(case.network()).train()
    if dynamo and case.name == "lstm":
        case = replace(case, open_sizes={0: "batch"}, sizes=((2, 7), (4, 7)))
    return network, export(case, copy.deepcopy(network), dynamo=dynamo, training=True), case


def weighing(results: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(tuple(each.shape)).astype(np.float32) for each in results]


def torch_loss(results: Any) -> torch.Tensor:
    """A loss in which every element of every result has its own share."""
    shares = [(each * torch.tensor(share)).mean() for each, share in zip(results, weighing(results))]
    return torch.stack(shares).sum()


def burn_loss(results: Any, shares: list[np.ndarray]) -> Any:
    total: Any = 0.0
    for each, share in zip(results, shares):
        total = total + (each * burn.tensor(share, device=each.device)).mean()
    return total


def assert_close(actual: np.ndarray, wanted: np.ndarray, tolerance: float, name: str) -> None:
    scale = max(float(np.abs(wanted).max()), 1e-3)
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("dynamo", EXPORTERS, ids=["tracing exporter", "graph exporter"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_and_steps_of_a_training_export_are_those_of_pytorch(case: Case, dynamo: bool) -> None:
    network, data, case = training_export(case, dynamo)
    device = burn.NdArray().autodiff()
    model = load(data, device)
    if dynamo:
        model = model.train()
    same = Correspondence(network, model)
    assert same.missing == []
    start = copy.deepcopy(network.state_dict())
    inputs = case.inputs(*case.sizes[-1])
    wanted = as_tuple(network(*inputs))
    torch.autograd.backward(torch_loss(wanted))
    parameters = dict(model.named_parameters())
    for name, (theirs, ours, rate) in OPTIMIZERS.items():
        results = as_tuple(model(*on(device, inputs)))
        for one, other in zip(results, wanted):
            assert_close(one.numpy(), other.detach().numpy(), OUTPUT, case.name)
        grads = burn_loss(results, weighing(results)).backward()
        for path, gradient in same.expected(lambda parameter: parameter.grad):
            assert_close(grads.get(parameters[path]).numpy(), gradient, GRADIENT, path)
        network.load_state_dict(start)
        theirs(network.parameters()).step()
        stepped = dict(ours().step(rate, model, grads).named_parameters())
        for path, weight in same.expected(lambda parameter: parameter):
            actual = stepped[path].val().numpy()
            np.testing.assert_allclose(actual, weight, rtol=0, atol=STEP * rate, err_msg=f"{name}: {path}")


@pytest.mark.parametrize("name", ["mobilenet_v2", "gpt2", "lstm"])
def test_captured_training_steps_on_the_cpu_are_those_of_pytorch(name: str) -> None:
    """Three steps, of which the later ones are replayed; `CaptureWarning` would be an error here."""
    network, data, case = training_export(by_name(name), dynamo=False)
    device = burn.Cpu().autodiff()
    model = load(data, device)
    same = Correspondence(network, model)
    theirs, ours, rate = OPTIMIZERS["sgd with momentum"]
    optimizer, inputs = ours(), case.inputs(*case.sizes[-1])
    shares = [burn.tensor(each, device=device) for each in weighing(as_tuple(network(*inputs)))]
    network.load_state_dict(spread_state(case))

    @burn.compile
    def step(model: Any, optimizer: Any, *tensors: Any) -> Any:
        results = as_tuple(model(*tensors[: len(case.names)]))
        loss: Any = 0.0
        for each, share in zip(results, tensors[len(case.names) :]):
            loss = loss + (each * share).mean()
        return loss.inner(), optimizer.step(rate, model, loss.backward())

    judge = theirs(network.parameters())
    for _ in range(3):
        judge.zero_grad()
        wanted = torch_loss(as_tuple(network(*inputs)))
        torch.autograd.backward(wanted)
        judge.step()
        loss, model = step(model, optimizer, *on(device, inputs), *shares)
        assert loss.item() == pytest.approx(wanted.item(), rel=1e-3, abs=1e-4)
    weights = dict(model.named_parameters())
    for path, weight in same.expected(lambda parameter: parameter):
        np.testing.assert_allclose(weights[path].val().numpy(), weight, rtol=0, atol=3 * STEP * rate, err_msg=path)


def spread_state(case: Case) -> dict[str, Any]:
    torch.manual_seed(0)
    return spread(case.network()).state_dict()
