"""A model behind the server: its signature, and a function from arrays to arrays.

The function is called by one thread at a time per model. Everything else (names, batches, checks) is done outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from furnace.datatypes import Array
from furnace.signature import Signature

Runner = Callable[[Sequence[Array | None]], Sequence[Any]]


@dataclass(slots=True)
class ServedModel:
    """One version of a model. `run` takes the inputs in the order of the signature and gives the outputs in order.

    `name`, `version` and `signature` are what clients see; `platform`, `device`, `metadata`, `preprocessing` and
    `parameters` (their number) describe it; `stream` gives results piece by piece; `steady` says that no call compiles
    any more.

    >>> from furnace import ServedModel, Signature, TensorSpec
    >>> signature = Signature((TensorSpec("x", "FP32", ("batch",)),), (TensorSpec("y", "FP32", ("batch",)),))
    >>> model = ServedModel("twice", "1", signature, run=lambda arrays: [2 * arrays[0]])
    >>> model.run([np.array([1.0, 2.0])])
    [array([2., 4.])]
    """

    name: str
    version: str
    signature: Signature
    run: Runner
    platform: str = "burn"
    device: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    preprocessing: dict[str, Any] | None = None
    parameters: int = 0
    stream: Callable[[Sequence[Array | None]], Any] | None = None
    """For generators: gives one list of outputs after the other."""
    steady: bool = False
    """Whether runs of the same shapes take about the same time; short ones may then run on the event loop."""
