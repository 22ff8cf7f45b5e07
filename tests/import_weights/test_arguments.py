"""What a user says about a file: names, keys, layouts, and what is printed about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burn.backend import NdArray
from burn.errors import ArgumentError
from burn.nn import BatchNormConfig, LinearConfig
from burn.record import RecordError
from burn_import.common.renaming import Renaming
from burn_import.pytorch import AdapterType, LoadArgs, PyTorchFileRecorder

DEVICE = NdArray()
NET = {
    "conv.conv1.weight": torch.ones(2, 2, 2, 2),
    "conv.conv1.bias": torch.ones(2),
    "conv.conv2.weight": torch.ones(2, 2, 2, 2),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.save(NET, tmp_path / "key_remap.pt")
    return tmp_path / "key_remap.pt"


def names(args: Any) -> list[str]:
    return list(PyTorchFileRecorder().load(args).tensors)


def test_the_remap_of_the_book_works_as_written(path: Path) -> None:
    assert names(LoadArgs(path).with_key_remap("conv\\.(.*)", "$1")) == ["conv1.weight", "conv1.bias", "conv2.weight"]


@pytest.mark.parametrize(
    "pattern, replacement, name, expected",
    [
        (r"conv\.(.*)", "$1", "conv.conv1.bias", "conv1.bias"),
        (r"conv\.(.*)", r"\1", "conv.conv1.bias", "conv1.bias"),
        (r"(\w+)\.(\w+)", "${2}_$1", "a.b", "b_a"),
        (r"(?P<x>\w+)\.(?P<y>\w+)", "${y}.${x}", "a.b", "b.a"),
        (r"(?<x>\w+)\.", "$x-", "a.b", "a-b"),
        (r"(?<=a)b", "c", "ab", "ac"),
        (r"(\w)(\d)", r"\g<1>.\2", "a1b2", "a.1b.2"),
        (r"x", "$$1", "x", "$1"),
        (r"x", r"\\1", "x", r"\1"),
        (r"l(\d+)", "$1x", "l7", "7x"),
        (r"a|(b)", "[$1]", "ab", "[][b]"),
        (r"\.", "/", "a.b.c", "a/b/c"),
        (r"^a", "$", "a", "$"),
    ],
)
def test_replacements_of_rust_and_of_python(pattern: str, replacement: str, name: str, expected: str) -> None:
    assert Renaming(pattern, replacement)(name) == expected


def test_several_remaps_are_applied_in_their_order(path: Path) -> None:
    args = LoadArgs(path).with_key_remap("conv1", "conv9").with_key_remap("conv9", "first").with_key_remap("^conv", "c")
    assert names(args) == ["c.first.weight", "c.first.bias", "c.conv2.weight"]


def test_arguments_stay_as_they_are_when_others_are_made(path: Path) -> None:
    plain = LoadArgs(path)
    assert plain.with_key_remap("a", "b").with_debug_print().with_top_level_key("x") != plain
    assert plain == LoadArgs(path)


def test_a_wrong_pattern_and_an_unknown_group_are_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match=r"with_key_remap: 'a\(' is no regular expression: missing \)"):
        LoadArgs("x.pt").with_key_remap("a(", "b")
    with pytest.raises(ArgumentError, match=r"'\$2' names the group 2, and '\(a\)' has 1 groups"):
        LoadArgs("x.pt").with_key_remap("(a)", "$2")
    with pytest.raises(ArgumentError, match=r"names the group 'z', and .* has 1 groups \(y\)"):
        LoadArgs("x.pt").with_key_remap("(?P<y>a)", "${z}")


def test_two_names_that_become_one_are_an_error(path: Path) -> None:
    with pytest.raises(RecordError, match=r"conv.conv1.weight and conv.conv2.weight both become conv.weight"):
        names(LoadArgs(path).with_key_remap(r"conv\d", "").with_key_remap(r"\.\.", "."))


def test_the_debug_print_is_that_of_the_book(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PyTorchFileRecorder().load(LoadArgs(path).with_key_remap("conv\\.(.*)", "$1").with_debug_print())
    assert (
        capsys.readouterr().out
        == """\
Debug information of keys and tensor shapes:
---
Original Key: conv.conv1.bias
Remapped Key: conv1.bias
Shape: [2]
Dtype: F32
---
Original Key: conv.conv1.weight
Remapped Key: conv1.weight
Shape: [2, 2, 2, 2]
Dtype: F32
---
Original Key: conv.conv2.weight
Remapped Key: conv2.weight
Shape: [2, 2, 2, 2]
Dtype: F32
---
"""
    )


def test_weights_under_a_top_level_key(tmp_path: Path) -> None:
    torch.save({"my_state_dict": NET, "epoch": 3}, tmp_path / "tiny.pt")
    assert names(LoadArgs(tmp_path / "tiny.pt").with_top_level_key("my_state_dict")) == list(NET)
    assert names(tmp_path / "tiny.pt") == [f"my_state_dict.{name}" for name in NET]
    with pytest.raises(RecordError, match="no top-level key 'model'; it has my_state_dict, epoch"):
        names(LoadArgs(tmp_path / "tiny.pt").with_top_level_key("model"))


def test_files_without_named_tensors_say_what_there_is(tmp_path: Path) -> None:
    for value, message in [
        ({"lr": 0.1, "epoch": 3}, "it holds no tensors; there is a dict of lr, epoch"),
        ([1, 2], "it holds no tensors; there is list"),
        (torch.ones(2), "it holds one tensor without a name; save a dict of tensors"),
    ]:
        torch.save(value, tmp_path / "x.pt")
        with pytest.raises(RecordError, match=message):
            PyTorchFileRecorder().load(tmp_path / "x.pt")


def test_without_an_adapter_tensors_are_taken_as_they_are(tmp_path: Path) -> None:
    torch.save({"weight": torch.arange(4.0).reshape(2, 2), "bias": torch.ones(2)}, tmp_path / "x.pt")
    args = LoadArgs(tmp_path / "x.pt").with_adapter_type(AdapterType.NoAdapter)
    made = LinearConfig(2, 2).init(DEVICE).load_record(PyTorchFileRecorder().load(args))
    np.testing.assert_array_equal(made.weight.to_data().numpy(), np.arange(4.0).reshape(2, 2))
    torch.save({name: torch.ones(3) for name in ("gamma", "beta", "running_mean", "running_var")}, tmp_path / "n.pt")
    args = LoadArgs(tmp_path / "n.pt").with_adapter_type(AdapterType.NoAdapter)
    norm = BatchNormConfig(3).init(DEVICE).load_record(PyTorchFileRecorder().load(args))
    assert norm.running_mean.value.to_data().to_vec() == [1.0, 1.0, 1.0]


def test_arguments_of_another_kind_are_refused() -> None:
    with pytest.raises(ArgumentError, match="load: a path, an open binary file or LoadArgs is needed, got 7"):
        PyTorchFileRecorder().load(7)
    with pytest.raises(ArgumentError, match="needs AdapterType.PyTorch or AdapterType.NoAdapter, got 'torch'"):
        LoadArgs("x.pt").with_adapter_type("torch")  # type: ignore[arg-type]
    with open(__file__, encoding="utf-8") as file, pytest.raises(ArgumentError, match="opened in binary mode"):
        PyTorchFileRecorder().load(file)
