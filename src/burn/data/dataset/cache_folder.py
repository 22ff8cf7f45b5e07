"""Where datasets are kept between runs: one folder per user, or the one that `BURN_DATASETS` names."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`BURN_DATASETS`, else `burn-dataset` in the user's folder for caches."""
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
