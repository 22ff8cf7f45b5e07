"""The seam itself: finding the library, layouts, the cache, steps, threads, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch

from burn.backend.cpu import onednn
from burn.backend.cpu.onednn import Binary, Elementwise, Layout, Sum, load, matmul, reorder, softmax
from burn.dtype import bf16, f64
from burn.errors import ArgumentError, DTypeError, MissingOperation
from tests.engine.onednn_buffers import any_order, bound, close, layout, like, needs_onednn, pack, randn, run


def in_a_process(source: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env={**os.environ, **environment}, check=True
    )
    return done.stdout.strip()


def test_importing_the_package_opens_no_library() -> None:
    source = "import burn.backend.cpu.onednn; print(any('libdnnl' in line for line in open('/proc/self/maps')))"
    assert in_a_process(source) == "False"


def test_an_absent_library_is_told_and_not_raised() -> None:
    source = (
        "from burn.backend.cpu import onednn\n"
        "from burn.errors import MissingOperation\n"
        "assert not onednn.available()\n"
        "print(onednn.reason())\n"
        "try: onednn.matmul(*[onednn.Layout.row_major((2, 2))] * 3)\n"
        "except MissingOperation as error: print(error)\n"
    )
    first, second = in_a_process(source, BURN_ONEDNN="/nonexistent").splitlines()
    assert first.startswith("/nonexistent cannot be used")
    assert second == f"onednn: {first}"


def test_a_file_that_is_no_library_is_told_and_not_raised() -> None:
    source = "from burn.backend.cpu import onednn; print(onednn.available(), onednn.reason())"
    assert in_a_process(source, BURN_ONEDNN=__file__).startswith("False")


@needs_onednn
@pytest.mark.parametrize("cap", ["AVX2", "SSE41"])
def test_the_users_cap_on_instruction_sets_holds(cap: str) -> None:
    source = (
        "from burn.backend.cpu.onednn import *\n"
        "square = Layout.row_major((33, 33))\n"
        "print(load().instruction_set(), matmul(square, square, square).implementation)"
    )
    found, implementation = in_a_process(source, ONEDNN_MAX_CPU_ISA=cap).split(maxsplit=1)
    assert found == cap
    assert "avx512" not in implementation


@needs_onednn
def test_layouts_know_their_order_and_size() -> None:
    image = Layout.channels_last((2, 3, 5, 7))
    assert image.strides == (105, 1, 21, 3)
    assert image.size == 2 * 3 * 5 * 7 * 4
    assert image == Layout.strided((2, 3, 5, 7), (105, 1, 21, 3))
    assert image.permuted((0, 2, 3, 1)) == Layout.row_major((2, 5, 7, 3))
    assert Layout.row_major((4,), bf16).size == 8
    assert Layout.any((4, 4)).is_open
    assert Layout.row_major((3, 4)).expanded(4).shape == (1, 1, 3, 4)
    with pytest.raises(DTypeError, match="f64 has no counterpart"):
        Layout.row_major((2,), f64)


@needs_onednn
def test_packing_and_unpacking_gives_the_same_bits() -> None:
    w = randn(30, 70)
    product = matmul(Layout.row_major((64, 30)), any_order(w), Layout.row_major((64, 70)))
    packed = product.layouts["y"]
    again = like(w)
    bytes_ = pack(layout(w), w, packed)
    run(reorder(packed, layout(again)), x=bytes_, out=again)
    assert torch.equal(w, again)


@needs_onednn
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (0, 2, 3, 1)])
def test_reorders_take_any_strides(order: tuple[int, ...]) -> None:
    x = randn(3, 5, 4, 7).permute(order)
    out = torch.full((2, *x.shape), 9.0)[0]
    run(reorder(layout(x), layout(out)), x=x, out=out)
    assert torch.equal(x, out)


@needs_onednn
def test_reorders_convert_dtypes_and_add() -> None:
    x = randn(6, 9)
    half = torch.empty(6, 9, dtype=torch.bfloat16)
    run(reorder(layout(x), layout(half)), x=x, out=half)
    assert torch.equal(half, x.to(torch.bfloat16))
    total = torch.ones(6, 9)
    run(reorder(layout(x), layout(total), post=[Sum()]), x=x, out=total)
    close(total, x + 1)


@needs_onednn
def test_equal_settings_find_the_same_primitive() -> None:
    def make(rows: int, post: list[Elementwise] | None = None) -> onednn.Primitive:
        return matmul(
            Layout.row_major((rows, 5)), Layout.row_major((5, 6)), Layout.row_major((rows, 6)), post=post or []
        )

    assert make(3) is make(3)
    assert make(3) is not make(4)
    assert make(3) is not make(3, [Elementwise("relu")])
    with load().limited_to(1):
        serial = make(3)
    with load().limited_to(2):
        parallel = make(3)
    assert (serial.threads, parallel.threads) == (1, 2)


@needs_onednn
def test_a_step_follows_its_pointers() -> None:
    x, w = randn(7, 5), randn(5, 3)
    first, second = torch.zeros(7, 3), torch.zeros(7, 3)
    step, _ = bound(matmul(layout(x), layout(w), layout(first)), dict(x=x, y=w, out=first), {})
    step.run()
    other = randn(7, 5, seed=1)
    step.rebind("x", other.data_ptr())
    step.rebind("out", second.data_ptr())
    step.run()
    close(first, x @ w)
    close(second, other @ w)


@needs_onednn
def test_a_native_runner_can_call_and_rebind() -> None:
    import ctypes

    x, other, w, out = randn(4, 5), randn(4, 5, seed=1), randn(5, 3), torch.zeros(4, 3)
    step, _ = bound(matmul(layout(x), layout(w), layout(out)), dict(x=x, y=w, out=out), {})
    step.run()  # binds the scratchpad, should there be one
    pointer = ctypes.c_void_p
    rebind_address, rebind_arguments = step.rebinding("x", other.data_ptr())
    assert ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)(rebind_address)(*rebind_arguments) == 0
    execute = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 6)(step.address)  # a runner passes six words
    assert execute(*step.arguments, None, None) == 0
    close(out, other @ w)


@needs_onednn
def test_a_step_without_all_its_buffers_refuses_to_run() -> None:
    square = Layout.row_major((3, 3))
    step = matmul(square, square, square).step()
    with pytest.raises(ArgumentError, match=r"no pointer for out, x, y; write step\.rebind\('out', pointer\)"):
        step.run()
    with pytest.raises(ArgumentError, match="there is no buffer 'weight'; its buffers are x, y, out"):
        step.rebind("weight", 0)


@needs_onednn
def test_what_onednn_lacks_names_the_operation_and_the_buffers() -> None:
    with pytest.raises(MissingOperation, match=r"onednn matmul: .*status \d.*x f32\(2, 3\).*y f32\(4, 5\)"):
        matmul(Layout.row_major((2, 3)), Layout.row_major((4, 5)), Layout.row_major((2, 5)))
    with pytest.raises(MissingOperation, match=r"empty buffers are left to the caller: x f32\(2, 0\)"):
        matmul(Layout.row_major((2, 0)), Layout.row_major((0, 5)), Layout.row_major((2, 5)))
    overlapping = Layout.strided((4, 4), (1, 1))
    with pytest.raises(MissingOperation, match="cannot describe"):
        softmax(overlapping, overlapping, 1)


def test_an_unknown_post_operation_lists_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="unknown activation 'relux'; known are relu, tanh"):
        Elementwise("relux")
    with pytest.raises(ArgumentError, match="unknown operation 'plus'; known are add"):
        Binary("plus", Layout.row_major((1,)))


@needs_onednn
def test_two_threads_run_one_primitive_on_buffers_of_their_own() -> None:
    """The packed product below uses a scratchpad; shared scratch memory would mix the results."""
    w = randn(96, 80)
    product = matmul(Layout.row_major((64, 96)), any_order(w), Layout.row_major((64, 80)))
    assert product.scratchpad > 0 or "AVX512" not in load().instruction_set()
    results: list[float] = []

    def work(seed: int) -> None:
        worst = 0.0
        for round_ in range(30):
            x = randn(64, 96, seed=seed * 100 + round_)
            out = torch.zeros(64, 80)
            step, kept = bound(product, dict(x=x, y=w, out=out), dict(y=layout(w)))
            for _ in range(10):
                step.run()
            worst = max(worst, float((out - x @ w).abs().max()))
            del kept
        results.append(worst)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert max(results) < 1e-3


@needs_onednn
def test_a_serial_primitive_gives_the_same_numbers_in_another_thread() -> None:
    x, w = randn(130, 257), randn(257, 65)
    parallel = torch.zeros(130, 65)
    run(matmul(layout(x), layout(w), layout(parallel)), x=x, y=w, out=parallel)
    serial = torch.zeros(130, 65)

    def work() -> None:
        with load().limited_to(1):
            primitive = matmul(layout(x), layout(w), layout(serial))
            assert primitive.threads == 1
        run(primitive, x=x, y=w, out=serial)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    close(serial, parallel)


@needs_onednn
def test_a_forked_child_can_run_serial_primitives() -> None:
    source = (
        "import os, numpy as np\n"
        "from burn.backend.cpu.onednn import *\n"
        "a = np.random.default_rng(0).random((128, 128), np.float32); out = np.zeros_like(a)\n"
        "square = Layout.row_major(a.shape)\n"
        "pointers = {'x': a.ctypes.data, 'y': a.ctypes.data, 'out': out.ctypes.data}\n"
        "matmul(square, square, square).step(pointers).run()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    out[:] = 0\n"
        "    with load().limited_to(1): matmul(square, square, square).step(pointers).run()\n"
        "    os._exit(0 if np.allclose(out, a @ a, rtol=1e-4) else 1)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    assert in_a_process(source) == "0"


@needs_onednn
def test_steps_and_primitives_give_their_memory_back() -> None:
    import resource

    def churn(count: int) -> None:
        for index in range(count):
            size = 16 + index % 7
            square = Layout.row_major((size, size))
            matmul(square, square, square, post=[Elementwise("linear", 1.0, float(index))]).step()

    onednn.clear()
    churn(300)
    onednn.clear()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(4):
        churn(300)
        onednn.clear()
    assert onednn.cached() == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB
