"""Files: extensions, writing all or nothing, mapping, compression limits."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.errors import ArgumentError
from burn.record import (
    BinFileRecorder,
    BurnpackRecorder,
    JsonGzFileRecorder,
    NamedMpkBytesRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    ParamItem,
    PrettyJsonFileRecorder,
    RecordError,
    SafetensorsRecorder,
    files,
    gzip_stream,
)

from .conftest import data

ITEM = {"x": ParamItem("v8vojso07rkks", data([1.0, 2.0]))}


@pytest.mark.parametrize(
    "path, extension, expected",
    [
        ("model", "mpk", "model.mpk"),
        ("model.mpk", "mpk", "model.mpk"),
        ("model.v1", "mpk", "model.mpk"),
        ("a.b/model", "bin", "a.b/model.bin"),
        ("model.tar.gz", "mpk", "model.tar.mpk"),
        (".hidden", "json", ".hidden.json"),
        ("model.", "mpk", "model.mpk"),
        ("model", "mpk.gz", "model.mpk.gz"),
        ("model.mpk.gz", "mpk.gz", "model.mpk.gz"),
        (Path("a") / "b", "bpk", os.path.join("a", "b.bpk")),
        (b"model", "mpk", "model.mpk"),
    ],
)
def test_the_recorder_sets_the_extension(path: Any, extension: str, expected: str) -> None:
    assert files.with_extension("record", path, extension) == expected


@pytest.mark.parametrize("path", ["", ".", "folder/", "..", 3])
def test_what_names_no_file_is_refused(path: Any) -> None:
    with pytest.raises(ArgumentError, match="record: "):
        NamedMpkFileRecorder().record(ITEM, path)


def test_folders_are_made_and_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "model"
    NamedMpkFileRecorder().record({"x": 1}, path)
    NamedMpkFileRecorder().record({"x": 2}, path)
    assert NamedMpkFileRecorder().load(path).item == {"x": 2}
    assert [each.name for each in path.parent.iterdir()] == ["model.mpk"]


def test_a_new_file_has_ordinary_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "probe").write_bytes(b"")
    NamedMpkFileRecorder().record(ITEM, tmp_path / "x")
    ordinary = stat.S_IMODE((tmp_path / "probe").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "x.mpk").stat().st_mode) == ordinary
    (tmp_path / "x.mpk").chmod(0o640)
    NamedMpkFileRecorder().record(ITEM, tmp_path / "x")
    assert stat.S_IMODE((tmp_path / "x.mpk").stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.mpk").write_bytes(b"")
    (tmp_path / "link.mpk").symlink_to(tmp_path / "real.mpk")
    NamedMpkFileRecorder().record(ITEM, tmp_path / "link")
    assert (tmp_path / "link.mpk").is_symlink()
    assert (tmp_path / "real.mpk").stat().st_size > 0


@pytest.mark.parametrize("recorder", [NamedMpkFileRecorder(), NamedMpkGzFileRecorder(), BurnpackRecorder()])
@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    recorder: Any, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.record({"x": 1}, tmp_path / "model")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, failing, fail)
    with pytest.raises(RecordError, match=r"record: .*model\..*cannot be written: No space left on device"):
        recorder.record({"x": 2}, tmp_path / "model")
    monkeypatch.undo()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_an_item_that_fails_halfway_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written in JSON"):
        PrettyJsonFileRecorder().record({"a": 1, "b": float("nan")}, tmp_path / "x")
    with pytest.raises(RecordError, match="more than 64 bits"):
        NamedMpkFileRecorder().record({"a": 1, "b": 1 << 70}, tmp_path / "x")
    with pytest.raises(RecordError, match=r"Signed\(-1\)"):
        BinFileRecorder().record({"a": -1}, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_and_a_file_as_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.mpk").mkdir()
    with pytest.raises(RecordError, match="there is a folder of this name"):
        NamedMpkFileRecorder().record(ITEM, tmp_path / "x")
    with pytest.raises(RecordError, match="not a regular file|cannot be"):
        NamedMpkFileRecorder().load(tmp_path / "x")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RecordError, match="cannot be written"):
        NamedMpkFileRecorder().record(ITEM, tmp_path / "file" / "x")


def test_a_missing_file_is_named_with_the_extension_that_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"load: .*nothing\.mpk: cannot be opened: No such file") as error:
        NamedMpkFileRecorder().load(tmp_path / "nothing")
    assert isinstance(error.value.__cause__, FileNotFoundError)


def test_the_wrong_recorder_is_told_which_one_is_right(tmp_path: Path) -> None:
    NamedMpkGzFileRecorder().record(ITEM, tmp_path / "x")
    NamedMpkFileRecorder().record(ITEM, tmp_path / "y")
    with pytest.raises(RecordError, match="compressed with gzip; use a recorder with Gz"):
        NamedMpkFileRecorder().load(io.BytesIO((tmp_path / "x.mpk.gz").read_bytes()))
    with pytest.raises(RecordError, match="not compressed with gzip; use the recorder without Gz"):
        NamedMpkGzFileRecorder().load(io.BytesIO((tmp_path / "y.mpk").read_bytes()))
    with pytest.raises(ArgumentError, match="opened in binary mode"):
        NamedMpkFileRecorder().load(io.StringIO("text"))
    with pytest.raises(ArgumentError, match="NamedMpkBytesRecorder reads bytes, got str"):
        NamedMpkBytesRecorder().load("path")  # type: ignore[arg-type]


# Mapping


def large() -> dict[str, Any]:
    weight = np.arange(1 << 19, dtype=np.float32)
    return {f"{'n' * length}": ParamItem("v8vojso07rkks", data(weight + length)) for length in range(1, 5)}


RAW = [NamedMpkFileRecorder, BinFileRecorder, SafetensorsRecorder, BurnpackRecorder]


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("recorder_class", RAW)
def test_large_files_are_read_right_at_every_alignment(recorder_class: Any, mapped: bool, tmp_path: Path) -> None:
    item = large()
    recorder_class().record(item, tmp_path / "x")
    like = {name: ParamItem("", None) for name in item}
    found = recorder_class(mapped=mapped).load(tmp_path / "x").resolve(like)
    for name, each in item.items():
        values = found[name].data.numpy()
        assert values.flags.aligned
        assert not values.flags.writeable
        np.testing.assert_array_equal(values, each.data.numpy())


@pytest.mark.parametrize("recorder_class", [SafetensorsRecorder, BurnpackRecorder])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/maps")
def test_aligned_tensors_are_used_where_they_lie_in_the_file(recorder_class: Any, tmp_path: Path) -> None:
    recorder_class().record(large(), tmp_path / "x")
    record = recorder_class().load(tmp_path / "x")
    address = record.item["n"].data.numpy().__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, _, high = line.split()[0].partition("-")
        if int(low, 16) <= address < int(high, 16):
            assert line.endswith(f"x.{recorder_class.extension}")
            break
    else:
        raise AssertionError("the tensor lies in no mapping")


@pytest.mark.parametrize("recorder_class", RAW)
def test_replacing_the_file_does_not_change_what_was_loaded(recorder_class: Any, tmp_path: Path) -> None:
    item = large()
    like = {name: ParamItem("", None) for name in item}
    recorder_class().record(item, tmp_path / "x")
    record = recorder_class().load(tmp_path / "x")
    recorder_class().record({"x": 1}, tmp_path / "x")
    found = record.resolve(like)
    os.unlink(tmp_path / f"x.{recorder_class.extension}")
    for name, each in item.items():
        np.testing.assert_array_equal(found[name].data.numpy(), each.data.numpy())


def test_a_record_that_was_loaded_can_be_written_over_its_own_file(tmp_path: Path) -> None:
    item = large()
    SafetensorsRecorder().record(item, tmp_path / "x")
    SafetensorsRecorder().record(SafetensorsRecorder().load(tmp_path / "x"), tmp_path / "x")
    found = SafetensorsRecorder().load(tmp_path / "x").item
    np.testing.assert_array_equal(found["nn"].data.numpy(), item["nn"].data.numpy())


def test_truncation_after_an_unmapped_load_does_no_harm(tmp_path: Path) -> None:
    item = large()
    SafetensorsRecorder().record(item, tmp_path / "x")
    record = SafetensorsRecorder(mapped=False).load(tmp_path / "x")
    os.truncate(tmp_path / "x.safetensors", 0)
    np.testing.assert_array_equal(record.item["nnn"].data.numpy(), item["nnn"].data.numpy())


def test_descriptors_are_closed(tmp_path: Path) -> None:
    SafetensorsRecorder().record(large(), tmp_path / "x")
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("needs /proc")
    before = len(list(folder.iterdir()))
    for _ in range(20):
        SafetensorsRecorder().load(tmp_path / "x")
    assert len(list(folder.iterdir())) <= before + 2


# Compression


def test_a_gzip_file_that_was_changed_anywhere_is_refused(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal(500).astype(np.float32)
    NamedMpkGzFileRecorder().record({"x": ParamItem("a", data(values))}, tmp_path / "x")
    raw = (tmp_path / "x.mpk.gz").read_bytes()
    for at in range(10, len(raw), 7):
        damaged = bytearray(raw)
        damaged[at] ^= 0x10
        with pytest.raises(RecordError):
            NamedMpkGzFileRecorder().load(io.BytesIO(bytes(damaged)))


@pytest.mark.parametrize("change, message", [(-1, "ends too early"), (1, "bytes after the end")])
def test_a_gzip_stream_has_to_end_where_the_file_ends(change: int, message: str, tmp_path: Path) -> None:
    JsonGzFileRecorder().record(ITEM, tmp_path / "x")
    raw = (tmp_path / "x.json.gz").read_bytes()
    with pytest.raises(RecordError, match=message):
        JsonGzFileRecorder().load(io.BytesIO(raw[:change] if change < 0 else raw + b"x"))


def test_a_gzip_bomb_is_stopped_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_stream, "FLOOR", 1 << 20)
    bomb = gzip.compress(bytes(64 << 20))
    with pytest.raises(RecordError, match=r"expands to more than .* give the recorder a larger limit="):
        NamedMpkGzFileRecorder().load(io.BytesIO(bomb))
    with pytest.raises(RecordError, match="no MessagePack record"):
        NamedMpkGzFileRecorder(limit=1 << 30).load(io.BytesIO(bomb))


def test_what_we_compress_can_always_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_stream, "FLOOR", 1 << 16)
    item = {"zeros": ParamItem("a", data(np.zeros(1 << 20, np.float32)))}
    NamedMpkGzFileRecorder().record(item, tmp_path / "x")
    found = NamedMpkGzFileRecorder().load(tmp_path / "x").item
    assert found["zeros"].data.num_elements() == 1 << 20
    assert gzip.decompress((tmp_path / "x.mpk.gz").read_bytes())
