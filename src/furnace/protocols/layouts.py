"""Requests that differ in the bytes of their tensors only: their JSON is read and checked once.

A client puts the same JSON in front of other bytes, request after request. The first request goes the long way, and
what was found out is kept beside the model under the bytes of the JSON: where its tensors lie, what they are, which
outputs are asked for. For a later one bytes are counted and numbers looked at. Whatever does not fit takes the long
way again, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from furnace import datatypes
from furnace.datatypes import Array
from furnace.engine.batching import batch_key, whole_key
from furnace.engine.job import Job, Key
from furnace.http.messages import Response, head_of
from furnace.hub import Version
from furnace.inference import Policy
from furnace.protocols import binary
from furnace.signature import is_finite

if TYPE_CHECKING:
    from furnace.protocols.inference_v2 import InferRequest, OutputTensor

LAYOUTS = 64
"""How many are kept for a model; the oldest goes first."""
LONGEST = 4096
"""Bytes of JSON above which nothing is kept."""
ANSWERS = 16
"""How many kinds of answers a layout keeps: there is more than one only where values decide on shapes."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where an input lies in the bytes after the JSON, and what it is."""

    begin: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """How answers with outputs of some shapes and types begin: everything but the bytes of the outputs."""

    text: bytes
    headers: dict[str, str]
    head: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """What the requests of one JSON have in common."""

    asked: InferRequest
    wanted: list[tuple[int, OutputTensor]]
    timeout: float | None
    tensors: list[Tensor | None]
    size: int
    elements: int
    rows: int
    key: Key
    prefixes: dict[Any, Prefix]

    def inputs(self, data: memoryview, policy: Policy) -> list[Array | None] | None:
        """The inputs of a request in the order of the signature; None when something about them is wrong."""
        if len(data) != self.size or self.elements > policy.elements:
            return None
        found: list[Array | None] = []
        for each in self.tensors:
            if each is None:
                found.append(None)
                continue
            array: Array = np.ndarray(each.shape, each.dtype, data, each.begin)
            if not policy.allow_non_finite and not is_finite(array):
                return None
            found.append(array)
        return found

    def answer(self, job: Job) -> Response | None:
        """The answer to a request when one like it was given before; else None."""
        outputs = job.outputs or ()
        arrays = [outputs[place] for place, _ in self.wanted]
        prefix = self.prefixes.get(_kind(arrays))
        if prefix is None:
            return None
        body = b"".join([prefix.text, *[datatypes.to_bytes(each) for each in arrays]])
        return Response(200, body, binary.CONTENT_TYPE, prefix.headers, head=prefix.head)

    def learn(self, job: Job, response: Response) -> None:
        """Keep how an answer began, where nothing but the bytes of arrays follows."""
        outputs = job.outputs or ()
        arrays = [outputs[place] for place, _ in self.wanted]
        length = response.headers.get(binary.HEADER)
        if length is None or any(each.dtype.kind in "OUS" for each in arrays):
            return
        text = response.body[: int(length)]
        if len(text) + sum(each.nbytes for each in arrays) != len(response.body):
            return  # some outputs are in the JSON
        if len(self.prefixes) >= ANSWERS:
            self.prefixes.clear()
        self.prefixes[_kind(arrays)] = Prefix(text, {binary.HEADER: length}, head_of(response))


def _kind(arrays: Sequence[Any]) -> Any:
    return tuple([(each.shape, each.dtype) for each in arrays])


def remember(
    text: bytes,
    asked: InferRequest,
    wanted: list[tuple[int, OutputTensor]],
    timeout: float | None,
    job: Job,
    version: Version,
) -> Layout | None:
    """Keep what was found out about a request that went well; None when it is not of the kind that comes again."""
    if len(text) > LONGEST or asked.id or not all(isinstance(each, np.ndarray) for each in job.outputs or ()):
        return None
    places: dict[str, Tensor] = {}
    begin = 0
    for each in asked.inputs:
        size = each.parameters.get("binary_data_size")
        if size is None or each.datatype == "BYTES":
            return None
        places[each.name] = Tensor(begin, datatypes.numpy_type(each.datatype), tuple(each.shape))
        begin += size
    joins = version.serving.joins
    layout = Layout(
        asked,
        wanted,
        timeout,
        [places.get(each.name) for each in version.model.signature.inputs],
        begin,
        max((each.size for each in job.inputs if each is not None), default=0),
        job.rows,
        batch_key(job.inputs) if joins else whole_key(job.inputs),
        {},
    )
    while len(version.layouts) >= LAYOUTS:
        version.layouts.pop(next(iter(version.layouts)), None)
    version.layouts[text] = layout
    return layout
