"""Peers that pack what we keep apart: torch lays the gates of an LSTM, or query, key and value, in one matrix."""

from __future__ import annotations

import numpy as np
import torch

from burn import Tensor
from tests.nn.peers import floats, leaf, numbers


def rows(name, index, count):
    """The `index`-th of `count` equal parts of a torch parameter's first dim, as {"weight" or "bias": part}."""
    return lambda kind, values: np.split(values[name.format(kind=kind)], count)[index]


def whole(name):
    """A torch parameter as it is."""
    return lambda kind, values: values[name.format(kind=kind)]


def linear_parts(path, part, bias=True):
    """The two entries of a linear layer of ours in a map of parts."""
    kinds = ("weight", "bias") if bias else ("weight",)
    return {f"{path}.{kind}": (kind, part) for kind in kinds}


def adopted(ours, theirs, parts):
    """Our module with the parameters of a torch module; `parts` is {our path: (kind, part)}."""
    values = {name: param.detach().numpy() for name, param in theirs.named_parameters()}
    paths = {param.id: path for path, param in ours.named_parameters()}
    assert set(paths.values()) == set(parts)

    def value(param):
        kind, part = parts[paths[param.id]]
        return Tensor.from_data(np.ascontiguousarray(part(kind, values).T), param.device)

    return ours.map(value)


def same(ours, theirs, parts, run, peer_run, *arrays, device, rtol=1e-8, atol=1e-10):
    """Compare all results, and the gradients of float inputs and of all parameters; give our module.

    `run(module, *tensors)` and `peer_run(...)` give lists of results.
    """
    ours = adopted(ours, theirs, parts)
    peers = [torch.from_numpy(array).requires_grad_(array.dtype.kind == "f") for array in arrays]
    inputs = [leaf(array, device) for array in arrays]
    expected, found = peer_run(theirs, *peers), run(ours, *inputs)
    weights = [floats(*each.shape, seed=9) for each in expected]
    sum((each * torch.from_numpy(w)).sum() for each, w in zip(expected, weights, strict=True)).backward()
    total = None
    for mine, peer, weight in zip(found, expected, weights, strict=True):
        assert tuple(mine.shape) == tuple(peer.shape)
        np.testing.assert_allclose(numbers(mine), peer.detach().numpy(), rtol=rtol, atol=atol, err_msg="a result")
        part = (mine * Tensor.from_data(weight, device)).sum()
        total = part if total is None else total + part
    grads = total.backward()
    for position, (mine, peer) in enumerate(zip(inputs, peers, strict=True)):
        if peer.requires_grad:
            message = f"the gradient of input {position}"
            np.testing.assert_allclose(numbers(mine.grad(grads)), peer.grad, rtol=rtol, atol=atol, err_msg=message)
    values = {name: param.grad.numpy() for name, param in theirs.named_parameters() if param.grad is not None}
    for path, param in ours.named_parameters():
        kind, part = parts[path]
        found_gradient = numbers(param.grad(grads))
        np.testing.assert_allclose(found_gradient, part(kind, values).T, rtol=rtol, atol=atol, err_msg=path)
    return ours
