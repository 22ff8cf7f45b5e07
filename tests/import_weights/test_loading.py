"""Weights of PyTorch in our modules: the same numbers come out."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from burn.backend import Autodiff, Cpu, NdArray
from burn.errors import DataError
from burn.module import Module, ModuleEnum, Param
from burn.nn import (
    BatchNorm,
    BatchNormConfig,
    BiLstmConfig,
    Embedding,
    EmbeddingConfig,
    GroupNormConfig,
    GruConfig,
    InstanceNormConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    LstmConfig,
    PReluConfig,
    Relu,
    RmsNormConfig,
    RnnConfig,
)
from burn.nn.attention import MhaInput, MultiHeadAttentionConfig
from burn.nn.conv import (
    Conv1dConfig,
    Conv2d,
    Conv2dConfig,
    Conv3dConfig,
    ConvTranspose1dConfig,
    ConvTranspose2dConfig,
)
from burn.record import BinFileRecorder, DoublePrecisionSettings, HalfPrecisionSettings, RecordError
from burn.tensor import Tensor, TensorData
from burn_import.pytorch import LoadArgs, PyTorchFileRecorder
from burn_import.safetensors import SafetensorsFileRecorder

DEVICE = NdArray()


def saved(module: Any, path: Path) -> Path:
    torch.save(module.state_dict() if isinstance(module, torch.nn.Module) else module, path)
    return path


def shaken(module: torch.nn.Module) -> torch.nn.Module:
    """The module with every value random, running statistics and affine parameters too."""
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(torch.rand_like(tensor) + 0.5 if "var" in name else torch.randn_like(tensor))
    return module.eval()


def ours(array: Any) -> Tensor[Any]:
    return Tensor.from_data(array.numpy(), DEVICE)


LAYERS: dict[str, tuple[torch.nn.Module, Any, tuple[int, ...]]] = {
    "linear": (torch.nn.Linear(4, 6), LinearConfig(4, 6), (3, 4)),
    "square linear": (torch.nn.Linear(5, 5), LinearConfig(5, 5), (2, 5)),
    "linear without bias": (torch.nn.Linear(4, 6, bias=False), LinearConfig(4, 6, bias=False), (3, 4)),
    "conv1d": (torch.nn.Conv1d(2, 4, 3), Conv1dConfig(2, 4, 3), (2, 2, 7)),
    "conv2d": (torch.nn.Conv2d(2, 4, (3, 2)), Conv2dConfig([2, 4], [3, 2]), (2, 2, 6, 5)),
    "conv3d": (torch.nn.Conv3d(1, 2, 2), Conv3dConfig([1, 2], [2, 2, 2]), (1, 1, 3, 4, 5)),
    "transposed conv1d": (torch.nn.ConvTranspose1d(3, 2, 3), ConvTranspose1dConfig([3, 2], 3), (2, 3, 5)),
    "transposed conv2d": (torch.nn.ConvTranspose2d(3, 2, 3), ConvTranspose2dConfig([3, 2], [3, 3]), (1, 3, 4, 5)),
    "batch norm": (torch.nn.BatchNorm2d(3), BatchNormConfig(3), (2, 3, 4, 5)),
    "layer norm": (torch.nn.LayerNorm(6), LayerNormConfig(6), (2, 6)),
    "layer norm without bias": (torch.nn.LayerNorm(6, bias=False), LayerNormConfig(6, bias=False), (2, 6)),
    "group norm": (torch.nn.GroupNorm(2, 4), GroupNormConfig(2, 4), (2, 4, 3)),
    "instance norm": (torch.nn.InstanceNorm2d(3, affine=True), InstanceNormConfig(3), (2, 3, 4, 4)),
    "rms norm": (torch.nn.RMSNorm(6, eps=1e-5), RmsNormConfig(6), (2, 6)),
    "prelu": (torch.nn.PReLU(3), PReluConfig(3), (2, 3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_with_the_weights_of_pytorch_computes_the_same(tmp_path: Path, name: str) -> None:
    theirs, config, shape = LAYERS[name]
    path = saved(shaken(theirs), tmp_path / "x.pt")
    layer = config.init(DEVICE).load_record(PyTorchFileRecorder().load(path, DEVICE)).valid()
    x = torch.randn(shape)
    np.testing.assert_allclose(layer(ours(x)).to_data().numpy(), theirs(x).detach().numpy(), rtol=2e-5, atol=2e-5)


def test_an_embedding_is_not_transposed(tmp_path: Path) -> None:
    theirs = torch.nn.Embedding(5, 5)
    made = EmbeddingConfig(5, 5).init(DEVICE).load_record(PyTorchFileRecorder().load(saved(theirs, tmp_path / "x.pt")))
    np.testing.assert_array_equal(made.weight.to_data().numpy(), theirs.weight.detach().numpy())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "make, theirs, first",
    [
        (LstmConfig, torch.nn.LSTM, lambda result: result[0]),
        (GruConfig, torch.nn.GRU, lambda result: result),
        (RnnConfig, torch.nn.RNN, lambda result: result[0]),
    ],
    ids=["lstm", "gru", "rnn"],
)
def test_the_gates_of_recurrent_layers_are_taken_apart(
    tmp_path: Path, make: Any, theirs: Any, first: Callable[[Any], Any], bias: bool
) -> None:
    other = theirs(3, 4, bias=bias, batch_first=True)
    path = saved(other, tmp_path / "x.pt")
    layer = make(3, 4, bias).init(DEVICE).load_record(PyTorchFileRecorder().load(path))
    x = torch.randn(2, 5, 3)
    np.testing.assert_allclose(
        first(layer(ours(x))).to_data().numpy(), other(x)[0].detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_both_directions_of_a_recurrent_layer_are_found(tmp_path: Path) -> None:
    other = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    path = saved(other, tmp_path / "x.pt")
    layer = BiLstmConfig(3, 4, True).init(DEVICE).load_record(PyTorchFileRecorder().load(path))
    x = torch.randn(2, 5, 3)
    np.testing.assert_allclose(layer(ours(x))[0].to_data().numpy(), other(x)[0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_the_projections_of_attention_are_taken_apart(tmp_path: Path) -> None:
    other = shaken(torch.nn.MultiheadAttention(8, 2, batch_first=True))
    path = saved(other, tmp_path / "x.pt")
    layer = MultiHeadAttentionConfig(8, 2).init(DEVICE).load_record(PyTorchFileRecorder().load(path)).valid()
    x = torch.randn(2, 5, 8)
    found = layer(MhaInput.self_attn(ours(x))).context.to_data().numpy()
    np.testing.assert_allclose(found, other(x, x, x)[0].detach().numpy(), rtol=2e-4, atol=2e-4)


class Net(Module):
    conv1: Conv2d
    conv2: Conv2d

    @classmethod
    def init(cls, device: Any) -> Net:
        return cls(Conv2dConfig([2, 2], [2, 2]).init(device), Conv2dConfig([2, 2], [2, 2], bias=False).init(device))


def torch_net() -> dict[str, torch.Tensor]:
    """The state of the Book's PyTorch model."""
    return {
        "conv1.weight": torch.randn(2, 2, 2, 2),
        "conv1.bias": torch.randn(2),
        "conv2.weight": torch.randn(2, 2, 2, 2),
    }


def load(model: Any, value: Any, path: Path, **options: Any) -> Any:
    return model.load_record(PyTorchFileRecorder().load(saved(value, path)), **options)


def test_the_net_of_the_book_loads(tmp_path: Path) -> None:
    state = torch_net()
    net = load(Net.init(DEVICE), state, tmp_path / "conv2d.pt")
    for name, param in net.named_parameters():
        np.testing.assert_array_equal(param.to_data().numpy(), state[name].numpy())
    same = Net.init(DEVICE).load_file(tmp_path / "conv2d.pt", PyTorchFileRecorder())
    assert same.conv2.weight.to_data() == net.conv2.weight.to_data()


def test_parameters_keep_their_ids_and_learn_on(tmp_path: Path) -> None:
    model = Net.init(Autodiff(DEVICE))
    net = load(model, torch_net(), tmp_path / "x.pt")
    assert net.conv1.weight.id == model.conv1.weight.id
    assert net.conv1.weight.device is Autodiff(DEVICE)
    assert net.conv1.weight.learns


def test_every_missing_field_is_named_with_the_sentence_of_the_book(tmp_path: Path) -> None:
    class Bar(Module):
        weight: Param

    class Foo(Module):
        foo1: Bar
        foo2: Linear
        norm: BatchNorm

    foo = Foo(Bar(Param(Tensor.ones([2], DEVICE))), LinearConfig(2, 3).init(DEVICE), BatchNormConfig(3).init(DEVICE))
    value = {"foo2.bias": torch.ones(3), "norm.weight": torch.ones(3), "other.x": torch.ones(1)}
    with pytest.raises(RecordError) as error:
        load(foo, value, tmp_path / "x.pt")
    text = str(error.value)
    end = "Please verify the source data and ensure the field name is correct"
    for name, kind in {
        "foo1": "BarRecordItem", "foo2.weight": "Param", "norm.beta": "Param", "norm.running_mean": "RunningState",
    }.items():  # fmt: skip
        assert f"Missing source values for the '{name}' field of type '{kind}'. {end}\n" in text
    assert text.count("Missing source values") == 5
    assert "x.pt does not fit Foo:" in text
    assert "in the file, but not in the module: other.x" in text
    assert text.endswith("load_record(record, strict=False) takes what fits and keeps the rest")


def test_shapes_that_differ_are_named_with_both(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as error:
        load(Net.init(DEVICE), {**torch_net(), "conv1.bias": torch.ones(3)}, tmp_path / "x.pt")
    assert "conv1.bias: shape [2] in the module, [3] in the file" in str(error.value)
    with pytest.raises(RecordError, match="weight: shape \\[4, 6\\] in the module, where PyTorch has the transpose "
                                          "\\[6, 4\\], \\[6, 5\\] in the file"):  # fmt: skip
        load(LinearConfig(4, 6).init(DEVICE), torch.nn.Linear(5, 6), tmp_path / "y.pt")


def test_a_complex_tensor_is_a_fault_like_the_others(tmp_path: Path) -> None:
    state = {**torch_net(), "conv1.bias": torch.ones(2, dtype=torch.complex64)}
    with pytest.raises(RecordError, match="conv1.bias: complex64: there are no complex tensors here"):
        load(Net.init(DEVICE), state, tmp_path / "x.pt")


def test_a_bias_that_the_module_would_drop_is_a_fault(tmp_path: Path) -> None:
    state = {**torch_net(), "conv2.bias": torch.ones(2)}
    with pytest.raises(RecordError, match=r"conv2.bias: the file has values for it \(conv2.bias\), and the module has"):
        load(Net.init(DEVICE), state, tmp_path / "x.pt")
    net = load(Net.init(DEVICE), state, tmp_path / "x.pt", strict=False)
    assert net.conv2.bias is None


def test_a_part_of_a_model_takes_its_part_of_a_file(tmp_path: Path) -> None:
    state = {**torch_net(), "decoder.weight": torch.ones(5), "head.0.bias": torch.ones(1)}
    record = PyTorchFileRecorder().load(saved(state, tmp_path / "x.pt"))
    Net.init(DEVICE).load_record(record)
    assert record.extra == ["decoder.weight", "head.0.bias"]


def test_what_is_missing_may_keep_its_values(tmp_path: Path) -> None:
    state = torch_net()
    del state["conv2.weight"]
    model = Net.init(DEVICE)
    record = PyTorchFileRecorder().load(saved(state, tmp_path / "x.pt"))
    net = model.load_record(record, strict=False)
    assert record.missing == ["conv2"]
    assert net.conv2.weight.to_data() == model.conv2.weight.to_data()
    np.testing.assert_array_equal(net.conv1.weight.to_data().numpy(), state["conv1.weight"].numpy())


class Stack(Module):
    layers: list[Any]


def linears(*sizes: int) -> list[Any]:
    return [LinearConfig(a, b).init(DEVICE) for a, b in itertools.pairwise(sizes)]


def test_indices_with_gaps_are_closed_up_in_order(tmp_path: Path) -> None:
    theirs = torch.nn.Sequential(*(torch.nn.Linear(2, 2) if n % 2 == 0 else torch.nn.ReLU() for n in range(23)))
    state = {f"layers.{name}": each for name, each in theirs.state_dict().items()}
    made = load(Stack(linears(*[2] * 13)), dict(reversed(state.items())), tmp_path / "x.pt")
    for index, layer in enumerate(made.layers):
        np.testing.assert_array_equal(layer.weight.to_data().numpy(), state[f"layers.{2 * index}.weight"].numpy().T)


def test_a_list_with_the_indices_of_the_file_is_taken_as_it_stands(tmp_path: Path) -> None:
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    first, second = linears(2, 2, 2)
    state = {f"layers.{name}": each for name, each in theirs.state_dict().items()}
    made = load(Stack([first, Relu(), second]), state, tmp_path / "x.pt")
    np.testing.assert_array_equal(made.layers[2].weight.to_data().numpy(), state["layers.2.weight"].numpy().T)


def test_gaps_close_at_every_level_on_its_own(tmp_path: Path) -> None:
    state = {f"layers.{a}.layers.{b}.{name}": torch.full(shape, 10.0 * a + b) for a in (1, 5) for b in (0, 3, 4)
             for name, shape in {"weight": (2, 2), "bias": (2,)}.items()}  # fmt: skip
    made = load(Stack([Stack(linears(2, 2, 2, 2)), Stack(linears(2, 2, 2, 2))]), state, tmp_path / "x.pt")
    assert [layer.bias.to_data().to_vec()[0] for part in made.layers for layer in part.layers] == [
        10,
        13,
        14,
        50,
        53,
        54,
    ]


def test_too_few_entries_of_a_list_are_missing(tmp_path: Path) -> None:
    state = {"layers.0.weight": torch.ones(2, 2), "layers.0.bias": torch.ones(2)}
    with pytest.raises(RecordError, match="the 'layers.1' field of type 'LinearRecordItem'"):
        load(Stack(linears(2, 2, 2)), state, tmp_path / "x.pt")


class Block(ModuleEnum):
    Dense: Linear
    Convolution: Conv2d
    Norm: LayerNorm


class Holder(Module):
    block: Block
    table: dict[str, Any]


def test_modules_of_several_kinds_take_the_values_of_their_own(tmp_path: Path) -> None:
    for block, theirs in [
        (Block.Dense(LinearConfig(2, 3).init(DEVICE)), torch.nn.Linear(2, 3)),
        (Block.Convolution(Conv2dConfig([1, 2], [2, 2]).init(DEVICE)), torch.nn.Conv2d(1, 2, 2)),
        (Block.Norm(LayerNormConfig(3).init(DEVICE)), torch.nn.LayerNorm(3)),
    ]:
        state = {f"block.{name}": torch.randn_like(each) for name, each in theirs.state_dict().items()}
        made = load(Holder(block, {}), state, tmp_path / "x.pt")
        assert made.block.variant == block.variant
        parameters = [param.to_data().numpy() for param in made.parameters()]
        np.testing.assert_array_equal(parameters[1], state["block.bias"].numpy())
        weight = state["block.weight"].numpy()
        np.testing.assert_array_equal(parameters[0], weight.T if block.variant == "Dense" else weight)


def test_dicts_are_met_by_their_keys(tmp_path: Path) -> None:
    first, second = linears(2, 2, 2)
    block = Block.Norm(LayerNormConfig(2).init(DEVICE))
    state = {f"table.{key}.{name}": torch.randn(*shape) for key in ("3", "7")
             for name, shape in {"weight": (2, 2), "bias": (2,)}.items()}  # fmt: skip
    made = load(Holder(block, {"7": first, "3": second}), state, tmp_path / "x.pt", strict=False)
    np.testing.assert_array_equal(made.table["7"].bias.to_data().numpy(), state["table.7.bias"].numpy())
    assert made.block.value.gamma.to_data().to_vec() == [1.0, 1.0]


class Tied(Module):
    first: Linear
    second: Linear
    words: Embedding


def test_a_parameter_at_two_places_needs_one_name_in_the_file(tmp_path: Path) -> None:
    (linear,) = linears(2, 2)
    tied = Tied(linear, Linear(linear.weight, None), EmbeddingConfig(3, 2).init(DEVICE))
    state = {"first.weight": torch.randn(2, 2), "first.bias": torch.randn(2), "words.weight": torch.randn(3, 2)}
    made = load(tied, state, tmp_path / "x.pt")
    assert made.second.weight is made.first.weight
    np.testing.assert_array_equal(made.first.weight.to_data().numpy(), state["first.weight"].numpy().T)
    with pytest.raises(RecordError, match="of another parameter, with other values"):
        load(tied, {**state, "second.weight": torch.randn(2, 2)}, tmp_path / "y.pt")


def test_a_prefix_that_stands_before_all_names_is_suggested(tmp_path: Path) -> None:
    state = {f"module.{name}": each for name, each in torch_net().items()}
    with pytest.raises(RecordError) as error:
        load(Net.init(DEVICE), state, tmp_path / "x.pt")
    assert 'LoadArgs(path).with_key_remap(r"^module\\.(.*)", "$1")' in str(error.value)
    args = LoadArgs(tmp_path / "x.pt").with_key_remap(r"^module\.(.*)", "$1")
    Net.init(DEVICE).load_record(PyTorchFileRecorder().load(args))


def test_precision_is_that_of_the_recorder(tmp_path: Path) -> None:
    path = saved({"x": torch.tensor([1 / 3], dtype=torch.float64), "n": torch.tensor([1, 2**40])}, tmp_path / "x.pt")
    for settings, name in [(None, "f64"), (HalfPrecisionSettings, "f16"), (DoublePrecisionSettings, "f64")]:
        record = PyTorchFileRecorder(settings).load(path) if settings else PyTorchFileRecorder().load(path)
        item: Any = record.item
        assert item["pytorch-layout"]["x"].dtype.name == name
        assert item["pytorch-layout"]["n"].dtype.name == "i64"
    recorder = PyTorchFileRecorder[DoublePrecisionSettings]()
    assert recorder.load(path).item["pytorch-layout"]["x"].to_vec() == [1 / 3]  # type: ignore[index,call-overload]


class Layers(Module):
    layers: list[Any]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("ending", ["pt", "safetensors"])
def test_weights_arrive_with_every_bit(ending: str, dtype: torch.dtype, tmp_path: Path) -> None:
    theirs = torch.nn.Module()
    theirs.layers = torch.nn.ModuleList([torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5)])
    shaken(theirs.to(dtype))
    path = tmp_path / f"x.{ending}"
    torch.save(theirs.state_dict(), path) if ending == "pt" else save_file(theirs.state_dict(), path)
    recorder: Any = PyTorchFileRecorder() if ending == "pt" else SafetensorsFileRecorder()
    name = str(dtype).removeprefix("torch.").replace("bfloat", "bf").replace("float", "f")
    for device in (NdArray(), Cpu()):
        layers = [LinearConfig(7, 5).init(device), BatchNormConfig(5).init(device)]
        ours = Layers(layers).cast(name).load_record(recorder.load(path))
        expected = {key: each for key, each in theirs.state_dict().items() if each.is_floating_point()}
        found = [leaf.val() if isinstance(leaf, Param) else leaf.value for _, leaf in ours.leaves()]
        assert len(found) == len(expected) == 6
        for ours_, wanted in zip(found, expected.values()):
            wanted = wanted.T if wanted.ndim == 2 else wanted
            assert ours_.dtype.name == name
            np.testing.assert_array_equal(ours_.cast("f64").numpy(), wanted.double().numpy())


def test_an_integer_that_does_not_fit_is_refused() -> None:
    small = Param(Tensor.from_data([1, 2], DEVICE, "i32"))
    big = TensorData(np.array([2**40, 1]))
    with pytest.raises(DataError, match=r"1099511627776 at .* does not fit i32"):
        small.loaded(big)
    wide = Param(Tensor.from_data([1, 2], NdArray(int="i32"), "u64"))
    assert wide.loaded(TensorData(np.array([2**64 - 1, 0], np.uint64))).numpy().tolist() == [2**64 - 1, 0]


def test_a_format_without_names_needs_the_module_first(tmp_path: Path) -> None:
    state = torch_net()
    record = PyTorchFileRecorder().load(saved(state, tmp_path / "x.pt"))
    with pytest.raises(RecordError, match=r"Bin holds no names: fit them to a module first with record.for_module"):
        BinFileRecorder().record(record, tmp_path / "x")
    assert not (tmp_path / "x.bin").exists()
    BinFileRecorder().record(record.for_module(Net.init(DEVICE)), tmp_path / "x")
    net = Net.init(DEVICE).load_record(BinFileRecorder().load(tmp_path / "x"))
    np.testing.assert_array_equal(net.conv1.weight.to_data().numpy(), state["conv1.weight"].numpy())


def test_a_recorder_of_pytorch_files_does_not_write(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="read only; write SafetensorsRecorder"):
        PyTorchFileRecorder().record(Net.init(DEVICE), tmp_path / "x.pt")
