"""Blocks: convolutions that follow each other, in one kernel, with what lies between them in the cache.

`found` finds them on the program, `choice` says whether and in which sizes they are fused, `stages` writes the rows
of each convolution, and `kernel` puts the rows together. `joined` spares copies of images put side by side.
"""

from __future__ import annotations

from burn.backend.cpu.lower.blocks.found import fuse_blocks
from burn.backend.cpu.lower.blocks.joined import homes_of
from burn.backend.cpu.lower.blocks.kernel import lower_block

__all__ = ["fuse_blocks", "homes_of", "lower_block"]
