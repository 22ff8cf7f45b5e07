"""Programs with operations that the host runs: plans in stages, in memory and from disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn import Tensor
from burn.backend.cpu.cache import ObjectCache
from burn.backend.cpu.frozen.staged import StagedPlan, open_staged
from burn.engine.runtime import NodeByNode
from burn.tensor.module import interpolate
from tests.engine.recorded import traced

DEVICE = burn.Cpu()


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(len(shapes))
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


def resized(x: Tensor[Any], weight: Tensor[Any]) -> list[Tensor[Any]]:
    y = (x * weight).relu()
    up = interpolate(y, [9, 7])
    again = interpolate(up + 1.0, [4, 4])
    return [again * 2.0, up.sum(), weight + 1.0]


def sorted_rows(x: Tensor[Any], weight: Tensor[Any]) -> list[Tensor[Any]]:
    y = (x + weight).exp()
    return [y.sort(1) - y.mean_dim(1), weight.sort(1), y]


CASES = [
    (resized, [(2, 3, 5, 5), (2, 3, 5, 5)]),
    (sorted_rows, [(4, 9), (4, 9)]),
]


@pytest.fixture
def store(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> ObjectCache:
    made = ObjectCache(tmp_path / "cache")
    for module in ("cache", "compiler", "frozen.stored", "frozen.staged"):
        monkeypatch.setattr(f"burn.backend.cpu.{module}.default_cache", lambda: made)
    return made


@pytest.mark.parametrize("constant", [(), (1,), (0,)], ids=str)
@pytest.mark.parametrize("function, shapes", CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_stages_give_what_nodes_give(function: Any, shapes: Any, constant: tuple[int, ...], store: ObjectCache) -> None:
    given = arrays(*shapes)
    program = traced(lambda *tensors: tuple(function(*tensors)), *((each.shape, "f32") for each in given))
    fixed = {number: given[number] for number in constant}
    others = [each for number, each in enumerate(given) if number not in fixed]
    run = DEVICE.below.prepare_fixed(program, fixed)
    assert isinstance(run, StagedPlan)
    wanted = NodeByNode(program, DEVICE.below)([_Held(each) for each in given], [])
    assert run.save("staged")
    opened = open_staged("staged", DEVICE.below)
    assert opened is not None
    for each in (run, opened):
        for _ in range(2):
            made = each(others)
            for mine, expected in zip(made, wanted, strict=True):
                np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)
                assert not any(np.may_share_memory(mine, array) for array in given)
                mine[...] = 7  # it is the caller's


class _Held:
    def __init__(self, value: Any) -> None:
        self.value = value
