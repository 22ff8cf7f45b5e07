"""Where datasets are kept between runs: one folder per user, or the one that `BURN_DATASETS` names."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Where datasets are kept: the folder `BURN_DATASETS` names, else `burn-dataset` in the user's folder for caches.

    >>> from unittest import mock
    >>> from burn.data.dataset import cache_folder
    >>> with mock.patch.dict("os.environ", BURN_DATASETS="/data/sets"):
    ...     print(cache_folder())
    /data/sets
    """
    chosen = os.environ.get("BURN_DATASETS")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "burn-dataset"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "burn-dataset"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "burn-dataset"
