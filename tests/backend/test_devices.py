"""Devices are values: interned, self-describing, seeded, and chosen by default."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import burn
from burn import (
    Autodiff,
    BalancedCheckpointing,
    DeviceError,
    Distribution,
    DTypeError,
    LibTorch,
    NdArray,
    Tensor,
    TensorData,
)
from burn.backend import Cpu, Fusion
from burn.backend import LibTorch as FromBackend
from burn.device import current_device
from burn.errors import BurnError

DEVICES = [
    NdArray(),
    NdArray(float=burn.f64),
    NdArray(int=burn.i32),
    LibTorch("cpu"),
    LibTorch("cpu", float=burn.f64),
    Autodiff(NdArray()),
    Autodiff(LibTorch("cpu")),
    Autodiff(Autodiff(NdArray())),
    Autodiff(NdArray(), BalancedCheckpointing),
]
EACH = pytest.mark.parametrize("device", DEVICES, ids=repr)


@EACH
def test_the_repr_of_a_device_is_its_own_source(device):
    names = {name: getattr(burn, name) for name in ("NdArray", "LibTorch", "Autodiff", "BalancedCheckpointing", "f64")}
    names["i32"] = burn.i32
    assert eval(repr(device), names) is device


@EACH
def test_copies_and_pickles_of_a_device_are_the_device(device):
    assert pickle.loads(pickle.dumps(device)) is device
    assert copy.deepcopy(device) is device


def test_equal_arguments_give_the_same_device():
    assert NdArray() is NdArray(float="f32", int="i64")
    assert NdArray(float="f64") is not NdArray()
    assert LibTorch() is LibTorch("cpu") is FromBackend("cpu")
    assert NdArray().autodiff() is Autodiff(NdArray())


def test_autodiff_is_idempotent_and_inner_undoes_it():
    device = NdArray().autodiff()
    assert device.autodiff() is device
    assert device.inner() is NdArray()
    assert NdArray().inner() is NdArray()
    assert Autodiff(device).inner() is device


def test_devices_made_in_many_threads_are_one():
    made = []
    threads = [threading.Thread(target=lambda: made.append(NdArray(float="bf16").autodiff())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, made))) == 1


def test_an_absent_torch_device_lists_those_present():
    with pytest.raises(DeviceError, match=r"there is no 'mps' on this machine; present are LibTorch\('cpu'\)"):
        LibTorch("mps")
    with pytest.raises(DeviceError, match="the device is a name such as 'cpu'"):
        LibTorch(0)


def test_element_types_are_checked():
    with pytest.raises(DTypeError, match="float must be one of f64, f32, f16, bf16, got i32"):
        NdArray(float="i32")
    with pytest.raises(DTypeError, match="int must be an integer dtype, got f32"):
        NdArray(int="f32")


def test_new_tensors_take_the_element_types_of_their_device():
    device = NdArray(float="f64", int="i32")
    assert burn.tensor([1.0], device=device).dtype is burn.f64
    assert burn.tensor([1], device=device).dtype is burn.i32
    assert Tensor.from_floats(np.ones(2, np.float32), device).dtype is burn.f64
    for make in (burn.tensor, Tensor.from_data):  # one rule: what has a dtype keeps it
        assert make([1.0], device).dtype is burn.f64
        assert make(np.ones(2, np.float32), device).dtype is burn.f32
        assert make(TensorData(np.ones(2, np.float32)), device).dtype is burn.f32
        assert make(np.ones(2, np.uint8), device, "f16").dtype is burn.f16
    assert burn.tensor([1.0, 2.0], device=device).argmax(0).dtype is burn.i32


def test_the_usual_device_is_the_fused_engine_where_its_compiler_is_installed():
    code = "import burn, importlib.util as u; print(burn.default_device(), u.find_spec('llvmlite') is not None)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found in (["Cpu()", "True"], ["NdArray()", "False"])


def test_the_default_device_is_a_context_variable():
    before = current_device()
    with burn.default_device(LibTorch("cpu")):
        assert burn.default_device() is LibTorch("cpu")
        assert burn.tensor([1.0]).device is LibTorch("cpu")
        with burn.default_device(NdArray()):
            assert Tensor.zeros([2]).device is NdArray()
        assert Tensor.zeros([2]).device is LibTorch("cpu")
    assert burn.default_device() is before


def test_set_default_device_holds_for_the_process():
    before = current_device()
    try:
        burn.set_default_device(LibTorch("cpu"))
        found = []
        thread = threading.Thread(target=lambda: found.append(burn.tensor([1.0]).device))
        thread.start()
        thread.join()
        assert found == [LibTorch("cpu")]
    finally:
        burn.set_default_device(before)


@EACH
def test_a_seed_makes_the_numbers_repeat(device):
    device.seed(42)
    first = Tensor.random([5], Distribution.Default, device).tolist()
    second = Tensor.random([5], Distribution.Default, device).tolist()
    device.seed(42)
    assert Tensor.random([5], Distribution.Default, device).tolist() == first
    assert first != second


def test_decorators_share_the_stream_of_their_hardware():
    NdArray().seed(1)
    plain = Tensor.random([4], Distribution.Default, NdArray()).tolist()
    NdArray().autodiff().seed(1)
    assert Tensor.random([4], Distribution.Default, NdArray().autodiff()).tolist() == plain


def test_worker_streams_differ_by_key_and_repeat_by_seed():
    device = NdArray()
    device.seed(5)
    draws = {key: device.generator(key).state() for key in ("worker-0", "worker-1")}
    assert draws["worker-0"] != draws["worker-1"]
    device.seed(5)
    assert device.generator("worker-0").state() == draws["worker-0"]


@EACH
def test_sync_waits_for_nothing_here(device):
    device.sync()


def test_tensors_move_between_devices_and_keep_their_values():
    x = burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=NdArray())
    there = x.to(LibTorch("cpu"))
    assert there.device is LibTorch("cpu")
    assert there.tolist() == x.tolist()
    assert there.to(NdArray().autodiff()).device is NdArray().autodiff()
    assert there.to_device(NdArray()).tolist() == x.tolist()
    assert x.to(NdArray()) is x
    with pytest.raises(DeviceError, match="needs a device such as NdArray"):
        x.to("cpu")


@pytest.mark.parametrize(
    "dtype", ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"]
)
def test_every_dtype_moves_between_hardware(dtype):
    x = burn.tensor([0, 1, 100], device=NdArray()).cast(dtype)
    back = x.to(LibTorch("cpu")).to(NdArray())
    assert back.dtype is x.dtype
    assert back.tolist() == x.tolist()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Cpu(1), r"^Cpu\(1\): too many positional arguments; write Cpu\(fusion=..., float=..., int=..., acc"),
        (
            lambda: Cpu("avx2", fusion=False),
            r"^Cpu\('avx2', fusion=False\): too many positional arg",
        ),
        (lambda: Cpu(threads=2), r"got an unexpected keyword argument 'threads'; write Cpu\(fusion=..., float=..., "),
        (lambda: Cpu(fusion="no"), r"^Cpu: fusion is 'no'; write fusion=False, or leave it out$"),
        (lambda: Cpu(float="i32"), r"^Cpu: float must be one of f64, f32, f16, bf16, got i32$"),
        (lambda: NdArray("f32", "i64", 3), r"^NdArray\('f32', 'i64', 3\): too many .*; write NdArray\(float, int\)$"),
        (lambda: NdArray(dtype="f32"), r"unexpected keyword argument 'dtype'; write NdArray\(float, int\)$"),
        (
            lambda: LibTorch("cpu", "f32", "i64", 1),
            r"positional arguments; write LibTorch\(name, float, int\)$",
        ),
        (lambda: Autodiff(), r"^Autodiff\(\): missing a required argument: 'inner'; write Autodiff\(inner, checkp"),
        (lambda: Autodiff(NdArray(), 5), r"^Autodiff: checkpointing is 5, not a strategy; write Autodiff\(device, Bal"),
        (lambda: Fusion(), r"^Fusion\(\): missing a required argument: 'inner'; write Fusion\(inner\)$"),
    ],
)
def test_a_device_says_which_arguments_it_takes(make: Any, message: str) -> None:
    with pytest.raises(BurnError, match=message):
        make()


def test_a_cpu_without_the_compiler_of_its_kernels_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['llvmlite'] = None\n"
        "import burn\n"
        "from burn.errors import DeviceError\n"
        "for fusion in (True, False):\n"
        "    try: burn.Cpu(fusion=fusion)\n"
        "    except DeviceError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    expected = "Cpu(): kernels are compiled with llvmlite, which is not installed; write pip install 'burn-dl[cpu]', "
    assert told.stdout.splitlines() == [expected + "or use NdArray()"] * 2
