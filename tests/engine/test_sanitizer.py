"""Watched runs: plans of every family of kernels are clean, and a kernel whose extent is broken is caught."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu import plan as planning
from burn.backend.cpu.features import runnable
from burn.backend.cpu.sanitizer import KernelFault
from burn.backend.fusion.stream import PlanCache
from burn.engine.lower.loop import Argument, Loop
from burn.errors import ArgumentError
from burn.ops.attention import attention
from burn.ops.convolution import conv
from burn.tensor import module
from tests.fuzz.programs import seeds
from tests.fuzz.programs.running import run

CHECKED: Any = Cpu(sanitize=True)
PLAIN: Any = Cpu(sanitize=False)


def draw(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of a sum of squares, one after the other in one result."""

    def both(*given: Any) -> Any:
        leaves = [each.require_grad() for each in given]
        made = f(*leaves)
        grads = (made * made).sum().backward()
        return burn.Tensor.cat([leaf.grad(grads).reshape((-1,)) for leaf in leaves], 0)

    return both


FAMILIES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "elementwise": (lambda x, y: (x + y).exp() * 0.5, [(7, 33), (33,)]),
    "rows": (lambda x: x.softmax(1), [(5, 77)]),
    "columns": (lambda x: x.sum_dim(0), [(40, 19)]),
    "running sums": (lambda x: x.cumsum(1), [(6, 31)]),
    "moving": (lambda x: burn.Tensor.cat([x.transpose(), x.transpose().flip([0])], 1) + 0.0, [(9, 21)]),
    "selecting": (lambda x: x.select(0, burn.tensor([2, 0, 6, 6], device=x.device)), [(7, 18)]),
    "product": (lambda x, y: x.matmul(y).relu(), [(37, 45), (45, 29)]),
    "narrow product": (lambda x, y: x.matmul(y), [(19, 8), (8, 3)]),
    "dots": (lambda x, y: x.matmul(y.transpose()), [(2, 200), (9, 200)]),
    "deep product": (lambda x, y: x.matmul(y), [(3, 5000), (5000, 17)]),
    "convolution": (lambda x, w: conv(x, w, stride=(2, 1), padding=(1, 2)), [(2, 5, 9, 11), (7, 5, 3, 3)]),
    "winograd": (lambda x, w: conv(x, w, padding=(1, 1)), [(1, 32, 30, 30), (32, 32, 3, 3)]),
    "depthwise": (lambda x, w: conv(x, w, groups=24, padding=(1, 1)), [(1, 24, 11, 9), (24, 1, 3, 3)]),
    "gradients of a convolution": (
        _gradients(lambda x, w: conv(x, w, padding=(1, 1))),
        [(2, 6, 9, 10), (11, 6, 3, 3)],
    ),
    "pooling": (lambda x: module.max_pool2d(x, (3, 2), (2, 1), (1, 1)), [(2, 5, 11, 9)]),
    "gradients of pooling": (_gradients(lambda x: module.avg_pool2d(x, (3, 2), (2, 1), (1, 1))), [(2, 5, 11, 9)]),
    "causal attention": (lambda q, k, v: attention(q, k, v, is_causal=True), [(1, 2, 130, 8), *[(1, 2, 97, 8)] * 2]),
    "attention": (lambda q, k, v: (q.matmul(k.swap_dims(2, 3)) * 0.25).softmax(3).matmul(v), [(1, 2, 33, 16)] * 3),
}


LONG: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "a long row": (lambda x: x.sum_dim(1) + 1.0, [(3, 20_000)]),
    "long columns": (lambda x: x.sum_dim(0) + 1.0, [(600, 19)]),
    "a long product": (lambda x, y: x.matmul(y), [(5, 700), (700, 21)]),
    "long dots": (lambda x, y: x.matmul(y.transpose()), [(2, 9000), (5, 9000)]),
    "many channels": (lambda x, w: conv(x, w, padding=(1, 1)), [(1, 300, 5, 5), (9, 300, 3, 3)]),
    "a large window": (lambda x: module.avg_pool2d(x, 17, 3, 8), [(2, 3, 30, 30)]),
    "gradients of a long signal": (_gradients(lambda x, w: conv(x, w, padding=(1,))), [(1, 3, 700), (5, 3, 3)]),
    "queries beside whole tiles": (lambda q, k, v: attention(q, k, v), [(1, 2, 45, 8), *[(1, 2, 300, 8)] * 2]),
}
"""Sums that are cut into blocks, and what differs between instruction sets."""


def computed(name: str, device: Any) -> Any:
    function, shapes = (FAMILIES | LONG)[name]
    home = Autodiff(device) if "gradients" in name else device
    return function(*(burn.tensor(draw(*shape) * 0.5, device=home) for shape in shapes)).numpy()


SETS = [each for each in runnable() if each in ("baseline", "avx2", "avx512")] or ["native"]


def _devices(features: str) -> tuple[Any, Any]:
    return Cpu(features=features, sanitize=True), Cpu(features=features, sanitize=False)


@pytest.mark.parametrize("features", SETS)
@pytest.mark.parametrize("name", FAMILIES | LONG)
def test_kernels_are_clean_and_compute_the_same(name: str, features: str) -> None:
    checked, plain = (computed(name, device) for device in _devices(features))
    np.testing.assert_array_equal(checked, plain)


Mutation = Callable[[list[Any]], None]


def broken(name: str, mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a plan is caught whose kernels were changed after lowering; if not, it must not matter."""
    lowered = planning.Plan._copy_out

    def changed(plan: Any) -> Any:
        mutation([work for work in plan.works if isinstance(work, Loop)])
        return lowered(plan)

    with monkeypatch.context() as patched:
        patched.setattr(CHECKED, "plans", PlanCache())
        patched.setattr(planning.Plan, "_copy_out", changed)
        try:
            found = computed(name, CHECKED)
        except KernelFault:
            return True
    np.testing.assert_array_equal(found, computed(name, PLAIN))
    return False


def works_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    broken(name, found.extend, monkeypatch)
    return found


@pytest.mark.parametrize("difference", [-1, 1], ids=["too little", "too much"])
@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_that_do_too_little_or_too_much(name: str, difference: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little is always caught. Too much may be nothing, or the same elements once more: then it must not show."""
    for number in range(len(works_of(name, monkeypatch))):

        def other(works: list[Any], number: int = number) -> None:
            for loop in works[number].loops():
                loop.extent += difference

        assert broken(name, other, monkeypatch) or difference > 0


@pytest.mark.parametrize("name", FAMILIES)
def test_sizes_that_are_wrong_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strides among them give other elements of the same memory: wrong, and no fault of memory."""
    caught = 0
    for number, work in enumerate(works_of(name, monkeypatch)):
        for place in [place for place, argument in enumerate(work.arguments) if argument.kind == "size"]:

            def wrong(works: list[Any], number: int = number, place: int = place) -> None:
                given = works[number].arguments[place]
                works[number].arguments[place] = Argument("size", given.value + 1)

            with contextlib.suppress(AssertionError):
                caught += broken(name, wrong, monkeypatch)
    assert caught


@pytest.mark.parametrize("name", FAMILIES)
def test_a_kernel_that_writes_what_its_plan_does_not_know(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last kernel writes to an input, and its plan takes it for one that reads."""

    def swapped(works: list[Any]) -> None:
        given = next(each for each in works[-1].arguments if each.written)
        given.value, given.written = 0, False

    assert broken(name, swapped, monkeypatch)


def test_packed_weights_are_clean_from_run_to_run() -> None:
    weight = burn.tensor(draw(45, 29), device=CHECKED)
    function = burn.compile(lambda x: x.matmul(weight).relu())
    for seed in range(5):
        x = draw(37, 45) + seed
        expected = np.maximum(x.astype(np.float64) @ weight.numpy(), 0)
        np.testing.assert_allclose(function(burn.tensor(x, device=CHECKED)).numpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_fault_names_step_kernel_buffer_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = planning.Plan._copy_out

    def changed(plan: Any) -> Any:
        plan.works[0].extent += 1
        return lowered(plan)

    monkeypatch.setattr(planning.Plan, "_copy_out", changed)
    monkeypatch.setattr(CHECKED, "plans", PlanCache())
    x = burn.tensor(draw(5, 77), device=CHECKED)
    with pytest.raises(KernelFault, match=r"step 0 \(max_dims.*reads element 385 outside of input 0, f32\[5, 77\]"):
        x.softmax(1).numpy()


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_clean(seed: int) -> None:
    program, (checked, unchecked) = seeds.draw(seed), _devices(SETS[seed % len(SETS)])
    for (number, ours), (_, plain) in zip(run(program, checked), run(program, unchecked), strict=True):
        np.testing.assert_array_equal(ours, plain, err_msg=f"x{number} of\n{program}")


def test_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(CHECKED) == "Cpu(sanitize=True)"
    monkeypatch.setenv("BURN_SANITIZE", "1")
    assert Cpu() is CHECKED
    assert Cpu(sanitize=False) is PLAIN
    monkeypatch.setenv("BURN_SANITIZE", "perhaps")
    with pytest.raises(ArgumentError, match="BURN_SANITIZE is 'perhaps'; write BURN_SANITIZE=1 or leave it out"):
        Cpu()
