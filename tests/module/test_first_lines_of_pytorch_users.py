"""The first lines of a PyTorch user about layers, models, losses, optimizers and devices.

Each works as it does there, or says what to write.

`LAYERS` and `LOSSES` have a line of ours beside one of PyTorch, which has to give the same values.
`SAYS` has lines that are another library's, with the part of the message that names ours.
"""

from __future__ import annotations

import inspect
import pickle
import pydoc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn import Module, NdArray, Tensor, nn
from burn.guesses import WRITE
from burn.module import Param, layer
from burn.optim import AdamConfig, SgdConfig

DEVICE = NdArray().autodiff()
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(np.float32)


def ours(array: np.ndarray[Any, Any]) -> Tensor[Any]:
    return burn.tensor(array, device=DEVICE)


def with_weights_of(model: Any, theirs: torch.nn.Module) -> Any:
    """Our model with the parameters of PyTorch's, in order; theirs are transposed where ours are."""
    values = iter([each.detach().numpy() for each in theirs.parameters()])

    def change(param: Param[Any]) -> Tensor[Any]:
        value = next(values)
        return ours(value if tuple(param.shape) == value.shape and not is_linear(param) else value.T)

    linear = {id(each.weight) for _, each in model.named_modules() if isinstance(each, nn.Linear)}

    def is_linear(param: Param[Any]) -> bool:
        return id(param) in linear

    return model.map(change)


# Layers


LAYERS = {
    "nn.Linear(3, 4)": ("torch.nn.Linear(3, 4)", (5, 3)),
    "nn.Linear(3, 4, bias=False)": ("torch.nn.Linear(3, 4, bias=False)", (5, 3)),
    "nn.Linear(3, 4, False)": ("torch.nn.Linear(3, 4, False)", (5, 3)),
    "nn.Linear(in_features=3, out_features=4)": ("torch.nn.Linear(3, 4)", (5, 3)),
    "nn.Conv1d(2, 4, 3)": ("torch.nn.Conv1d(2, 4, 3)", (1, 2, 8)),
    "nn.Conv1d(2, 4, 3, 2)": ("torch.nn.Conv1d(2, 4, 3, 2)", (1, 2, 8)),
    "nn.Conv1d(2, 4, kernel_size=3, padding=1, dilation=2)": (
        "torch.nn.Conv1d(2, 4, kernel_size=3, padding=1, dilation=2)", (1, 2, 8)),
    "nn.Conv1d(2, 4, (3,), padding=(1,))": ("torch.nn.Conv1d(2, 4, (3,), padding=(1,))", (1, 2, 8)),
    "nn.Conv2d(1, 8, 3)": ("torch.nn.Conv2d(1, 8, 3)", (2, 1, 7, 6)),
    "nn.Conv2d(1, 8, kernel_size=3, padding=1)": ("torch.nn.Conv2d(1, 8, kernel_size=3, padding=1)", (2, 1, 7, 6)),
    "nn.Conv2d(1, 8, 3, 2, 1)": ("torch.nn.Conv2d(1, 8, 3, 2, 1)", (2, 1, 7, 6)),
    "nn.Conv2d(4, 8, 3, 1, 1, 2, 2, False)": ("torch.nn.Conv2d(4, 8, 3, 1, 1, 2, 2, False)", (2, 4, 7, 6)),
    "nn.Conv2d(1, 8, (3, 2), stride=(2, 1), padding=(1, 0))": (
        "torch.nn.Conv2d(1, 8, (3, 2), stride=(2, 1), padding=(1, 0))", (2, 1, 7, 6)),
    "nn.Conv2d(4, 8, 3, padding='same', groups=2)": (
        "torch.nn.Conv2d(4, 8, 3, padding='same', groups=2)", (2, 4, 7, 6)),
    "nn.Conv2d(in_channels=1, out_channels=2, kernel_size=3)": ("torch.nn.Conv2d(1, 2, 3)", (2, 1, 7, 6)),
    "nn.Conv2d([1, 8], [3, 3])": ("torch.nn.Conv2d(1, 8, 3)", (2, 1, 7, 6)),
    "nn.Conv3d(1, 2, 3, padding=1)": ("torch.nn.Conv3d(1, 2, 3, padding=1)", (1, 1, 4, 5, 4)),
    "nn.ConvTranspose2d(2, 3, 4, 2, 1)": ("torch.nn.ConvTranspose2d(2, 3, 4, 2, 1)", (1, 2, 4, 5)),
    "nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1)": (
        "torch.nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1)", (1, 2, 4, 5)),
    "nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2, False, 1)": (
        "torch.nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2, False, 1)", (1, 4, 4, 5)),
    "nn.BatchNorm(4)": ("torch.nn.BatchNorm2d(4)", (3, 4, 2, 2)),
    "nn.BatchNorm(4, eps=1e-2, momentum=0.2)": ("torch.nn.BatchNorm2d(4, eps=1e-2, momentum=0.2)", (3, 4, 2, 2)),
    "nn.LayerNorm(6)": ("torch.nn.LayerNorm(6)", (5, 6)),
    "nn.LayerNorm((6,), eps=1e-2)": ("torch.nn.LayerNorm((6,), eps=1e-2)", (5, 6)),
    "nn.LayerNorm(6, bias=False)": ("torch.nn.LayerNorm(6, bias=False)", (5, 6)),
    "nn.GroupNorm(2, 4)": ("torch.nn.GroupNorm(2, 4)", (3, 4, 5)),
    "nn.PRelu()": ("torch.nn.PReLU()", (5, 3)),
    "nn.PRelu(num_parameters=3, init=0.5)": ("torch.nn.PReLU(num_parameters=3, init=0.5)", (5, 3)),
    "nn.LeakyRelu(0.1)": ("torch.nn.LeakyReLU(0.1)", (5, 3)),
    "nn.LeakyRelu(negative_slope=0.1)": ("torch.nn.LeakyReLU(negative_slope=0.1)", (5, 3)),
    "nn.Elu(alpha=0.5)": ("torch.nn.ELU(alpha=0.5)", (5, 3)),
    "nn.Softplus(2)": ("torch.nn.Softplus(2)", (5, 3)),
    "nn.Hardtanh(-0.5, 0.5)": ("torch.nn.Hardtanh(-0.5, 0.5)", (5, 3)),
    "nn.GLU(1)": ("torch.nn.GLU(1)", (5, 4)),
    "nn.Gelu('tanh')": ("torch.nn.GELU('tanh')", (5, 3)),
    "nn.Gelu(approximate='none')": ("torch.nn.GELU(approximate='none')", (5, 3)),
    "nn.Dropout(0.0)": ("torch.nn.Dropout(0.0)", (5, 3)),
    "nn.Dropout(p=0.0)": ("torch.nn.Dropout(p=0.0)", (5, 3)),
    "nn.Identity()": ("torch.nn.Identity()", (5, 3)),
    "nn.MaxPool2d(2)": ("torch.nn.MaxPool2d(2)", (1, 2, 6, 8)),
    "nn.MaxPool2d(3, 2, 1)": ("torch.nn.MaxPool2d(3, 2, 1)", (1, 2, 6, 8)),
    "nn.MaxPool2d(kernel_size=2, stride=1)": ("torch.nn.MaxPool2d(kernel_size=2, stride=1)", (1, 2, 6, 8)),
    "nn.MaxPool1d(2, stride=1)": ("torch.nn.MaxPool1d(2, stride=1)", (1, 2, 6)),
    "nn.AvgPool2d((2, 1))": ("torch.nn.AvgPool2d((2, 1))", (1, 2, 6, 8)),
    "nn.AvgPool2d(3, 2, 1, count_include_pad=False)": (
        "torch.nn.AvgPool2d(3, 2, 1, count_include_pad=False)", (1, 2, 6, 8)),
    "nn.AdaptiveAvgPool2d(1)": ("torch.nn.AdaptiveAvgPool2d(1)", (1, 2, 6, 8)),
    "nn.AdaptiveAvgPool2d((2, 4))": ("torch.nn.AdaptiveAvgPool2d((2, 4))", (1, 2, 6, 8)),
    "nn.PixelShuffle(2)": ("torch.nn.PixelShuffle(2)", (1, 4, 2, 3)),
    "nn.Unfold4d(2, padding=1)": ("torch.nn.Unfold(2, padding=1)", (1, 2, 4, 5)),
    "nn.Sequential(nn.Linear(3, 4), nn.Relu(), nn.Linear(4, 2))": (
        "torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))", (5, 3)),
    "nn.Sequential(nn.Linear(3, 4), Tensor.tanh, lambda x: x * 2)[0:2]": (
        "torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())", (5, 3)),
}  # fmt: skip


@pytest.mark.parametrize("line", LAYERS)
def test_a_layer_is_made_as_in_pytorch(line: str) -> None:
    theirs_line, shape = LAYERS[line]
    x = floats(*shape)
    with burn.default_device(DEVICE):
        made = eval(line)
    theirs = eval(theirs_line)
    made = with_weights_of(made, theirs)
    np.testing.assert_allclose(
        made(ours(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("nn.Embedding(num_embeddings=10, embedding_dim=3)", (2, 4, 3)),
        ("nn.Embedding(10, 3)", (2, 4, 3)),
    ],
)
def test_embeddings(line: str, shape: tuple[int, ...]) -> None:
    with burn.default_device(DEVICE):
        made = eval(line)
        assert made(Tensor.zeros([2, 4], dtype=burn.i64)).shape == shape


@pytest.mark.parametrize("name", ["Lstm", "Gru", "Rnn", "BiLstm"])
def test_recurrent_layers(name: str) -> None:
    with burn.default_device(DEVICE):
        made = getattr(nn, name)(input_size=3, hidden_size=4)
        found = made(Tensor.ones([2, 5, 3]))
        found = found if isinstance(found, Tensor) else found[0]
        assert found.shape == (2, 5, 8 if name == "BiLstm" else 4)


def test_attention_takes_its_parts() -> None:
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with burn.default_device(DEVICE):
        made = nn.MultiHeadAttention(embed_dim=8, num_heads=2, dropout=0.0)
    project = np.split(theirs.in_proj_weight.detach().numpy(), 3)
    biases = np.split(theirs.in_proj_bias.detach().numpy(), 3)
    values = [each for pair in zip(project, biases, strict=True) for each in pair]
    values += [theirs.out_proj.weight.detach().numpy(), theirs.out_proj.bias.detach().numpy()]
    taken = iter(values)
    made = made.map(lambda param: ours(next(taken).T))
    x, memory, hidden = floats(2, 3, 8), floats(2, 5, 8), np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    for query, key, mask in ((x, x, None), (x, memory, None), (x, memory, hidden)):
        theirs_mask = None if mask is None else torch.from_numpy(mask)
        expected, weights = theirs(
            *map(torch.from_numpy, (query, key, key)), key_padding_mask=theirs_mask, average_attn_weights=False
        )
        found = made(ours(query), ours(key), mask_pad=None if mask is None else burn.tensor(mask, device=DEVICE))
        np.testing.assert_allclose(found.context.numpy(), expected.detach().numpy(), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.weights.numpy(), weights.detach().numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(made(ours(x)).context.numpy(), made(ours(x), ours(x), ours(x)).context.numpy())


def test_a_transformer_takes_its_parts() -> None:
    from burn.nn import TransformerDecoderInput, TransformerEncoderInput

    with burn.default_device(DEVICE):
        encoder = nn.TransformerEncoder(d_model=8, dim_feedforward=16, nhead=2, num_layers=1, dropout=0.0)
        decoder = nn.TransformerDecoder(8, 16, 2, 1, dropout=0.0, activation="relu")
    x, mask = ours(floats(2, 3, 8)), burn.tensor([[False, False, True]] * 2, device=DEVICE)
    expected = encoder(TransformerEncoderInput(x).mask_pad(mask)).numpy()
    np.testing.assert_array_equal(encoder(x, mask_pad=mask).numpy(), expected)
    memory = encoder(x)
    wanted = decoder(TransformerDecoderInput(x, memory).memory_mask_pad(mask)).numpy()
    np.testing.assert_array_equal(decoder(x, memory, memory_pad=mask).numpy(), wanted)


# How layers are made, and where


def test_layers_are_made_on_the_default_device_or_the_one_that_is_given() -> None:
    default = burn.default_device()
    assert nn.Linear(3, 4).devices() == nn.LinearConfig(3, 4).init().devices() == [default]
    assert nn.Linear(3, 4, device=DEVICE).devices() == nn.Linear(3, 4, True, DEVICE).devices() == [DEVICE]
    assert nn.Linear.init(DEVICE, 3, 4).devices() == [DEVICE]
    with burn.default_device(DEVICE):
        assert nn.Lstm(3, 4).devices() == [DEVICE]


def test_a_layer_is_made_from_its_tensors_too() -> None:
    weight = Param(ours(floats(3, 4)))
    for made in (nn.Linear(weight=weight), nn.Linear(weight, None), nn.Linear(weight=weight, bias=None)):
        assert made.weight is weight
        assert made.bias is None


def configs() -> list[Any]:
    found = [each for each in vars(nn).values() if isinstance(each, type) and issubclass(each, burn.Config)]
    return sorted(set(found), key=lambda each: each.__name__)


@pytest.mark.parametrize("config", configs(), ids=lambda each: each.__name__)
def test_every_init_takes_a_device_or_none(config: Any) -> None:
    device = inspect.signature(config.init).parameters["device"]
    assert device.default is None
    made = getattr(nn, config.__name__.removesuffix("Config"))
    if made._config is not None:
        assert made._config is config
        assert list(inspect.signature(made).parameters)[-1] == "device"


def test_help_opens_with_the_real_signature() -> None:
    assert "Linear(d_input: 'int', d_output: 'int', bias: 'bool' = True" in pydoc.plain(pydoc.render_doc(nn.Linear))
    names = list(inspect.signature(nn.Conv2d).parameters)
    assert names[:5] == ["channels_in", "channels_out", "kernel_size", "stride", "padding"]


# Models


class Written(Module):
    """As a PyTorch user writes a model."""

    def __init__(self, hidden: int = 5) -> None:
        super().__init__()
        self.first = nn.Linear(3, hidden)
        self.layers = [nn.Linear(hidden, hidden), nn.Linear(hidden, 2)]

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        x = self.first(x)
        for each in self.layers:
            x = each(x.relu())
        return x


class WithDevice(Module):
    def __init__(self, device: Any) -> None:
        self.first = nn.LinearConfig(3, 2).init(device)


class Declared(Module):
    """Each layer written once."""

    first: nn.Linear = layer(nn.LinearConfig(3, 4))
    rest: list[nn.Linear] = layer([nn.LinearConfig(4, 4), nn.LinearConfig(4, 2)])  # type: ignore[arg-type]
    norm: nn.Normalization = layer(nn.NormalizationConfig.Layer(nn.LayerNormConfig(4)))
    padding: nn.PaddingConfig2d = nn.PaddingConfig2d.Valid
    scale: float = 2.0

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        return self.rest[1](self.norm(self.rest[0](self.first(x)))) * self.scale


def test_a_model_that_is_written_as_in_pytorch() -> None:
    model = Written()
    assert len(list(model.parameters())) == 6
    assert model.devices() == [burn.default_device()]
    assert Written.init(DEVICE).devices() == Written.init(device=DEVICE).devices() == [DEVICE]
    assert Written.init(DEVICE, 7).first.weight.shape == Written.init(DEVICE, hidden=7).first.weight.shape == (3, 7)
    assert WithDevice.init(DEVICE).devices() == WithDevice(DEVICE).devices() == [DEVICE]


def test_fields_default_to_configs() -> None:
    one, other = Declared(), Declared.init(DEVICE)
    assert one.first is not other.first
    assert {type(each) for each in one.rest} == {nn.Linear}
    assert isinstance(one.norm, nn.Normalization)
    assert one.padding is nn.PaddingConfig2d.Valid
    assert (one.devices(), other.devices()) == ([burn.default_device()], [DEVICE])
    assert Declared(device=DEVICE, scale=3.0).scale == 3.0
    assert other(ours(floats(5, 3))).shape == (5, 2)
    assert Declared(first=one.first, device=DEVICE).first is one.first
    again = pickle.loads(pickle.dumps(other.valid()))
    np.testing.assert_array_equal(again.first.weight.numpy(), other.first.weight.numpy())


class ScaleConfig(burn.Config):
    factor: float
    bias: float = 0.0

    def init(self, device: Any = None) -> Scale:
        return Scale(self.factor * 2.0, self.bias)


class Scale(Module, config=ScaleConfig):
    factor: float
    bias: float

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        return x * self.factor + self.bias


class Doubled(Scale):
    """A class derived from such a layer takes the same arguments."""


def test_a_module_of_ones_own_takes_the_arguments_of_its_config() -> None:
    for made in (Scale(3), Scale(factor=3.0), Scale.init(DEVICE, 3.0), Doubled(3.0), ScaleConfig(3.0).init()):
        assert made.factor == 6.0
    with pytest.raises(burn.ArgumentError, match=r"Scale: factor: missing.*it takes \(factor, bias=0.0"):
        Scale()
    with pytest.raises(burn.ArgumentError, match="config= is a Config whose init makes the module"):

        class Wrong(Module, config=3):
            pass


def test_a_layer_as_a_default_would_be_shared() -> None:
    class Shared(Module):
        first: nn.Linear = nn.Linear(3, 4)

    with pytest.raises(burn.ArgumentError, match=r"write first: Linear = layer\(LinearConfig\(...\)\)"):
        Shared()


# Training


def test_the_training_loop() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    with burn.default_device(DEVICE):
        model = nn.Sequential(nn.Linear(3, 8), nn.Relu(), nn.Linear(8, 4))
    model = with_weights_of(model, theirs)
    x, y = floats(16, 3), RNG.integers(0, 4, 16)
    optim, theirs_optim = SgdConfig().init(), torch.optim.SGD(theirs.parameters(), lr=0.1)
    criterion, theirs_criterion = nn.CrossEntropyLoss(), torch.nn.CrossEntropyLoss()
    for _ in range(5):
        loss = criterion(model(ours(x)), burn.tensor(y, device=DEVICE))
        model = optim.step(0.1, model, loss.backward())
        theirs_optim.zero_grad()
        expected = theirs_criterion(theirs(torch.from_numpy(x)), torch.from_numpy(y))
        expected.backward()
        theirs_optim.step()
        np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-4)


LOSSES = {
    "nn.CrossEntropyLoss(weight=burn.tensor([1.0, 2.0, 3.0]))": "torch.nn.CrossEntropyLoss(torch.tensor([1.0, 2, 3]))",
    "nn.CrossEntropyLoss(ignore_index=1)": "torch.nn.CrossEntropyLoss(ignore_index=1)",
    "nn.CrossEntropyLoss(label_smoothing=0.1)": "torch.nn.CrossEntropyLoss(label_smoothing=0.1)",
}


@pytest.mark.parametrize("line", LOSSES)
def test_losses_of_classes(line: str) -> None:
    x, y = floats(5, 3), np.array([0, 1, 2, 1, 0])
    with burn.default_device(NdArray()):
        found = eval(line)(burn.tensor(x), burn.tensor(y))
    expected = eval(LOSSES[line])(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-4)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_of_numbers_with_a_reduction_by_its_name(reduction: Any) -> None:
    x, y = floats(5, 3), floats(5, 3)
    theirs = torch.nn
    pairs = {nn.MseLoss(): theirs.MSELoss, nn.HuberLoss(delta=1.0): theirs.HuberLoss, nn.LpLoss.l1(): theirs.L1Loss}
    for mine, kind in pairs.items():
        expected = kind(reduction=reduction)(torch.from_numpy(x), torch.from_numpy(y))
        np.testing.assert_allclose(mine(ours(x), ours(y), reduction).item(), expected.item(), rtol=1e-5)


def test_saving_and_loading(tmp_path: Path) -> None:
    model = Written.init(DEVICE)
    model.save_file(tmp_path / "model")
    loaded = Written.init(DEVICE).load_file(tmp_path / "model")
    x = ours(floats(5, 3))
    np.testing.assert_array_equal(loaded(x).numpy(), model(x).numpy())
    again = Written.init(DEVICE).load_record(model.into_record())
    np.testing.assert_array_equal(again.valid()(x.inner()).numpy(), model(x).numpy())


# What is said differently here


MODEL = nn.Linear(3, 4, device=DEVICE)
OPTIM = AdamConfig().init()
X = ours(floats(5, 3))
GRADS = MODEL(X).sum().backward()

SAYS = {
    # names of packages
    "nn.Module": "class Net(burn.Module)",
    "nn.ReLU()": "write Relu",
    "nn.MSELoss()": "write MseLoss",
    "nn.LSTM(3, 4)": "write Lstm",
    "nn.MultiheadAttention(8, 2)": "write MultiHeadAttention",
    "nn.BatchNorm2d(3)": "nn.BatchNorm(num_features)",
    "nn.ModuleList([])": "a plain list holds modules",
    "nn.Parameter(X)": "burn.Param(tensor)",
    "nn.functional.relu(X)": "write x.relu(...)",
    "nn.init.xavier_uniform_(MODEL.weight)": "nn.Initializer.Zeros",
    "nn.Flatten()": "x.flatten(1, -1)",
    "nn.Softmax(dim=1)": "x.softmax(1)",
    "nn.BCEWithLogitsLoss()": "nn.BinaryCrossEntropyLoss(logits=True)",
    "nn.Lineer(3, 4)": "did you mean 'Linear'",
    "burn.save(MODEL, 'model')": "model.save_file('model')",
    "burn.optim.SGD(MODEL.parameters(), lr=0.1)": "SgdConfig().init()",
    "burn.optim.lr_scheduler": "burn.lr_scheduler",
    # layers
    "nn.Linear(3)": "Linear: d_output: missing; expected int; it takes (d_input, d_output, bias=True",
    "nn.Linear('3', 4)": "d_input: expected int, got '3'",
    "nn.Linear(3, 4, dtype=burn.f64)": "NdArray(float=burn.f64)",
    "nn.Linear(3, 4, device='cuda')": "needs a device such as burn.Cpu(), got 'cuda'",
    "nn.Linear(3, 4, out_feature=4)": "there is no out_feature",
    "nn.Conv2d(1, 8)": "kernel_size: missing",
    "nn.Conv2d(1)": "needs channels_in and channels_out",
    "nn.Conv1d(1, 8, 3, 1, 1)": "give it by name: padding=1 or dilation=1",
    "nn.AvgPool2d(3, 2, 1, True)": "give it by name: ceil_mode=True or count_include_pad=True",
    "nn.LayerNorm(6, 1e-5, False)": "give it by name: elementwise_affine=False or bias=False",
    "nn.LayerNorm((4, 6))": "d_model: expected int",
    "nn.Conv2d(1, 8, 3, padding_mode='reflect')": "x.pad(",
    "nn.Dropout()": "prob: missing",
    "nn.Dropout(0.5, inplace=True)": "nothing is changed in place",
    "nn.Dropout(1.5)": "prob must be between 0 and 1, got 1.5",
    "nn.Embedding(10, 3, padding_idx=0)": "there is no padding_idx",
    "nn.Lstm(3, 4, num_layers=2)": "layers = [nn.Lstm(3, 4), nn.Lstm(4, 4)]",
    "nn.Lstm(3, 4, bidirectional=True)": "nn.BiLstm",
    "nn.TransformerEncoderLayer(16, 4)": "nn.TransformerEncoder(d_model, d_ff, n_heads, n_layers)",
    "nn.MseLoss(reduction='sum')": "and .sum() of it the sum",
    "nn.CrossEntropyLoss(reduction='none')": "loss.forward_no_reduction(x, y) gives every element",
    "nn.TransformerEncoderLayer(d_model=8, nhead=2)": "nn.TransformerEncoder(d_model, d_ff, n_heads, n_layers)",
    "nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0)": "GradientClippingConfig.GlobalNorm(1.0)",
    "nn.utils.clip_grad_value_(MODEL.parameters(), 1.0)": "GradientClippingConfig.Value(0.5)",
    "nn.functional.cross_entropy(X, X)": "nn.CrossEntropyLoss()(logits, targets)",
    "nn.functional.mse_loss(X, X)": "nn.MseLoss()(x, y)",
    "nn.functional.dropout(X)": "nn.Dropout(0.5)",
    "nn.functional.interpolate(X)": "burn.tensor.module.interpolate(x, size)",
    "nn.functional.normalize(X)": "x / x.norm(dim=1, keepdim=True)",
    "nn.functional.conv2d(X)": "burn.tensor.module.conv2d(...)",
    "burn.linalg.inv(X)": "burn.tensor.linalg.inverse(...)",
    "burn.linalg.norm(X)": "write x.norm(...)",
    "burn.linalg.svd(X)": "np.linalg.svd",
    "burn.utils.data.DataLoader": "burn.data.dataloader.DataLoaderBuilder(batcher)",
    "burn.Reduction.Sum": "write nn.Reduction",
    "setattr(MODEL.weight, 'requires_grad', False)": "model = model.freeze()",
    "burn.lr_scheduler.ReduceLROnPlateau": "there is none",
    "burn.lr_scheduler.ConstantLr(0.1).get_last_lr()": "optim.step(scheduler.step(), model, grads)",
    "burn.data.dataloader.DataLoaderBuilder(lambda items: items)": "write def batcher(items, device)",
    "burn.optim.Adam(1e-3)": "needs an AdamConfig",
    "nn.Sequential(nn.Relu)": "write Relu()",
    "nn.Sequential(3)": "a module, a config of one or a function",
    "nn.LinearConfig(3, 2)(X)": "these are settings; make and call LinearConfig(...).init()",
    "nn.LinearConfig(in_features=3, out_features=2)": "write d_input",
    "nn.LinearConfig(3, 2).init('cuda')": "needs a device such as burn.Cpu(), got 'cuda'",
    "nn.MultiHeadAttention(8, 2)(3)": "needs a tensor or a MhaInput, got int",
    "[*nn.MultiHeadAttention(8, 2)(Tensor.ones([1, 2, 8]))]": "output.context and output.weights",
    "nn.TransformerDecoder(8, 8, 2, 1)(Tensor.ones([1, 2, 8]))": "the memory is missing",
    # models
    "MODEL.state_dict()": "model.into_record()",
    "MODEL.load_state_dict({})": "model.load_record(record)",
    "MODEL.eval()": "model = model.valid()",
    "MODEL.cuda()": "model = model.to_device(device)",
    "MODEL.cpu()": "model.to_device(burn.Cpu())",
    "MODEL.to('cuda')": "needs a device such as burn.Cpu(), got 'cuda'",
    "MODEL.zero_grad()": "leave it out",
    "MODEL.requires_grad_(False)": "model.freeze()",
    "MODEL.half()": "model.cast(burn.f16)",
    "MODEL.apply(print)": "model.map(function)",
    "MODEL.register_buffer('mean', X)": "self.mean = tensor",
    "MODEL.named_buffers()": "model.leaves()",
    "MODEL.modules()": "model.named_modules()",
    "MODEL.train(False)": "model.valid()",
    "MODEL.wieght": "did you mean 'weight'",
    "MODEL(np.ones((5, 3), np.float32))": "write burn.tensor(...) around it",
    # optimizers and steps
    "burn.optim.Adam(MODEL.parameters(), lr=1e-3)": "optim = AdamConfig().init()",
    "burn.optim.Adam()": "optim = AdamConfig().init()",
    "burn.optim.AdamW(lr=1e-3)": "optim = AdamWConfig().init()",
    "AdamConfig(lr=1e-3)": "optim.step(1e-3, model, loss.backward())",
    "AdamConfig(betas=(0.9, 0.99))": "beta_1=0.9, beta_2=0.999",
    "AdamConfig(eps=1e-8)": "write epsilon",
    "AdamConfig().init(MODEL.parameters())": "optim.step(1e-3, model, loss.backward())",
    "SgdConfig(momentum=0.9)": "MomentumConfig(momentum=0.9, dampening=0.0)",
    "OPTIM.zero_grad()": "leave it out",
    "OPTIM.step()": "model = optim.step(1e-3, model, loss.backward())",
    "OPTIM.step(MODEL, 1e-3, GRADS)": "the learning rate is a number, got Linear",
    "OPTIM.step(1e-3, MODEL, X)": "write loss.backward()",
    "OPTIM.step(1e-3, MODEL.parameters(), GRADS)": "needs a module, got generator",
    "OPTIM.step(1e-3, nn.Linear(3, 4), GRADS)": "pass the model that the loss was computed with",
    "OPTIM.step(-1e-3, MODEL, GRADS)": "the gradients of the negated loss",
    "OPTIM.step(float('nan'), MODEL, GRADS)": "the learning rate is NaN",
    "OPTIM.step(float('inf'), MODEL, GRADS)": "finite, got inf",
    "OPTIM.param_groups": "optim.with_group(",
    "OPTIM.state_dict()": "optim.to_record()",
    # losses
    "nn.CrossEntropyLoss()(X, burn.tensor([0, 1, 2, 3, 0], device=DEVICE))": "class 3 is out of range: there are 3",
    "nn.CrossEntropyLoss()(X, X)": "needs logits (rows, classes) and targets (rows,)",
    "nn.CrossEntropyLoss()(X, X.mean(1))": "convert it with .int()",
    "nn.MseLoss()(X, X, 'average')": "Reduction.Mean",
    "burn.tensor([0, 5], device=NdArray()).one_hot(3)": "one_hot: class 5 is out of range: there are 3",
}  # fmt: skip


@pytest.mark.parametrize("line", SAYS)
def test_what_is_said_differently_says_what_to_write(line: str) -> None:
    with pytest.raises((burn.BurnError, AttributeError)) as found:
        eval(line)
    assert SAYS[line] in str(found.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("from burn.nn import ReLU", "burn.nn has no 'ReLU'; write Relu"),
        ("from burn.nn import Module", "class Net(burn.Module)"),
        ("from burn.optim import SGD", "SgdConfig().init()"),
        ("import burn.nn.functional as F", "stand in burn.tensor.activation"),
        ("from burn.utils.data import DataLoader, Dataset", "burn.data.dataloader.DataLoaderBuilder"),
        ("from burn.nn.utils.rnn import pad_sequence", "burn.stack([x.pad("),
        ("from burn.data import DataLoader", "burn.data.dataloader.DataLoaderBuilder"),
        ("from burn.optim.lr_scheduler import StepLR", "schedulers are in burn.lr_scheduler"),
        ("from burn.lr_scheduler import StepLR", "StepLrSchedulerConfig(initial_lr, step_size)"),
        ("import burn.linalg", "burn.tensor.linalg"),
        ("import burn.no_such_thing", "No module named 'burn.no_such_thing'"),
        ("from burn import no_such_thing", "burn has no 'no_such_thing'"),
    ],
)
def test_an_import_says_it_too(line: str, says: str) -> None:
    with pytest.raises(ImportError) as found:
        exec(line)
    assert says in str(found.value)
    assert not hasattr(nn, "ReLU")


FUNCTIONAL = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "normalize"]


@pytest.mark.filterwarnings("ignore:reduction.*batchmean")
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_what_is_advised_for_a_function_gives_its_numbers(name: str) -> None:
    x, y = np.abs(floats(5, 3)) + 0.1, np.abs(floats(5, 3)) + 0.2
    given = [torch.from_numpy(each) for each in ((x,) if name == "normalize" else (x, y))]
    expected = getattr(torch.nn.functional, name)(*given)
    advised = WRITE["burn.nn.functional"][name].removeprefix("write ")
    found = eval(advised, {"nn": nn, "x": ours(x), "y": ours(y)})
    np.testing.assert_allclose(found.numpy().squeeze(), expected.numpy(), rtol=1e-5)


def test_gradients_that_were_used_and_another_model() -> None:
    model = nn.Linear(3, 4, device=DEVICE)
    grads = model(X).sum().backward()
    OPTIM.step(1e-3, model, grads)
    for other in (model, nn.Linear(3, 4, device=DEVICE)):
        with pytest.raises(burn.AutodiffError, match="used up by an earlier step"):
            OPTIM.step(1e-3, other, grads)
