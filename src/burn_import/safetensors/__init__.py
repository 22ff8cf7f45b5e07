"""Weights of safetensors files, whichever framework wrote them.

from burn_import.safetensors import SafetensorsFileRecorder

model = Net.init(device).load_record(SafetensorsFileRecorder().load("model.safetensors", device))
"""

from __future__ import annotations

from burn_import.common import AdapterType, ImportedRecord, LoadArgs
from burn_import.safetensors.recorder import SafetensorsFileRecorder

__all__ = ["AdapterType", "ImportedRecord", "LoadArgs", "SafetensorsFileRecorder"]
