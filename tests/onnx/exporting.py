"""The networks whose exports are tested, both exporters of PyTorch, and whose element is whose.

An exporter may transpose, reorder, join and rename parameters. `spread` therefore gives every element of a network a
value that no other element has, and `Correspondence` finds by value where each of them went: gradients and weights are
then compared element by element, whatever the importer calls its fields.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from torch import nn

import burn
from tests.onnx import image_networks as images
from tests.onnx import sequence_networks as sequences

Tensors = list[torch.Tensor]
BATCH, SEQUENCE = {0: "batch"}, {0: "batch", 1: "length"}
EXPORTERS = (False, True)


@dataclass(frozen=True)
class Case:
    """A network, its inputs for a batch size and a length, and which of their sizes stay open."""

    name: str
    network: Callable[[], nn.Module]
    inputs: Callable[[int, int], Tensors]
    names: tuple[str, ...]
    open_sizes: Mapping[int, str]
    sizes: tuple[tuple[int, int], ...] = field(default=((2, 7), (1, 5), (4, 12)))

    def __str__(self) -> str:
        return self.name


def image(size: int = 32) -> Callable[[int, int], Tensors]:
    return lambda batch, length: [torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(batch))]


def tokens(batch: int, length: int) -> Tensors:
    return [torch.randint(0, 40, (batch, length), generator=torch.Generator().manual_seed(length))]


def masked_tokens(batch: int, length: int) -> Tensors:
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, -2:] = 0
    kinds = (torch.arange(length) >= length // 2).to(torch.int64).expand(batch, length).contiguous()
    return [*tokens(batch, length), mask, kinds]


def spectrogram(batch: int, length: int) -> Tensors:
    return [torch.randn(batch, 8, 2 * length, generator=torch.Generator().manual_seed(length))]


CASES = [
    Case("resnet18", images.ResNet18, image(), ("x",), BATCH),
    Case("mobilenet_v2", images.MobileNetV2, image(), ("x",), BATCH),
    Case("squeezenet", images.SqueezeNet, image(), ("x",), BATCH),
    Case("densenet121", images.DenseNet121, image(), ("x",), BATCH),
    Case("vit_tiny", images.VisionTransformer, image(), ("x",), BATCH),
    Case("convnext", images.ConvNext, image(), ("x",), BATCH),
    Case("bert", sequences.Bert, masked_tokens, ("tokens", "mask", "kinds"), SEQUENCE),
    Case("gpt2", sequences.Gpt2, tokens, ("tokens",), SEQUENCE),
    Case("whisper_encoder", sequences.WhisperEncoder, spectrogram, ("x",), {0: "batch", 2: "frames"}),
    Case("lstm", sequences.Recurrent, tokens, ("tokens",), SEQUENCE),
]


def spread(network: nn.Module, seed: int = 0) -> nn.Module:
    """The network with values near its initial ones that differ in every element of every parameter."""
    generator = torch.Generator().manual_seed(seed)
    count = sum(parameter.numel() for parameter in network.parameters())
    # A multiple of 1/64 within (-1, 1), plus the element's own number in the bits that f32 has below.
    numbers = torch.randperm(count, generator=generator).double()
    assert count < 2**18
    start = 0
    with torch.no_grad():
        for parameter in network.parameters():
            own = numbers[start : start + parameter.numel()].reshape(parameter.shape)
            noise = torch.randn(parameter.shape, generator=generator) / 16
            coarse = torch.round((parameter + noise).double() * 64).clamp(-62, 62) / 64
            parameter.copy_(coarse + own * 2.0**-24)
            start += parameter.numel()
        for buffer in network.buffers():
            if buffer.is_floating_point():
                buffer.add_(torch.rand(buffer.shape, generator=generator) / 16)
    return network


def export(case: Case, network: nn.Module, *, dynamo: bool, training: bool = False, optimize: bool = True) -> bytes:
    """The ONNX file of a network with open sizes; without folding if it is to train."""
    if dynamo and any(isinstance(each, nn.LSTM) for each in network.modules()):
        return apart(_exported, case, network, dynamo, training, optimize)
    return _exported(case, network, dynamo, training, optimize)


def apart(function: Callable[..., bytes], *arguments: Any) -> bytes:
    """A call in a process of its own: one export of an LSTM leaves something in PyTorch (2.13) that closes the length
    in the exports after it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _exported(case: Case, network: nn.Module, dynamo: bool, training: bool, optimize: bool) -> bytes:
    inputs = case.inputs(*case.sizes[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not dynamo:
            file: Any = io.BytesIO()
            options: dict[str, Any] = {}
            if training:
                options = {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
            axes = {name: dict(case.open_sizes) for name in case.names}
            torch.onnx.export(
                network, tuple(inputs), file, dynamo=False, input_names=list(case.names), dynamic_axes=axes, **options
            )
            return bytes(file.getvalue())
        sizes = dict.fromkeys(case.open_sizes, torch.export.Dim.DYNAMIC)
        program = torch.onnx.export(
            network, tuple(inputs), dynamo=True, input_names=list(case.names), verbose=False,
            dynamic_shapes=tuple(sizes for _ in inputs), optimize=optimize and not training,
        )  # fmt: skip
    assert program is not None
    return bytes(program.model_proto.SerializeToString())


def on(device: burn.Device, tensors: Tensors) -> list[burn.Tensor]:
    return [burn.tensor(each.numpy(), device=device) for each in tensors]


def as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


class Correspondence:
    """Which element of a PyTorch network every element of an imported model came from, found by value."""

    def __init__(self, network: nn.Module, model: Any) -> None:
        self.parameters = dict(network.named_parameters())
        values = self.flat(lambda parameter: parameter)
        assert len(np.unique(values)) == len(values), "spread the network before it is exported"
        order = np.argsort(values)
        self.places: dict[str, np.ndarray] = {}
        for path, parameter in model.named_parameters():
            array = parameter.val().numpy()
            found = np.minimum(np.searchsorted(values[order], array), len(values) - 1)
            if (values[order][found] == array).all():
                self.places[path] = order[found]
        covered = np.zeros(len(values), bool)
        for place in self.places.values():
            covered[place.reshape(-1)] = True
        names = np.repeat(list(self.parameters), [each.numel() for each in self.parameters.values()])
        self.missing = sorted(set(names[~covered].tolist()))

    def flat(self, read: Callable[[nn.Parameter], torch.Tensor | None]) -> np.ndarray:
        arrays = []
        for parameter in self.parameters.values():
            value = read(parameter)
            arrays.append(np.zeros(parameter.numel()) if value is None else value.detach().numpy().reshape(-1))
        return np.concatenate(arrays)

    def expected(self, read: Callable[[nn.Parameter], torch.Tensor | None]) -> Iterator[tuple[str, np.ndarray]]:
        """What PyTorch has for each parameter of the imported model, in its layout."""
        flat = self.flat(read)
        for path, place in self.places.items():
            yield path, flat[place]
