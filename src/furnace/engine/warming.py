"""Before a model is ready: a run for each batch size, so that no request pays for a plan; the pace of each, which says
whether it is short; and a check that rows do not look at each other, without which requests must not share a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from furnace import datatypes
from furnace.datatypes import Array
from furnace.engine import threads
from furnace.engine.batching import batch_key, whole_key
from furnace.engine.job import Key
from furnace.engine.pace import SHORT_SECONDS
from furnace.engine.spreading import Spread
from furnace.engine.worker import GATE, Worker
from furnace.signature import TensorSpec

log = logging.getLogger("furnace")

_KNOWN: dict[str, int] = {}
"""The largest useful batch of models that have been measured, for when they are loaded again."""

SMALL = 16
"""The size taken for sizes that vary, beside the rows."""
TIMES = 3
"""Runs for each batch size: captures are recorded in the first ones and replayed after that."""
TIMED_SECONDS = 0.01
"""How long runs of a batch size are timed, if they are short; the fastest counts."""
TOLERANCE = 0.08
"""By how much a row of a larger batch may be slower than one of the best, while cores can still share the rows."""
GAIN = 0.03
"""By how much it must be faster after that."""
ROWS_A_THREAD = 2
RUN_SECONDS = 5e-5
"""What a run costs beside its rows."""
TIMED_RUNS = 6
LONG_SECONDS = 0.02
"""A run that takes longer is timed twice and no more."""


def warm(worker: Worker) -> None:
    """Run the model on made-up inputs of every batch size. Models that refuse them are served without being warm."""
    model = worker.model
    if any(each.datatype is None or each.shape is None for each in model.signature.inputs):
        log.info("model %s: its inputs are not described, so it is not warmed", model.name)
        return
    try:
        if threads.measured_alone(model):
            with GATE if threads.changes() else nullcontext():
                _warm_alone(worker)
        else:
            known = _KNOWN.get(model.name, worker.sizes[-1])
            worker.sizes = [size for size in worker.sizes if size <= known]
            for rows in worker.sizes:
                _timed(worker, rows)
        if worker.joins and not rows_are_independent(worker):
            worker.joins, worker.sizes = False, [1]
            _timed(worker, 1)
            log.warning("model %s: its rows depend on each other, so requests never share a run", model.name)
        threads.give_back_memory()
    except Exception as error:
        log.warning("model %s: not warmed, it refuses made-up inputs: %s", model.name, error)


def _warm_alone(worker: Worker) -> None:
    """On one thread, where times mean something whatever else the machine does; then on all, if the model is large."""
    threads.use_one()
    try:
        worker.sizes = _useful(worker)
        _KNOWN[worker.model.name] = worker.sizes[-1]
    finally:
        small = threads.settle(worker.pace.known(_key(worker, 1), 1))
    if small:
        _warm_for_one(worker)
    if small or not threads.changes():
        return
    for rows in worker.sizes:
        inputs = example(worker.model.signature.inputs, rows)
        for _ in range(TIMES):
            worker.model.run(inputs)


def _warm_for_one(worker: Worker) -> None:
    """A plan of one row for all cores beside that for one core."""
    log.info("model %s: runs are short, so each takes one core", worker.model.name)
    another = getattr(worker.model.run, "another", None)
    if another is None or not threads.changes():
        return
    inputs, run = example(worker.model.signature.inputs, 1), another()
    with threads.all_cores():
        for _ in range(TIMES):
            run(inputs)
    key = _key(worker, 1)
    worker.spread = Spread(run, key, worker.pace.known(key, 1) or SHORT_SECONDS)


def _useful(worker: Worker) -> list[int]:
    """The batch sizes worth having: those after which rows get no faster are left out, and so are their plans."""
    found, best, worse, place = 0, float("inf"), 0, 0
    for place, size in enumerate(worker.sizes):
        seconds = (_timed(worker, size) + RUN_SECONDS) / size
        most = 1 + TOLERANCE if size <= ROWS_A_THREAD * threads.most() else 1 - GAIN
        enough = seconds <= best * most
        best = min(best, seconds)
        if enough or not worker.model.steady:
            found, worse = place, 0
        else:
            worse += 1
        if worse == 2:  # one may be chance
            break
    for size in worker.sizes[found + 1 : place + 1]:
        _forget(worker, size)
    return worker.sizes[: found + 1]


def _forget(worker: Worker, size: int) -> None:
    """Let the plan of a size go: its buffers are as large as all the activations of its rows."""
    forget = getattr(worker.model.run, "forget", None)
    if forget is not None:
        forget(example(worker.model.signature.inputs, size))


def _timed(worker: Worker, rows: int) -> float:
    """The seconds of a run that has its plan, on its own thread; the worker learns them."""
    inputs = example(worker.model.signature.inputs, rows)
    for _ in range(TIMES):
        _run(worker, inputs)
    best, end, left = float("inf"), time.perf_counter() + TIMED_SECONDS, TIMED_RUNS
    while left > 0 or time.perf_counter() < end:
        begin = time.thread_time()
        _run(worker, inputs)
        best = min(best, time.thread_time() - begin)
        left -= 1
        if best > SHORT_SECONDS and (left <= 0 or (best > LONG_SECONDS and left <= TIMED_RUNS - 2)):
            break
    worker.pace.restart(_key(worker, rows), rows, best)
    return best


def _run(worker: Worker, inputs: Sequence[Array | None]) -> Sequence[Any]:
    """In turn with other models, run by run, so that they go on while this one is warmed."""
    with GATE:
        return worker.model.run(inputs)


def _key(worker: Worker, rows: int) -> Key:
    inputs = example(worker.model.signature.inputs, rows)
    return batch_key(inputs) if worker.joins else whole_key(inputs)


def example(specs: Sequence[TensorSpec], rows: int, seed: int = 0) -> list[Array | None]:
    """Inputs that fit a signature: small numbers, `rows` rows, the same size for the same name."""
    random = np.random.default_rng(seed)
    return [None if each.optional else _filled(each, rows, random) for each in specs]


def rows_are_independent(worker: Worker) -> bool:
    """Whether a row gives the same outputs alone and beside another."""
    specs = worker.model.signature.inputs
    first, second = example(specs, 1, 1), example(specs, 1, 2)
    both = [None if a is None or b is None else np.concatenate([a, b]) for a, b in zip(first, second)]
    try:
        together = _run(worker, both)
        apart = [_run(worker, first), _run(worker, second)]
    except Exception:
        return False
    return all(_close(joined[row : row + 1], alone[place]) for place, joined in enumerate(together)
               for row, alone in enumerate(apart))  # fmt: skip


def _close(left: Any, right: Any) -> bool:
    if not isinstance(left, np.ndarray) or left.shape != right.shape:
        return False
    if left.dtype.kind != "f":
        return bool((left == right).all())
    scale = float(np.max(np.abs(right), initial=0.0))
    return bool(np.allclose(left, right, rtol=1e-2, atol=1e-3 * scale + 1e-6, equal_nan=True))


def _filled(spec: TensorSpec, rows: int, random: np.random.Generator) -> Array:
    assert spec.shape is not None
    assert spec.datatype is not None
    shape = tuple(
        size if isinstance(size, int) else (rows if dim == 0 else SMALL) for dim, size in enumerate(spec.shape)
    )
    if spec.datatype == "BYTES":
        return np.full(shape, "a", object)
    dtype = datatypes.numpy_type(spec.datatype)
    if dtype.kind in "iub":
        return random.integers(0, 2, shape).astype(dtype)
    return random.random(shape, np.float32).astype(dtype)
