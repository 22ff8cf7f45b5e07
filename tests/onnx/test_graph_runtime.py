"""Loaded models run their graph: recorded once for each set of shapes and each way through, and never wrong for it."""

from __future__ import annotations

import contextlib
import copy
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import burn
from burn_import.onnx import OnnxError, load, modules, open_program, register_op
from burn_import.onnx.code.frame import argument_names
from burn_import.onnx.importing import import_model
from burn_import.onnx.loading import Loaded
from burn_import.onnx.operators.registry import ROWS
from burn_import.onnx.running import tape
from tests.onnx.example_models import MODELS
from tests.onnx.programs import generated, models
from tests.onnx.running import assert_same, runtime, text_model
from tests.onnx.test_examples import FEEDS
from tools.onnx_report import _given, _value, cases, opened

EVERY = bool(os.environ.get("BURN_TEST_ALL"))
MLP = """g (float[batch, 4] x) => (float[batch, 3] y) <float[4, 3] w, float[3] b> {
    h = Gemm (x, w, b)  y = Relu (h)
}"""
BRANCHES = """g (float[n] x) => (float[n] y) {
    axes = Constant <value = int64[1] {0}> ()
    total = ReduceSum <keepdims = 0> (x, axes)
    zero = Constant <value = float {0.0}> ()
    positive = Greater (total, zero)
    y = If (positive) <then_branch = yes () => (float[n] a) { t = Exp (x)  a = Add (t, total) },
                       else_branch = no () => (float[n] b) { b = Neg (x) }>
}"""
COUNTED = """g (float[n] x, int64 times) => (float[n] y) {
    go = Constant <value = bool {1}> ()
    y = Loop (times, go, x) <body = step (int64 i, bool on, float[n] v) => (bool more, float[n] next) {
        more = Identity (on)  half = Constant <value = float {0.5}> ()  next = Mul (v, half) }>
}"""
WHILE = """g (float[n] x) => (float[n] y) {
    go = Constant <value = bool {1}> ()
    limit = Constant <value = float {100.0}> ()
    y = Loop (, go, x) <body = step (int64 i, bool on, float[n] v) => (bool more, float[n] next) {
        next = Add (v, v)  top = ReduceMax <keepdims = 0> (next)  more = Less (top, limit) }>
}"""
CHOSEN = """g (float[n] x) => (float[m] y, int64[k, m] places) {
    places = NonZero (x)
    flat = Squeeze (places)
    chosen = Gather (x, flat)
    y = Abs (chosen)
}"""


def inside(model: Any) -> Any:
    """The runtime of a model that nobody has asked for a module yet."""
    assert type(model) is Loaded
    return model._runtime


def as_source(model: Any) -> Any:
    """The module of a model, which runs by its source from now on."""
    assert isinstance(model, burn.Module)
    type(model)._unchanged = None
    return model


def same(one: Any, other: Any) -> None:
    """Equal to the bit."""
    if isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other):
            same(*pair)
        return
    if one is None or isinstance(one, dict):
        assert one == other
        return
    one, other = np.asarray(one), np.asarray(other)
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    if one.dtype.hasobject:
        assert one.tolist() == other.tolist()
    elif one.tobytes() != other.tobytes():  # zeros and what is no number have more than one form
        np.testing.assert_array_equal(one.astype(np.float64), other.astype(np.float64))


def against_onnx_runtime(text: str, feeds: list[dict[str, Any]], turns: int = 3) -> Any:
    """A model gives what ONNX Runtime gives for inputs that come in turns; the model."""
    proto = text_model(text)
    model = load(proto, burn.Cpu())
    for _ in range(turns):
        for feed in feeds:
            for actual, wanted in zip(model.run(feed).values(), runtime(proto, feed), strict=True):
                assert_same(actual, wanted)
    return model


def floats(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


# Results


@pytest.mark.parametrize("device", [burn.Cpu(), burn.NdArray()], ids=repr)
def test_the_graph_gives_what_the_source_gives_in_cases_of_the_standard(device: burn.Device) -> None:
    drawn = ("bernoulli", "single_tree", "dropout", "random", "multinomial")
    every = [each for each in cases("node", "simple", "pytorch-converted", "pytorch-operator")
             if not any(word in each.name for word in drawn)]  # fmt: skip
    for case in every if EVERY else every[::23]:
        proto, sets = opened(case)
        try:
            model, source = load(proto, device), as_source(load(proto, device))
        except OnnxError:
            continue
        for inputs, _ in sets:
            given = {each.name: _value(array) for each, array in zip(_given(proto, len(inputs)), inputs)}
            feed = {name: given.get(name) for name in model.input_names}
            wanted = source.run(feed)
            for _ in range(3):
                found = inside(model).run(feed)
                for name in model.output_names:
                    same(found[name], wanted[name])


@pytest.mark.parametrize("name", MODELS)
def test_the_examples_of_the_documentation_run_as_graphs(name: str) -> None:
    data = MODELS[name]().SerializeToString()
    model = load(data, burn.Cpu())
    for feed in FEEDS[name] * 2:
        for actual, wanted in zip(model.run(feed).values(), runtime(data, feed), strict=True):
            assert_same(actual, wanted, rtol=1e-3, atol=1e-4)
    assert type(model) is Loaded


def test_a_stored_program_gives_the_same_on_every_device(tmp_path: Path) -> None:
    for name, (data, feeds) in models().items():
        made = generated(data, tmp_path / name)
        for device in (burn.Cpu(), burn.NdArray()):
            model, loaded = open_program(made.metadata, None, device), load(data, device)
            for feed in feeds * 2:
                found, wanted = model.run(feed), loaded.run(feed)
                for each in loaded.output_names:
                    assert_same(found[each], wanted[each], rtol=1e-6, atol=1e-6)
            assert type(model) is Loaded, name


# Neither source nor execution


def test_running_needs_no_writer_and_executes_no_text(tmp_path: Path) -> None:
    onnx.save(text_model(BRANCHES), tmp_path / "branches.onnx")
    made = generated(text_model(MLP).SerializeToString(), tmp_path / "mlp")
    script = f"""
        import builtins, sys
        import numpy as np
        import burn
        from burn_import.onnx import load, modules, open_program
        def refuse(*args, **kwargs):
            raise AssertionError("source was made")
        modules.compiled = modules.instantiate = refuse
        model = load({str(tmp_path / "branches.onnx")!r}, burn.Cpu())
        for sign in (1.0, -1.0, 1.0):
            model.run({{"x": np.full(3, sign, np.float32)}})
        model.input_names, model.output_names, model.metadata
        model = open_program({str(made.metadata)!r}, None, burn.Cpu())
        for batch in (1, 2, 1):
            model.run({{"x": np.ones((batch, 4), np.float32)}})
        assert not [name for name in sys.modules if name.startswith("burn_import.onnx.writer")]
        assert "burn_import.onnx.stored.guard" not in sys.modules
        assert "burn_onnx_model" not in repr(sys.modules.keys())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_arguments_are_called_what_the_source_calls_them() -> None:
    text = MLP.replace("x)", "class, float[batch, 4] x, float[batch, 4] X)").replace("(x, w", "(class, w")
    proto = text_model(text.replace("class", "c1"))
    for value in proto.graph.input:
        value.name = {"c1": "class"}.get(value.name, value.name)
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = {"c1": "class"}.get(name, name)
    imported = import_model(proto)
    assert argument_names(imported.model.graph) == [name for _, name in imported.write().inputs]


# Ways through


def test_a_branch_that_was_taken_is_not_evaluated_again() -> None:
    feeds = [{"x": floats(1, 2, 3)}, {"x": floats(-1, -2, -3)}, {"x": floats(5, 2, 3)}, {"x": floats(-1, 0, 0.5)}]
    model = against_onnx_runtime(BRANCHES, feeds)
    assert inside(model).evaluations == 2


def test_a_number_that_a_loop_is_counted_by_is_read_from_the_input() -> None:
    feeds = [{"x": floats(8, 16), "times": np.array(count)} for count in (1, 3, 0, 5)]
    model = against_onnx_runtime(COUNTED, feeds)
    assert inside(model).evaluations == 4


def test_a_loop_that_ends_by_its_values_takes_as_many_rounds_as_it_needs() -> None:
    feeds = [{"x": floats(start, 1)} for start in (3, 90, 0.5, 30, 70, 3.5)]
    model = against_onnx_runtime(WHILE, feeds)
    assert inside(model).evaluations == 5  # 70 takes as many rounds as 90


def test_results_whose_shapes_depend_on_data_are_played_by_their_shapes() -> None:
    feeds = [{"x": floats(0, 2, 0, 3)}, {"x": floats(1, 0, 0, -1)}, {"x": floats(1, 2, 3, 4)}]
    model = against_onnx_runtime(CHOSEN, feeds)
    assert inside(model).evaluations == 2


def test_answers_that_are_always_new_are_evaluated_and_forgotten() -> None:
    feeds = [{"x": floats(8, 16), "times": np.array(count)} for count in range(2 * tape.MOST_ANSWERS)]
    model = against_onnx_runtime(COUNTED, feeds, turns=2)
    (recorded,) = inside(model)._tapes.values()
    assert recorded.root.is_changing
    assert len(recorded.root.answers) == tape.MOST_ANSWERS


def test_ways_that_were_not_taken_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "MOST_LEAVES", 3)
    feeds = [{"x": floats(8, 16), "times": np.array(count)} for count in range(6)]
    model = against_onnx_runtime(COUNTED, feeds)
    (recorded,) = inside(model)._tapes.values()
    assert len(recorded._leaves) <= 3
    assert len(recorded.root.answers) <= 3


def test_random_numbers_are_the_next_ones_of_the_device_in_every_run() -> None:
    text = """g (float[n] x) => (float[n] y, float[k] z) {
        r = RandomUniformLike (x)  y = Add (x, r)
        fixed = RandomNormal <shape = [3], seed = 4.0> ()  z = Abs (fixed)
    }"""
    model, source = load(text_model(text), burn.Cpu()), as_source(load(text_model(text), burn.Cpu()))
    found = []
    for each in (model, source):
        burn.Cpu().seed(7)
        found.append([each.run({"x": np.zeros(8, np.float32)}) for _ in range(4)])
    for one, other in zip(*found, strict=True):
        same(one["y"], other["y"])
        same(one["z"], other["z"])
    assert len({each["y"].tobytes() for each in found[0]}) == 4
    assert inside(model).evaluations == 1


def test_sequences_and_texts_are_evaluated_anew() -> None:
    for name in ("sequence", "strings"):
        data, feeds = models()[name]
        model = load(data, burn.Cpu())
        for feed in feeds * 3:
            for actual, wanted in zip(model.run(feed).values(), runtime(data, feed), strict=True):
                assert_same(actual, wanted)
        assert type(model) is Loaded


# The call


def test_arrays_may_lie_as_they_like_and_results_have_memory_of_their_own() -> None:
    proto = text_model("g (float[a, b] x) => (float[a, b] y, float[a, b] same) { y = Abs (x)  same = Identity (x) }")
    model = load(proto, burn.Cpu())
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    misplaced = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)
    for given in (x, np.asfortranarray(x), x[:, ::-1], x.T, x[::2], misplaced, x):
        result = model.run({"x": given})
        np.testing.assert_array_equal(result["y"], np.abs(given))
        np.testing.assert_array_equal(result["same"], given)
        assert not np.may_share_memory(result["same"], given)
        result["y"][...] = result["same"][...] = 7.0
        np.testing.assert_array_equal(model.run({"x": given})["y"], np.abs(given))


def test_numbers_and_lists_are_taken_and_faults_are_told_as_before() -> None:
    model = load(text_model(MLP), burn.Cpu())
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    wanted = model.run({"x": x})["y"]
    np.testing.assert_array_equal(model.run({"x": x.tolist()})["y"], wanted)
    for inputs, text in (
        ({}, "input 'x' is missing"),
        ({"x": x, "z": x}, "there is no input 'z'; there are x"),
        ({"x": x.astype(np.float64)}, r"input 'x' is float64, and the model takes float32; write x.astype\(np.float32"),
        ({"x": x[:, :3]}, r"input 'x' has shape \[2, 3\], and the model takes \[any, 4\]"),
        ({"x": None}, "input 'x' is None"),
    ):
        with pytest.raises(OnnxError, match=text):
            model.run(inputs)
    np.testing.assert_array_equal(model.run({"x": x})["y"], wanted)


def test_many_shapes_are_kept_and_the_oldest_go() -> None:
    model = load(text_model(MLP), burn.Cpu())
    for batch in range(1, 70):
        assert model.run({"x": np.ones((batch, 4), np.float32)})["y"].shape == (batch, 3)
    assert len(inside(model)._known) <= 64


def test_threads_run_one_model_at_once() -> None:
    proto = text_model(BRANCHES)
    model = load(proto, burn.Cpu())
    wrong: list[Any] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(60):
            x = generator.standard_normal(int(generator.integers(1, 5))).astype(np.float32)
            wanted = np.exp(x) + x.sum() if x.sum() > 0 else -x
            if not np.allclose(model.run({"x": x})["y"], wanted, rtol=1e-4, atol=1e-5):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_a_model_may_become_a_module_while_threads_run_it() -> None:
    x = np.ones((2, 4), np.float32)
    for _ in range(4):
        model = load(text_model(MLP), burn.Cpu())
        wanted, stop, wrong = model.run({"x": x})["y"], threading.Event(), []

        def work(model: Any = model, wanted: Any = wanted, stop: Any = stop, wrong: Any = wrong) -> None:
            while not stop.is_set():
                try:
                    if not np.allclose(model.run({"x": x})["y"], wanted, rtol=1e-5):
                        wrong.append("another result")
                except Exception as error:
                    wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for each in threads:
            each.start()
        assert model.num_params() == 15
        for _ in range(20):
            model.run({"x": x})
        stop.set()
        for each in threads:
            each.join()
        assert wrong == []


# The module


def test_a_loaded_model_is_a_module_as_soon_as_somebody_asks() -> None:
    model = load(text_model(MLP), burn.Cpu())
    x = np.ones((2, 4), np.float32)
    wanted = model.run({"x": x})["y"]
    assert type(model) is Loaded
    assert isinstance(model, burn.Module)
    np.testing.assert_array_equal(model(burn.tensor(x, device=burn.Cpu())).numpy(), wanted)
    assert type(model).__name__ == "Model"
    assert "class Model(Module):" in model.source
    assert model.num_params() == 15
    before = type(model)._unchanged.runtime.evaluations
    np.testing.assert_array_equal(model.run({"x": x})["y"], wanted)
    assert type(model)._unchanged.runtime.evaluations == before


@pytest.mark.parametrize(
    "ask",
    [lambda m: m.num_params(), lambda m: repr(m), lambda m: list(m.leaves()), lambda m: m.__dict__, lambda m: m.source,
     lambda m: burn.compile(m), lambda m: m.into_record(), lambda m: m.train(), lambda m: m.freeze(),
     lambda m: m.to_device(burn.NdArray()), lambda m: burn.tree.flatten(m), lambda m: m.hidden, copy.deepcopy],
)  # fmt: skip
def test_whatever_is_asked_of_a_module_makes_it_one(ask: Any) -> None:
    model = load(text_model(MLP), burn.Cpu())
    with contextlib.suppress(AttributeError):
        ask(model)
    assert type(model) is not Loaded


def test_a_module_that_was_changed_gives_its_own_results() -> None:
    x = np.ones((2, 4), np.float32)
    model = load(text_model(MLP), burn.Cpu())
    first = model.run({"x": x})["y"]
    doubled = model.map(lambda param: param * 2.0)
    np.testing.assert_allclose(doubled.run({"x": x})["y"], 2 * first, rtol=1e-5)
    np.testing.assert_array_equal(model.run({"x": x})["y"], first)
    (name, layer) = next(iter(model.children()))
    setattr(model, name, layer.map(lambda param: param * 3.0))
    np.testing.assert_allclose(model.run({"x": x})["y"], 3 * first, rtol=1e-5)
    np.testing.assert_allclose(model.to_device(burn.NdArray()).run({"x": x})["y"], 3 * first, rtol=1e-5)


def test_a_record_that_was_trained_further_is_what_a_program_runs_with(tmp_path: Path) -> None:
    made = generated(text_model(MLP).SerializeToString(), tmp_path)
    x = np.ones((2, 4), np.float32)
    model = open_program(made.metadata, None, burn.Cpu())
    first = model.run({"x": x})["y"]
    model.map(lambda param: param * 2.0).save_file(made.weights.with_suffix(""))
    again = open_program(made.metadata, None, burn.Cpu())
    np.testing.assert_allclose(again.run({"x": x})["y"], 2 * first, rtol=1e-5)
    assert type(again) is Loaded


def test_a_row_that_pastes_text_runs_as_source(monkeypatch: pytest.MonkeyPatch) -> None:
    from burn_import.onnx.code.expression import Expression

    monkeypatch.setitem(ROWS, ("example.text", "Twice"), None)
    del ROWS["example.text", "Twice"]

    @register_op("example.text", "Twice")
    def twice(op: Any) -> Expression:
        return Expression(f"{op.x.text} * 2.0")

    text = "g (float[n] x) => (float[n] y) { y = example.text.Twice (x) }"
    model = load(text_model(text, extra=', "example.text": 1'), burn.Cpu())
    for _ in range(2):
        assert model.run({"x": floats(1, 2)})["y"].tolist() == [2.0, 4.0]
    assert modules.Runnable in type(model).__mro__
