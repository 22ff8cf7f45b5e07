"""Files that PyTorch writes are read bit for bit, without PyTorch."""

from __future__ import annotations

import ast
import io
import pickle
import struct
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burn.record import RecordError
from burn_import.pytorch import PytorchReader

CONTAINERS = ["zip", "legacy"]
SIMPLE = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
NEWER = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
         "float8_e8m0fnu"]  # fmt: skip


def save(value: Any, path: Path, container: str) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=container == "zip")
    return path


def raw(tensor: torch.Tensor) -> bytes:
    """The row-major bytes of a tensor of any dtype."""
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def random(dtype: str, *shape: int) -> torch.Tensor:
    made = torch.randint(0, 256, (*shape, 8), dtype=torch.uint8)
    kind = getattr(torch, dtype)
    if kind is torch.bool:
        return made[..., 0] > 127
    size = torch.empty(0, dtype=kind).element_size()
    return made[..., :size].contiguous().view(kind).reshape(shape)


def check(path: Path, expected: dict[str, torch.Tensor]) -> None:
    reader = PytorchReader(path)
    assert reader.keys() == list(expected)
    for name, tensor in expected.items():
        found = reader.get(name)
        assert tuple(found.shape) == tuple(tensor.shape), name
        assert found.numpy().tobytes() == raw(tensor), name


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [*SIMPLE, *NEWER])
def test_every_dtype_is_read_bit_for_bit(tmp_path: Path, dtype: str, container: str) -> None:
    tensors = {"x": random(dtype, 3, 5), "one": random(dtype), "none": random(dtype, 0, 4)}
    path = save(tensors, tmp_path / "x.pt", container)
    check(path, tensors)
    found = PytorchReader(path).get("x")
    names = {"bool": "bool", "bfloat16": "bf16", "float32": "f32", "int8": "i8", "float8_e8m0fnu": "f8e8m0"}
    assert found.dtype.name == names.get(dtype, found.dtype.name)
    assert found.dtype.is_float == dtype.startswith(("float", "bfloat"))
    assert PytorchReader(path).metadata.container == container


@pytest.mark.parametrize("container", CONTAINERS)
def test_views_are_read_in_their_own_order(tmp_path: Path, container: str) -> None:
    base = torch.arange(120.0).reshape(4, 5, 6)
    views = {
        "transposed": base.permute(2, 0, 1),
        "part": base[1:3, ::2, 1:5:3],
        "column": base[:, 2, 3],
        "last": base[3, 4, 5],
        "expanded": torch.tensor([1.0, 2.0]).reshape(2, 1).expand(2, 7),
        "flipped": base.flip(0),
        "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "empty": base[:0],
        "ones": base[:1, :1].transpose(0, 2),
    }
    check(save(views, tmp_path / "x.pt", container), views)


@pytest.mark.parametrize("container", CONTAINERS)
def test_tensors_that_share_a_storage_are_stored_once_and_read_twice(tmp_path: Path, container: str) -> None:
    whole = torch.randn(100, 100)
    tensors = {"whole": whole, "again": whole, "row": whole[7], "tail": whole.reshape(-1)[9000:]}
    path = save(tensors, tmp_path / "x.pt", container)
    assert path.stat().st_size < 2 * 40_000
    check(path, tensors)


def test_aligned_tensors_of_a_large_file_are_used_where_they_lie(tmp_path: Path) -> None:
    path = save({"x": torch.randn(1 << 19)}, tmp_path / "x.pt", "zip")
    array = PytorchReader(path).get("x").numpy()
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert isinstance(array.base, memoryview)


@pytest.mark.parametrize("container", CONTAINERS)
def test_parameters_buffers_and_the_state_of_a_module_are_read(tmp_path: Path, container: str) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Linear(4, 5))
    expected = module.state_dict()
    check(save(expected, tmp_path / "state.pt", container), expected)
    parameters = dict(module.named_parameters())
    check(save(parameters, tmp_path / "parameters.pt", container), parameters)
    parameter = torch.nn.Parameter(torch.randn(3))
    parameter.note = "kept"  # type: ignore[attr-defined]
    check(save({"x": parameter}, tmp_path / "noted.pt", container), {"x": parameter})


def test_a_tensor_whose_sign_is_only_noted_is_read_negated(tmp_path: Path) -> None:
    tensor = torch.randn(4, dtype=torch.complex64).conj().imag
    assert tensor.is_neg()
    path = save({"x": tensor}, tmp_path / "x.pt", "zip")
    np.testing.assert_array_equal(PytorchReader(path).get("x").numpy(), torch.load(path)["x"].resolve_neg().numpy())


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_tensor_is_refused_when_it_is_needed_and_not_before(
    tmp_path: Path, dtype: str, container: str
) -> None:
    value = {"x": torch.zeros(3, dtype=getattr(torch, dtype)), "y": torch.ones(2)}
    reader = PytorchReader(save(value, tmp_path / "x.pt", container))
    assert reader.get("y").to_vec() == [1.0, 1.0]
    with pytest.raises(RecordError, match=f"{dtype}: there are no complex tensors here; save torch.view_as_real"):
        reader.get("x")


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_sparse_meta_and_quantized_tensors_say_what_to_save_instead(tmp_path: Path) -> None:
    value = {
        "sparse": torch.eye(3).to_sparse(),
        "meta": torch.empty(2, device="meta"),
        "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    }
    reader = PytorchReader(save(value, tmp_path / "x.pt", "zip"))
    for name, message in {"sparse": "to_dense", "meta": "device meta", "quantized": "dequantize"}.items():
        with pytest.raises(RecordError, match=message):
            reader.get(name)


def test_dicts_and_lists_inside_add_to_the_names(tmp_path: Path) -> None:
    value = {
        "model": {"a.b": torch.ones(1), "c": [torch.zeros(2), {"d": torch.ones(3)}]},
        "optimizer": {"state": {0: {"exp_avg": torch.ones(4)}}, "lr": 0.1},
        "epoch": 3,
    }
    reader = PytorchReader(save(value, tmp_path / "x.pt", "zip"))
    assert reader.keys() == ["model.a.b", "model.c.0", "model.c.1.d", "optimizer.state.0.exp_avg"]
    assert PytorchReader(tmp_path / "x.pt", top_level_key="model").keys() == ["a.b", "c.0", "c.1.d"]
    with pytest.raises(RecordError, match="no top-level key 'state_dict'; it has model, optimizer, epoch"):
        PytorchReader(tmp_path / "x.pt", top_level_key="state_dict")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("container", CONTAINERS)
def test_values_beside_the_tensors_are_read_in_every_protocol(tmp_path: Path, container: str, protocol: int) -> None:
    value = OrderedDict(
        text="é\n😀", integers=[0, -1, 255, 256, 65536, 2**31, -(2**63), 2**70], number=[0.5, -1e300], none=None,
        truth=[True, False], nested={"a": [1, (2, 3, 4, 5)], 7: {"b": ()}}, bytes=b"\x00\xff", set={1, 2},
        frozen=frozenset({3}), ordered=OrderedDict(a=1), default=defaultdict(list, a=[1]), size=torch.Size([2, 3]),
        long="x" * 70_000, many=list(range(3000)), tensor=torch.arange(3),
    )  # fmt: skip
    if protocol == 0:
        del value["tensor"]  # its ids of storages are tuples, which need protocol 1
    path = tmp_path / "x.pt"
    torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=container == "zip")
    found = PytorchReader(path).value
    if protocol > 0:
        assert found.pop("tensor").read().to_vec() == [0, 1, 2]
    assert found.pop("size") == (2, 3)
    assert found == {name: each for name, each in value.items() if name not in ("tensor", "size")}


@pytest.mark.parametrize("protocol", range(6))
def test_a_plain_pickle_with_arrays_of_numpy_is_read(tmp_path: Path, protocol: int) -> None:
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "c": np.array([True, False]),
        "d": np.arange(3, dtype=">i4"),
        "e": np.arange(10)[::3],
    }
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps({"model": arrays, "loss": np.float64(0.25), "step": np.int64(3)}, protocol))
    reader = PytorchReader(path, top_level_key="model")
    assert reader.metadata.container == "pickle"
    for name, array in arrays.items():
        np.testing.assert_array_equal(reader.get(name).numpy(), array)
    whole = PytorchReader(path).value
    assert (whole["loss"], whole["step"]) == (0.25, 3)


def test_objects_of_numpy_that_hold_no_numbers_are_refused_when_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps({"x": np.array(["a", "b"]), "y": np.ones(1)}))
    reader = PytorchReader(path)
    assert reader.get("y").to_vec() == [1.0]
    with pytest.raises(RecordError, match="holds no numbers"):
        reader.get("x")


def test_an_open_file_is_read_like_a_path(tmp_path: Path) -> None:
    path = save({"x": torch.ones(2)}, tmp_path / "x.pt", "zip")
    with path.open("rb") as file:
        assert PytorchReader(file).get("x").to_vec() == [1.0, 1.0]
    assert PytorchReader(io.BytesIO(path.read_bytes())).keys() == ["x"]


def test_a_file_of_a_big_endian_machine_is_turned_around(tmp_path: Path) -> None:
    values = {"f": torch.randn(5), "h": torch.randn(3).bfloat16(), "i": torch.arange(3), "b": torch.tensor([True])}
    path = save(values, tmp_path / "x.pt", "zip")
    turned = tmp_path / "big.pt"
    sizes = {"0": 4, "1": 2, "2": 8, "3": 1}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(turned, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "/data/" in name:
                size = sizes[name.rpartition("/")[2]]
                data = np.frombuffer(data, f"u{size}").byteswap().tobytes()
            new.writestr(name, data)
    assert PytorchReader(turned).metadata.byte_order == "big"
    check(turned, values)


def test_a_legacy_file_of_a_big_endian_machine_is_turned_around(tmp_path: Path) -> None:
    path = save({"x": torch.tensor([1.0, 2.0])}, tmp_path / "x.pt", "legacy")
    data = bytearray(path.read_bytes())
    flag = data.index(b"little_endian")
    assert data[data.index(b"\x88", flag)] == 0x88
    data[data.index(b"\x88", flag)] = 0x89
    data[-16:] = struct.pack(">q", 2) + np.array([1.0, 2.0], ">f4").tobytes()
    path.write_bytes(data)
    assert PytorchReader(path).get("x").to_vec() == [1.0, 2.0]


def tar_of(tensors: dict[str, torch.Tensor], path: Path) -> Path:
    """A file as PyTorch wrote them before 0.1.10."""
    storages, listing = io.BytesIO(), io.BytesIO()
    pickle.dump(len(tensors), storages, 2)
    pickle.dump(len(tensors), listing, 2)
    body = io.BytesIO()

    class Writer(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return value.key if isinstance(value, Reference) else None

    state = OrderedDict()
    for number, (name, tensor) in enumerate(tensors.items()):
        key, base = 1000 + number, 5000 + number
        storage = tensor.untyped_storage()
        legacy = getattr(torch, torch.storage._dtype_to_storage_type_map()[tensor.dtype])
        pickle.dump((base, "cpu", legacy), storages, 2)
        storages.write(struct.pack("<q", storage.nbytes() // tensor.element_size()) + bytes(storage.tolist()))
        pickle.dump((key, base, torch.FloatTensor), listing, 2)
        listing.write(struct.pack("<ii", tensor.dim(), 0))
        listing.write(
            struct.pack(f"<{2 * tensor.dim() + 1}q", *tensor.shape, *tensor.stride(), tensor.storage_offset())
        )
        state[name] = Reference(key)
    pickle.dump([], storages, 2)
    Writer(body, 2).dump(state)
    with tarfile.open(path, "w:", format=tarfile.PAX_FORMAT) as archive:
        for name, file in {
            "sys_info": io.BytesIO(b""),
            "pickle": body,
            "tensors": listing,
            "storages": storages,
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(file.getvalue())
            archive.addfile(entry, io.BytesIO(file.getvalue()))
    return path


class Reference:
    def __init__(self, key: int) -> None:
        self.key = key


def test_a_tar_archive_is_read_as_pytorch_reads_it(tmp_path: Path) -> None:
    base = torch.randn(4, 6)
    tensors = {"a": base.t(), "b": base[1:, 2:], "c": torch.arange(5), "d": torch.tensor(3, dtype=torch.uint8)}
    path = tar_of(tensors, tmp_path / "x.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer versions of tarfile warn inside torch
        expected = torch.load(path, weights_only=False)
    assert PytorchReader(path).metadata.container == "tar"
    check(path, expected)


def test_reading_imports_neither_torch_nor_pickle(tmp_path: Path) -> None:
    path = save({"x": torch.randn(3, 3)}, tmp_path / "x.pt", "zip")
    program = f"""
import sys
class Block:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("torch", "safetensors", "onnx"):
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from burn_import.pytorch import PytorchReader
assert PytorchReader({str(path)!r}).get("x").shape == (3, 3)
assert "torch" not in sys.modules and "onnx" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_no_source_of_the_importer_imports_pickle() -> None:
    folder = Path(__file__).resolve().parents[2] / "src" / "burn_import"
    for path in [*folder.glob("common/*.py"), *folder.glob("pytorch/*.py"), *folder.glob("safetensors/*.py")]:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        assert not {name.split(".")[0] for name in modules} & {"pickle", "torch", "importlib"}, path.name
        assert not names & {"eval", "exec", "__import__", "compile"}, path.name


def test_a_safetensors_file_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes((2).to_bytes(8, "little") + b"{}" + b" " * 8)
    with pytest.raises(RecordError, match="this is a safetensors file; read it with burn_import.safetensors"):
        PytorchReader(path)


def test_a_part_of_a_storage_in_an_old_file_is_read_as_pytorch_reads_it(tmp_path: Path) -> None:
    numbers = torch.arange(10.0)

    class Part:
        def __init__(self, offset: int, count: int) -> None:
            self.offset, self.count = offset, count

    class Writer(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            if isinstance(value, Part):
                view = (f"part{value.offset}", value.offset, value.count)
                return "storage", torch.FloatStorage, "root", "cpu", 10, view
            return None

    class Whole:
        def __init__(self, part: Part) -> None:
            self.part = part

        def __reduce__(self) -> Any:
            sizes = (self.part.count,)
            return torch._utils._rebuild_tensor_v2, (self.part, 0, sizes, (1,), False, OrderedDict())

    path = tmp_path / "x.pt"
    with path.open("wb") as file:
        for value in (
            0x1950A86A20F9469CFC6C,
            1001,
            {"protocol_version": 1001, "little_endian": True, "type_sizes": {}},
        ):
            pickle.dump(value, file, 2)
        Writer(file, 2).dump({"head": Whole(Part(0, 4)), "tail": Whole(Part(6, 4))})
        pickle.dump(["root"], file, 2)
        file.write(struct.pack("<q", 10) + numbers.numpy().tobytes())
    check(path, torch.load(path, weights_only=False))
    assert PytorchReader(path).get("tail").to_vec() == [6.0, 7.0, 8.0, 9.0]
