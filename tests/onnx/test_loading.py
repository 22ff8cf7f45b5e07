"""Models at run time: exports of PyTorch networks give what PyTorch gives, for every size."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
import torch
from onnx import helper

import burn
from burn_import.onnx import OnnxError, load
from tests.onnx.networks import Convolutional, Perceptron, Transformer, exported, perturbed
from tests.onnx.running import text_model

BATCH = {"x": {0: "batch"}}
TOKENS = {"tokens": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}


def tokens(batch: int, length: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(batch * length)
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length // 2 :] = 0
    return [torch.randint(0, 50, (batch, length), generator=generator), mask]


def expected(network: torch.nn.Module, inputs: list[torch.Tensor]) -> np.ndarray:
    with torch.no_grad():
        return network(*inputs).numpy()


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu(), burn.LibTorch()], ids=repr)
@pytest.mark.parametrize("network", [Perceptron, Convolutional], ids=lambda each: each.__name__)
def test_exported_networks_give_the_same_for_several_batch_sizes(
    network: type[torch.nn.Module], device: burn.Device
) -> None:
    made = perturbed(network()).eval()
    shape = (4,) if network is Perceptron else (3, 16, 16)
    model = load(exported(made, [torch.randn(2, *shape)], ["x"], BATCH), device)
    for batch in (1, 2, 5):
        x = torch.randn(batch, *shape)
        result = model.run({"x": x.numpy()})
        np.testing.assert_allclose(result["result"], expected(made, [x]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_a_transformer_runs_with_several_batches_and_lengths(device: burn.Device) -> None:
    network = perturbed(Transformer()).eval()
    model = load(exported(network, tokens(2, 7), ["tokens", "mask"], TOKENS), device)
    for size in ((2, 7), (1, 3), (4, 11)):
        inputs = tokens(*size)
        result = model.run({"tokens": inputs[0].numpy(), "mask": inputs[1].numpy()})
        np.testing.assert_allclose(result["result"], expected(network, inputs), rtol=1e-3, atol=1e-4)


def test_a_loaded_model_is_called_in_order_or_by_name_and_is_a_module() -> None:
    network = Perceptron().eval()
    model = load(exported(network, [torch.randn(2, 4)], ["input.1"], {"input.1": {0: "batch"}}), burn.NdArray())
    x = torch.randn(3, 4)
    tensor = burn.tensor(x.numpy(), device=burn.NdArray())
    in_order = model(tensor)
    assert np.array_equal(in_order, model(**{"input.1": tensor}))
    assert np.array_equal(in_order, model.run({"input.1": x.numpy()})["result"])
    assert isinstance(model, burn.Module)
    assert [path for path, _ in model.named_parameters()] == [
        "hidden.weight", "hidden.bias", "output.weight", "output.bias",
    ]  # fmt: skip
    assert model.num_params() == 4 * 8 + 8 + 8 * 3 + 3


def test_run_says_which_inputs_are_missing_and_which_are_unknown() -> None:
    model = load(exported(Perceptron().eval(), [torch.randn(2, 4)], ["x"]), burn.NdArray())
    with pytest.raises(OnnxError) as error:
        model.run({"y": np.zeros((2, 4), np.float32)})
    assert "input 'x' is missing" in str(error.value)
    assert "there is no input 'y'; there are x" in str(error.value)


def test_repeated_shapes_are_replayed_on_a_fused_device_without_warnings() -> None:
    network = perturbed(Convolutional()).eval()
    model = load(exported(network, [torch.randn(2, 3, 16, 16)], ["x"], BATCH), burn.Cpu())
    x = torch.randn(2, 3, 16, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [model.run({"x": x.numpy()})["result"] for _ in range(5)]
    assert model._runtime.evaluations == 1
    for result in results:
        np.testing.assert_allclose(result, expected(network, [x]), rtol=1e-4, atol=1e-5)


def test_capture_falls_back_quietly_where_values_are_read() -> None:
    text = "g (float[n] x) => (float[m] y) { places = NonZero(x)\n chosen = GatherND(x, rows)\n y = Abs(chosen) }"
    text = text.replace("chosen = GatherND(x, rows)", "flat = Squeeze(places)\n chosen = Gather(x, flat)")
    model = load(text_model(text), burn.Cpu())
    x = np.array([0.0, -2.0, 0.0, 3.0], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            assert model.run({"x": x})["y"].tolist() == [2.0, 3.0]


def test_every_operator_that_is_not_supported_is_named_at_once_with_its_nodes() -> None:
    nodes = [
        helper.make_node("Strange", ["x"], ["a"], name="first", domain="my.domain"),
        helper.make_node("Strange", ["a"], ["b"], name="second", domain="my.domain"),
        helper.make_node("Odd", ["b"], ["y"], name="third", domain="my.domain"),
    ]
    value = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("my.domain", 1)]
    with pytest.raises(OnnxError) as error:
        load(helper.make_model(graph, opset_imports=opsets), burn.NdArray())
    assert len(error.value.faults) == 2
    assert "operator my.domain.Strange is not supported: 2 nodes ('first', 'second')" in str(error.value)
    assert "operator my.domain.Odd is not supported: 1 node ('third')" in str(error.value)


def test_control_flow_is_python_control_flow() -> None:
    text = """g (float[n] x, bool flag) => (float[n] y) {
        y = If (flag) <
            then_branch = yes () => (float[n] a) { a = Relu(x) },
            else_branch = no () => (float[n] b) { b = Neg(x) }
        >
    }"""
    model = load(text_model(text), burn.NdArray())
    assert "if flag.item():" in model.source
    assert "else:" in model.source
    x = np.array([-1.0, 2.0], np.float32)
    assert model.run({"x": x, "flag": np.array(True)})["y"].tolist() == [0.0, 2.0]
    assert model.run({"x": x, "flag": np.array(False)})["y"].tolist() == [1.0, -2.0]


def test_shapes_are_written_from_the_sizes_of_the_inputs() -> None:
    text = """g (float[batch, length, 12] x) => (float[p, q, r, s] y)
        <int64[1] at0 = {0}, int64[1] at1 = {1}, int64[2] heads = {3, 4}> {
            shape = Shape(x)
            batch = Gather(shape, at0)
            length = Gather(shape, at1)
            target = Concat<axis = 0>(batch, length, heads)
            y = Reshape(x, target)
        }"""
    model = load(text_model(text), burn.NdArray())
    assert "batch, length = x.shape[:2]" in model.source
    assert "x.reshape([batch, length, 3, 4])" in model.source
    assert model.run({"x": np.zeros((2, 5, 12), np.float32)})["y"].shape == (2, 5, 3, 4)
