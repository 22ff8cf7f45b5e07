"""What the importers of weights share: arguments, renaming, and the record that they give."""

from __future__ import annotations

from burn_import.common.arguments import AdapterType, LoadArgs
from burn_import.common.imported import ImportedRecord

__all__ = ["AdapterType", "ImportedRecord", "LoadArgs"]
