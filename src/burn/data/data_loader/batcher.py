"""Another spelling of `burn.data.dataloader.batcher`."""

from __future__ import annotations

from burn.data.dataloader.batcher import Batcher

__all__ = ["Batcher"]
