"""Where datasets come from: downloads and the `datasets` library."""

from __future__ import annotations

from burn.data.dataset.source.download import Download, DownloadError, download
from burn.data.dataset.source.huggingface import HuggingfaceDatasetLoader

__all__ = ["Download", "DownloadError", "HuggingfaceDatasetLoader", "download"]
