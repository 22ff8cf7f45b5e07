"""Small layers: embeddings, similarities, noise, the identity."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn import ArgumentError, DTypeError, NdArray, ShapeError, Tensor
from burn.nn import (
    CosineSimilarityConfig,
    EmbeddingConfig,
    GaussianNoiseConfig,
    Identity,
    Initializer,
    PairwiseDistanceConfig,
)
from tests.nn.peers import every_device, fields, floats, numbers, same

DEVICE = NdArray()


@every_device
@pytest.mark.parametrize("shape", [(2, 5), (7,), (1, 1), (2, 3, 2)], ids=str)
def test_an_embedding_looks_vectors_up_like_torchs(shape, device):
    indices = np.random.default_rng(3).integers(0, 6, shape)
    theirs = torch.nn.Embedding(6, 4).double()
    same(EmbeddingConfig(6, 4).init(device), theirs, indices, names={"weight": "weight"}, device=device)


def test_a_table_begins_normally_distributed():
    table = EmbeddingConfig(100, 50).init(DEVICE)
    assert not table.weight.is_initialized
    values = numbers(table.weight)
    assert abs(values.mean()) < 0.05
    assert abs(values.std() - 1.0) < 0.05
    scaled = EmbeddingConfig(100, 50, initializer=Initializer.KaimingUniform(1.0)).init(DEVICE)
    assert np.abs(numbers(scaled.weight)).max() <= np.sqrt(3 / 100)


def test_an_embedding_takes_whole_numbers_only():
    layer = EmbeddingConfig(3, 2).init(DEVICE)
    with pytest.raises(DTypeError, match="indices must be an int tensor"):
        layer(Tensor.ones([2, 2], DEVICE))
    with pytest.raises(ArgumentError, match="n_embedding must be 1 or more, got 0; d_model must be 1 or more, got 0"):
        EmbeddingConfig(0, 0).init(DEVICE)


def test_an_embedding_prints_and_records_its_table():
    layer = EmbeddingConfig(3, 2).init(DEVICE)
    assert str(layer) == "Embedding {n_embedding: 3, d_model: 2, params: 6}"
    assert fields(layer) == ["weight"]


@every_device
@pytest.mark.parametrize(("dim", "shape"), [(1, (3, 4)), (0, (3, 4)), (-1, (2, 3, 5))])
def test_cosines_are_those_of_torch(dim, shape, device):
    ours = CosineSimilarityConfig(dim).init()
    same(ours, torch.nn.CosineSimilarity(dim), floats(*shape), floats(*shape, seed=1), device=device)


@every_device
@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
@pytest.mark.parametrize("shape", [(3, 4), (2, 1), (2, 3, 5)], ids=str)
def test_distances_are_those_of_torch(p, shape, device):
    ours = PairwiseDistanceConfig(p, 1e-3).init()
    same(ours, torch.nn.PairwiseDistance(p, 1e-3), floats(*shape), floats(*shape, seed=1), device=device)


def test_vectors_of_different_lengths_are_refused():
    with pytest.raises(ShapeError):
        PairwiseDistanceConfig().init()(Tensor.ones([2, 3], DEVICE), Tensor.ones([2, 4], DEVICE))


@every_device
def test_noise_is_added_only_in_training(device):
    module = GaussianNoiseConfig(0.5).init()
    x = Tensor.ones([100, 100], device).require_grad()
    y = module(x)
    noise = numbers(y) - 1.0
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - 0.5) < 0.02
    np.testing.assert_array_equal(numbers(x.grad(y.sum().backward())), np.ones((100, 100)))
    plain = Tensor.ones([3], device.inner())
    assert module(plain) is plain
    assert module.mode("infer")(x) is x
    assert numbers(module.mode("train")(plain)).std() > 0
    assert GaussianNoiseConfig(0.0).init()(x) is x


def test_noise_needs_a_deviation_that_is_not_negative():
    with pytest.raises(ArgumentError, match="std must be 0 or more, got -0.1"):
        GaussianNoiseConfig(-0.1).init()
    assert str(GaussianNoiseConfig(0.1).init()) == "GaussianNoise {std: 0.1}"


def test_the_identity_does_nothing():
    x = Tensor.ones([2], DEVICE)
    assert Identity()(x) is x
    assert str(Identity()) == "Identity"
