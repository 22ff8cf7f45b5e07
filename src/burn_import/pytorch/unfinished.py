"""Values that a pickle makes in two steps: first empty, then with a state."""

from __future__ import annotations

from typing import Any


class Unfinished:
    """A value that the instruction BUILD completes."""

    def build(self, state: Any) -> None:
        """Take the state."""
        raise NotImplementedError
