"""Run tests as on processors that have less than this one.

    python -m tests.instruction_sets                   every test, under each lesser set
    python -m tests.instruction_sets --sample 10       one in ten of the tests that run kernels, under each main set
    python -m tests.instruction_sets --sets avx2 -- tests/engine -k attention

The engine is told by `BURN_FEATURES`; the oracles (NumPy, OpenBLAS, PyTorch) are held to the same, as far as they let
themselves be told. Which tests are in a sample follows from their names and the set, so every run has the same ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from burn.backend.cpu.features import NATIVE, host_features, named, runnable

MAIN = ("baseline", "avx2", "avx512")
"""The sets that a sample runs under."""

FOLDERS = "autodiff capture engine kernels nn onnx ops optim quantization tensor".split()
"""The tests that run kernels, but for random programs, which try every set by themselves."""


def lesser() -> list[str]:
    """The sets whose code runs here and that have less than this processor."""
    return [name for name in runnable() if name != NATIVE and named(name).level != host_features().level]


def environment(name: str) -> dict[str, str]:
    """The variables that hold the engine, and others in the process, to a set."""
    held = {"BURN_FEATURES": name}
    if name in ("baseline", "sse4", "avx2"):
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

        newer = [each for each in __cpu_dispatch__ if each.startswith(("AVX512", "X86_V4")) and __cpu_features__[each]]
        held["OPENBLAS_CORETYPE"] = "Haswell" if name == "avx2" else "Nehalem"
        held["ATEN_CPU_CAPABILITY"] = "avx2" if name == "avx2" else "default"
        held["ONEDNN_MAX_CPU_ISA"] = "AVX2" if name == "avx2" else "SSE41"
        held["NPY_DISABLE_CPU_FEATURES"] = " ".join(newer)
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pytest under each set; 0 where every run was green."""
    parser = argparse.ArgumentParser(prog="python -m tests.instruction_sets", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="run one in N of the tests of kernels")
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=runnable(), help="instead of those that are lesser")
    parser.add_argument("-n", "--workers", default="auto", help="test processes")
    parser.add_argument("rest", nargs="*", metavar="pytest argument")
    given = parser.parse_args(arguments)
    names = given.sets or [name for name in lesser() if given.sample == 1 or name in MAIN]
    if not names:
        print("instruction sets: this processor has no lesser ones to try")
    failed = []
    for name in names:
        print(f"instruction sets: {name}", flush=True)
        chosen = given.rest or ([f"tests/{each}" for each in FOLDERS] if given.sample > 1 else [])
        command = [sys.executable, "-m", "pytest", "-q", "-n", given.workers, *chosen]
        if given.sample > 1:
            command += ["--sample", str(given.sample), "-m", "not slow"]
        code = subprocess.run(command, env={**os.environ, **environment(name)}).returncode
        if code not in (0, 5):  # 5: nothing was chosen
            failed.append(name)
    if failed:
        print(f"instruction sets: failed under {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
