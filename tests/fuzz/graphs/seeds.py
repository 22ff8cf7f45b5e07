"""One seed: draw a graph, import it, and compare what it gives with ONNX Runtime or the standard's own evaluator."""

from __future__ import annotations

import random
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

import burn
from burn_import.onnx import ModelGen, load, open_program
from tests.fuzz.graphs.graph import Array, Graph, Writer, runtime
from tests.fuzz.graphs.operators import OPERATORS
from tests.fuzz.networks.seeds import alike

SIZES = (1, 2, 3, 4, 5, 7, 8, 9)


def draw(seed: int) -> Graph:
    """The graph of a seed, the same on every machine."""
    chooser = random.Random(f"graph {seed}")
    w = Writer(chooser, seed)
    shape = [chooser.choice(SIZES) for _ in range(chooser.choice((1, 2, 3, 3, 4, 4, 4, 5)))]
    w.add_input(w.floats(*shape))
    if chooser.random() < 0.4:
        w.add_input(w.floats(*shape))
    w.add_input(w.numbers.integers(-4, 7, shape).astype(chooser.choice((np.int32, np.int64))))
    while not w.graph.nodes:
        for _ in range(chooser.choice((1, 1, 2, 3, 4, 6))):
            w.try_one(OPERATORS)
    return w.finished()


def difference(ours: Any, theirs: Array) -> str:
    """How two results differ; nothing if they do not."""
    ours = np.asarray(ours)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"is {ours.dtype}{list(ours.shape)}, not {theirs.dtype}{list(theirs.shape)}"
    if theirs.dtype.kind != "f":
        return (
            "" if np.array_equal(ours, theirs) else f"differs in {int((ours != theirs).sum())} of {ours.size} elements"
        )
    scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-3))
    if np.allclose(ours, theirs, rtol=1e-4, atol=2e-5 * scale, equal_nan=True):
        return ""
    return f"is off by {float(np.nanmax(np.abs(ours - theirs))):.3g} where the largest number is {scale:.3g}"


def _ways(graph: Graph) -> Iterator[tuple[str, list[Any]]]:
    proto = graph.proto()
    for name, device in (("NdArray", burn.NdArray()), ("Cpu", burn.Cpu())):
        model = load(proto, device)
        for call in range(3 if name == "Cpu" else 1):
            found = model.run(graph.inputs)
            yield f"load on {name}, call {call + 1}", [found[output] for output in graph.outputs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.onnx"
        path.write_bytes(proto.SerializeToString())
        made = ModelGen(path, folder).overwrite(True).run_from_cli()[0]
        found = open_program(made.metadata, None, burn.Cpu()).run(graph.inputs)
        yield "stored program on Cpu", [found[output] for output in graph.outputs]


def faults(graph: Graph) -> list[str]:
    """What is wrong with the import of a graph, a line each."""
    expected = runtime(graph.proto(), graph.inputs)
    found = []
    try:
        for way, results in _ways(graph):
            for name, ours, theirs in zip(graph.outputs, results, expected, strict=True):
                told = difference(ours, theirs)
                if told and not _agrees(graph, name, ours):
                    found.append(f"{way}: {name} {told}")
    except Exception as error:
        return [f"{type(error).__name__}: {error}", traceback.format_exc(limit=-3)]
    return found


def _agrees(graph: Graph, name: str, ours: Any) -> bool:
    """Whether the standard's own evaluator gives what we give, so that ONNX Runtime is the one that differs."""
    alone = replace(graph, outputs=[name]).pruned()
    try:
        standard = ReferenceEvaluator(alone.proto()).run(None, alone.inputs)
    except Exception:  # what it does not implement it cannot judge
        return False
    return not difference(ours, np.asarray(standard[0]))


def check(seed: int) -> str | None:
    """A report if the import of the seed's graph fails."""
    graph = draw(seed)
    with np.errstate(all="ignore"):
        found = faults(graph)
        if not found:
            return None
        small = _shrunk(graph, found)
        still = faults(small)
    first = "\n".join(f"# {line}" for line in "\n".join([*found[:4], "after shrinking:", *still[:4]]).splitlines())
    return f"{first}\n# {{name: array.shape}}: { ({n: a.shape for n, a in small.inputs.items()}) }\n{small}"


def _shrunk(graph: Graph, found: list[str]) -> Graph:
    """A graph with fewer nodes that fails likewise: it ends earlier, or begins with a value of its own as an input."""
    values = dict(zip(_made(graph), runtime(replace(graph, outputs=_made(graph)).proto(), graph.inputs), strict=True))
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(graph, values):
            try:
                fails = alike(faults(smaller), found)
            except Exception:  # the cut graph is no valid one
                fails = False
            if fails:
                graph, changed = smaller, True
                break
    return graph


def _made(graph: Graph) -> list[str]:
    return [name for node in graph.nodes for name in node.output]


def _smaller(graph: Graph, values: dict[str, Array]) -> Iterator[Graph]:
    for name in _made(graph):
        if [name] != graph.outputs:
            yield replace(graph, outputs=[name]).pruned()
    for node in graph.nodes:
        if not set(node.output) & set(graph.outputs):
            rest = [each for each in graph.nodes if each is not node]
            given = {name: values[name] for name in node.output}
            yield replace(graph, inputs={**graph.inputs, **given}, nodes=rest).pruned()
