"""Recipes: kernels that are found without being written, and written when they are not found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend.cpu import cache, compiler
from burn.backend.cpu.features import host_features, named
from burn.backend.cpu.target import features, target_of
from burn.cube import CompiledKernel, Kernel
from burn.dtype import f32
from burn.engine.lower.copies import copied
from burn.engine.lower.recipe import Recipe, state_of
from burn.engine.schedule.access import Access
from burn.engine.target import lowering_for
from burn.tensor.module import conv2d


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cache.ObjectCache:
    made = cache.ObjectCache(tmp_path / "kernels")
    monkeypatch.setattr(compiler, "default_cache", lambda: made)
    monkeypatch.setattr(compiler, "_compiled", {})
    return made


def unwritten() -> Kernel:
    raise AssertionError("the kernel is written although its machine code is there")


@pytest.fixture(autouse=True)
def lowering() -> Iterator[None]:
    with lowering_for(target_of(host_features(), 2)):
        yield


def compiled(kernel: Recipe) -> CompiledKernel:
    return compiler.compiled(kernel, host_features())


def transposing() -> Recipe:
    """The recipe of a kernel that copies a matrix of 3 by 4 in the other order."""
    loop = copied(Access(0, (4, 3), (1, 4), 0), f32, 1)
    assert isinstance(loop.kernel, Recipe)
    return loop.kernel


def test_a_kernel_that_was_compiled_before_is_not_written_again(store: cache.ObjectCache) -> None:
    found = transposing()
    compiled(found)
    compiler._compiled.clear()  # as in another process
    again = Recipe("", (), unwritten)
    again.key_parts = found.key_parts
    assert compiled(again).address
    assert compiled(again) is compiled(found)


def test_a_kernel_is_written_where_its_machine_code_is_gone(store: cache.ObjectCache) -> None:
    compiled(transposing())
    compiler._compiled.clear()
    store.clear()
    assert compiled(transposing()).address


def test_recipes_with_other_parts_have_other_keys() -> None:
    assert Recipe("copy", ("f32", 2), unwritten).key_parts != Recipe("copy", ("f32", 3), unwritten).key_parts
    assert Recipe("copy", (1,), unwritten).key_parts != Recipe("direct", (1,), unwritten).key_parts


def test_a_recipe_is_written_for_the_instruction_sets_of_the_lowering_that_made_it() -> None:
    found: list[str] = []

    def write() -> Kernel:
        found.append(features().level)
        return transposing().kernel()

    with lowering_for(target_of(named("avx2"), 2)):
        late = Recipe("late", (), write)
    with lowering_for(target_of(named("neon"), 2)):
        late.kernel()
    assert found == ["avx2"]
    assert compiler._key(late, named("avx2"), False) != compiler._key(late, named("neon"), False)


def test_the_state_of_a_folder_changes_with_its_modules(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = 1\n")
    before = state_of.__wrapped__(tmp_path)
    (tmp_path / "one.py").write_text("a = 1  # changed\n")
    assert state_of.__wrapped__(tmp_path) != before


@pytest.mark.parametrize("follow", ["relu", "add", "scaled"])
def test_convolutions_that_differ_in_what_follows_only_have_kernels_of_their_own(follow: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 16, 13, 11), np.float32)
    weight = rng.standard_normal((16, 16, 5, 5), np.float32)

    def result(device: burn.Device) -> Any:
        made = conv2d(burn.tensor(x, device=device), burn.tensor(weight, device=device))
        if follow == "relu":
            return made.relu().numpy()
        return (made + 1.5 if follow == "add" else made * 3.0 + 2.0).numpy()

    np.testing.assert_allclose(result(burn.Cpu()), result(burn.NdArray()), rtol=1e-4, atol=1e-4)
