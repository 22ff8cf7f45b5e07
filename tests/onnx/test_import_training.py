"""Imported models train: gradients, running statistics and optimizer steps are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn import optim
from burn_import.onnx import load
from tests.onnx.networks import Convolutional, Transformer, exported, perturbed

RENAMED = {"weight": "gamma", "bias": "beta"}


def path_of(name: str, network: torch.nn.Module) -> str:
    """Where the importer puts a parameter of PyTorch."""
    module, _, leaf = name.rpartition(".")
    if isinstance(network.get_submodule(module), torch.nn.BatchNorm2d | torch.nn.LayerNorm):
        leaf = RENAMED[leaf]
    return f"{module}.{leaf}" if module else leaf


def matching(name: str, array: np.ndarray, network: torch.nn.Module) -> np.ndarray:
    module, _, leaf = name.rpartition(".")
    linear = module and isinstance(network.get_submodule(module), torch.nn.Linear)
    return array.T if linear and leaf == "weight" else array


def test_gradients_and_statistics_of_a_training_export_are_those_of_pytorch() -> None:
    network = perturbed(Convolutional()).train()
    x, weights = torch.randn(4, 3, 16, 16), torch.randn(4, 10)
    data = exported(network, [x], ["x"], {"x": {0: "batch"}}, training=True)
    device = burn.NdArray().autodiff()
    model = load(data, device)
    result = model(burn.tensor(x.numpy(), device=device))
    wanted = network(x)
    np.testing.assert_allclose(result.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    (wanted * weights).sum().backward()
    grads = (result * burn.tensor(weights.numpy(), device=device)).sum().backward()
    found = dict(model.named_parameters())
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        gradient = grads.get(found[path_of(name, network)])
        np.testing.assert_allclose(
            gradient.numpy(), matching(name, parameter.grad.numpy(), network), rtol=1e-3, atol=1e-5, err_msg=name
        )
    assert len(found) == len(list(network.parameters()))
    np.testing.assert_allclose(model.norm.running_mean.value.numpy(), network.norm.running_mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.norm.running_var.value.numpy(), network.norm.running_var, rtol=1e-4, atol=1e-6)


def test_one_optimizer_step_gives_the_weights_that_pytorch_gets() -> None:
    network = perturbed(Convolutional()).train()
    x, labels = torch.randn(4, 3, 16, 16), torch.tensor([1, 7, 3, 3])
    device = burn.NdArray().autodiff()
    model = load(exported(network, [x], ["x"], training=True), device)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    torch.nn.functional.nll_loss(network(x), labels).backward()
    optimizer.step()
    scores = model(burn.tensor(x.numpy(), device=device))
    places = burn.tensor(labels.numpy()[:, None], device=device)
    loss = -scores.gather(1, places).mean()
    model = optim.SgdConfig().init().step(0.1, model, loss.backward())
    found = dict(model.named_parameters())
    for name, parameter in network.named_parameters():
        actual = found[path_of(name, network)].val().numpy()
        wanted = matching(name, parameter.detach().numpy(), network)
        np.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("training", [False, True])
def test_gradients_of_a_transformer_are_those_of_pytorch(training: bool) -> None:
    network = perturbed(Transformer(2)).train(training)
    tokens, mask = torch.randint(0, 50, (2, 6)), torch.ones(2, 6, dtype=torch.int64)
    device = burn.NdArray().autodiff()
    sizes = {name: {0: "batch", 1: "length"} for name in ("tokens", "mask")}
    model = load(exported(network, [tokens, mask], ["tokens", "mask"], sizes, training=training), device)
    wanted = network(tokens, mask)
    wanted.square().mean().backward()
    result = model(burn.tensor(tokens.numpy(), device=device), burn.tensor(mask.numpy(), device=device))
    grads = (result * result).mean().backward()
    gradients = {path: grads.get(param) for path, param in model.named_parameters()}
    for name, parameter in network.named_parameters():
        path = path_of(name, network).replace("layers.", "layers_", 1)
        assert parameter.grad is not None
        np.testing.assert_allclose(
            gradients[path].numpy(), matching(name, parameter.grad.numpy(), network), rtol=2e-3, atol=1e-5, err_msg=name
        )


def test_an_inference_export_keeps_its_statistics_until_it_is_asked_to_train() -> None:
    device = burn.NdArray().autodiff()
    inference = load(
        exported(perturbed(torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten())).eval(),
                 [torch.randn(2, 3, 4, 4)], ["x"]), device
    )  # fmt: skip
    assert '.mode("infer")' in inference.source
    x = burn.tensor(np.random.default_rng(0).standard_normal((4, 3, 4, 4)).astype(np.float32), device=device)
    layer = next(each for _, each in inference.named_modules() if hasattr(each, "running_mean"))
    before = layer.running_mean.value.numpy().copy()
    inference(x)
    assert np.array_equal(layer.running_mean.value.numpy(), before)
    training = inference.train()
    training(x)
    layer = next(each for _, each in training.named_modules() if hasattr(each, "running_mean"))
    assert not np.array_equal(layer.running_mean.value.numpy(), before)
