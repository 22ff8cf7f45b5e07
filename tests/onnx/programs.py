"""Models that the stored program is tested with, and the way through files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

import burn
from burn_import.onnx import ModelGen, RecordType, open_program
from burn_import.onnx.model_gen import Generated
from tests.onnx.networks import Convolutional, Perceptron, Transformer, exported, perturbed
from tests.onnx.running import text_model

Feed = dict[str, Any]

BRANCHES = """
g (float[n] x, bool flag) => (float[n] y) <float[100] w> {
    y = If (flag) <then_branch = yes () => (float[n] a) { a = Neg (x) },
                   else_branch = no () => (float[n] b) { t = Constant <value = float[1] {2.0}> ()  b = Mul (x, t) }>
}
"""
LOOP = """
g (float[n] x, int64 times) => (float[n] y, float[k, n] all) {
    go = Constant <value = bool {1}> ()
    y, all = Loop (times, go, x) <body = step (int64 i, bool on, float[n] v) => (bool more, float[n] next, float[n] out)
        { more = Identity (on)  one = Constant <value = float {1.5}> ()  next = Add (v, one)  out = Mul (next, next) }>
}
"""
SEQUENCE = """
g (float[n] x, float[m] z) => (seq(float[?]) s, int64 count) {
    first = SequenceConstruct (x, z)
    two = Constant <value = float[2] {1.0, 2.0}> ()
    s = SequenceInsert (first, two)
    count = SequenceLength (s)
}
"""
SHAPES = """
g (float[batch, length, 12] x) => (float[batch, rows, 4] y) {
    shape = Shape (x)
    zero = Constant <value = int64[1] {0}> ()
    batch = Gather (shape, zero)
    rest = Constant <value = int64[2] {-1, 4}> ()
    target = Concat <axis = 0> (batch, rest)
    y = Reshape (x, target)
}
"""
STRINGS = """
g (string[n] x) => (string[n] y) {
    tail = Constant <value = string[1] {"'); import os #"}> ()
    y = StringConcat (x, tail)
}
"""


def models() -> dict[str, tuple[bytes, list[Feed]]]:
    """Models with control flow, sequences, text and open sizes, each with inputs of several sizes."""
    rng = np.random.default_rng(3)

    def f32(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float32)

    picked = text_model("g (float[n] x) => (float[m] y) <int64[300] index> { y = Gather (x, index) }")
    index = onnx.numpy_helper.from_array(rng.integers(0, 7, 300), "index")
    picked.graph.initializer[0].CopyFrom(index)
    sources = {"if": BRANCHES, "loop": LOOP, "sequence": SEQUENCE, "shapes": SHAPES, "strings": STRINGS}
    texts = {name: text_model(text).SerializeToString() for name, text in sources.items()}
    convolutional = exported(perturbed(Convolutional()).eval(), [torch.randn(2, 3, 16, 16)], ["x"], {"x": {0: "batch"}})
    tokens, mask = torch.zeros(2, 5, dtype=torch.int64), torch.ones(2, 5, dtype=torch.int64)
    open_sizes = {"tokens": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    transformer = exported(perturbed(Transformer()).eval(), [tokens, mask], ["tokens", "mask"], open_sizes)
    double = exported(perturbed(Perceptron()).double().eval(), [torch.randn(2, 4).double()], ["x"])

    def written(batch: int, length: int) -> Feed:
        return {"tokens": rng.integers(0, 50, (batch, length)), "mask": rng.integers(0, 2, (batch, length))}

    return {
        "if": (texts["if"], [{"x": f32(4), "flag": np.array(flag)} for flag in (True, False)]),
        "loop": (texts["loop"], [{"x": f32(3), "times": np.array(times)} for times in (0, 1, 4)]),
        "sequence": (texts["sequence"], [{"x": f32(2), "z": f32(5)}]),
        "shapes": (texts["shapes"], [{"x": f32(2, 3, 12)}, {"x": f32(1, 7, 12)}]),
        "strings": (texts["strings"], [{"x": np.array(["a", "b'"], object)}]),
        "picked": (picked.SerializeToString(), [{"x": f32(7)}]),
        "convolutional": (convolutional, [{"x": f32(1, 3, 16, 16)}, {"x": f32(3, 3, 16, 16)}]),
        "transformer": (transformer, [written(2, 5), written(1, 9)]),
        "double": (double, [{"x": rng.standard_normal((2, 4))}]),
    }


def generated(data: bytes, folder: Path, **options: Any) -> Generated:
    """The files of a model."""
    folder.mkdir(exist_ok=True)
    (folder / "net.onnx").write_bytes(data)
    return ModelGen(folder / "net.onnx", folder, **options).overwrite(True).run_from_cli()[0]


def opened(data: bytes, folder: Path, record_type: RecordType = RecordType.NamedMpk, **options: Any) -> Any:
    """The model that the program of a file and its record give."""
    made = generated(data, folder, record_type=record_type, **options)
    return open_program(made.metadata, None, burn.NdArray())
