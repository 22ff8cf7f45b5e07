"""Objects: compiled for any processor, kept as bytes, loaded elsewhere."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from burn.cube import KernelBuilder, KernelError, compile_object, emit_c, emit_llvm, host_cpu, load_object
from burn.cube.targets.llvm.cpu import Cpu
from burn.cube.targets.slots import pack_slots
from burn.dtype import f32
from burn.errors import MissingOperation
from tests.kernels.running import needs_gcc, on_c


def double():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    count = b.size()
    with b.lane(count) as i:
        b.store(out, i, b.load(x, i) * 2.0)
    return b.finish()


def test_an_object_made_in_one_process_runs_in_another(tmp_path):
    (tmp_path / "kernel.o").write_bytes(compile_object(double()))
    program = (
        "import sys, numpy as np\n"
        "from burn.cube import load_object\n"
        "from burn.cube.targets.slots import pack_slots\n"
        "from tests.kernels.test_objects import double\n"
        "x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)\n"
        "kernel = load_object(open(sys.argv[1], 'rb').read())\n"
        "kernel(pack_slots(double(), [x, out], [5]), 0, 1)\n"
        "print(out.tolist())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "kernel.o")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[0.0, 2.0, 4.0, 6.0, 8.0]"


def test_features_decide_the_width_of_vectors():
    assert "<32 x float>" in emit_llvm(double(), "x86-64-v4")
    assert "<16 x float>" in emit_llvm(double(), "x86-64-v3")
    assert "<8 x float>" in emit_llvm(double(), "x86-64")
    assert Cpu("x86-64-v4", "-avx512f").vector_bits == 256
    assert Cpu("x86-64-v3", "-avx2,-fma").vector_bits == 128
    assert not Cpu("x86-64-v3", "-avx2,-fma").abilities.fma
    assert Cpu("x86-64", "+avx2,+fma").abilities.fma


def test_objects_are_the_same_each_time():
    assert compile_object(double()) == compile_object(double())
    assert compile_object(double(), "x86-64") == compile_object(double(), "x86-64")


def test_many_kernels_live_side_by_side_and_run_in_threads():
    kernel = double()
    contents = compile_object(kernel)
    loaded = [load_object(contents) for _ in range(20)]
    assert len({each.address for each in loaded}) == 20
    arrays = [np.zeros(1000, np.float32) for _ in loaded]
    x = np.arange(1000, dtype=np.float32)
    slots = [pack_slots(kernel, [x, out], [1000]) for out in arrays]
    threads = [threading.Thread(target=each, args=(slot, 0, 1)) for each, slot in zip(loaded, slots)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for out in arrays:
        np.testing.assert_array_equal(out, x * 2)


def test_a_symbol_that_is_not_there_is_an_error():
    with pytest.raises(KernelError, match="no function 'other'"):
        load_object(compile_object(double()), "other")


def test_slots_are_counted():
    with pytest.raises(KernelError, match="the kernel takes 2 buffers, not 1"):
        pack_slots(double(), [np.zeros(1, np.float32)], [1])


def test_without_llvmlite_the_error_says_what_to_install():
    program = (
        "import sys\n"
        "sys.modules['llvmlite'] = sys.modules['llvmlite.binding'] = None\n"
        "from burn.cube import compile_object\n"
        "from tests.kernels.test_objects import double\n"
        "try: compile_object(double(), 'x86-64')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.startswith(MissingOperation.__name__)
    assert "pip install burn-dl[cpu]" in found.stdout


def test_the_host_has_a_name():
    assert host_cpu().name


@needs_gcc
def test_the_c_of_a_kernel_is_plain_and_compiles_without_warnings():
    source = emit_c(double())
    assert "math.h" not in source
    assert "void kernel(void **slots, int64_t first, int64_t last)" in source
    x, out = np.arange(7, dtype=np.float32), np.zeros(7, np.float32)
    on_c(fma=False)(double(), [x, out], [7], [], 0, 1)
    np.testing.assert_array_equal(out, x * 2)
