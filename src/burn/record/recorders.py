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
    """Named MessagePack in a `.mpk` file: the default format.

    >>> from burn.record import NamedMpkFileRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", NamedMpkFileRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", NamedMpkFileRecorder())
    >>> loaded.bias.shape, NamedMpkFileRecorder.file_extension()
    (Shape([3]), 'mpk')
    """

    type_name = "burn_core::record::file::NamedMpkFileRecorder<{}>"
    extension = "mpk"
    format = NAMED_MPK


class NamedMpkGzFileRecorder(FileRecorder[P]):
    """Named MessagePack, compressed, in a `.mpk.gz` file.

    >>> from burn.record import NamedMpkGzFileRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", NamedMpkGzFileRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", NamedMpkGzFileRecorder())
    >>> loaded.bias.shape, NamedMpkGzFileRecorder.file_extension()
    (Shape([3]), 'mpk.gz')
    """

    type_name = "burn_core::record::file::NamedMpkGzFileRecorder<{}>"
    extension, compressed = "mpk.gz", True
    format = NAMED_MPK


class BinFileRecorder(FileRecorder[P]):
    """Values without names in a `.bin` file: small, and readable only by the same structure.

    >>> from burn.record import BinFileRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", BinFileRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", BinFileRecorder())
    >>> loaded.bias.shape, BinFileRecorder.file_extension()
    (Shape([3]), 'bin')
    """

    type_name = "burn_core::record::file::BinFileRecorder<{}>"
    extension = "bin"
    format = BIN


class BinGzFileRecorder(FileRecorder[P]):
    """Values without names, compressed, in a `.bin.gz` file.

    >>> from burn.record import BinGzFileRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", BinGzFileRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", BinGzFileRecorder())
    >>> loaded.bias.shape, BinGzFileRecorder.file_extension()
    (Shape([3]), 'bin.gz')
    """

    type_name = "burn_core::record::file::BinGzFileRecorder<{}>"
    extension, compressed = "bin.gz", True
    format = BIN


class JsonGzFileRecorder(FileRecorder[P]):
    """JSON, compressed, in a `.json.gz` file.

    >>> from burn.record import JsonGzFileRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", JsonGzFileRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", JsonGzFileRecorder())
    >>> loaded.bias.shape, JsonGzFileRecorder.file_extension()
    (Shape([3]), 'json.gz')
    """

    type_name = "burn_core::record::file::JsonGzFileRecorder<{}>"
    extension, compressed = "json.gz", True
    format = JSON


class PrettyJsonFileRecorder(FileRecorder[P]):
    """Indented JSON in a `.json` file, for reading. It reads compressed JSON too.

    >>> from burn.record import PrettyJsonFileRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", PrettyJsonFileRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", PrettyJsonFileRecorder())
    >>> loaded.bias.shape, PrettyJsonFileRecorder.file_extension()
    (Shape([3]), 'json')
    """

    type_name = "burn_core::record::file::PrettyJsonFileRecorder<{}>"
    extension = "json"
    format = PRETTY_JSON

    def _read(self, source: Source, device: Any) -> Record:
        if bytes(source.view[:2]) == gzip_stream.MARK:
            source = Source(gzip_stream.expand(source.view, self.limit))
        return super()._read(source, device)


class SafetensorsRecorder(FileRecorder[P]):
    """Named tensors in a `.safetensors` file. They keep their element types unless a `precision` is given.

    >>> from burn.record import SafetensorsRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", SafetensorsRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", SafetensorsRecorder())
    >>> loaded.bias.shape, SafetensorsRecorder.file_extension()
    (Shape([3]), 'safetensors')
    """

    extension, default_precision = "safetensors", None
    format = SAFETENSORS


class BurnpackRecorder(FileRecorder[P]):
    """Named tensors in a `.bpk` file. They keep their element types unless a `precision` is given.

    >>> from burn.record import BurnpackRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", BurnpackRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", BurnpackRecorder())
    >>> loaded.bias.shape, BurnpackRecorder.file_extension()
    (Shape([3]), 'bpk')
    """

    extension, default_precision = "bpk", None
    format = BURNPACK


class BinBytesRecorder(BytesRecorder[P]):
    """Values without names, in memory; it reads the bytes of a `.bin` file.

    >>> from burn.record import BinBytesRecorder
    >>> data = BinBytesRecorder().record(nn.Linear(2, 3))
    >>> nn.Linear(2, 3).load_record(BinBytesRecorder().load(data)).bias.shape
    Shape([3])
    """

    type_name = "burn_core::record::memory::BinBytesRecorder<{}, alloc::vec::Vec<u8>>"
    format = BIN


class NamedMpkBytesRecorder(BytesRecorder[P]):
    """Named MessagePack, in memory; it reads the bytes of a `.mpk` file.

    >>> from burn.record import NamedMpkBytesRecorder
    >>> data = NamedMpkBytesRecorder().record(nn.Linear(2, 3))
    >>> nn.Linear(2, 3).load_record(NamedMpkBytesRecorder().load(data)).bias.shape
    Shape([3])
    """

    type_name = "burn_core::record::memory::NamedMpkBytesRecorder<{}>"
    format = NAMED_MPK


DefaultFileRecorder = NamedMpkFileRecorder


class DefaultRecorder(NamedMpkFileRecorder[FullPrecisionSettings]):
    """Named MessagePack in full precision, a `.mpk` file: what `save_file` writes.

    >>> from burn.record import DefaultRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", DefaultRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", DefaultRecorder())
    >>> loaded.bias.shape, DefaultRecorder.file_extension()
    (Shape([3]), 'mpk')
    """


class CompactRecorder(NamedMpkFileRecorder[HalfPrecisionSettings]):
    """Named MessagePack in half precision, a `.mpk` file.

    >>> from burn.record import CompactRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", CompactRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", CompactRecorder())
    >>> loaded.bias.shape, CompactRecorder.file_extension()
    (Shape([3]), 'mpk')
    """

    default_precision = HalfPrecisionSettings


class SensitiveCompactRecorder(BinGzFileRecorder[HalfPrecisionSettings]):
    """The smallest files: values without names, compressed, in half precision, `.bin.gz`.

    >>> from burn.record import SensitiveCompactRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", SensitiveCompactRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", SensitiveCompactRecorder())
    >>> loaded.bias.shape, SensitiveCompactRecorder.file_extension()
    (Shape([3]), 'bin.gz')
    """

    default_precision = HalfPrecisionSettings


class NoStdTrainingRecorder(BinFileRecorder[FullPrecisionSettings]):
    """Values without names in a `.bin` file, whose bytes `NoStdInferenceRecorder` reads.

    >>> from burn.record import NoStdTrainingRecorder
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", NoStdTrainingRecorder())
    >>> loaded = nn.Linear(2, 3).load_file("model", NoStdTrainingRecorder())
    >>> loaded.bias.shape, NoStdTrainingRecorder.file_extension()
    (Shape([3]), 'bin')
    """


class NoStdInferenceRecorder(BinBytesRecorder[FullPrecisionSettings]):
    """Values without names, in memory, in full precision: what the Rust framework embeds in a program.

    >>> from burn.record import NoStdInferenceRecorder
    >>> data = NoStdInferenceRecorder().record(nn.Linear(2, 3))
    >>> nn.Linear(2, 3).load_record(NoStdInferenceRecorder().load(data)).bias.shape
    Shape([3])
    """


class DebugRecordSettings(PrettyJsonFileRecorder[FullPrecisionSettings]):
    """A recorder of indented JSON in full precision. The name is that of the Rust framework.

    >>> from burn.record import DebugRecordSettings
    >>> model = nn.Linear(2, 3)
    >>> model.save_file("model", DebugRecordSettings())
    >>> loaded = nn.Linear(2, 3).load_file("model", DebugRecordSettings())
    >>> loaded.bias.shape, DebugRecordSettings.file_extension()
    (Shape([3]), 'json')
    """
