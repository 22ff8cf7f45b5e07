"""What is done to a program before it is scheduled, and which kernels of the CPU the patterns may count on."""

from __future__ import annotations

from functools import partial

from burn.backend.cpu.lower.attention.choice import chosen
from burn.backend.cpu.lower.blocks import fuse_blocks
from burn.backend.cpu.lower.convolution import has_a_kernel
from burn.backend.cpu.lower.direct import reads_anyhow
from burn.backend.cpu.lower.products import fits
from burn.engine.patterns.attention.find import fuse_attention
from burn.engine.patterns.halves import widen_halves
from burn.engine.patterns.kernels import Kernels
from burn.engine.patterns.layouts import assign_layouts
from burn.program.passes import Pass, drop_identities, remove_dead, share_equal

KERNELS = Kernels(
    product=fits,
    convolution=has_a_kernel,
    reads_in_any_order=reads_anyhow,
    attention=lambda sizes, needs_all: chosen(sizes, needs_all) is not None,
)

PASSES: list[tuple[str, Pass]] = [
    ("drop identities", drop_identities),
    ("widen halves", widen_halves),
    ("share equal", share_equal),
    ("remove dead", remove_dead),
    ("attention", partial(fuse_attention, kernels=KERNELS)),
    ("layouts", partial(assign_layouts, kernels=KERNELS)),
    ("remove what layouts left", remove_dead),
    ("blocks", fuse_blocks),
]
