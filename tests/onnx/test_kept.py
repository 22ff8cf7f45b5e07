"""Recordings that outlive the process: played again from the cache, or not at all where anything is another."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend.cpu.cache import ObjectCache
from burn_import.onnx import OnnxError, load
from burn_import.onnx.kept import Kept
from burn_import.onnx.loading import Loaded

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

MLP = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 4] x) => (float[batch, 3] y, float[batch, 4] z) <float[4, 3] w = {%s}> {
    h = MatMul (x, w)
    y = Relu (h)
    z = Mul (x, x)
}"""


def mlp(path: Path, scale: float = 1.0) -> Path:
    path.write_bytes(
        onnx.parser.parse_model(MLP % ", ".join(str(each * scale) for each in range(12))).SerializeToString()
    )
    return path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectCache:
    """A cache of its own."""
    made = ObjectCache(tmp_path / "cache")
    for module in ("cache", "compiler", "native", "frozen.stored"):
        monkeypatch.setattr(f"burn.backend.cpu.{module}.default_cache", lambda: made)
    monkeypatch.setattr("burn_import.onnx.operators.registry._OTHERS", set())  # those of other tests
    return made


def rows(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)


def kept(model: Any) -> Any:
    """What runs a model where it is what an earlier process kept."""
    from burn_import.onnx.loading import _ORIGIN

    assert type(model) is Loaded
    runtime = _ORIGIN.__get__(model).runtime
    return runtime if isinstance(runtime, Kept) else None


def expected(scale: float, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.maximum(x @ (np.arange(12, dtype=np.float32) * np.float32(scale)).reshape(4, 3), 0)


def close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-5, atol=1e-5))


def test_a_second_load_plays_what_the_first_one_recorded(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    first = load(path, burn.Cpu())
    assert kept(first) is None
    results = {count: first.run({"x": rows(count)}) for count in (3, 5, 8, 70)}
    second = load(path, burn.Cpu())
    assert kept(second) is not None
    assert second.input_names == ("x",)
    assert second.output_names == ("y", "z")
    assert second.metadata["inputs"] == first.metadata["inputs"]
    for count in (70, 3, 5, 8, 6, 7, 30, 1):  # also sizes that nobody has run
        found = second.run({"x": rows(count)})
        assert close(found["y"], expected(1.0, rows(count)))
        if count in results:
            assert all(np.array_equal(found[name], results[count][name]) for name in found)


def test_results_are_nobody_elses(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    model = load(path, burn.Cpu())
    one = model.run({"x": rows(3)})
    one["y"][:] = 7
    one["z"][:] = 7
    assert close(model.run({"x": rows(3)})["y"], expected(1.0, rows(3)))


def test_another_file_under_the_same_name_is_another_model(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    mlp(path, 2.0)
    assert close(load(path, burn.Cpu()).run({"x": rows(3)})["y"], expected(2.0, rows(3)))


def test_a_file_that_changes_behind_a_loaded_model_is_refused_when_it_is_needed(
    tmp_path: Path, store: ObjectCache
) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    model = load(path, burn.Cpu())
    mlp(path, 2.0)
    assert close(model.run({"x": rows(3)})["y"], expected(1.0, rows(3)))
    with pytest.raises(OnnxError, match="changed since it was loaded"):
        model.run({"x": [[1.0, 2.0, 3.0, 4.0]]})


def test_unusual_inputs_and_faults_are_those_of_the_file(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    for x in (rows(3).tolist(), np.asfortranarray(rows(3)), rows(6)[::2]):
        model = load(path, burn.Cpu())
        assert kept(model) is not None
        assert close(model.run({"x": x})["y"], expected(1.0, np.array(x, np.float32)))
    for wrong in ({}, {"x": rows(3), "other": 1}, {"x": rows(3).astype(np.float64)}, {"x": rows(3)[:, :3]}):
        with pytest.raises(OnnxError):
            load(path, burn.Cpu()).run(wrong)


def test_a_kept_model_becomes_a_module(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    model = load(path, burn.Cpu())
    assert kept(model) is not None
    assert isinstance(model, burn.Module)
    y, _ = model(burn.tensor(rows(3), device=burn.Cpu()))
    assert close(y.numpy(), expected(1.0, rows(3)))
    assert close(model.run({"x": rows(3)})["y"], expected(1.0, rows(3)))
    assert "class Model" in model.source


def test_data_beside_the_file_are_never_kept(tmp_path: Path, store: ObjectCache) -> None:
    proto = onnx.parser.parse_model(MLP % ", ".join(map(str, range(12))))
    raw = onnx.numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")
    proto.graph.initializer[0].CopyFrom(raw)
    path = tmp_path / "apart.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="apart.data", size_threshold=0)
    load(path, burn.Cpu()).run({"x": rows(3)})
    weights = tmp_path / "apart.data"
    weights.write_bytes((np.arange(12, dtype=np.float32) * 3).tobytes())
    assert close(load(path, burn.Cpu()).run({"x": rows(3)})["y"], expected(3.0, rows(3)))


def test_damaged_files_of_the_cache_are_made_again(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    assert store.directory is not None
    files = sorted(store.directory.iterdir())
    for file in files:
        whole = file.read_bytes()
        for damaged in (whole[:-1], whole[: len(whole) // 2], b"", whole[:70] + bytes([whole[70] ^ 1]) + whole[71:]):
            file.write_bytes(damaged)
            assert close(load(path, burn.Cpu()).run({"x": rows(3)})["y"], expected(1.0, rows(3))), file
        file.write_bytes(whole)


def test_other_devices_and_operators_of_others_have_nothing_kept(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    assert kept(load(path, burn.NdArray())) is None
    assert kept(load(path, burn.Cpu(accuracy="exact"))) is None
    assert kept(load(path, burn.Cpu(features="baseline"))) is None


def test_a_fresh_process_reads_neither_graph_nor_compiler(tmp_path: Path) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    script = f"""
        import json, sys
        import numpy as np
        import burn
        from burn_import.onnx import load
        model = load({str(path)!r}, burn.Cpu())
        y = model.run({{"x": np.ones((3, 4), np.float32)}})["y"]
        heavy = ("llvmlite", "burn.engine.plan", "burn_import.onnx.reader", "burn_import.onnx.operators", "burn.nn")
        print(json.dumps([y.tolist(), [name for name in heavy if name in sys.modules]]))
    """
    import os

    environment = {**os.environ, "BURN_CACHE": str(tmp_path / "cache")}
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", textwrap.dedent(script)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0][0] == found[1][0]
    assert found[1][1] == []


def small(text: str) -> bytes:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}').SerializeToString()


def shapes(model: Any, **sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {name: each.shape for name, each in model.run({k: np.ones(v, np.float32) for k, v in sizes.items()}).items()}


def both(data: bytes) -> Any:
    """A model that records, and one that plays what the first one kept."""
    yield load(data, burn.Cpu())
    yield load(data, burn.Cpu())


def test_recordings_of_two_loads_do_not_mix(store: ObjectCache) -> None:
    data = small("g (float[N, 2] x) => (float[N, 2] y) { y = Neg(x) }")
    one, other = load(data, burn.Cpu()), load(data, burn.Cpu())
    for model, count in ((one, 3), (other, 5), (one, 4), (other, 3)):
        assert shapes(model, x=(count, 2)) == {"y": (count, 2)}
    for count in (3, 5, 4, 9, 3):
        assert shapes(load(data, burn.Cpu()), x=(count, 2)) == {"y": (count, 2)}


def test_inputs_that_no_plan_reads_still_count(store: ObjectCache) -> None:
    data = small("g (float[N,3] a, float[M] b) => (float[N,3] y) { y = Relu(a) }")
    for model in both(data):
        for rows_, others in ((4, 4), (4, 5), (7, 9), (1, 2), (5, 3), (0, 3)):
            assert shapes(model, a=(rows_, 3), b=(others,)) == {"y": (rows_, 3)}


def test_sizes_of_one_input_decide_about_another(store: ObjectCache) -> None:
    cut = small("""g (float[N,3] t, int64[L] i) => (float[K,3] z) <int64[1] o={0}, int64[1] ax={0}> {
        s = Shape(i)
        z = Slice(t, o, s, ax)
    }""")
    for model in both(cut):
        for n, length in ((9, 5), (10, 5), (11, 7), (12, 3), (5, 5)):
            found = model.run({"t": np.ones((n, 3), np.float32), "i": np.ones(length, np.int64)})
            assert found["z"].shape == (min(n, length), 3)
    chosen = small("""g (float[N,3] a, float[M] b) => (float[N,3] z) <int64[1] four={4}> {
        s = Shape(b)
        g = Greater(s, four)
        c = Squeeze(g)
        z = If(c) <then_branch = t () => (float[N,3] p) { p = Relu(a) },
                   else_branch = e () => (float[N,3] q) { q = Neg(a) }>
    }""")
    for model in both(chosen):
        for n, m in ((5, 6), (6, 7), (7, 3), (8, 4), (5, 9)):
            found = model.run({"a": np.ones((n, 3), np.float32), "b": np.ones(m, np.float32)})
            assert found["z"][0, 0] == (1 if m > 4 else -1)


def test_results_made_of_sizes_alone(store: ObjectCache) -> None:
    mask = small("""g (float[B,L] x) => (float[L,L] z) <float one={1.0}> {
        s = Shape<start=1,end=2>(x)
        q = Concat<axis=0>(s, s)
        o = Expand(one, q)
        z = Trilu<upper=0>(o)
    }""")
    for model in both(mask):
        for length in (5, 6, 7, 3, 5):
            found = model.run({"x": np.ones((2, length), np.float32)})["z"]
            assert np.array_equal(found, np.tril(np.ones((length, length), np.float32)))


def test_a_constant_as_a_result_is_the_callers(store: ObjectCache) -> None:
    data = small("""g (float[N,3] a) => (float[2] y, float[N,3] z) <float[2] c = {1.0, 2.0}> {
        y = Identity(c)
        z = Relu(a)
    }""")
    for model in both(data):
        for count in (5, 5, 6, 1, 5):
            found = model.run({"a": np.ones((count, 3), np.float32)})
            assert found["y"].tolist() == [1.0, 2.0]
            assert found["z"].shape == (count, 3)
            found["y"][:] = 7
            found["z"][:] = 7


def test_bytes_that_change_and_operators_that_come_later_are_not_kept(store: ObjectCache) -> None:
    relu = small("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }")
    other = small("g (float[N,2] x) => (float[N,2] y) { y = Abs(x) }")
    assert not load(relu, burn.Cpu()).run({"x": -np.ones((3, 2), np.float32)})["y"].any()
    changing = bytearray(relu)
    model = load(changing, burn.Cpu())
    model.run({"x": -np.ones((3, 2), np.float32)})
    changing[: len(other)] = other
    for count in (7, 8, 9):
        model.run({"x": -np.ones((count, 2), np.float32)})
        assert not load(relu, burn.Cpu()).run({"x": -np.ones((count, 2), np.float32)})["y"].any()


def test_a_file_that_was_moved_away_is_read_all_the_same(
    tmp_path: Path, store: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    monkeypatch.chdir(tmp_path)
    model = load("mlp.onnx", burn.Cpu())
    monkeypatch.chdir("/")
    assert close(model.run({"x": rows(4)})["y"], expected(1.0, rows(4)))
    model = load(path, burn.Cpu())
    path.unlink()
    assert close(model.run({"x": rows(9).tolist()})["y"], expected(1.0, rows(9)))


def test_another_number_of_threads_is_no_other_file(tmp_path: Path, store: ObjectCache) -> None:
    path = mlp(tmp_path / "mlp.onnx")
    load(path, burn.Cpu()).run({"x": rows(3)})
    model, before = load(path, burn.Cpu()), burn.get_num_threads()
    try:
        burn.set_num_threads(1)
        for count in (3, 4, 50):
            assert close(model.run({"x": rows(count)})["y"], expected(1.0, rows(count)))
    finally:
        burn.set_num_threads(before)


def test_the_accuracy_of_the_environment_belongs_to_the_key(
    tmp_path: Path, store: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burn_import.onnx.kept import opening_of

    path = mlp(tmp_path / "mlp.onnx")
    keys = {getattr(opening_of(path, burn.Cpu(accuracy=each)), "key", None) for each in ("exact", "fast")}
    assert len(keys) == 2
