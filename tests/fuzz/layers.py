"""One layer, activation or loss at a time, with random settings, against its peer in PyTorch.

A layer is a network of one step (see `tests.fuzz.networks`), so it is compared in the same ways: eager and captured, in
training and for inference, results, gradients and statistics.
"""

from __future__ import annotations

import random

from tests.fuzz.networks.activations import activation, gated, learnt, softmax
from tests.fuzz.networks.convolutions import convolution, transposed
from tests.fuzz.networks.drawing import CHANNELS, SIZES, Writer
from tests.fuzz.networks.layers import adaptive_pooling, batch_norm, linear, norm, patches, pooling, resizing, shuffle
from tests.fuzz.networks.losses import LOSSES
from tests.fuzz.networks.movement import product, reduction, view
from tests.fuzz.networks.network import Drawn, Network
from tests.fuzz.networks.seeds import report
from tests.fuzz.networks.sequences import attention, embedding, plain_attention, recurrent

LAYERS = (
    activation, activation, gated, learnt, softmax, convolution, convolution, convolution, transposed, transposed,
    adaptive_pooling, batch_norm, linear, norm, norm, patches, pooling, pooling, resizing, shuffle, recurrent,
    attention, embedding, plain_attention, product, reduction, view,
)  # fmt: skip


def draw(seed: int) -> Network:
    """The layer of a seed, the same on every machine."""
    chooser = random.Random(f"layer {seed}")
    w = Writer(seed, "float64" if chooser.random() < 0.2 else "float32")
    if chooser.random() < 0.3:
        while not w.network.steps:
            w.try_one(LOSSES)
        return w.finished()
    family = chooser.choice(LAYERS)
    for _ in range(40):
        w = Writer(w.network.seed, w.network.dtype)
        w.random = chooser
        rank = chooser.choice((2, 3, 3, 4, 4, 5))
        sizes = [chooser.choice([size for size in SIZES if size <= (9 if rank == 5 else 33)]) for _ in range(rank - 2)]
        w.add_input(Drawn((chooser.choice((1, 2, 3)), chooser.choice(CHANNELS), *sizes)))
        w.try_one((family,), tries=4)
        if w.network.steps:
            return w.finished()
    return draw(seed + 10_000_000)


def check(seed: int) -> str | None:
    """A report if the layer of the seed fails."""
    return report(draw(seed))
