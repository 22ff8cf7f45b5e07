"""Models from elsewhere, as modules and records.

from burn_import.pytorch import PyTorchFileRecorder
from burn_import.safetensors import SafetensorsFileRecorder

model = Net.init(device).load_record(PyTorchFileRecorder().load("model.pt", device))

Each package is imported by its own name; this one is empty, so that asking for weights loads nothing else.
"""

__all__: list[str] = []
