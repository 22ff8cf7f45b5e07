"""Recorders: a format, a precision and a place, put together.

    recorder = NamedMpkFileRecorder(HalfPrecisionSettings)
    recorder.record(model.into_record(), "model")      # model.mpk
    record = recorder.load("model", device)

A file recorder takes a path and sets the extension itself; it also takes an open binary file. A bytes recorder
gives and takes bytes. Every format can be read in any precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, get_args

from typing_extensions import TypeVar

from burn.errors import ArgumentError, raise_faults
from burn.record import gzip_stream
from burn.record.checking import prepared
from burn.record.errors import RecordError
from burn.record.files import with_extension, write_file
from burn.record.items import Item
from burn.record.metadata import Metadata, describe
from burn.record.record import Record
from burn.record.settings import FullPrecisionSettings, PrecisionSettings, Settings, as_settings
from burn.record.source import Source, open_source

if TYPE_CHECKING:
    from burn.device import Device

P = TypeVar("P", bound=PrecisionSettings, default=FullPrecisionSettings)

Piece = bytes | memoryview


class Format(NamedTuple):
    """How items become bytes, and bytes a record."""

    encode: Callable[[Item, Any, Settings | None], Iterator[Piece]]
    decode: Callable[[Source, Settings | None], Record]


class Recorder(Generic[P]):
    """Base of all recorders: a format, a precision and a place.

    `precision` is a settings class or an instance; `R[HalfPrecisionSettings]()` works too. `limit` is how many bytes a
    compressed file may expand to; `mapped=False` copies tensors out of the file instead of using them where they lie.

    >>> from burn.record import HalfPrecisionSettings, NamedMpkFileRecorder
    >>> recorder = NamedMpkFileRecorder(HalfPrecisionSettings)
    >>> recorder.precision.float_dtype, recorder.file_extension()
    (f16, 'mpk')
    """

    type_name: ClassVar[str] = ""
    default_precision: ClassVar[Settings | None] = FullPrecisionSettings
    format: ClassVar[Format]
    compressed: ClassVar[bool] = False

    def __init__(self, precision: type[P] | P | None = None, *, limit: int | None = None, mapped: bool = True) -> None:
        self._precision = None if precision is None else as_settings(precision)
        self.limit = limit
        self.mapped = mapped

    @property
    def precision(self) -> Settings | None:
        """The settings in use; None where every tensor keeps its own element type."""
        if self._precision is not None:
            return self._precision
        written = get_args(getattr(self, "__orig_class__", None))
        if written and isinstance(written[0], type):
            return as_settings(written[0])
        return self.default_precision

    @property
    def metadata(self) -> Metadata | None:
        """The head of the files that it writes."""
        settings = self.precision
        return describe(self.type_name, settings) if self.type_name and settings else None

    def _pieces(self, record: Any) -> Iterator[Piece]:
        if hasattr(record, "into_record"):
            record = record.into_record()
        faults: list[str] = []
        item = prepared(record.item if isinstance(record, Record) else record, faults)
        raise_faults("record", faults, RecordError)
        return self.format.encode(item, self.metadata, self.precision)

    def _read(self, source: Source, device: Device | None) -> Record:
        if self.compressed:
            source = Source(gzip_stream.expand(source.view, self.limit))
        if not source.size:
            raise RecordError("it is empty")
        try:
            record = self.format.decode(source, self.precision)
        except RecordError as error:
            if not self.compressed and bytes(source.view[:2]) == gzip_stream.MARK:
                raise RecordError("it is compressed with gzip; use a recorder with Gz in its name") from None
            raise error
        record.device = device
        return record

    def __repr__(self) -> str:
        settings = self.precision
        return f"{type(self).__name__}({settings.__name__ if settings else ''})"


class FileRecorder(Recorder[P]):
    """A recorder of files.

    >>> from burn.record import DefaultRecorder, FileRecorder
    >>> recorder = DefaultRecorder()
    >>> recorder.record(nn.Linear(2, 3), "model")
    >>> sorted(recorder.load("model").item), isinstance(recorder, FileRecorder)
    (['bias', 'weight'], True)
    """

    extension: ClassVar[str]

    @classmethod
    def file_extension(cls) -> str:
        """The extension that it gives its files, without the dot."""
        return cls.extension

    def record(self, record: Any, path: Any) -> None:
        """Write a record, or what has an `into_record`, to a path or an open binary file.

        The path's extension becomes the recorder's, folders are made, and a file that is there is replaced at
        once: should anything fail, it stays as it was.
        """
        pieces = self._pieces(record)
        if hasattr(path, "write"):
            for piece in gzip_stream.compress(pieces) if self.compressed else pieces:
                path.write(piece)
            return
        target = with_extension("record", path, self.extension)
        with _naming("record", target):
            if not self.compressed:
                write_file(target, pieces)
                return
            counted = _Counted(pieces)
            size = write_file(target, gzip_stream.compress(counted))
            if counted.size > gzip_stream.limit_for(size):
                write_file(target, gzip_stream.compress(self._pieces(record), level=0))

    def load(self, path: Any, device: Device | None = None) -> Record:
        """Read a record from a path, whose extension becomes the recorder's, or from an open binary file.

        The tensors are on the host; `device` is kept for the module that takes them.
        """
        if hasattr(path, "read"):
            with _naming("load", str(getattr(path, "name", "the open file"))):
                data = path.read()
                if not isinstance(data, bytes | bytearray | memoryview):
                    raise ArgumentError("load: the file has to be opened in binary mode: open(path, 'rb')")
                return self._read(Source(data), device)
        target = with_extension("load", path, self.extension)
        with _naming("load", target):
            return self._read(open_source(target, self.mapped), device)


class BytesRecorder(Recorder[P]):
    """A recorder that keeps records in memory.

    >>> from burn.record import NamedMpkBytesRecorder
    >>> recorder = NamedMpkBytesRecorder()
    >>> data = recorder.record(nn.Linear(2, 3))
    >>> nn.Linear(2, 3).load_record(recorder.load(data)).weight.shape
    Shape([2, 3])
    """

    def record(self, record: Any, args: None = None) -> bytes:
        """The bytes of a `record`, or of what has an `into_record`. `args` is not used."""
        with _naming("record", type(self).__name__):
            return b"".join(self._pieces(record))

    def load(self, data: bytes | bytearray | memoryview, device: Device | None = None) -> Record:
        """The record in some bytes, `data`. They are used where they lie: do not change them afterwards."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ArgumentError(f"load: {type(self).__name__} reads bytes, got {type(data).__name__}")
        with _naming("load", type(self).__name__):
            return self._read(Source(data), device)


class _Counted:
    """Pieces on their way, and how many bytes they were."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self.pieces, self.size = pieces, 0

    def __iter__(self) -> Iterator[Piece]:
        for piece in self.pieces:
            self.size += len(piece)
            yield piece


class _naming:
    """Puts the operation and the file in front of what went wrong."""

    def __init__(self, operation: str, name: str) -> None:
        self.prefix = f"{operation}: {name}: "

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if type(error) is RecordError and not str(error).startswith(self.prefix.partition(" ")[0]):
            raise RecordError(f"{self.prefix}{error}") from error.__cause__
