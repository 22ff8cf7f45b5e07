"""Furnace: an inference server for models that this framework runs.

    furnace --model-path mnist_burn.mpk --port 3000

    import furnace

    furnace.Server("mnist_burn.mpk").run()
    furnace.Client("http://127.0.0.1:3000").infer({"image": array})

The server needs the serve extra: `pip install 'burn-dl[serve]'`. `burn.serve` is another name of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.serve import PLACES, public
from burn.serve import __all__ as __all__

if TYPE_CHECKING:
    from burn.serve import *  # noqa: F403 (its `__all__` says which)


if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"module 'furnace' has no attribute {name!r}")
        return public(name)
