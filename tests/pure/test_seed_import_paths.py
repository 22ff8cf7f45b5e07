"""Every import path that Burn's texts use, with `::` read as `.`, as far as its package exists."""

from __future__ import annotations

import importlib
import re

import pytest

PATHS = """
burn.tensor.Tensor burn.tensor.TensorData burn.tensor.Shape burn.tensor.Distribution
burn.tensor.Float burn.tensor.Int burn.tensor.Bool burn.tensor.Device burn.tensor.ElementConversion
burn.tensor.PrintOptions burn.tensor.set_print_options burn.tensor.check_closeness
burn.tensor.activation.gelu burn.tensor.activation.softmax burn.tensor.activation.relu
burn.tensor.grid.meshgrid burn.tensor.grid.GridIndexing burn.tensor.linalg.vector_norm
burn.tensor.backend.Backend burn.tensor.backend.AutodiffBackend
burn.backend.NdArray burn.backend.LibTorch burn.backend.Autodiff
burn.prelude.Tensor
burn.data.dataset.vision.MnistItem burn.data.dataset.vision.MnistDataset burn.data.dataset.transform.Mapper
burn.data.dataloader.batcher.Batcher burn.data.data_loader.batcher.Batcher burn.data.dataloader.DataLoaderBuilder
""".split()

PRELUDE = "Backend Bool Device ElementConversion Float Int Shape Tensor TensorData".split()


@pytest.mark.parametrize("path", PATHS)
def test_the_path_imports(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


def test_the_prelude_gives_its_names_with_a_star() -> None:
    names: dict[str, object] = {}
    exec("from burn.prelude import *", names)
    assert [name for name in PRELUDE if name not in names] == []


def test_one_tensor_class_is_found_on_every_path() -> None:
    import burn
    import burn.prelude
    import burn.tensor

    assert burn.Tensor is burn.tensor.Tensor is burn.prelude.Tensor


def test_the_version_is_a_version() -> None:
    import burn

    assert re.fullmatch(r"\d+\.\d+\.\d+", burn.__version__)
