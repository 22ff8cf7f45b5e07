"""Named tensors align by name, and say both names when they cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import burn
from burn.backend import NdArray
from burn.errors import ArgumentError, ShapeError
from burn.tensor.named import NamedTensor

ROOT = Path(__file__).resolve().parents[2]


def named(array: np.ndarray[tuple[int, ...], np.dtype[np.float64]], *dims: str) -> NamedTensor:
    return NamedTensor(burn.tensor(array, device=NdArray()), dims)


def numpy(tensor: NamedTensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(tensor.tensor.to_data().numpy(), np.float64)


def numbers(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.random.default_rng(len(shape)).normal(size=shape)


def test_the_names_carry_the_sizes() -> None:
    x = named(numbers(2, 3), "batch", "feature")
    assert x.dims == ("batch", "feature")
    assert x.shape == {"batch": 2, "feature": 3}
    assert repr(x) == "NamedTensor(batch: 2, feature: 3)"
    assert str(x).startswith("NamedTensor(batch: 2, feature: 3)\nTensor {")


def test_rearrange_moves_dims_by_name() -> None:
    array = numbers(2, 3, 4)
    result = named(array, "a", "b", "c").rearrange(("c", "a", "b"))
    assert result.dims == ("c", "a", "b")
    np.testing.assert_array_equal(numpy(result), array.transpose(2, 0, 1))


def test_rearrange_names_what_is_missing_and_what_is_unknown() -> None:
    with pytest.raises(ShapeError, match=r"rearrange: \(a, b\) does not rearrange to \(a, c\): missing b; unknown c"):
        named(numbers(2, 3), "a", "b").rearrange(("a", "c"))


def test_rename_gives_other_names() -> None:
    x = named(numbers(2, 3), "a", "b").rename(b="c")
    assert x.dims == ("a", "c")
    with pytest.raises(ShapeError, match=r"rename: no dim 'z' in \(a, c\)"):
        x.rename(z="q")


def test_addition_aligns_by_name_and_not_by_place() -> None:
    x, y = numbers(2, 3), numbers(3, 2)
    np.testing.assert_allclose(numpy(named(x, "a", "b") + named(y, "b", "a")), x + y.T)


def test_a_dim_of_one_side_only_is_added_at_the_end() -> None:
    x, y = numbers(2, 3), numbers(4, 3)
    result = named(x, "a", "b").mul(named(y, "c", "b"))
    assert result.dims == ("a", "b", "c")
    np.testing.assert_allclose(numpy(result), x[:, :, None] * y.T[None])


def test_arithmetic_takes_numbers_on_both_sides() -> None:
    array = numbers(2, 3)
    x = named(array, "a", "b")
    np.testing.assert_allclose(numpy(1.0 - x), 1 - array)
    np.testing.assert_allclose(numpy(2.0 / (x + 10.0)), 2 / (array + 10))
    np.testing.assert_allclose(numpy(x.sub(1.0).div(2.0)), (array - 1) / 2)
    np.testing.assert_allclose(numpy(3.0 * -x + 1.0), 1 - 3 * array)


def test_matmul_contracts_the_last_dim_with_its_namesake() -> None:
    x, w = numbers(5, 3), numbers(4, 3)
    result = named(x, "batch", "feature") @ named(w, "hidden", "feature")
    assert result.dims == ("batch", "hidden")
    np.testing.assert_allclose(numpy(result), x @ w.T)


def test_matmul_keeps_shared_dims_as_a_batch_in_any_order() -> None:
    query, key = numbers(3, 2, 4, 6), numbers(2, 6, 5, 3)
    result = named(query, "head", "batch", "query", "channel").matmul(named(key, "batch", "channel", "key", "head"))
    assert result.dims == ("head", "batch", "query", "key")
    np.testing.assert_allclose(numpy(result), np.einsum("hbqc,bckh->hbqk", query, key))


def test_matmul_of_vectors_gives_a_number() -> None:
    x = numbers(4)
    result = named(x, "i").matmul(named(x, "i"))
    assert result.dims == ()
    np.testing.assert_allclose(numpy(result), x @ x)


def test_elementwise_functions_keep_the_names() -> None:
    array = np.abs(numbers(2, 3)) + 0.5
    x = named(array, "a", "b")
    for name, function in (("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("tanh", np.tanh)):
        result = getattr(x, name)()
        assert result.dims == ("a", "b")
        np.testing.assert_allclose(numpy(result), function(array))
    np.testing.assert_allclose(numpy((x - 1.0).relu()), np.maximum(array - 1, 0))


def test_reductions_drop_the_named_dim() -> None:
    array = numbers(2, 3)
    x = named(array, "a", "b")
    assert x.sum_dim("a").shape == {"b": 3}
    np.testing.assert_allclose(numpy(x.sum_dim("a")), array.sum(0))
    np.testing.assert_allclose(numpy(x.mean_dim("b")), array.mean(1))


def test_mistakes_name_both_dims() -> None:
    x = named(numbers(2, 3), "a", "b")
    with pytest.raises(ShapeError, match=r"add: \(a, b\) and \(b, c\) disagree on 'b': 3 != 4"):
        x + named(numbers(4, 5), "b", "c")
    with pytest.raises(ShapeError, match=r"matmul: \(a, b\) @ \(c, d\): no dim 'b' on the right"):
        x @ named(numbers(3, 5), "c", "d")
    with pytest.raises(ShapeError, match=r"NamedTensor: \(a\) names 1 dims and the tensor has 2: \(2, 3\)"):
        named(numbers(2, 3), "a")
    with pytest.raises(ShapeError, match=r"NamedTensor: \(a, a\) names a dimension twice"):
        named(numbers(2, 3), "a", "a")
    with pytest.raises(ShapeError, match=r"sum_dim: no dim 'z' in \(a, b\)"):
        x.sum_dim("z")
    with pytest.raises(ArgumentError, match=r"add: Tensor has no named dims; write NamedTensor\(tensor, dims\)"):
        x.add(x.tensor)  # type: ignore[arg-type]


def test_the_example_runs() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "examples.named_tensor"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "NamedTensor(batch: 2, query: 3, key: 5)" in result.stdout
    assert "disagree on 'channel': 4 != 7" in result.stdout
