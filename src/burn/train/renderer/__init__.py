"""Renderers: how a training is shown. The dashboard on a terminal, lines in a file, a page in a notebook, or your own.

    builder.renderer(PlainRenderer(seconds=60))

`default_renderer()` is what a learner takes when it is given none. Those that need other packages load when they are
first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burn.train.renderer.default import default_renderer
from burn.train.renderer.plain import PlainRenderer
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan
from burn.train.renderer.silent import NoRenderer

if TYPE_CHECKING:
    from burn.train.renderer.dashboard.renderer import DashboardRenderer
    from burn.train.renderer.live import RichRenderer
    from burn.train.renderer.notebook import NotebookRenderer

_LAZY = {
    "DashboardRenderer": "burn.train.renderer.dashboard.renderer",
    "NotebookRenderer": "burn.train.renderer.notebook",
    "RichRenderer": "burn.train.renderer.live",
}

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DashboardRenderer", "MetricState", "MetricsRenderer", "NoRenderer", "NotebookRenderer", "PlainRenderer",
    "RichRenderer", "TrainingPlan", "default_renderer",
]  # fmt: skip
