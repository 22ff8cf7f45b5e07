"""The compilation target is what runs here: no more than the CPU claims, than a trial showed, or than was allowed."""

from __future__ import annotations

import json
import pickle
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu
from burn.backend.cpu import features as module
from burn.backend.cpu.cache import ObjectCache
from burn.backend.cpu.features import (
    AVX2,
    AVX512,
    BASELINE,
    SAFE,
    SETS,
    SSE4,
    host_features,
    named,
    probe,
    proven,
    runnable,
    select,
)
from burn.backend.cpu.llvm import require_llvm
from burn.backend.cpu.probe import INSTRUCTIONS
from burn.backend.cpu.settings import Settings
from burn.cube import emit_llvm
from burn.errors import ArgumentError, DeviceError, MissingOperation
from tests.engine.hand_written import run_program

pytest.importorskip("llvmlite")
on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="about x86")

EVERYTHING = dict.fromkeys((*SAFE, *INSTRUCTIONS, "egpr", "avx10.2", "rtm"), True)


@pytest.mark.parametrize(
    "name, model, enabled, bits, registers",
    [
        ("baseline", "x86-64", BASELINE, 128, 16),
        ("sse4", "x86-64-v2", SSE4, 128, 16),
        ("avx2", "x86-64-v3", AVX2, 256, 16),
        ("avx512", "x86-64-v4", AVX512, 512, 32),
        ("neon", "generic", {"neon", "fp-armv8"}, 128, 32),
    ],
)
def test_a_name_means_the_same_on_every_machine(
    name: str, model: str, enabled: set[str], bits: int, registers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "host_features", lambda: pytest.fail("the host was asked"))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = named(name)
    assert (found.name, found.enabled, found.level) == (model, enabled, name)
    assert (found.vector_bits, found.registers, found.fused) == (bits, registers, name in ("avx2", "avx512", "neon"))


def test_a_cpu_reaches_the_highest_set_that_it_has_whole() -> None:
    old = {name: name in BASELINE | {"sse3", "ssse3", "sse4.1"} for name in EVERYTHING}
    found = select("core2", old)
    assert (found.level, found.vector_bits) == ("baseline", 128)
    assert "avx" in found.disabled
    assert select("haswell", {name: name in AVX2 for name in EVERYTHING}).level == "avx2"
    assert select("x86-64", {}).enabled == BASELINE, "what every x86-64 has needs no claim"


def test_what_a_processor_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    host = select("haswell", {name: name in AVX2 for name in EVERYTHING})
    monkeypatch.setattr(module, "host_features", lambda: host)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert named("avx2").lacking == named("native").lacking == []
    assert named("avx512").lacking == sorted(AVX512 - AVX2)
    assert named("neon").lacking == ["aarch64"]
    assert runnable() == ["baseline", "sse4", "avx2", "native"]
    with pytest.raises(DeviceError) as told:
        Settings(features="avx512").refuse_elsewhere()
    assert str(told.value) == (
        "Cpu(features='avx512'): this processor has no avx512bw, avx512cd, avx512dq, avx512f, avx512vl, so kernels "
        "can be compiled for it here but not run; write features='baseline' or 'sse4' or 'avx2' or 'native'"
    )


def test_the_baseline_of_arm_is_neon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert named("baseline") == named("neon")
    assert named("avx2").architecture == "x86_64"


def test_sets_that_trap_are_off_and_the_rest_stays() -> None:
    found = select("znver4", EVERYTHING, prove=lambda names: [each for each in names if not each.startswith("amx")])
    assert not [each for each in found.enabled if each.startswith("amx")]
    assert found.level == "avx512"
    nothing = select("znver4", EVERYTHING, prove=lambda names: [])
    assert nothing.enabled == SAFE
    assert nothing.level == "avx2"


def test_extensions_fall_with_their_foundation() -> None:
    found = select("znver4", EVERYTHING, prove=lambda names: [each for each in names if each != "avx512f"])
    assert not [each for each in found.enabled if each.startswith("avx512")]
    found = select("znver4", EVERYTHING, prove=lambda names: [each for each in names if each != "amx-tile"])
    assert "amx-int8" in found.disabled


def test_only_what_is_in_doubt_is_tried() -> None:
    tried: list[list[str]] = []

    def prove(names: list[str]) -> list[str]:
        tried.append(names)
        return [*names, "rtm", "not asked for"]

    claims = {name: name in {*AVX2, "avx512f", "gfni"} for name in EVERYTHING}
    assert select("x", {name: name in SAFE for name in EVERYTHING}, prove).enabled == SAFE
    assert tried == []
    assert select("x", claims, prove).enabled == AVX2 | {"avx512f", "gfni"}
    assert tried == [["avx512f", "gfni"]]


def test_sets_nobody_can_try_are_off() -> None:
    found = select("x", EVERYTHING)
    assert {"egpr", "avx10.2", "rtm"} <= found.disabled


def test_other_architectures_use_their_own_description() -> None:
    claims = {"neon": True, "sve": True, "sve2": False}
    found = select("neoverse-v1", claims, architecture="aarch64")
    assert (found.name, found.target, found.level) == ("neoverse-v1", "+neon,+sve,-sve2", "neon")
    assert select("sifive-p450", {"v": True}, architecture="riscv64").level == "generic"


@on_x86
def test_a_trial_shows_what_numpy_sees_too() -> None:
    from numpy._core._multiarray_umath import __cpu_features__ as seen  # NumPy's own reading of CPUID

    names = {"avx512f": "AVX512F", "avx512bw": "AVX512BW", "avx512dq": "AVX512DQ", "avx512vnni": "AVX512VNNI",
             "avx512vbmi": "AVX512VBMI", "avx512ifma": "AVX512IFMA", "avx512bitalg": "AVX512BITALG",
             "avx512fp16": "AVX512FP16"}  # fmt: skip
    survived = probe(list(INSTRUCTIONS))
    assert survived is not None
    for ours, theirs in names.items():
        if not seen.get(theirs, False):
            assert ours not in survived, f"{ours} ran on a CPU that has none"
    claims = require_llvm().get_host_cpu_features()
    assert {each for each in survived if not claims.get(each, False)} == set()


def test_a_trial_without_a_child_proves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = ObjectCache(tmp_path / "cache")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert probe(["avx512f"]) is None
    assert proven(["avx512f"], store) == []
    assert store.size() == 0, "what nobody knows is not remembered"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert probe(["avx512f"]) is None


def test_the_answer_is_remembered_for_this_cpu_and_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def fake(names: list[str]) -> list[str]:
        calls.append(names)
        return names[:1]

    monkeypatch.setattr(module, "probe", fake)
    for _ in range(2):
        assert proven(["avx512f", "avx512bw"], ObjectCache(tmp_path / "cache")) == ["avx512f"]
    assert len(calls) == 1
    monkeypatch.setattr(module, "_cpu_model", lambda: "another machine")
    proven(["avx512f", "avx512bw"], ObjectCache(tmp_path / "cache"))
    assert len(calls) == 2


SUM = """
define void @axpy(ptr noalias %y, ptr noalias %x, i64 %n) nounwind "prefer-vector-width"="512" {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %ya = getelementptr float, ptr %y, i64 %i
  %xa = getelementptr float, ptr %x, i64 %i
  %yv = load float, ptr %ya, align 4
  %xv = load float, ptr %xa, align 4
  %sum = fadd float %yv, %xv
  store float %sum, ptr %ya, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}
"""

PROGRAM = f"""
import ctypes, json
import numpy as np
import llvmlite.binding as llvm
from burn.backend.cpu.llvm import require_llvm
from burn.backend.cpu.settings import settings

require_llvm()
found = settings().target
machine = llvm.Target.from_default_triple().create_target_machine(cpu=found.name, features=found.target, opt=3)
module = llvm.parse_assembly({SUM!r})
options = llvm.create_pipeline_tuning_options(speed_level=3)
options.loop_vectorization = True
builder = llvm.create_pass_builder(machine, options)
builder.getModulePassManager().run(module, builder)
assembly = machine.emit_assembly(module)
engine = llvm.create_mcjit_compiler(module, machine)
engine.finalize_object()
x = np.arange(1001, dtype=np.float32)
y = np.ones(1001, np.float32)
axpy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("axpy"))
axpy(y.ctypes.data, x.ctypes.data, 1001)
right = bool((y == x + 1).all())
print(json.dumps([found.level, found.vector_bits, "%ymm" in assembly, "%zmm" in assembly, right]))
"""


@on_x86
@pytest.mark.parametrize("name", runnable())
def test_code_for_a_set_uses_its_registers_and_runs(name: str, tmp_path: Path) -> None:
    level, bits, ymm, zmm, right = json.loads(run_program(PROGRAM, tmp_path, BURN_FEATURES=name))
    assert right
    assert (level, bits) == (named(name).level, named(name).vector_bits)
    assert zmm == (bits == 512)
    assert ymm or bits != 256
    assert not ymm or bits != 128


def products(device: Any) -> tuple[Any, Any]:
    """A product with a step after it, and the plan that made it."""
    rng = np.random.default_rng(0)
    x, y = (burn.tensor(rng.standard_normal((48, 48)).astype(np.float32), device=device) for _ in range(2))
    found = (x.matmul(y) + 1.0).relu().numpy()
    return found, device.plans.latest()


@pytest.mark.parametrize("name", runnable())
def test_a_device_lowers_compiles_and_runs_for_its_sets_whatever_the_environment_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device: Any = Cpu(features=name)
    monkeypatch.setenv("BURN_FEATURES", "native")
    found, plan = products(device)
    np.testing.assert_allclose(found, products(Cpu())[0], rtol=1e-5, atol=1e-5)
    assert plan.features == named(name)
    (work,) = plan.works
    written = emit_llvm(work.kernel.kernel(), plan.features.name, plan.features.target)
    assert f"<{plan.features.vector_bits // 32} x float>" in written


def test_sets_are_part_of_a_device_and_travel_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURN_FEATURES", raising=False)
    older: Any = Cpu(features="avx2")
    assert older is Cpu(features="avx2")
    assert older is not Cpu()
    assert older != Cpu(features="baseline")
    assert Cpu(features="native") is Cpu()
    assert repr(older) == "Cpu(features='avx2')"
    assert repr(Cpu(fusion=False, features="avx2")) == "Cpu(fusion=False, features='avx2')"
    assert pickle.loads(pickle.dumps(older)) is older
    monkeypatch.setenv("BURN_FEATURES", "avx2")
    assert Cpu() is older
    assert repr(older) == "Cpu()"
    assert repr(Cpu(features="native")) == "Cpu(features='native')"


def test_kernels_for_elsewhere_are_lowered_and_compiled_and_not_run() -> None:
    name = next(each for each in reversed(SETS) if named(each).lacking)
    device: Any = Cpu(features=name)
    x = burn.tensor(np.ones((48, 48), np.float32), device=device)
    with pytest.raises(DeviceError, match=f"Cpu.features='{name}'.: this processor has no"):
        (x.matmul(x) + 1.0).relu().numpy()
    plan = device.plans.latest()
    objects = plan.objects()
    assert len(objects) >= len(plan.works) > 0
    machine = {"aarch64": 183, "x86_64": 62}[plan.features.architecture]  # EM_AARCH64, EM_X86_64
    assert all(each[:4] == b"\x7fELF" and each[18] == machine for each in objects.values())


def test_a_captured_function_is_refused_where_it_cannot_run() -> None:
    name = next(each for each in reversed(SETS) if named(each).lacking)
    x = burn.tensor(np.ones((48, 48), np.float32), device=Cpu(features=name))
    step = burn.compile(lambda x: (x.matmul(x) + 1.0).relu().sum())
    for _ in range(3):
        with pytest.raises(DeviceError, match="this processor has no"):
            step(x).numpy()


def test_a_wrong_name_lists_the_right_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match=r"Cpu: features is 'sse9'; write Cpu\(features='baseline'\|'sse4'\|'avx2'"):
        Cpu(features="sse9")
    monkeypatch.setenv("BURN_FEATURES", "fast")
    with pytest.raises(ArgumentError, match=r"Cpu: BURN_FEATURES is 'fast'; write BURN_FEATURES=baseline\|sse4\|avx2"):
        Cpu()


def test_without_llvmlite_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingOperation, match=r"pip install 'burn-dl\[cpu\]'"):
        require_llvm()


def test_every_feature_of_the_host_is_named_in_the_target() -> None:
    claims = require_llvm().get_host_cpu_features()
    assert {each[1:] for each in host_features().target.split(",")} == set(claims)
