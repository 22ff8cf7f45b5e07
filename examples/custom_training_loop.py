"""A training loop of one's own: two spirals, told apart by a small network.

    python examples/custom_training_loop.py            # on Cpu()
    python examples/custom_training_loop.py --device ndarray --epochs 20

The step is captured with `burn.compile`: after two recorded calls Python pays once per step, not once
per operation. The model is saved, loaded into a fresh one, and quantised to 8-bit integers.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import burn
from burn import Cpu, LibTorch, NdArray
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.nn import Dropout, DropoutConfig, Linear, LinearConfig
from burn.nn.loss import CrossEntropyLoss
from burn.optim import AdamConfig, GradientsParams
from burn.prelude import Config, Device, Module, Tensor
from burn.quantization import Quantizer

DEVICES = {"cpu": Cpu, "ndarray": NdArray, "libtorch": LibTorch}


class Network(Module):
    """Two hidden layers with dropout."""

    first: Linear
    second: Linear
    last: Linear
    dropout: Dropout

    def forward(self, x: Tensor) -> Tensor:
        """Points (rows, 2) to logits (rows, 2)."""
        x = self.dropout(self.first(x).relu())
        return self.last(self.second(x).relu())


class NetworkConfig(Config):
    """Settings of the network."""

    hidden: int = 64
    dropout: float = 0.05

    def init(self, device: Device) -> Network:
        """A network whose parameters are drawn when they are first used."""
        return Network(
            first=LinearConfig(2, self.hidden).init(device),
            second=LinearConfig(self.hidden, self.hidden).init(device),
            last=LinearConfig(self.hidden, 2).init(device),
            dropout=DropoutConfig(self.dropout).init(),
        )


class TrainingConfig(Config):
    """Settings of the training."""

    model: NetworkConfig
    optimizer: AdamConfig
    num_epochs: int = 60
    batch_size: int = 64
    seed: int = 42
    lr: float = 1e-2


def spirals(points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on two spirals with a little noise, and which spiral each is on."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, points)
    turn = np.sqrt(random.uniform(0.05, 1.0, points)) * 3 * np.pi
    angle = turn + labels * np.pi
    places = np.stack([np.cos(angle), np.sin(angle)], 1) * turn[:, None] / (3 * np.pi)
    return (places + random.normal(0, 0.02, (points, 2))).astype(np.float32), labels


def accuracy(model: Network, places: Tensor, labels: Tensor) -> float:
    """The share of points that the model puts on the right spiral."""
    found = model(places).argmax(1).squeeze_dim(1)
    return float(found.equal(labels).float().mean())


def run(device: Device, config: TrainingConfig) -> Network:
    """Train, and print how it goes."""
    device = device.autodiff()
    device.seed(config.seed)
    model, optim = config.model.init(device), config.optimizer.init()
    loss_function = CrossEntropyLoss(None, device)
    places, labels = spirals(1024, seed=1)
    test_places, test_labels = (Tensor.from_data(each, device.inner()) for each in spirals(512, seed=2))
    steps = config.num_epochs * (len(labels) // config.batch_size)
    scheduler = CosineAnnealingLrSchedulerConfig(config.lr, steps).init()
    random = np.random.default_rng(config.seed)

    @burn.compile
    def step(model, optim, x, targets, lr):
        loss = loss_function(model(x), targets)
        grads = GradientsParams.from_grads(loss.backward(), model)
        return optim.step(lr, model, grads), loss

    for epoch in range(1, config.num_epochs + 1):
        losses = []
        order = random.permutation(len(labels))
        for begin in range(0, len(labels), config.batch_size):
            chosen = order[begin : begin + config.batch_size]
            x, targets = Tensor.from_data(places[chosen], device), Tensor.from_data(labels[chosen], device)
            model, loss = step(model, optim, x, targets, scheduler.step())
            losses.append(loss)
        if epoch % max(1, config.num_epochs // 6) == 0:
            right = accuracy(model.valid(), test_places, test_labels)
            mean = sum(each.item() for each in losses) / len(losses)
            print(f"[Epoch {epoch:3}] loss {mean:.3f} | accuracy on other points {right:.1%}")
    return model


def main() -> None:
    """Read the command line, train, save, load, quantise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args()
    device = DEVICES[options.device]()
    config = TrainingConfig(NetworkConfig(), AdamConfig(), num_epochs=options.epochs)
    model = run(device, config).valid()
    print(model)

    places, labels = (Tensor.from_data(each, device) for each in spirals(512, seed=2))
    with tempfile.TemporaryDirectory() as folder:
        config.save(Path(folder) / "config.json")
        model.save_file(Path(folder) / "model")
        loaded = TrainingConfig.load(Path(folder) / "config.json").model.init(device).load_file(Path(folder) / "model")
    small = loaded.quantize_weights(Quantizer())
    print(f"loaded:    {accuracy(loaded, places, labels):.1%} of other points are right")
    print(f"quantised: {accuracy(small, places, labels):.1%}")


if __name__ == "__main__":
    main()
