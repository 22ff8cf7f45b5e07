"""The recorders that there are: one class for each format and place, and the names for common choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from burn.record import bincode, burnpack, gzip_stream, json_text, named_mpk, safetensors
from burn.record.items import Item
from burn.record.metadata import Metadata
from burn.record.record import Record
from burn.record.recorder import BytesRecorder, FileRecorder, Format, P
from burn.record.settings import FullPrecisionSettings, HalfPrecisionSettings, Settings
from burn.record.source import Source


def _pretty(item: Item, metadata: Metadata, settings: Settings | None) -> Iterator[bytes]:
    return json_text.encode(item, metadata, settings, pretty=True)


NAMED_MPK = Format(named_mpk.encode, named_mpk.decode)
BIN = Format(bincode.encode, bincode.decode)
JSON = Format(json_text.encode, json_text.decode)
PRETTY_JSON = Format(_pretty, json_text.decode)
SAFETENSORS = Format(safetensors.encode, safetensors.decode)
BURNPACK = Format(burnpack.encode, burnpack.decode)


class NamedMpkFileRecorder(FileRecorder[P]):
    """Named MessagePack in a `.mpk` file: the default."""

    type_name = "burn_core::record::file::NamedMpkFileRecorder<{}>"
    extension = "mpk"
    format = NAMED_MPK


class NamedMpkGzFileRecorder(FileRecorder[P]):
    """Named MessagePack, compressed, in a `.mpk.gz` file."""

    type_name = "burn_core::record::file::NamedMpkGzFileRecorder<{}>"
    extension, compressed = "mpk.gz", True
    format = NAMED_MPK


class BinFileRecorder(FileRecorder[P]):
    """Values without names in a `.bin` file: small, and readable only by the same structure."""

    type_name = "burn_core::record::file::BinFileRecorder<{}>"
    extension = "bin"
    format = BIN


class BinGzFileRecorder(FileRecorder[P]):
    """Values without names, compressed, in a `.bin.gz` file."""

    type_name = "burn_core::record::file::BinGzFileRecorder<{}>"
    extension, compressed = "bin.gz", True
    format = BIN


class JsonGzFileRecorder(FileRecorder[P]):
    """JSON, compressed, in a `.json.gz` file."""

    type_name = "burn_core::record::file::JsonGzFileRecorder<{}>"
    extension, compressed = "json.gz", True
    format = JSON


class PrettyJsonFileRecorder(FileRecorder[P]):
    """Indented JSON in a `.json` file, for reading. It reads compressed JSON too."""

    type_name = "burn_core::record::file::PrettyJsonFileRecorder<{}>"
    extension = "json"
    format = PRETTY_JSON

    def _read(self, source: Source, device: Any) -> Record:
        if bytes(source.view[:2]) == gzip_stream.MARK:
            source = Source(gzip_stream.expand(source.view, self.limit))
        return super()._read(source, device)


class SafetensorsRecorder(FileRecorder[P]):
    """Named tensors in a `.safetensors` file. They keep their element types unless a precision is given."""

    extension, default_precision = "safetensors", None
    format = SAFETENSORS


class BurnpackRecorder(FileRecorder[P]):
    """Named tensors in a `.bpk` file. They keep their element types unless a precision is given."""

    extension, default_precision = "bpk", None
    format = BURNPACK


class BinBytesRecorder(BytesRecorder[P]):
    """Values without names, in memory; it reads the bytes of a `.bin` file."""

    type_name = "burn_core::record::memory::BinBytesRecorder<{}, alloc::vec::Vec<u8>>"
    format = BIN


class NamedMpkBytesRecorder(BytesRecorder[P]):
    """Named MessagePack, in memory; it reads the bytes of a `.mpk` file."""

    type_name = "burn_core::record::memory::NamedMpkBytesRecorder<{}>"
    format = NAMED_MPK


DefaultFileRecorder = NamedMpkFileRecorder


class DefaultRecorder(NamedMpkFileRecorder[FullPrecisionSettings]):
    """Named MessagePack in full precision."""


class CompactRecorder(NamedMpkFileRecorder[HalfPrecisionSettings]):
    """Named MessagePack in half precision."""

    default_precision = HalfPrecisionSettings


class SensitiveCompactRecorder(BinGzFileRecorder[HalfPrecisionSettings]):
    """The smallest files: values without names, compressed, in half precision."""

    default_precision = HalfPrecisionSettings


class NoStdTrainingRecorder(BinFileRecorder[FullPrecisionSettings]):
    """Files whose bytes `NoStdInferenceRecorder` reads."""


class NoStdInferenceRecorder(BinBytesRecorder[FullPrecisionSettings]):
    """Values without names, in memory, in full precision."""


class DebugRecordSettings(PrettyJsonFileRecorder[FullPrecisionSettings]):
    """Indented JSON in full precision. The name is that of the Rust framework."""
