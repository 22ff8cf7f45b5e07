"""The IR itself: its text, its hash, and what the builder and the verifier refuse."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from burn.cube import Kernel, KernelBuilder, KernelError, verify
from burn.cube.ir import Operation, Value
from burn.dtype import bool_, f8e4m3fn, f16, f32, f64, i64


def scaled_exponential(scale: float = 2.0) -> Kernel:
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i, b.lane(columns) as j:
        b.store(out, i * columns + j, b.exp(b.load(x, i * columns + j)) * scale)
    return b.finish()


def test_the_text_of_an_elementwise_kernel():
    assert str(scaled_exponential()) == (
        "kernel(%0: read f32, %1: write f32, %2: size, %3: size) index 64 {\n"
        "  %4: f32 = const 2.0\n"
        "  grid %5 < %2 {\n"
        "    %6: i64 = mul %5, %3\n"
        "    lane %7 < %3 {\n"
        "      %8: i64 = add %6, %7\n"
        "      %9: f32 = load %0[%8]\n"
        "      %10: f32 = exp %9\n"
        "      %11: f32 = mul %10, %4\n"
        "      store %1[%8], %11\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_the_text_of_reductions_branches_and_carried_values():
    b = KernelBuilder(index_width=32)
    x, out = b.buffer(f32), b.buffer(f32, read=True, write=True)
    count, scale = b.size(), b.scalar(f64)
    row = b.shared(f32, 8)
    total = b.reduce(count, "max", lambda j: b.load(x, j))
    last = b.loop(count, total, lambda k, value: value + b.load(row, k))
    chosen = b.branch(last > 0.0, lambda: -last, lambda: b.cast(scale, f32))
    b.atomic("add", out, 0, chosen)
    assert str(b.finish()) == (
        "kernel(%0: read f32, %1: read-write f32, %2: size, %3: scalar f64) index 32 {\n"
        "  %4: shared f32[8]\n"
        "  %5: f32 = const -inf\n"
        "  reduce %6 < %2 from (%5) {\n"
        "    %7: f32 = load %0[%6]\n"
        "    yield %7\n"
        "  } combine (%8: f32, %9: f32) {\n"
        "    %10: f32 = max %8, %9\n"
        "    yield %10\n"
        "  } gives (%11: f32)\n"
        "  serial %12 < %2 carry (%13: f32) from (%11) {\n"
        "    %14: f32 = load %4[%12]\n"
        "    %15: f32 = add %13, %14\n"
        "    yield %15\n"
        "  } gives (%16: f32)\n"
        "  %17: f32 = const 0.0\n"
        "  %18: bool = gt %16, %17\n"
        "  if %18 {\n"
        "    %19: f32 = neg %16\n"
        "    yield %19\n"
        "  } else {\n"
        "    %20: f32 = cast %3\n"
        "    yield %20\n"
        "  } gives (%21: f32)\n"
        "  %22: i64 = const 0\n"
        "  %23: f32 = atomic_add %1[%22], %21\n"
        "}\n"
    )


def test_equal_kernels_hash_equal_and_others_do_not():
    assert scaled_exponential().key() == scaled_exponential().key()
    assert scaled_exponential().key() != scaled_exponential(3.0).key()
    assert scaled_exponential(0.1).key() != scaled_exponential(0.10000001).key()
    assert scaled_exponential(0.0).key() != scaled_exponential(-0.0).key()
    assert len(scaled_exponential().key()) == 64


def test_the_hash_is_the_same_in_another_process():
    program = "from tests.kernels.test_ir import scaled_exponential; print(scaled_exponential().key())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == scaled_exponential().key()


def test_repeated_unused_and_invariant_work_disappears():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i, b.lane(columns) as j:
        b.exp(b.load(x, j))
        value = b.load(x, (i * columns) * 1 + j + 0)
        b.store(out, i * columns + j, value + value)
    text = str(b.finish())
    assert text.count("mul") == 1
    assert "exp" not in text
    assert text.index("mul") < text.index("lane")


def test_what_is_computed_in_one_arm_stays_there():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    value = b.load(x, 0)
    with b.when(value > 0.0):
        b.store(out, 0, b.exp(value))
    text = str(b.finish())
    assert text.index("if") < text.index("exp")


def test_values_do_not_leave_their_loop():
    b = KernelBuilder()
    out = b.buffer(i64, write=True)
    with b.lane(4) as i:
        pass
    with pytest.raises(KernelError, match="a loop or branch that has ended"):
        b.store(out, 0, i)


def test_dtypes_must_agree():
    b = KernelBuilder()
    x, y = b.buffer(f32), b.buffer(f64)
    with pytest.raises(KernelError, match=r"add: takes 2 operands of one dtype: numbers .*, not \(f32, f64\)"):
        b.load(x, 0) + b.load(y, 0)
    with pytest.raises(KernelError, match="exp: takes one operand: f64 or f32, not"):
        b.exp(b.const(i64, 1))
    with pytest.raises(KernelError, match="bitcast: f32 and i64 have different bits; use cast"):
        b.bitcast(b.load(x, 0), i64)
    with pytest.raises(KernelError, match="every operand is a Python number"):
        b.add(1, 2)
    with pytest.raises(KernelError, match=r"const: 1.5 is not an integer"):
        b.const(i64, 1) + 1.5
    with pytest.raises(KernelError, match="f8e4m3fn is a storage dtype"):
        b.buffer(f8e4m3fn)


def test_halves_are_cast_before_they_are_computed_with():
    b = KernelBuilder()
    x = b.buffer(f16)
    raw = b.load(x, 0, raw=True)
    with pytest.raises(KernelError, match="cast f16 and bf16 to f32 first"):
        raw + raw


def test_a_value_has_no_truth_while_the_kernel_is_built():
    b = KernelBuilder()
    with pytest.raises(TypeError, match=r"use select\(\) or branch\(\)"):
        bool(b.size() > 3)


def test_access_is_checked():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    b.store(x, 0, 1.0)
    with pytest.raises(KernelError, match="store .*: writes a buffer declared for reading"):
        b.finish()
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    b.store(out, 0, b.load(out, 0))
    with pytest.raises(KernelError, match="load .*: reads a buffer declared for writing"):
        b.finish()
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    b.store(out, 0, b.cast(b.load(x, 0), f64))
    with pytest.raises(KernelError, match="the buffer holds f32, the value is f64; cast it"):
        b.finish()


def test_axes_nest_in_one_order():
    b = KernelBuilder()
    out = b.buffer(f32, write=True)
    with b.lane(4) as i, b.lane(4):
        b.store(out, i, 1.0)
    with pytest.raises(KernelError, match="lane .* > lane .*: a lane axis inside a lane or reduce axis"):
        b.finish()
    b = KernelBuilder()
    with b.grid(2):
        pass
    with b.grid(2):
        pass
    with pytest.raises(KernelError, match="more than one outermost grid axis"):
        b.finish()
    b = KernelBuilder()
    out = b.buffer(f32, write=True)
    b.store(out, 0, 1.0)
    with b.grid(2) as i:
        b.store(out, i, 1.0)
    with pytest.raises(KernelError, match="store beside the outermost grid axis"):
        b.finish()


def test_extents_may_not_differ_between_lanes():
    b = KernelBuilder()
    out = b.buffer(f32, write=True)
    with b.lane(4) as i, b.serial(i) as k:
        b.store(out, k, 1.0)
    with pytest.raises(KernelError, match="extent differs from lane to lane"):
        b.finish()


def test_arms_must_give_the_same_dtypes():
    b = KernelBuilder()
    out = b.buffer(f32, write=True)
    b.store(out, 0, b.branch(b.const(bool_, True), lambda: b.const(f32, 1.0), lambda: b.const(f64, 1.0)))
    with pytest.raises(KernelError, match="its arms give"):
        b.finish()


def test_the_verifier_catches_what_a_pass_might_break():
    kernel = scaled_exponential()
    grid = kernel.grid
    assert grid is not None
    lane = grid.regions[0].operations[1]
    body = lane.regions[0].operations
    stray = Value(f32)
    body.insert(2, Operation("neg", (stray,), (Value(f32),)))
    with pytest.raises(KernelError, match=r"grid .* > lane .* > neg \(operation 2\): an operand .* is not defined"):
        verify(kernel)
    body[2] = Operation("frobnicate", (), ())
    with pytest.raises(KernelError, match="no such operation: frobnicate"):
        verify(kernel)
    body[2] = Operation("neg", body[1].results, (Value(f64),))
    with pytest.raises(KernelError, match=r"gives \(f32\), but its results are declared \(f64\)"):
        verify(kernel)


def test_importing_the_language_loads_no_compiler():
    program = "import sys, burn.cube; print('llvmlite' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_constants_wrap_and_round_as_their_dtype_does():
    b = KernelBuilder()
    assert b.const(f32, 0.1).constant == float(np.float32(0.1))
    assert b.const(f32, 1e300).constant == np.inf
    assert b.const(i64, 1 << 63).constant == -(1 << 63)
