"""Which families make which kind of network."""

from __future__ import annotations

import random

from tests.fuzz.networks.activations import activation, gated, learnt, softmax
from tests.fuzz.networks.blocks import (
    classifier,
    conv_block,
    encoder,
    expand_project,
    residual_block,
    squeeze_excite,
)  # fmt: skip
from tests.fuzz.networks.convolutions import convolution, transposed
from tests.fuzz.networks.drawing import CHANNELS, SIZES, Writer
from tests.fuzz.networks.layers import adaptive_pooling, batch_norm, linear, norm, patches, pooling, resizing, shuffle
from tests.fuzz.networks.movement import arithmetic, join, product, reduction, residual, view
from tests.fuzz.networks.network import Drawn, Network
from tests.fuzz.networks.sequences import attention, embedding, plain_attention, recurrent

IMAGES = (
    convolution, convolution, convolution, transposed, pooling, adaptive_pooling, resizing, batch_norm, norm,
    activation, learnt, conv_block, expand_project, residual_block, squeeze_excite, join, residual, view,
)  # fmt: skip
MOBILE = (expand_project, expand_project, expand_project, conv_block, squeeze_excite, convolution, residual, pooling)
SEQUENCES = (recurrent, attention, encoder, linear, norm, activation, gated, embedding, join, residual, view, softmax)
ANYTHING = (
    *IMAGES, *SEQUENCES, arithmetic, reduction, reduction, product, shuffle, patches, plain_attention, classifier, view,
)  # fmt: skip


def draw(seed: int) -> Network:
    """The network of a seed, the same on every machine."""
    chooser = random.Random(f"network {seed}")
    recipe = chooser.choice(("images", "images", "mobile", "wide", "sequences", "anything", "anything"))
    dtype = "float64" if chooser.random() < 0.08 else "float32"
    batch = chooser.choice((1, 1, 2, 2, 3))
    if recipe == "wide":
        w = Writer(seed, dtype, most=600_000, work=60_000_000)
        size = chooser.choice((40, 56, 80, 80, 81))
        w.add_input(Drawn((1, chooser.choice((8, 16, 24, 32, 32, 48, 64)), size, size)))
        families, count = MOBILE, chooser.randint(1, 3)
    else:
        w = Writer(seed, dtype)
        spatial = {"images": chooser.choice((1, 2, 2, 2, 3)), "mobile": 2}.get(
            recipe, chooser.choice((1, 1, 2, 2, 3, 0))
        )
        if recipe == "sequences":
            w.add_input(Drawn((batch, chooser.randint(1, 12), chooser.choice((1, 3, 4, 6, 8, 12, 16, 32)))))
        else:
            most = {0: 33, 1: 33, 2: 33, 3: 9}[spatial]
            sizes = [chooser.choice([size for size in SIZES if size <= most]) for _ in range(spatial)]
            w.add_input(Drawn((batch, chooser.choice(CHANNELS), *sizes)))
            if chooser.random() < 0.2:
                w.add_input(Drawn((batch, chooser.choice(CHANNELS), *sizes)))
        families = {"images": IMAGES, "mobile": MOBILE, "sequences": SEQUENCES}.get(recipe, ANYTHING)
        count = chooser.choice((1, 2, 3, 4, 5, 6, 8, 10))
    for _ in range(count):
        w.try_one(families)
    while not w.network.steps:
        w.try_one((arithmetic,))
    return w.finished()
