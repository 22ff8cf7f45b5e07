"""Exports of the networks that libraries ship, where those libraries are installed: the same as of our own networks.

The plain networks of `image_networks` and `sequence_networks` run always; these show that nothing was left out of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import burn
from burn_import.onnx import load
from tests.onnx.exporting import BATCH, EXPORTERS, SEQUENCE, Case, as_tuple, export, image, masked_tokens, on


def library(name: str) -> Any:
    """A library that tests may use; one that is there but does not fit this PyTorch is as good as none."""
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"needs {name}, which cannot be imported here: {error}")


class Wrapped(nn.Module):
    """A network of a library with tensors in and tensors out."""

    def __init__(self, network: nn.Module, names: tuple[str, ...], results: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.names, self.results = network, names, results

    def forward(
        self, first: torch.Tensor, second: torch.Tensor | None = None, third: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        found = self.network(**dict(zip(self.names, (first, second, third))))
        return tuple(getattr(found, name) for name in self.results)


def vision(name: str) -> Callable[[], nn.Module]:
    return lambda: getattr(library("torchvision.models"), name)()


def bert() -> nn.Module:
    made = library("transformers")
    config = made.BertConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=32,
    )  # fmt: skip
    names = ("input_ids", "attention_mask", "token_type_ids")
    return Wrapped(made.BertModel(config), names, ("last_hidden_state", "pooler_output"))


def gpt2() -> nn.Module:
    made = library("transformers")
    config = made.GPT2Config(
        vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=32, bos_token_id=0, eos_token_id=0, use_cache=False
    )
    return Wrapped(made.GPT2LMHeadModel(config), ("input_ids", "attention_mask"), ("logits",))


def whisper() -> nn.Module:
    made = library("transformers")
    config = made.WhisperConfig(
        d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=8,
        max_source_positions=20,
    )  # fmt: skip
    encoder = importlib.import_module("transformers.models.whisper.modeling_whisper").WhisperEncoder(config)
    return Wrapped(encoder, ("input_features",), ("last_hidden_state",))


def spectrogram(batch: int, length: int) -> list[torch.Tensor]:
    return [torch.randn(batch, 8, 40, generator=torch.Generator().manual_seed(batch))]


CASES = [
    Case("resnet18", vision("resnet18"), image(64), ("x",), BATCH),
    Case("mobilenet_v2", vision("mobilenet_v2"), image(64), ("x",), BATCH),
    Case("squeezenet", vision("squeezenet1_1"), image(64), ("x",), BATCH),
    Case("densenet121", vision("densenet121"), image(64), ("x",), BATCH),
    Case("convnext", vision("convnext_tiny"), image(64), ("x",), BATCH),
    Case("bert", bert, masked_tokens, ("tokens", "mask", "kinds"), SEQUENCE),
    Case("gpt2", gpt2, lambda batch, length: masked_tokens(batch, length)[:2], ("tokens", "mask"), SEQUENCE),
    Case("whisper_encoder", whisper, spectrogram, ("x",), BATCH),
]


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", EXPORTERS, ids=["tracing exporter", "graph exporter"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_export_of_a_library_gives_what_pytorch_gives(case: Case, dynamo: bool) -> None:
    torch.manual_seed(0)
    network = case.network().eval()
    data = export(case, network, dynamo=dynamo)
    model = load(data, burn.NdArray())
    for sizes in case.sizes:
        inputs = case.inputs(*sizes)
        with torch.no_grad():
            wanted = as_tuple(network(*inputs))
        for one, other in zip(as_tuple(model(*on(burn.NdArray(), inputs))), wanted):
            scale = float(other.abs().max())
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-5 * scale)
