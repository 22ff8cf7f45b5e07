"""Machine code in a process with much memory: code and its constants stay within reach of each other."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import mmap
import numpy as np
import burn
from burn.backend.cpu import compiler
from burn.cube import load_objects

objects = []
compiler.load_objects = lambda contents: objects.append(contents) or load_objects(contents)
x = burn.tensor(np.linspace(0, 1, 4096, dtype=np.float32).reshape(64, 64), device=burn.Cpu())
expected = (x.exp() + x.sin() * x).softmax(1).numpy()
assert objects
kept = []
for turn in range(300):
    kept.append(load_objects(objects[turn % len(objects)]))
    if turn % 20 == 0:  # address space only: nothing is written to it
        kept.append(mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))
again = (x.exp() + x.sin() * x + 0.0).softmax(1).numpy()
assert np.allclose(expected, again, atol=1e-6)
print("loaded", len(kept))
"""


def test_objects_load_beside_many_gigabytes_of_address_space() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.strip() == "loaded 315"
