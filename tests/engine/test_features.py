"""The compilation target is what runs here: no more than the CPU claims, than a trial showed, or than was allowed."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

from burn.backend.cpu import features as module
from burn.backend.cpu.cache import ObjectCache
from burn.backend.cpu.features import (
    AVX2,
    AVX512,
    BASELINE,
    LEVELS,
    SAFE,
    host_features,
    probe,
    proven,
    require_llvm,
    select,
)
from burn.backend.cpu.probe import INSTRUCTIONS
from burn.errors import ArgumentError, MissingOperation
from tests.engine.hand_written import run_program

pytest.importorskip("llvmlite")
on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="about x86")

EVERYTHING = dict.fromkeys((*SAFE, *INSTRUCTIONS, "egpr", "avx10.2", "rtm"), True)


@pytest.mark.parametrize(
    "level, expected, bits",
    [("baseline", BASELINE, 128), ("avx2", SAFE, 256), ("avx512", SAFE | AVX512, 512), ("native", None, 512)],
)
def test_a_level_is_an_upper_bound(level: str, expected: frozenset[str] | None, bits: int) -> None:
    found = select("sapphirerapids", EVERYTHING, level)
    assert found.enabled == (SAFE | set(INSTRUCTIONS) if expected is None else expected)
    assert found.disabled == EVERYTHING.keys() - found.enabled
    assert found.vector_bits == bits


def test_a_level_gives_nothing_that_the_cpu_lacks() -> None:
    old = {name: name in BASELINE | {"sse3", "ssse3", "sse4.1"} for name in EVERYTHING}
    for level in LEVELS:
        found = select("core2", old, level)
        assert found.level == "baseline"
        assert found.vector_bits == 128
        assert "avx" in found.disabled
    middle = {name: name in AVX2 for name in EVERYTHING}
    assert select("haswell", middle, "avx512").level == "avx2"


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
    assert select("x", claims, "avx2", prove).enabled == AVX2
    assert tried == []
    assert select("x", claims, "native", prove).enabled == AVX2 | {"avx512f", "gfni"}
    assert tried == [["avx512f", "gfni"]]


def test_sets_nobody_can_try_are_off() -> None:
    found = select("x", EVERYTHING)
    assert {"egpr", "avx10.2", "rtm"} <= found.disabled


def test_other_architectures_use_their_own_description() -> None:
    claims = {"neon": True, "sve": True, "sve2": False}
    found = select("neoverse-v1", claims, x86=False)
    assert (found.name, found.target, found.level) == ("neoverse-v1", "+neon,+sve,-sve2", "generic")
    assert select("neoverse-v1", claims, "avx512", x86=False) == found
    plain = select("neoverse-v1", claims, "baseline", x86=False)
    assert (plain.name, plain.target) == ("generic", "")


def test_a_wrong_level_lists_the_right_ones() -> None:
    with pytest.raises(ArgumentError, match="BURN_CPU_FEATURES: 'sse9' is not a level; write one of baseline, avx2"):
        select("x", {}, "sse9")


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
from burn.backend.cpu.features import host_features

found = host_features()
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
@pytest.mark.parametrize("level", LEVELS)
def test_code_for_a_level_uses_its_registers_and_runs(level: str, tmp_path: Path) -> None:
    found, bits, ymm, zmm, right = json.loads(run_program(PROGRAM, tmp_path, BURN_CPU_FEATURES=level))
    native = host_features() if level == "native" else None
    assert right
    assert LEVELS.index(found) <= LEVELS.index(level)
    if level == "baseline":
        assert (found, bits, ymm, zmm) == ("baseline", 128, False, False)
    if level == "avx2":
        assert not zmm
        assert ymm == (found == "avx2")
    if level == "avx512":
        assert zmm == (found == "avx512")
    if native is not None:
        assert (found, bits) == (native.level, native.vector_bits)


@on_x86
def test_a_wrong_level_in_the_environment_is_refused() -> None:
    program = """
from burn.backend.cpu.features import host_features
from burn.errors import ArgumentError
try:
    host_features()
except ArgumentError as error:
    print(error)
"""
    assert "'fast' is not a level" in run_program(program, BURN_CPU_FEATURES="fast")


def test_without_llvmlite_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingOperation, match=r"pip install 'burn-dl\[cpu\]'"):
        require_llvm()


def test_every_feature_of_the_host_is_named_in_the_target() -> None:
    claims = require_llvm().get_host_cpu_features()
    assert {each[1:] for each in host_features().target.split(",")} == set(claims)
