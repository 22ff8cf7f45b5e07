"""PyTorch as the peer: the same parameters and inputs for both, then results and every gradient compared."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn import Cpu, LibTorch, NdArray, Tensor, f64
from burn.module import State

DEVICES = {
    "ndarray": NdArray(float=f64).autodiff(),
    "libtorch": LibTorch("cpu", float=f64).autodiff(),
    "cpu": Cpu(float=f64).autodiff(),
}
"""One device of each kind, with gradients, in f64 so that comparisons can be tight."""

every_device = pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)


def floats(*shape, seed=0):
    """Numbers from a normal distribution, the same for the same shape and seed."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def numbers(tensor):
    """The values of a tensor of ours, or of a state cell or parameter, as an array."""
    return (tensor.value if isinstance(tensor, State) else tensor).no_grad().numpy()


def adopted(ours, theirs, names, transposed=()):
    """Our module with the parameters of a torch module: `names` is {our path: its name}.

    Paths in `transposed` are the other way round there. Every parameter of ours must be named.
    """
    values = dict(theirs.named_parameters())
    paths = {param.id: path for path, param in ours.named_parameters()}
    assert set(paths.values()) == set(names)

    def value(param):
        path = paths[param.id]
        array = values[names[path]].detach().numpy()
        return Tensor.from_data(array.T.copy() if path in transposed else array.copy(), param.device)

    return ours.map(value)


def leaf(array, device):
    """A tensor whose gradient is asked for; whole numbers and bools have none."""
    tensor = Tensor.from_data(array, device)
    return tensor.require_grad() if array.dtype.kind == "f" else tensor


def same(ours, theirs, *arrays, names=None, transposed=(), rtol=1e-9, atol=1e-10, device):
    """Compare results, gradients of float inputs and, for `names`, gradients of parameters; give our module."""
    if names is not None:
        ours = adopted(ours, theirs, names, transposed)
    peers = [torch.from_numpy(array).requires_grad_(array.dtype.kind == "f") for array in arrays]
    expected = theirs(*peers)
    weight = floats(*expected.shape, seed=9)
    expected.backward(torch.from_numpy(weight))

    inputs = [leaf(array, device) for array in arrays]
    found = ours(*inputs)
    grads = (found * Tensor.from_data(weight, device)).sum().backward()
    close = {"rtol": rtol, "atol": atol}
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(numbers(found), expected.detach().numpy(), **close, err_msg="the result")
    for position, (mine, peer) in enumerate(zip(inputs, peers, strict=True)):
        if peer.requires_grad:
            np.testing.assert_allclose(
                numbers(mine.grad(grads)), peer.grad.numpy(), **close, err_msg=f"the gradient of input {position}"
            )
    values = dict(theirs.named_parameters()) if names else {}
    for path, param in ours.named_parameters() if names else ():
        wanted = values[names[path]].grad.numpy()
        np.testing.assert_allclose(
            numbers(param.grad(grads)), wanted.T if path in transposed else wanted, **close, err_msg=path
        )
    return ours


def fields(module):
    """The names in a module's record, in order."""
    return list(module.into_record().item)
