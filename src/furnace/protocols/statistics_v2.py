"""Statistics as Triton's extension of the Open Inference Protocol gives them: counts and nanoseconds."""

from __future__ import annotations

from typing import Any

from furnace.engine.statistics import Histogram
from furnace.hub import Version


def model_statistics(version: Version) -> dict[str, Any]:
    """The numbers of one model version."""
    statistics = version.serving.statistics
    success = statistics.answers.get("success", 0)
    failures = sum(statistics.answers.values()) - success
    total = statistics.queue.sum + statistics.compute.sum
    return {
        "name": version.name,
        "version": version.version,
        "last_inference": int(statistics.last_inference * 1e3),
        "inference_count": statistics.inferences,
        "execution_count": statistics.compute.count,
        "inference_stats": {
            "success": {"count": success, "ns": int(total * 1e9)},
            "fail": {"count": failures, "ns": 0},
            "queue": _duration(statistics.queue),
            "compute_input": {"count": success, "ns": 0},
            "compute_infer": _duration(statistics.compute),
            "compute_output": {"count": success, "ns": 0},
        },
        "batch_stats": [],
    }


def _duration(histogram: Histogram) -> dict[str, int]:
    return {"count": histogram.count, "ns": int(histogram.sum * 1e9)}
