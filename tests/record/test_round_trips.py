"""What is recorded comes back: every recorder, every precision, every kind of item."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.record import (
    Absent,
    BinBytesRecorder,
    BinFileRecorder,
    BurnpackRecorder,
    Choice,
    CompactRecorder,
    DefaultFileRecorder,
    DefaultRecorder,
    DoublePrecisionSettings,
    FullPrecisionSettings,
    HalfPrecisionSettings,
    Mapping,
    MappingOf,
    NamedMpkFileRecorder,
    NoStdInferenceRecorder,
    NoStdTrainingRecorder,
    ParamItem,
    Record,
    RecordError,
    SafetensorsRecorder,
    SensitiveCompactRecorder,
    Variant,
)
from burn.tensor import TensorData

from .conftest import BYTES_RECORDERS, FILE_RECORDERS, data, everything, schema, tensors, without_data

PRECISIONS = [FullPrecisionSettings, HalfPrecisionSettings, DoublePrecisionSettings]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
def test_a_file_gives_back_structure_ids_and_values(recorder_class: Any, precision: Any, tmp_path: Path) -> None:
    item = everything()
    recorder = recorder_class(precision)
    recorder.record(Record(item), tmp_path / "model")
    record = recorder.load(tmp_path / "model")
    found = record.resolve(schema(item))
    assert record.extra == []
    assert without_data(found) == without_data(item)
    for (path, _, given), (_, _, read) in zip(tensors(item), tensors(found), strict=True):
        if given.dtype.is_float:
            assert read.dtype is precision.float_dtype, path
        elif given.dtype.is_int:
            assert read.dtype is precision.int_dtype, path
        else:
            assert read.dtype is given.dtype
        np.testing.assert_array_equal(read.numpy(), given.numpy().astype(read.numpy().dtype), err_msg=path)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("recorder_class", BYTES_RECORDERS)
def test_bytes_give_back_structure_ids_and_values(recorder_class: Any, precision: Any) -> None:
    item = everything()
    recorder = recorder_class(precision)
    found = recorder.load(recorder.record(item)).resolve(schema(item))
    assert without_data(found) == without_data(item)
    for (_, _, given), (_, _, read) in zip(tensors(item), tensors(found), strict=True):
        np.testing.assert_array_equal(read.numpy(), given.numpy().astype(read.numpy().dtype))


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
def test_writing_twice_gives_the_same_bytes(recorder_class: Any, written: Any) -> None:
    assert written(recorder_class(), everything()) == written(recorder_class(), everything())


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
def test_an_open_file_is_written_and_read_like_a_path(recorder_class: Any, written: Any) -> None:
    item = everything()
    stream = io.BytesIO()
    recorder_class().record(item, stream)
    assert stream.getvalue() == written(recorder_class(), item)
    stream.seek(0)
    assert without_data(recorder_class().load(stream).resolve(schema(item))) == without_data(item)


@pytest.mark.parametrize("loading", PRECISIONS)
@pytest.mark.parametrize("saving", PRECISIONS)
def test_any_precision_reads_files_of_any_other(saving: Any, loading: Any, tmp_path: Path) -> None:
    values = np.array([1 / 3, 65504.0, -2.5])
    item = {"x": ParamItem("v8vojso07rkks", data(values, "f64")), "n": ParamItem("a", data([7, -8], "i64"))}
    NamedMpkFileRecorder(saving).record(item, tmp_path / "x")
    found = NamedMpkFileRecorder(loading).load(tmp_path / "x").item
    expected = values.astype(saving.float_dtype.numpy).astype(loading.float_dtype.numpy)
    np.testing.assert_array_equal(found["x"].data.numpy(), expected)
    assert found["n"].data.dtype is loading.int_dtype
    assert found["n"].data.to_vec() == [7, -8]


@pytest.mark.parametrize("recorder_class", [NamedMpkFileRecorder, BinFileRecorder, SafetensorsRecorder])
def test_integers_that_do_not_fit_keep_their_type(recorder_class: Any, tmp_path: Path) -> None:
    large = [1, 1 << 40]
    item = {"n": ParamItem("a", data(large, "i64")), "u": ParamItem("b", data([1 << 63], "u64"))}
    recorder_class(HalfPrecisionSettings).record(item, tmp_path / "x")
    for precision in PRECISIONS:
        found = recorder_class(precision).load(tmp_path / "x").resolve(schema(item))
        assert found["n"].data.dtype.name == "i64"
        assert found["n"].data.to_vec() == large
        assert found["u"].data.to_vec() == [1 << 63]


def test_precision_is_a_class_an_instance_or_a_type_argument() -> None:
    for recorder in (
        NamedMpkFileRecorder(HalfPrecisionSettings),
        NamedMpkFileRecorder(HalfPrecisionSettings()),
        NamedMpkFileRecorder[HalfPrecisionSettings](),
        CompactRecorder(),
    ):
        assert recorder.precision is HalfPrecisionSettings
        assert recorder.metadata == NamedMpkFileRecorder(HalfPrecisionSettings).metadata
    assert NamedMpkFileRecorder().precision is FullPrecisionSettings
    assert DefaultRecorder().precision is FullPrecisionSettings
    assert DefaultFileRecorder is NamedMpkFileRecorder
    assert SensitiveCompactRecorder().extension == "bin.gz"
    with pytest.raises(ValueError, match="write FullPrecisionSettings, HalfPrecisionSettings"):
        NamedMpkFileRecorder("f16")  # type: ignore[arg-type]


@pytest.mark.parametrize("recorder_class", [SafetensorsRecorder, BurnpackRecorder])
def test_files_of_tensors_keep_every_element_type_unless_told(recorder_class: Any, tmp_path: Path) -> None:
    names = "f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool".split()
    item = {name: ParamItem("v8vojso07rkks", data([0, 1], name)) for name in names}
    recorder_class().record(item, tmp_path / "x")
    found = recorder_class().load(tmp_path / "x").item
    assert {name: each.data.dtype.name for name, each in found.items()} == {name: name for name in names}
    half = recorder_class(HalfPrecisionSettings).load(tmp_path / "x").item
    assert half["bf16"].data.dtype.name == "f16"


def test_the_bytes_of_a_bin_file_load_from_memory(tmp_path: Path) -> None:
    item = everything()
    NoStdTrainingRecorder().record(item, tmp_path / "model")
    embedded = (tmp_path / "model.bin").read_bytes()
    for recorder in (BinBytesRecorder(), NoStdInferenceRecorder()):
        assert without_data(recorder.load(embedded).resolve(schema(item))) == without_data(item)


def optimizer_states() -> Mapping:
    def state(rank: int, values: Any) -> Variant:
        moments = {"time": 3, "moment_1": data(values), "moment_2": data(values)}
        return Variant("V1", 0, Variant(f"Rank{rank}", rank, {"momentum": moments}))

    return Mapping({"v8vojso07rkks": state(2, [[1.0, 2.0]]), "obe8t1h6i9h4m": state(1, [3.0])})


@pytest.mark.parametrize("recorder_class", FILE_RECORDERS)
def test_the_states_of_an_optimizer_come_back_by_id(recorder_class: Any, tmp_path: Path) -> None:
    recorder_class().record(optimizer_states(), tmp_path / "optim")
    state = {"momentum": {"time": 0, "moment_1": TensorData([0.0]), "moment_2": TensorData([0.0])}}
    like = MappingOf(Choice({"V1": Choice({f"Rank{rank}": state for rank in range(9)})}))
    found = recorder_class().load(tmp_path / "optim").resolve(like)
    assert isinstance(found, Mapping)
    given = optimizer_states()
    assert found.keys() == given.keys()
    for key in given:
        assert found[key].value[:2] == given[key].value[:2]
        assert found[key].value.value == given[key].value.value


def test_without_a_schema_named_formats_give_plain_items(tmp_path: Path) -> None:
    NamedMpkFileRecorder().record(optimizer_states(), tmp_path / "optim")
    item = NamedMpkFileRecorder().load(tmp_path / "optim").item
    moments = item["v8vojso07rkks"]["V1"]["Rank2"]["momentum"]
    assert moments["time"] == 3
    assert moments["moment_1"].tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("value", [0.25, 7, None, "text"])
def test_a_scheduler_is_a_bare_value(value: Any, tmp_path: Path) -> None:
    NamedMpkFileRecorder().record(value, tmp_path / "scheduler")
    assert NamedMpkFileRecorder().load(tmp_path / "scheduler").item == value


def test_a_bin_record_asks_for_a_schema() -> None:
    record = BinBytesRecorder().load(BinBytesRecorder().record({"x": 1}))
    assert not record.is_described
    with pytest.raises(RecordError, match=r"does not describe itself.*resolve\(like\)"):
        _ = record.item
    assert record.resolve({"x": 0}) == {"x": 1}
    assert record.item == {"x": 1}


def test_what_has_an_into_record_is_recorded() -> None:
    class Model:
        def into_record(self) -> Record:
            return Record({"x": data([1.0]), "gone": Absent()})

    assert BinBytesRecorder().record(Model()) == BinBytesRecorder().record({"x": data([1.0]), "gone": None})


def test_every_fault_of_an_item_is_told_before_anything_is_written(tmp_path: Path) -> None:
    item = {"a": object(), "b": [ParamItem("x", None)], "c": {1: 2}}
    with pytest.raises(RecordError) as error:
        NamedMpkFileRecorder().record(item, tmp_path / "sub" / "x")
    for part in ("3 faults", "a: a record holds no object", "b.0: a parameter needs", "c: the key 1 is no text"):
        assert part in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_is_not_unicode_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for item in ({"a": "\ud800"}, {"\udfff": 1}):
        with pytest.raises(RecordError, match="is no Unicode text"):
            NamedMpkFileRecorder().record(item, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_names_with_dots_cannot_be_paths(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"'a.b' cannot be part of a dotted path"):
        SafetensorsRecorder().record({"a.b": data([1.0])}, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
