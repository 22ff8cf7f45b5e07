"""Records that the tests write and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.record import (
    Absent,
    BinBytesRecorder,
    BinFileRecorder,
    BinGzFileRecorder,
    BurnpackRecorder,
    JsonGzFileRecorder,
    NamedMpkBytesRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    ParamItem,
    PrettyJsonFileRecorder,
    SafetensorsRecorder,
    Signed,
    Some,
    Variant,
)
from burn.tensor import TensorData

FILE_RECORDERS = [
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    BinFileRecorder,
    BinGzFileRecorder,
    JsonGzFileRecorder,
    PrettyJsonFileRecorder,
    SafetensorsRecorder,
    BurnpackRecorder,
]
BYTES_RECORDERS = [BinBytesRecorder, NamedMpkBytesRecorder]
FLAT = (SafetensorsRecorder, BurnpackRecorder)


def data(values: Any, dtype: str = "f32") -> TensorData:
    return TensorData(np.asarray(values), dtype=dtype)


def everything() -> dict[str, Any]:
    """A record with every kind of item."""
    generator = np.random.default_rng(7)
    weight = generator.standard_normal((5, 3)).astype(np.float32)
    return {
        "linear": {
            "weight": ParamItem("v8vojso07rkks", data(weight)),
            "bias": Some(ParamItem("obe8t1h6i9h4m", data([0.5, -0.25, 0.0]))),
        },
        "plain": {"weight": ParamItem("72d17eukbtkma", data([[1.0]])), "bias": Absent(ParamItem("", None))},
        "layers": [{"scale": ParamItem(f"000000000000{n}", data([float(n)] * (n + 1)))} for n in range(3)],
        "pair": (ParamItem("aaaaaaaaaaaaa", data(2.5)), None),
        "stride": (None, None),
        "activation": None,
        "pool": Some(None),
        "choice": Variant("Gelu", 2, {"slope": ParamItem("bbbbbbbbbbbbb", data([1.5, 2.5]))}),
        "indices": ParamItem("ccccccccccccc", data([1, -2, 3], "i64")),
        "mask": ParamItem("ddddddddddddd", data([True, False, True], "bool")),
        "empty": ParamItem("eeeeeeeeeeeee", data(np.zeros((0, 4)))),
        "time": 12345,
        "step": Signed(-1),
        "rate": 0.00125,
        "flag": True,
    }


def schema(item: Any) -> Any:
    """The same tree without data."""
    if isinstance(item, ParamItem):
        return ParamItem("", None)
    if isinstance(item, Some):
        return Some(schema(item.value))
    if isinstance(item, Variant):
        return item._replace(value=schema(item.value))
    if isinstance(item, dict):
        return type(item)({name: schema(value) for name, value in item.items()})
    if type(item) in (list, tuple):
        return type(item)(schema(value) for value in item)
    return item


def tensors(item: Any, path: str = "") -> Iterator[tuple[str, str, TensorData]]:
    """Path, id and data of every parameter."""
    if isinstance(item, ParamItem):
        yield path, item.id, item.data
    elif isinstance(item, Some | Variant):
        yield from tensors(item.value, path)
    elif isinstance(item, dict):
        for name, value in item.items():
            yield from tensors(value, f"{path}.{name}")
    elif type(item) in (list, tuple):
        for index, value in enumerate(item):
            yield from tensors(value, f"{path}.{index}")


def without_data(item: Any) -> Any:
    """The tree with shapes in place of data, for comparing structures."""
    if isinstance(item, ParamItem):
        return ParamItem(item.id, tuple(item.data.shape))
    if isinstance(item, Some):
        return Some(without_data(item.value))
    if isinstance(item, Variant):
        return item._replace(value=without_data(item.value))
    if isinstance(item, dict):
        return {name: without_data(value) for name, value in item.items()}
    if type(item) in (list, tuple):
        return type(item)(without_data(value) for value in item)
    return item


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Any, Any], bytes]:
    """The bytes of the file that a recorder makes of an item."""

    def write(recorder: Any, item: Any) -> bytes:
        recorder.record(item, tmp_path / "written")
        return (tmp_path / f"written.{recorder.extension}").read_bytes()

    return write
