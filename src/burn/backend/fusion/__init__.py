"""Fusion: a decorator that records operations and runs them together.

Nothing runs until a value is read. What was recorded by then is one program; the device below turns
it into a plan, and an equal program later finds that plan again.
"""

from burn.backend.fusion.device import Fusion

__all__ = ["Fusion"]
