"""The guide's batcher on the bundled digits, against NumPy; and a model that learns from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from burn import Cpu, NdArray
from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataloader.batcher import Batcher
from burn.data.dataset.vision import MnistDataset, MnistItem
from burn.nn import LinearConfig
from burn.nn.loss import CrossEntropyLoss
from burn.optim import AdamConfig, GradientsParams
from burn.prelude import Device, Tensor, TensorData


@dataclass
class MnistBatch:
    images: Tensor
    targets: Tensor


class GuideBatcher(Batcher[MnistItem, MnistBatch]):
    """As in the guide: a tensor for each item, put together at the end."""

    def batch(self, items: list[MnistItem], device: Device) -> MnistBatch:
        images = [
            ((Tensor.from_data(TensorData(item.image), device).reshape([1, 28, 28]) / 255) - 0.1307) / 0.3081
            for item in items
        ]
        targets = [Tensor.from_data([item.label], device) for item in items]
        return MnistBatch(Tensor.cat(images, 0), Tensor.cat(targets, 0))


class MnistBatcher(Batcher[MnistItem, MnistBatch]):
    """The same with one tensor for all images."""

    def batch(self, items: list[MnistItem], device: Device) -> MnistBatch:
        images = Tensor.from_data(np.stack([item.image for item in items]), device)
        targets = Tensor.from_data(np.array([item.label for item in items]), device)
        return MnistBatch((images / 255 - 0.1307) / 0.3081, targets)


def expected_images(dataset, numbers):
    return (dataset.images[numbers].astype(np.float64) / 255 - 0.1307) / 0.3081


@pytest.mark.parametrize("batcher", [GuideBatcher(), MnistBatcher()])
@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=str)
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_normalised_images_and_their_labels(batcher, device, workers):
    dataset = MnistDataset.bundled("test")
    builder = DataLoaderBuilder(batcher).batch_size(16).num_workers(workers).set_device(device)
    loader = builder.build(dataset[:40])
    batches = list(loader)
    assert [batch.images.dims() for batch in batches] == [(16, 28, 28), (16, 28, 28), (8, 28, 28)]
    for start, batch in zip(range(0, 40, 16), batches, strict=True):
        numbers = np.arange(start, min(start + 16, 40))
        np.testing.assert_allclose(batch.images.numpy(), expected_images(dataset, numbers), rtol=1e-5, atol=1e-6)
        assert batch.targets.numpy().tolist() == dataset.labels[numbers].tolist()
        assert batch.targets.dtype is device.int_dtype


def test_a_linear_model_learns_the_bundled_digits_from_batches_of_workers():
    device = Cpu().autodiff()
    device.seed(7)
    model, optim = LinearConfig(784, 10).init(device), AdamConfig().init()
    loss_function = CrossEntropyLoss(None, device)
    builder = DataLoaderBuilder(MnistBatcher()).batch_size(100).set_device(Cpu()).num_workers(2)
    train = builder.shuffle(1).build(MnistDataset.bundled("train"))
    for _ in range(4):
        for batch in train:
            loss = loss_function(model(batch.images.reshape([-1, 784])), batch.targets)
            model = optim.step(2e-3, model, GradientsParams.from_grads(loss.backward(), model))
    right = total = 0
    model = model.valid()
    for batch in builder.build(MnistDataset.bundled("test")):
        found = model(batch.images.reshape([-1, 784])).argmax(1).squeeze_dim(1)
        right += int(found.equal(batch.targets).int().sum())
        total += batch.targets.dims()[0]
    assert total == 650
    assert right / total > 0.87
