"""Records: what a module keeps, as plain data, and the recorders that write it to files and read it back.

from burn.record import NamedMpkFileRecorder

recorder = NamedMpkFileRecorder()
recorder.record(record, "model")
record = recorder.load("model")
"""

from __future__ import annotations

from burn.record.errors import RecordError
from burn.record.items import (
    Absent,
    Choice,
    Item,
    Mapping,
    MappingOf,
    ParamItem,
    QuantizedItem,
    Signed,
    Some,
    Variant,
)
from burn.record.matching import Matched
from burn.record.metadata import Metadata
from burn.record.record import Record
from burn.record.recorder import BytesRecorder, FileRecorder, Recorder
from burn.record.recorders import (
    BinBytesRecorder,
    BinFileRecorder,
    BinGzFileRecorder,
    BurnpackRecorder,
    CompactRecorder,
    DebugRecordSettings,
    DefaultFileRecorder,
    DefaultRecorder,
    JsonGzFileRecorder,
    NamedMpkBytesRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    NoStdInferenceRecorder,
    NoStdTrainingRecorder,
    PrettyJsonFileRecorder,
    SafetensorsRecorder,
    SensitiveCompactRecorder,
)
from burn.record.settings import (
    DoublePrecisionSettings,
    FullPrecisionSettings,
    HalfPrecisionSettings,
    PrecisionSettings,
)

__all__ = [
    "Absent", "BinBytesRecorder", "BinFileRecorder", "BinGzFileRecorder", "BurnpackRecorder", "BytesRecorder", "Choice",
    "CompactRecorder", "DebugRecordSettings", "DefaultFileRecorder", "DefaultRecorder", "DoublePrecisionSettings",
    "FileRecorder", "FullPrecisionSettings", "HalfPrecisionSettings", "Item", "JsonGzFileRecorder", "Mapping",
    "MappingOf", "Matched", "Metadata", "NamedMpkBytesRecorder", "NamedMpkFileRecorder", "NamedMpkGzFileRecorder",
    "NoStdInferenceRecorder", "NoStdTrainingRecorder", "ParamItem", "PrecisionSettings", "PrettyJsonFileRecorder",
    "QuantizedItem", "Record", "RecordError", "Recorder", "SafetensorsRecorder", "SensitiveCompactRecorder", "Signed",
    "Some", "Variant",
]  # fmt: skip
