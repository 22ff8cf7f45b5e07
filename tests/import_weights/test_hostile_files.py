"""Files that want more than to be read: each is refused with a sentence, quickly and in little memory."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burn.record import RecordError
from burn_import.pytorch import PickleError, PyTorchFileRecorder, PytorchReader
from burn_import.pytorch.instructions import TABLE


def read(data: bytes) -> PytorchReader:
    return PytorchReader(io.BytesIO(data))


def zipped(pickled: bytes, **files: bytes) -> bytes:
    """An archive as PyTorch writes it, around any pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x/data.pkl", pickled)
        archive.writestr("x/byteorder", "little")
        for name, data in files.items():
            archive.writestr(f"x/data/{name.lstrip('_')}", data)
    return out.getvalue()


class Calls:
    """An object that is pickled as a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.how = function, arguments

    def __reduce__(self) -> Any:
        return self.how


def test_the_table_has_every_instruction_under_its_name() -> None:
    assert {code: name for code, (name, _) in TABLE.items()} == {
        ord(each.code): each.name for each in pickletools.opcodes
    }


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("wrap", [zipped, bytes], ids=["zip", "plain"])
def test_a_call_of_the_system_is_refused_with_its_opcode(tmp_path: Path, protocol: int, wrap: Any) -> None:
    marker = tmp_path / "ran"
    data = wrap(pickle.dumps({"w": Calls(os.system, f"touch {marker}")}, protocol))
    with pytest.raises(PickleError, match=r"opcode (STACK_)?GLOBAL at byte \d+ names (posix|nt)\.system; .*nothing"):
        read(data)
    assert not marker.exists()


@pytest.mark.parametrize("wrap", [zipped, bytes], ids=["zip", "plain"])
@pytest.mark.parametrize(
    "program, opcode, name",
    [
        (b"cos\nsystem\n(S'true'\ntR.", "GLOBAL", "os.system"),
        (b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.", "GLOBAL", "__builtin__.eval"),
        (b"\x80\x04\x8c\x08builtins\x8c\x04exec\x93\x8c\x01x\x85R.", "STACK_GLOBAL", "builtins.exec"),
        (b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93\x8c\x01x\x85R.", "STACK_GLOBAL", "builtins.getattr"),
        (b"(S'true'\nios\nsystem\n.", "INST", "os.system"),
        (b"\x80\x02ctorch\nload\nX\x01\x00\x00\x00x\x85R.", "GLOBAL", "torch.load"),
        (b"\x80\x02ctorch.hub\nload\n.", "GLOBAL", "torch.hub.load"),
        (b"\x80\x02ctorch._utils\n_import_dotted_name\n.", "GLOBAL", "torch._utils._import_dotted_name"),
        (b"\x80\x02cnumpy\nload\n.", "GLOBAL", "numpy.load"),
        (b"\x80\x02c__main__\nNet\n)\x81.", "GLOBAL", "__main__.Net"),
        (b"\x80\x02ccollections\nOrderedDict.__init__.__globals__\n.", "GLOBAL", "collections.OrderedDict.__init__"),
        (b"\x80\x02cevil\n\x1b[2J\n.", "GLOBAL", "evil.?[2J"),
    ],
)
def test_unknown_names_are_refused_where_they_stand(program: bytes, opcode: str, name: str, wrap: Any) -> None:
    with pytest.raises(PickleError) as error:
        read(wrap(program))
    assert f"opcode {opcode} at byte" in str(error.value)
    assert f"names {name}" in str(error.value)


@pytest.mark.parametrize(
    "program, message",
    [
        (b"\x80\x02}X\x01\x00\x00\x00x\x85R.", "opcode REDUCE at byte 10 calls dict"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "opcode REDUCE at byte 23 calls torch.FloatStorage"),
        (b"\x80\x02ctorch\nFloatStorage\n}b.", "opcode BUILD at byte 23 changes a Known"),
        (b"\x80\x02]}b.", "opcode BUILD at byte 4 changes a list"),
        (b"\x80\x02(ccollections\nOrderedDict\no.", "opcode OBJ at byte 28 makes an object"),
        (b"\x80\x02\x82\x01.", "opcode EXT1 at byte 2 is not used"),
        (b"\x80\x05\x97.", "opcode NEXT_BUFFER at byte 2 is not used"),
        (b"\x80\x02X\x01\x00\x00\x00xQ.", "opcode BINPERSID at byte 8 asks for a value outside"),
        (b"\x80\x02h\x07.", "opcode BINGET at byte 2 asks for value 7"),
        (b"\x80\x02X\xff\xff\xff\x7fx.", "opcode BINUNICODE at byte 2 announces 2,147,483,647 bytes, and 2 are left"),
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "opcode BINBYTES8 at byte 2 announces"),
        (b"\x80\x02\x8b\xff\xff\xff\x7f.", "opcode LONG4 at byte 2 holds an integer of 2,147,483,647 bytes"),
        (b"\x80\x02I" + b"9" * 5000 + b"\n.", "opcode INT at byte 2 holds no integer"),
        (b"\x80\x02}]Ns.", "opcode SETITEM at byte 5 uses a key that is neither"),
        (b"\x80\x02}(NNNu.", "opcode SETITEMS at byte 7 has a key without a value"),
        (b"\x80\x02(K\x01t0.", "opcode STOP at byte 7 leaves more or less"),
        (b"\x80\x02t.", "opcode TUPLE at byte 2 finds no mark"),
        (b"\x80\x02a.", "opcode APPEND at byte 2 finds nothing on the stack"),
        (b"\x80\x02(a.", "opcode APPEND at byte 3 finds nothing on the stack"),
        (b"\x80\x09N.", "opcode PROTO at byte 0 announces protocol 9"),
        (b"\x80\x02K", "opcode BININT1 at byte 2 announces 1 bytes, and 0 are left"),
        (b"\x80\x02N", "the pickle ends in the middle"),
        (b"\x80\x02\xfe.", "byte 2: 0xfe is no instruction"),
        (b"\x80\x02c_codecs\nencode\nK\x01X\x03\x00\x00\x00rot\x86R.", "calls _codecs.encode with values"),
        (b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "calls builtins.bytearray with values"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "calls torch._utils._rebuild_tensor_v2 with values"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor\n(NK\x00))tR.", "there is no storage"),
        (b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00O8\x85Rcnumpy.core.multiarray\nscalar\nh\x00.", "BINGET"),
    ],
)
def test_broken_and_hostile_pickles_are_refused_with_a_sentence(program: bytes, message: str) -> None:
    with pytest.raises(RecordError) as error:
        read(program)
    assert message in str(error.value)


def tensor(count: int, offset: int, sizes: Any, strides: Any, key: Any = "0", kind: bytes = b"FloatStorage") -> bytes:
    """The pickle of one tensor over a storage."""
    head = (
        b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n"
        + kind
        + b"\n"
    )
    body = [pickle.dumps(each, 2)[2:-1] for each in (key, "cpu", count)]
    view = [pickle.dumps(each, 2)[2:-1] for each in (offset, sizes, strides, False, {})]
    return head + b"".join(body) + b"tQ" + b"".join(view) + b"tRs."


def test_the_tensor_of_these_tests_is_one_that_can_be_read() -> None:
    data = zipped(tensor(4, 0, (2, 2), (2, 1)), _0=struct.pack("<4f", 1, 2, 3, 4))
    assert read(data).get("w").tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "program, message",
    [
        (tensor(4, 0, (2, 3), (3, 1)), "shape \\[2, 3\\] and strides \\[3, 1\\] at 0 reaches out of its storage of 4"),
        (tensor(4, 3, (2,), (1,)), "at 3 reaches out of its storage"),
        (tensor(4, 0, (2,), (1 << 60,)), "reaches out of its storage"),
        (tensor(4, -1, (2,), (1,)), "no whole number"),
        (tensor(4, 2, (2,), (-1,)), "no whole number"),
        (tensor(4, 0, (2, 2), (1,)), "strides of another length"),
        (tensor(4, 0, (1 << 40, 1 << 40), (0, 0)), "too large"),
        (tensor(4, 0, (1 << 40,), (0,)), "expands tensors by more than"),
        (tensor(4, 0, (1.5,), (1,)), "is no shape"),
        (tensor(4, 0, (1,) * 99, (1,) * 99), "99 dimensions"),
        (tensor(400, 0, (2,), (1,)), "storage 0: 400 elements of float32 need 1,600 bytes, and 16 are there"),
        (tensor(1 << 70, 0, (2,), (1,)), "need"),
        (tensor(-4, 0, (2,), (1,)), "no id of a storage"),
        (tensor(4, 0, (2,), (1,), key="../../../etc/passwd"), "the archive has no x/data/../../../etc/passwd"),
        (tensor(4, 0, (2,), (1,), key=7), "no id of a storage"),
        (tensor(4, 0, (2,), (1,), kind=b"float32"), "the archive|storage|id"),
    ],
)
def test_tensors_outside_their_storage_are_refused(program: bytes, message: str) -> None:
    if b"FloatStorage" not in program:
        read(zipped(program, _0=bytes(16)))  # a dtype in place of a class says the same
        return
    with pytest.raises(RecordError, match=message):
        read(zipped(program, _0=bytes(16)))


def peak_of(data: bytes) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(RecordError):
            PyTorchFileRecorder().load(io.BytesIO(data))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


BOMBS = {
    "a tuple that doubles": b"\x80\x02)" + b"2\x86" * 5000 + b".",
    "a list that holds itself": b"\x80\x02]q\x00h\x00a.",
    "a dict that holds itself": b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.",
    "a tower of lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "a tower of tuples as a key": b"\x80\x02})" + b"\x85" * 100_000 + b"Ns.",
    "a list of doubles": b"\x80\x02]q\x000" + b"".join(b"](h%ch%ceq%c0" % (n, n, n + 1) for n in range(40)) + b"h\x28.",
    "copies of copies": b"\x80\x02(" + b"N" * 50_000 + b"lq\x00" + b"0c__builtin__\nlist\nh\x00\x85R" * 200 + b".",
    "a tower as a shape": b"\x80\x02ctorch._utils\n_rebuild_meta_tensor_no_storage\n(N)" + b"\x85" * 100_000 + b"NNtR.",
    "a tower as an object": b"\x80\x02()" + b"\x85" * 100_000 + b"o.",
    "a tower as a name": b"\x80\x04)" + b"\x85" * 100_000 + b"N\x93.",
    "long names": b"\x80\x02X\x00\x00\x10\x00" + b"a" * (1 << 20) + b"q\x00" + b"}h\x00" * 40 + b"}" + b"s" * 40 + b".",
    "many dicts": b"\x80\x02(" + b"}" * 2_000_000 + b"t.",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_in_bounded_memory(name: str) -> None:
    assert peak_of(BOMBS[name]) < 250_000_000


def test_a_whole_module_is_answered_with_what_to_save(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    for legacy in (False, True):
        torch.save(torch.nn.Sequential(torch.nn.Linear(2, 2)), path, _use_new_zipfile_serialization=not legacy)
        with pytest.raises(PickleError, match="whole pickled module .*torch.save\\(model.state_dict\\(\\), path\\)"):
            PyTorchFileRecorder().load(path)
        torch.save({"model": Own(), "epoch": 1}, path, _use_new_zipfile_serialization=not legacy)
        with pytest.raises(PickleError, match=r"whole pickled module \(.*Own, opcode GLOBAL at byte \d+\)"):
            PyTorchFileRecorder().load(path)


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_torchscript_archive_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(path))
    with pytest.raises(RecordError, match="TorchScript archive, which holds code"):
        PytorchReader(path)


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"\x89HDF\r\n", b"PK\x05\x06", b"PK\x03\x04" + b"x" * 100, b"\x00" * 600]
)
def test_what_is_no_file_of_pytorch_is_named_so(data: bytes) -> None:
    with pytest.raises(RecordError, match="load: the open file: "):
        read(data)


def test_a_path_that_leads_nowhere_is_named() -> None:
    with pytest.raises(RecordError, match="load: nowhere.pt: cannot be opened: No such file"):
        PyTorchFileRecorder().load("nowhere.pt")


def test_compressed_entries_are_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", b"\x80\x02}." + b" " * 1000)
    with pytest.raises(RecordError, match="x/data.pkl: is compressed"):
        read(out.getvalue())


def samples() -> list[bytes]:
    value = {"a": torch.arange(6.0).reshape(2, 3).t(), "b": torch.ones(2, dtype=torch.bool), "c": [1, "x", {2: 3.0}]}
    made = []
    for zipped_file in (True, False):
        out = io.BytesIO()
        torch.save(value, out, _use_new_zipfile_serialization=zipped_file)
        made.append(out.getvalue())
    return made


SAMPLES = samples()


def read_all(data: bytes) -> None:
    """Read everything there is; only our own error may come out."""
    try:
        record = PyTorchFileRecorder().load(io.BytesIO(data))
        _ = record.item
    except RecordError:
        pass


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_damaged_file_is_an_error_or_is_read(data: st.DataObject) -> None:
    sample = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(sample) - 1))
        sample[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(sample))))
    read_all(bytes(sample[:cut]))


PIECES = [
    b"}", b"]", b")", b"(", b"t", b"\x85", b"\x86", b"\x87", b"s", b"u", b"a", b"e", b"R", b"b", b"\x81", b"Q", b"0",
    b"2", b"1", b"N", b"K\x05", b"J\xff\xff\xff\xff", b"X\x01\x00\x00\x00a", b"q\x00", b"q\x01", b"h\x00", b"h\x01",
    b"\x8f", b"\x90", b"\x91", b"l", b"d", b"G\x7f\xf8\x00\x00\x00\x00\x00\x00", b"X\x07\x00\x00\x00storage",
    b"ctorch\nFloatStorage\n", b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch._utils\n_rebuild_parameter\n",
    b"ccollections\nOrderedDict\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy\ndtype\n",
    b"X\x02\x00\x00\x00f4", b"c__builtin__\nset\n", b"c__builtin__\nint\n", b"ctorch\nSize\n", b"C\x04\x00\x00\x80?",
    b"cargparse\nNamespace\n", b"ctorch._tensor\n_rebuild_from_type_v2\n", b"c_codecs\nencode\n", b"\x94",
    b"ctorch._utils\n_rebuild_sparse_tensor\n", b"ctorch._utils\n_rebuild_qtensor\n", b"\x92", b"ctorch\nfloat16\n",
    b"ctorch._utils\n_rebuild_tensor_v3\n", b"cnumpy.core.multiarray\nscalar\n", b"ccollections\ndefaultdict\n",
]  # fmt: skip


@settings(max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.booleans())
def test_any_program_of_known_instructions_is_an_error_or_is_read(pieces: list[bytes], in_archive: bool) -> None:
    program = b"\x80\x02" + b"".join(pieces) + b"."
    read_all(zipped(program, _a=bytes(8)) if in_archive else program)


@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_pickle_with_other_instructions_in_it_is_an_error_or_is_read(data: st.DataObject) -> None:
    with zipfile.ZipFile(io.BytesIO(SAMPLES[0])) as archive:
        pickled = bytearray(archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl"))))
        files = {f"_{name.rpartition('/')[2]}": archive.read(name) for name in archive.namelist() if "/data/" in name}
    in_archive = data.draw(st.booleans())
    sample = pickled if in_archive else bytearray(SAMPLES[1])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(sample) - 1))
        sample[place : place + data.draw(st.integers(0, 6))] = data.draw(st.sampled_from(PIECES))
    read_all(zipped(bytes(sample), **files) if in_archive else bytes(sample))


@settings(max_examples=500)
@given(st.binary(max_size=300))
def test_any_bytes_are_an_error_or_are_read(data: bytes) -> None:
    read_all(data)
    read_all(b"\x80\x02" + data)
    read_all(zipped(data))
