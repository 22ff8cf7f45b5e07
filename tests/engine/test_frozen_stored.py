"""Frozen plans in files: opened by processes without a compiler, shared between them, refused where anything is odd."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu
from burn.backend.cpu.cache import ObjectCache
from burn.backend.cpu.frozen import stored
from burn.backend.cpu.frozen.encoding import Malformed, decode, encode
from burn.backend.cpu.frozen.fixed import FixedPlan
from burn.backend.cpu.frozen.stored import HEADER, KIND, MAGIC, SHARE, VERSION, load, open_stored, save
from burn.backend.cpu.frozen.sums import sums
from burn.cube.images import is_supported
from burn.symbolic import Assumptions
from tests.engine.recorded import Array, traced

pytestmark = pytest.mark.skipif(not is_supported(), reason="machine code is not loaded without LLVM here")

KEY = "a model, its signature, this processor"


def draw(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def network(x: Any, w: Any, b: Any, i: Any) -> Any:
    return (x.matmul(w) + b).tanh().select(0, i), x.sum_dim(0)


WEIGHTS = {1: draw(16, 32), 2: draw(32)}


def fixed_plan(rows: Any = 24) -> FixedPlan:
    device: Any = Cpu()
    program = traced(network, ((rows, 16), "f32"), ((16, 32), "f32"), ((32,), "f32"), ((3,), "i64"))
    made = device.below.prepare_fixed(program, WEIGHTS)
    assert isinstance(made, FixedPlan)
    return made


def given(rows: int = 24) -> list[Array]:
    return [draw(rows, 16), np.array([rows - 1, 0, 3])]


@pytest.fixture
def store(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "kernels")


@pytest.fixture
def kept(store: ObjectCache) -> FixedPlan:
    made = fixed_plan(Assumptions().symbol(24))
    assert save(made.runner.frozen, KEY, store)
    return made


def same(ours: list[Array], theirs: list[Array]) -> bool:
    return [(x.shape, x.dtype, x.tobytes()) for x in ours] == [(x.shape, x.dtype, x.tobytes()) for x in theirs]


def test_what_was_stored_runs(store: ObjectCache, kept: FixedPlan) -> None:
    opened = open_stored(KEY, cache=store)
    assert opened is not None
    assert opened.form == kept.runner.form
    assert opened.describe() == kept.describe()
    for rows in (24, 40, 23):
        assert same(opened(given(rows)), kept(given(rows)))
    with pytest.raises(burn.IndexingError, match="index 23 is out of range for dim 0 of size 23"):
        opened([given(23)[0], np.array([0, 23, 1])])
    assert same(opened(given(24)), kept(given(24)))
    assert open_stored("another", cache=store) is None


def test_an_opened_plan_can_be_stored_again(store: ObjectCache, kept: FixedPlan, tmp_path: Path) -> None:
    other = ObjectCache(tmp_path / "other")
    found = load(KEY, store)
    assert found is not None
    assert save(found, KEY, other)
    assert other.path_of(KEY, KIND).read_bytes() == store.path_of(KEY, KIND).read_bytes()


def test_plans_without_named_sizes_constants_or_inputs(store: ObjectCache) -> None:
    device: Any = Cpu()
    x = draw(4)
    for number, constants in enumerate(({}, {0: x})):
        made = device.below.prepare_fixed(traced(lambda x: x.exp() * 2.0, ((4,), "f32")), constants)
        assert save(made.runner.frozen, str(number), store)
        opened = open_stored(str(number), device.below, store)
        assert opened is not None
        inputs = [] if constants else [x]
        assert same(opened(inputs), made(inputs))


FRESH = """
import sys
import numpy as np
from burn.backend.cpu.frozen.stored import open_stored
run = open_stored(sys.argv[1])
x, i, *wanted = (np.load(f"{sys.argv[2]}/{n}.npy") for n in range(4))
for ours, theirs in zip(run([x, i]), wanted, strict=True):
    assert np.array_equal(ours, theirs)
print(*sorted(name for name in sys.modules if name.startswith(("llvmlite", "burn."))))
with open("/proc/self/maps") as file:
    print(any(line.split()[1] == "r--s" and line.rstrip().endswith(".plan") for line in file))
"""
NOT_NEEDED = ("llvmlite", "burn.engine", "burn.program", "burn.backend.cpu.plan", "burn.backend.cpu.compiler",
              "burn.backend.cpu.lower", "burn.cube.builder", "burn.cube.ir", "burn.cube.targets")  # fmt: skip


def test_a_fresh_process_runs_it_without_compiler_and_lowering(
    store: ObjectCache, kept: FixedPlan, tmp_path: Path
) -> None:
    for number, array in enumerate([*given(), *kept(given())]):
        np.save(tmp_path / f"{number}.npy", array)
    environment = os.environ | {"BURN_CACHE": str(store.directory)}
    command = [sys.executable, "-c", FRESH, KEY, str(tmp_path)]
    for _ in range(2):  # the first may have to compile what runs steps, which everybody shares
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
    modules, mapped = found.stdout.splitlines()
    assert [name for name in modules.split() if name.startswith(NOT_NEEDED)] == []
    assert mapped == "True"


def test_constants_are_mapped_and_not_copied(store: ObjectCache) -> None:
    device: Any = Cpu()
    weight = draw(1024, 4096)
    program = traced(lambda x, w: x.matmul(w), ((1, 1024), "f32"), ((1024, 4096), "f32"))
    made = device.below.prepare_fixed(program, {1: weight})
    assert save(made.runner.frozen, KEY, store)
    lines = ["import sys, numpy as np, resource", "from burn.backend.cpu.frozen.stored import open_stored"]
    lines += ["status = lambda: next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('RssAnon'))"]
    lines += ["x = np.ones((1, 1024), np.float32)", "small = open_stored('small')", "small([np.ones(4, np.float32)])"]
    lines += [
        "before = status()",
        f"run = open_stored({KEY!r})",
        "y = run([x])",
        "print(status() - before, y.__len__())",
    ]
    tiny = device.below.prepare_fixed(traced(lambda x: x.exp(), ((4,), "f32")), {})
    assert save(tiny.runner.frozen, "small", store)
    environment = os.environ | {"BURN_CACHE": str(store.directory)}
    found = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout.split()[0]) < 4096 < weight.nbytes // 1024  # kibibytes of its own


def test_damage_anywhere_is_seen(store: ObjectCache, kept: FixedPlan) -> None:
    path = store.path_of(KEY, KIND)
    whole = path.read_bytes()
    chooser = random.Random(0)
    places = [*range(HEADER.size), *chooser.sample(range(HEADER.size, len(whole)), 200), len(whole) - 1]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chooser.randrange(8)
        path.write_bytes(damaged)
        assert load(KEY, store) is None, place
    for size in (
        0,
        1,
        HEADER.size - 1,
        HEADER.size,
        HEADER.size + 64,
        len(whole) // 2,
        len(whole) - 64,
        len(whole) - 1,
    ):
        path.write_bytes(whole[:size])
        assert load(KEY, store) is None, size
    path.write_bytes(whole + bytes(64))
    assert load(KEY, store) is None
    path.write_bytes(whole)
    assert load(KEY, store) is not None


def test_files_that_others_can_have_written_are_refused(store: ObjectCache, kept: FixedPlan, tmp_path: Path) -> None:
    path = store.path_of(KEY, KIND)
    path.chmod(0o666)
    assert load(KEY, store) is None
    path.chmod(0o600)
    assert load(KEY, store) is not None
    path.rename(store.path_of("another", KIND))
    assert load("another", store) is None  # it is stored under the key it was made for
    os.symlink(store.path_of("another", KIND), path)
    assert load(KEY, store) is None
    path.unlink()
    path.mkdir()
    assert load(KEY, store) is None


def written(store: ObjectCache, text: bytes, code: bytes, constants: bytes) -> None:
    """A file with the right sums, whatever its parts."""
    padded = [-(-size // 64) * 64 for size in json.loads(text).get("constants", [])]
    starts = itertools.accumulate(padded, initial=0)
    parts = [text, sums([memoryview(constants)[at : at + size] for at, size in zip(starts, padded)], padded), code]
    sizes = (*map(len, parts), len(constants))
    body = b"".join(part + bytes(-len(part) % 64) for part in parts)
    digest = hashlib.sha256(stored._numbers(sizes) + body).digest()
    header = HEADER.pack(MAGIC, VERSION, *sizes, hashlib.sha256(KEY.encode()).digest(), digest)
    store.write(store.path_of(KEY, KIND), [header, body, constants, bytes(64)])


def test_contents_that_make_no_sense_are_refused_even_with_the_right_sums(store: ObjectCache, kept: FixedPlan) -> None:
    frozen = kept.runner.frozen
    text, code = encode(frozen.form), frozen.image().to_bytes()
    constants = b"".join(bytes(each) + bytes(-len(each) % 64) for each in frozen.contents)
    written(store, text, code, constants)
    assert load(KEY, store) is not None
    written(store, text, code, constants[:-64])
    assert load(KEY, store) is None
    written(store, text, code[:-1], constants)
    assert load(KEY, store) is None
    data = json.loads(text)
    for name in data:
        if name != "threads":
            written(
                store, json.dumps({key: each for key, each in data.items() if key != name}).encode(), code, constants
            )
            assert load(KEY, store) is None, name


def changed(data: Any, chooser: random.Random) -> Any:
    """The data with one value in it replaced."""
    if isinstance(data, dict):
        name = chooser.choice(sorted(data))
        return {**data, name: changed(data[name], chooser)}
    if isinstance(data, list) and data and chooser.random() < 0.95:
        place = chooser.randrange(len(data))
        return [*data[:place], changed(data[place], chooser), *data[place + 1 :]]
    return chooser.choice([-1, 0, 1, 7, 1 << 40, 1 << 70, -(1 << 63), None, True, 0.5, "", "x\n", [], [0], [[]], {}])


def test_forms_are_read_strictly(kept: FixedPlan) -> None:
    text = encode(kept.runner.form)
    assert decode(text) == kept.runner.form
    data, chooser, refused = json.loads(text), random.Random(1), 0
    for _ in range(2000):
        try:
            decode(json.dumps(changed(data, chooser)).encode())
        except Malformed:
            refused += 1
    assert refused > 1000
    for odd in (b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000, b'{"sizes": {}}'):
        with pytest.raises(Malformed):
            decode(odd)


def test_plans_count_in_the_limit_of_the_cache_and_the_oldest_go(tmp_path: Path) -> None:
    device: Any = Cpu()
    weight = draw(64, 200)
    program = traced(lambda x, w: x.matmul(w), ((1, 64), "f32"), ((64, 200), "f32"))
    frozen = device.below.prepare_fixed(program, {1: weight}).runner.frozen
    assert sum(frozen.form.constants) == weight.nbytes
    store = ObjectCache(tmp_path / "kernels", limit=5 * weight.nbytes)
    for number in range(8):
        store.store(f"kernel {number}", bytes(1000))
        assert save(frozen, str(number), store)
        for key, age in [(str(number), 100 - number)]:
            os.utime(store.path_of(key, KIND), ns=(0, 10**18 - age * 10**9))
        assert load("0", store) is not None or number > 4  # used at every turn
        assert store.size() <= store.limit
    assert load("7", store) is not None
    assert load("1", store) is None
    assert store.clear() > 0
    assert load("7", store) is None
    assert not save(frozen, "8", ObjectCache(tmp_path / "kernels", limit=SHARE * weight.nbytes - 1))
    assert not save(frozen, "9", ObjectCache(None))
