"""Which renderer a training has when none was chosen."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from burn.errors import ArgumentError
from burn.train.renderer.plain import PlainRenderer
from burn.train.renderer.protocol import MetricsRenderer
from burn.train.renderer.silent import NoRenderer

CHOICES = ("dashboard", "rich", "plain", "notebook", "none")
VARIABLE = "BURN_RENDERER"


def default_renderer() -> MetricsRenderer:
    """The dashboard on a terminal, else Rich's live view, else lines; in a notebook a page that refreshes.

    `BURN_RENDERER=plain` (or dashboard, rich, notebook, none) in the environment chooses for a program that does not.

    >>> from unittest import mock
    >>> from burn.train import default_renderer
    >>> with mock.patch.dict("os.environ", BURN_RENDERER="plain"):
    ...     print(type(default_renderer()).__name__)
    PlainRenderer
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen and chosen not in CHOICES:
        raise ArgumentError(f"{VARIABLE}: {chosen!r} is no renderer; choose from {', '.join(CHOICES)}")
    return renderer_named(chosen or suitable())


def suitable() -> str:
    """The name of the renderer that suits where the output goes."""
    if in_notebook():
        return "notebook"
    from burn.train.renderer.dashboard.renderer import is_terminal

    if is_stdout_terminal():
        if find_spec("textual") is not None and os.name == "posix" and is_terminal():
            return "dashboard"
        if find_spec("rich") is not None:
            return "rich"
    return "plain"


def renderer_named(name: str) -> MetricsRenderer:
    """A renderer of that name, with its defaults."""
    if name == "dashboard":
        from burn.train.renderer.dashboard.renderer import DashboardRenderer

        return DashboardRenderer()
    if name == "rich":
        from burn.train.renderer.live import RichRenderer

        return RichRenderer()
    if name == "notebook":
        from burn.train.renderer.notebook import NotebookRenderer

        return NotebookRenderer()
    return NoRenderer() if name == "none" else PlainRenderer()


def is_stdout_terminal() -> bool:
    """Whether what is printed goes to a terminal that understands movement."""
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
