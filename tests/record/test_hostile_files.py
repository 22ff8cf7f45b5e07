"""Files that were damaged or made to harm: a clear error, bounded memory, and no code that runs."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from burn.record import (
    BinFileRecorder,
    BurnpackRecorder,
    JsonGzFileRecorder,
    NamedMpkFileRecorder,
    ParamItem,
    PrettyJsonFileRecorder,
    RecordError,
    SafetensorsRecorder,
    cbor,
)

from .conftest import FILE_RECORDERS, data, everything, schema

MEMORY = 64 << 20
"""What reading a small file may take, whatever it says."""


def small() -> dict[str, Any]:
    """Every kind of item, and one tensor that is long enough for all header forms."""
    return {**everything(), "long": ParamItem("fffffffffffff", data(np.arange(100, dtype=np.float32)))}


def raw_of(recorder: Any) -> bytes:
    stream = io.BytesIO()
    recorder.record(small(), stream)
    return stream.getvalue()


ORIGINAL = {each: raw_of(each()) for each in FILE_RECORDERS}
LIKE = schema(small())


def read(recorder_class: Any, raw: bytes) -> None:
    """Load and resolve; only the error of records may come out, and memory stays bounded."""
    tracemalloc.start()
    try:
        with contextlib.suppress(RecordError):
            recorder_class().load(io.BytesIO(raw)).resolve(LIKE, partial=True)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
@FUZZ
@given(data=st.data())
def test_a_file_with_changed_bytes_loads_or_is_refused(recorder_class: Any, data: Any) -> None:
    raw = bytearray(ORIGINAL[recorder_class])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    read(recorder_class, bytes(raw))


@pytest.mark.parametrize("recorder_class", [each for each in FILE_RECORDERS if each.compressed])
@FUZZ
@given(data=st.data())
def test_a_compressed_file_with_changed_contents_loads_or_is_refused(recorder_class: Any, data: Any) -> None:
    raw = bytearray(gzip.decompress(ORIGINAL[recorder_class]))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    read(recorder_class, gzip.compress(bytes(raw)))


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
@FUZZ
@given(data=st.data())
def test_a_file_with_pieces_cut_or_moved_loads_or_is_refused(recorder_class: Any, data: Any) -> None:
    raw = ORIGINAL[recorder_class]
    first, second = sorted((data.draw(st.integers(0, len(raw))), data.draw(st.integers(0, len(raw)))))
    pieces = [raw[:first], raw[first:second], raw[second:]]
    order = data.draw(st.lists(st.integers(0, 2), max_size=5))
    read(recorder_class, b"".join(pieces[each] for each in order))


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
@FUZZ
@given(raw=st.binary(max_size=200))
@example(raw=b"")
@example(raw=b"\x80")
@example(raw=b"{}")
@example(raw=b"\xff" * 64)
def test_any_bytes_load_or_are_refused(recorder_class: Any, raw: bytes) -> None:
    read(recorder_class, raw)


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
def test_a_truncated_file_is_refused_wherever_it_ends(recorder_class: Any) -> None:
    raw = ORIGINAL[recorder_class]
    for end in range(0, len(raw), max(1, len(raw) // 300)):
        with pytest.raises(RecordError):
            recorder_class().load(io.BytesIO(raw[:end])).resolve(LIKE)


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
def test_bytes_after_the_end_are_refused(recorder_class: Any) -> None:
    with pytest.raises(RecordError):
        recorder_class().load(io.BytesIO(ORIGINAL[recorder_class] + b"\0")).resolve(LIKE)


def head(version: bytes = b"0.19.0") -> bytes:
    return b"".join(bytes((len(text),)) + text for text in (b"f32", b"i32", b"f", version, b"S"))


def named(item: bytes) -> bytes:
    texts = (b"float", b"f32", b"int", b"i32", b"format", b"f", b"version", b"0.19.0", b"settings", b"S")
    metadata = b"".join(bytes((0xA0 | len(text),)) + text for text in texts)
    return b"\x83\xa8metadata\x85" + metadata + b"\xa4item" + item + b"\xa2_b\x90"


def safetensors(header: Any, tail: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + tail


def burnpack(header: Any, tail: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else cbor.dumps(header)
    raw = struct.pack("<IHI", 0x4255524E, 1, len(text)) + text
    return raw + bytes(-len(raw) % 256) + tail


def entry(shape: Any, start: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


TENSOR = b"\x83\xa5bytes\xc4\x04\0\0\0\0\xa5shape%s\xa5dtype\xa3F32"
HUGE = 1 << 61


@pytest.mark.parametrize(
    "recorder_class, raw, message",
    [
        (NamedMpkFileRecorder, named(b"\xdd\xff\xff\xff\xff"), "4,294,967,295 entries are announced"),
        (NamedMpkFileRecorder, named(b"\xdf\xff\xff\xff\xff"), "4,294,967,295 entries are announced"),
        (NamedMpkFileRecorder, named(b"\xdb\xff\xff\xff\xff"), "4,294,967,295 bytes are announced"),
        (NamedMpkFileRecorder, named(b"\xc6\xff\xff\xff\xff"), "4,294,967,295 bytes are announced"),
        (NamedMpkFileRecorder, named(b"\x91" * 5000 + b"\x90"), "more than 128 levels"),
        (NamedMpkFileRecorder, named(b"\x81\xa1x" * 5000 + b"\x90"), "more than 128 levels"),
        (NamedMpkFileRecorder, named(b"\x82\xa1x\x01\xa1x\x01"), "at item, .*'x' is there twice"),
        (NamedMpkFileRecorder, named(b"\x81\x01\x01"), "name of a field should be a text"),
        (NamedMpkFileRecorder, named(b"\xd4\x01\x01"), "0xd4 starts nothing"),
        (NamedMpkFileRecorder, named(b"\xa1\xff"), "not UTF-8"),
        (NamedMpkFileRecorder, named(b"\xc4\x00"), "belongs to no tensor"),
        (NamedMpkFileRecorder, named(b"\x81\xa5bytes\xc4\x00"), "bytes without a shape"),
        (NamedMpkFileRecorder, named(TENSOR % b"\x91\x02"), r"f32 of shape \[2\] needs 8 bytes, and 4 are there"),
        (NamedMpkFileRecorder, named(TENSOR % b"\x92\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x00"), "is no shape"),
        (NamedMpkFileRecorder, named(TENSOR % b"\x93\x00\xcf\x20\0\0\0\0\0\0\0\xcf\x20\0\0\0\0\0\0\0"), "too large"),
        (NamedMpkFileRecorder, named(TENSOR % (b"\xdc\x00\x40" + b"\x01" * 64)), "64 dimensions; 32 are allowed"),
        (NamedMpkFileRecorder, named((TENSOR % b"\x91\x01").replace(b"F32", b"F99")), "unknown element type 'F99'"),
        (NamedMpkFileRecorder, b"\x81\xa8metadata\x80", "a record is a map with metadata and item"),
        (NamedMpkFileRecorder, b"\x82\xa8metadata\x80\xa4item\xc0", "metadata has no text for float"),
        (BinFileRecorder, b"\xfd" + b"\xff" * 8, "a text of 18,446,744,073,709,551,615 bytes where 4,096 are allowed"),
        (BinFileRecorder, b"\xfe" + b"\xff" * 16, "the byte 254 starts no integer"),
        (PrettyJsonFileRecorder, b"[" * 100_000, "nested too deeply|no JSON record"),
        (PrettyJsonFileRecorder, b"[" * 3_000_000, "maps and lists"),
        (PrettyJsonFileRecorder, b'{"a":' * 200 + b"1" + b"}" * 200, "more than 128 levels"),
        (PrettyJsonFileRecorder, b'{"x": NaN}', "NaN is no JSON number"),
        (PrettyJsonFileRecorder, b'{"x": 1, "x": 2}', "a field is there twice"),
        (PrettyJsonFileRecorder, b"1" * 10_000, "no JSON record"),
        (PrettyJsonFileRecorder, b'{"bytes":[256],"shape":[1],"dtype":"U8"}', "numbers from 0 to 255"),
        (PrettyJsonFileRecorder, b'{"bytes":[2],"shape":[1],"dtype":"Bool"}', "neither 0 nor 1"),
        (JsonGzFileRecorder, gzip.compress(b"\xff\xfe"), "not UTF-8"),
        (SafetensorsRecorder, b"\xff" * 8 + b"{}", "a header of 18,446,744,073,709,551,615 bytes is announced"),
        (SafetensorsRecorder, safetensors(b"[]"), "the header should be a map"),
        (SafetensorsRecorder, safetensors(b"[" * 100_000), "no JSON|nested"),
        (SafetensorsRecorder, safetensors({"a": entry([1], 0, 4)}), "4 bytes of tensors are announced, 0 are there"),
        (
            SafetensorsRecorder,
            safetensors({"a": entry([HUGE], 0, 4 * HUGE)}, b"1234"),
            "bytes of tensors are announced",
        ),
        (SafetensorsRecorder, safetensors({"a": entry([2], 0, 4)}, b"1234"), "a: f32 of shape"),
        (
            SafetensorsRecorder,
            safetensors({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, b"1234"),
            "should begin at 4",
        ),
        (SafetensorsRecorder, safetensors({"a": entry([1], -4, 0)}, b""), "should begin at 0"),
        (SafetensorsRecorder, safetensors({"a": entry([0], 0, 0, "F4")}), "unknown element type 'F4'"),
        (
            SafetensorsRecorder,
            safetensors({"a": entry([0], 0, 0), "a.b": entry([0], 0, 0)}),
            "both a value and a struct",
        ),
        (SafetensorsRecorder, safetensors({".".join("a" * 500): entry([0], 0, 0)}), "more than 128 levels"),
        (SafetensorsRecorder, safetensors({"__metadata__": {"burn.ids": "[]"}}), "burn.ids should be a map"),
        (SafetensorsRecorder, safetensors({"__metadata__": {"burn.ids": "\ud800"}}), "no JSON"),
        (SafetensorsRecorder, safetensors({"__metadata__": 3}), "metadata should be a map of texts"),
        (BurnpackRecorder, b"BURN" + bytes(6), "does not begin with the mark"),
        (BurnpackRecorder, struct.pack("<IHI", 0x4255524E, 2, 0), "version 2, and 1 is known"),
        (BurnpackRecorder, struct.pack("<IHI", 0x4255524E, 1, 0xFFFFFFFF), "a header of 4,294,967,295 bytes"),
        (BurnpackRecorder, burnpack(b"\x81" * 5000), "128 levels"),
        (BurnpackRecorder, burnpack(b"\x9b" + b"\xff" * 8), "18,446,744,073,709,551,615 entries are announced"),
        (BurnpackRecorder, burnpack(b"\x7b" + b"\xff" * 8), "18,446,744,073,709,551,615 bytes are announced"),
        (BurnpackRecorder, burnpack(b"\x9f"), "the end is missing"),
        (BurnpackRecorder, burnpack(b"\xc0\x01"), "is not used here"),
        (BurnpackRecorder, burnpack({"other": {}}), "no tensors"),
        (BurnpackRecorder, burnpack({"tensors": {"a": entry([1], 0, 4), "b": entry([1], 2, 6)}}, b"123456"), "overlap"),
        (
            BurnpackRecorder,
            burnpack({"tensors": {"a": entry([1], 0, 4)}}, b"12345"),
            "should have 260 bytes and has 261",
        ),
        (BurnpackRecorder, burnpack({"tensors": {"a": entry([HUGE], 0, 4 * HUGE)}}, b"1234"), "should have"),
        (BurnpackRecorder, burnpack({"tensors": {}, "scalars": {"n": {"Int": "1"}}}), "n: no number"),
    ],
    ids=lambda value: "raw" if isinstance(value, bytes) else getattr(value, "__name__", value),
)
def test_what_a_hostile_file_announces_is_checked(recorder_class: Any, raw: bytes, message: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(RecordError, match=message):
            recorder_class().load(io.BytesIO(raw))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


def test_many_small_values_are_refused_before_they_fill_the_memory() -> None:
    raw = named(b"\xdd" + struct.pack(">I", 20_000_000) + b"\x80" * 20_000_000)
    with pytest.raises(RecordError, match="more than 4,000,000 values"):
        NamedMpkFileRecorder().load(io.BytesIO(raw))


@pytest.mark.parametrize(
    "body, message",
    [
        (b"\x01x\xfd" + b"\xff" * 8, "bytes are announced"),
        (b"\x01x\x04\0\0\0\0\xfc\xff\xff\xff\xff", "a tensor of 4,294,967,295 dimensions"),
        (b"\x01x\x04\0\0\0\0\x01\x01\x63", "the element type 99, and there are 15"),
        (b"\x01x\x04\0\0\0\0\x01\x01\x0e", "a quantised tensor"),
        (b"\x01x\x04\0\0\0\0\x01\x02\x01", r"f32 of shape \[2\] needs 8 bytes"),
    ],
)
def test_what_a_hostile_bin_file_announces_is_checked(body: bytes, message: str) -> None:
    record = BinFileRecorder().load(io.BytesIO(head() + body))
    with pytest.raises(RecordError, match=f"at w, byte .*{message}"):
        record.resolve({"w": ParamItem("", None)})


def test_long_lists_announced_by_a_bin_file_are_checked() -> None:
    record = BinFileRecorder().load(io.BytesIO(head() + b"\xfd" + b"\xff" * 8))
    with pytest.raises(RecordError, match="entries are announced"):
        record.resolve([1])


def test_a_pickle_is_no_record() -> None:
    import pickle

    for recorder_class in FILE_RECORDERS:
        with pytest.raises(RecordError):
            recorder_class().load(io.BytesIO(pickle.dumps({"a": 1})))
