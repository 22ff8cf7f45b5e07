"""A model behind Ray Serve, for those who outgrow one machine.

    pip install 'ray[serve]' 'burn-dl[serve]'
    serve run examples.serving.ray_deployment:app model=/models/digits.mpk replicas=2

Each replica is the whole application: every protocol, the page, metrics, batching. Ray starts replicas, spreads
requests over them and replaces those whose health check fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray import serve


def app(arguments: dict[str, str]) -> Any:
    """The deployment of a model file: `model` is its path on every machine, `replicas` how many of it run."""
    model = str(Path(arguments["model"]).resolve())
    replicas = int(arguments.get("replicas", "1"))

    def build() -> Any:
        import furnace

        return furnace.asgi_app(model, max_concurrent_requests=256)

    deployed = serve.deployment(
        name="furnace", num_replicas=replicas, max_ongoing_requests=64, graceful_shutdown_timeout_s=30
    )(serve.ingress(build)())
    return deployed.bind()
