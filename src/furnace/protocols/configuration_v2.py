"""A model's configuration as Triton's extension of the Open Inference Protocol gives it, for clients that ask."""

from __future__ import annotations

from typing import Any

from furnace.hub import Version
from furnace.signature import TensorSpec


def model_configuration(version: Version) -> dict[str, Any]:
    """Names, types, sizes without the batch dim, and how many rows may share a run (0: they never do)."""
    worker, signature = version.serving, version.model.signature
    batched = worker.joins
    return {
        "name": version.name,
        "platform": version.model.platform,
        "backend": "furnace",
        "max_batch_size": worker.sizes[-1] if batched else 0,
        "input": [_tensor(each, batched) for each in signature.inputs],
        "output": [_tensor(each, batched) for each in signature.outputs],
    }


def _tensor(spec: TensorSpec, batched: bool) -> dict[str, Any]:
    kind = "STRING" if spec.datatype == "BYTES" else spec.datatype or "INVALID"
    return {"name": spec.name, "data_type": f"TYPE_{kind}", "dims": spec.wire_shape[1:] if batched else spec.wire_shape}
