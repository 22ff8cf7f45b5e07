# pyright: reportAny=true
"""Inference with burn.compile."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

import burn
from burn import Config, Module, Tensor, nn
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig
from burn.tensor.activation import softmax


class NetConfig(Config):
    classes: int = 10
    width: int = 8

    def init(self, device: burn.Device) -> Net:
        return Net(
            conv1=Conv2dConfig([1, self.width], [3, 3]).init(device),
            conv2=Conv2dConfig([self.width, 2 * self.width], [3, 3]).init(device),
            norm=nn.BatchNormConfig(self.width).init(device),
            pool=AdaptiveAvgPool2dConfig([2, 2]).init(),
            head=nn.LinearConfig(8 * self.width, self.classes).init(device),
        )


class Net(Module):
    conv1: Conv2d
    conv2: Conv2d
    norm: nn.BatchNorm
    pool: AdaptiveAvgPool2d
    head: nn.Linear

    def forward(self, images: Tensor) -> Tensor:
        batch, height, width = images.dims()
        x = images.reshape([batch, 1, height, width])
        x = self.norm(self.conv1(x)).relu()
        x = self.pool(self.conv2(x).relu())
        return self.head(x.flatten(1, -1))


def batches(count: int) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    random = np.random.default_rng(0)
    for _ in range(count):
        yield random.standard_normal((4, 12, 12)).astype(np.float32)


def top(scores: Tensor, count: int) -> list[tuple[int, float]]:
    values, indices = scores.topk_with_indices(count, 0)
    return [(int(index), float(value)) for value, index in zip(values, indices)]


def main(argv: list[str]) -> int:
    device = burn.default_device()
    model = NetConfig(width=4).init(device).valid()

    @burn.compile
    def predict(images: Tensor, temperature: float = 1.0) -> Tensor:
        return softmax(model(images) / temperature, 1)

    compiled = burn.compile(model)
    begun = time.perf_counter()
    best = 0.0
    for images in batches(5):
        x = burn.tensor(images, device=device)
        shares = predict(x, 0.5)
        assert shares.shape == (4, 10)
        logits = compiled(x)
        agree = (logits.argmax(1) == shares.argmax(1)).all()
        print(bool(agree), top(shares[0], 3))
        best = max(best, shares.max().item())
        classes = shares.argmax(1).squeeze(1).int()
        hits = classes.equal(burn.tensor([0, 1, 2, 3], device=device)).float().mean()
        print(f"{hits.item():.2f}", (shares > 0.2).any().item())
        scaled = 2.0 * x - x / 3 + (x**2).sqrt() - x.abs().mean()
        stacked = Tensor.stack([x, scaled], 0)
        joined = Tensor.cat([x, scaled], 0)
        first, second = joined.chunk(2, 0)[:2]
        print(stacked.shape, joined.transpose().shape, first.shape == second.shape)
    print(f"{time.perf_counter() - begun:.3f} s", best, model.num_params())
    for path, param in model.named_parameters():
        print(path, param.shape, param.dtype)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
