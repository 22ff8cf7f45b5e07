# Written by burn-import 0.1.0 from a model in memory
# (opset 23, producer: unknown).
# This file is yours: read it, edit it, train it. burn-import asks before it replaces an edited file.

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import burn
from burn import Device, Module, Tensor
from burn.tensor import normalization, quantized, text, transformer, trees


class Model(Module):
    """The graph earlier."""

    roots: Tensor  # i64 (1,)
    features: Tensor  # i64 (1,)
    splits: Tensor  # f32 (1,)
    no: Tensor  # i64 (1,)
    missing: Tensor  # bool (1,)
    votes: Tensor  # f32 (2, 1)

    def __init__(self, device: Device) -> None:
        self.roots = burn.tensor([0], device=device, dtype=burn.i64)
        self.features = burn.tensor([1], device=device, dtype=burn.i64)
        self.splits = burn.tensor([0.5], device=device, dtype=burn.f32)
        self.no = burn.tensor([2], device=device, dtype=burn.i64)
        self.missing = burn.tensor([False], device=device, dtype=burn.bool_)
        self.votes = burn.tensor([[-1.5], [2.25]], device=device, dtype=burn.f32)

    def forward(
        self,
        x: Tensor,  # f32 (2, 3, 4)
        words: Any,  # string (3,)
    ) -> tuple[Tensor, Tensor, Any]:
        """Gives y f32 (2, 3, 4), scores f32 (6, 1), marked string (3,)."""
        q, scale, zero = quantized.dynamic_quantize(normalization.mean_variance_norm(x, (0, 2)))
        back = quantized.dequantize_linear(q, scale, zero)  # (2, 3, 4)
        y = transformer.attention(back, back, x, heads=2, key_heads=2)[0]  # (2, 3, 4)
        scores = trees.tree_ensemble(
            back.reshape([6, 4]),
            self.roots,
            self.features,
            self.splits,
            self.roots,
            self.features,
            self.no,
            self.missing,
            self.votes,
        )
        marked = text.concat(words, np.array(["!"], dtype=object))
        return y, scores, marked

    @classmethod
    def default(cls) -> Model:
        """The model with its trained weights, on the default device."""
        raise RuntimeError("default: this source was written without weights; give from_file a path")

    @classmethod
    def from_file(cls, path: str | Path, device: Device) -> Model:
        """The model with the weights of a file."""
        return cls(device).load_file(path, burn.record.NamedMpkFileRecorder())

    @classmethod
    def from_bytes(cls, data: bytes, device: Device) -> Model:
        """The model with the weights that some bytes hold."""
        return cls(device).load_record(burn.record.NamedMpkBytesRecorder().load(data))

    @classmethod
    def from_embedded(cls, device: Device) -> Model:
        """The model with the weights that stand in this file."""
        raise RuntimeError("from_embedded: no weights are in this file; import it with --embed")
