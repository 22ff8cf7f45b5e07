"""Weights and settings of PyTorch files, without PyTorch and without running what is in them.

from burn_import.pytorch import LoadArgs, PyTorchFileRecorder

args = LoadArgs("model.pt").with_key_remap(r"conv\\.(.*)", "$1")
model = Net.init(device).load_record(PyTorchFileRecorder().load(args, device))
"""

from __future__ import annotations

from burn_import.common import AdapterType, ImportedRecord, LoadArgs
from burn_import.pytorch.configuration import config_from_file
from burn_import.pytorch.machine import PickleError
from burn_import.pytorch.reader import PytorchReader
from burn_import.pytorch.recorder import PyTorchFileRecorder

__all__ = [
    "AdapterType", "ImportedRecord", "LoadArgs", "PickleError", "PyTorchFileRecorder", "PytorchReader",
    "config_from_file",
]  # fmt: skip
